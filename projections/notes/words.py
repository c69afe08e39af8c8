"""Which live notes carry a word: the postings by which a write finds similar notes.

The postings of one word (`projections.notes.postings`) lie in parts of at most 75, in the order of
`updated_seq`, so that a change rewrites one small row a word however common the word is: part 0 is
the newest and grows; a full one is sealed under the first seq that it holds. `sealed` in part 0 is
the key of the sealed part before it, 0 when there is none.

The notes that came last wait (`projections.notes.waiting`) until they have 512 postings, and are
then filed all at once. So most writes change one row instead of one for each word.

Beside its words a note is filed under a mark of its whole content (`=` and a hash), which finds the
note that an identical write without a slug repeats.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Protocol

from memlog.codec import canonical_json
from memlog.requests import Content
from projections.notes.postings import OUTLINE_BYTES, SEQ_BYTES, Part, Window, numbers
from projections.notes.waiting import Waiting, stored_form, waiting_of

PART_POSTINGS = 75  # A row of 12 bytes each still fits into its page.
NEWEST_POSTINGS = 200
WAITING_POSTINGS = 512
_TAIL = 0
_NOTHING = (b"", b"")


class Rows(Protocol):
    """What a statement gives back."""

    def fetchone(self) -> Any:  # noqa: ANN401  # a row's columns have the types of its table
        """Return the next row, or None."""

    def fetchall(self) -> list[Any]:
        """Return all rows that are left."""

    def __iter__(self) -> Iterator[Any]:
        """Yield the rows that are left."""


class Executor(Protocol):
    """Runs SQL on one connection, in the part of it that both engines read."""

    def execute(self, sql: str, parameters: Sequence[Any] = ..., /) -> Rows:
        """Run one statement."""

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> object:
        """Run one statement for each row."""


def content_mark(content: Content) -> str:
    """Return the word under which a note is filed for its whole content."""
    return f"={hashlib.sha256(canonical_json(content)).hexdigest()[:32]}"


class Words:
    """The words of one scope, read and changed inside one transaction.

    The newest part of a word is read once, changed in memory and stored by `flush`, so one instance
    serves one transaction, and a batch stores a common word once.
    """

    def __init__(self, cursor: Executor, table: str, scope: int, stored: bytes) -> None:
        """Begin with what is stored.

        Args:
            cursor: inside the transaction.
            table: name of the table of parts.
            scope: id of the scope.
            stored: what waits, as the last `flush` returned it; empty when there was none.
        """
        self._cursor, self._table, self.scope = cursor, table, scope
        self._waiting = waiting_of(stored)
        self._tails: dict[str, Part] = {}
        self._changed: set[str] = set()

    def read(self, words: Iterable[str]) -> None:
        """Read the newest parts of all these words at once, as far as they are not known."""
        wanted = [word for word in words if word not in self._tails]
        if not wanted:
            return
        self._tails.update(dict.fromkeys(wanted, Part()))
        marks = ",".join("?" * len(wanted))
        rows = self._cursor.execute(
            f"SELECT word, seqs, outlines, sealed FROM {self._table} "
            f"WHERE scope = ? AND part = {_TAIL} AND word IN ({marks})",
            (self.scope, *wanted),
        )
        for word, seqs, outlines, sealed in rows:
            self._tails[word] = Part(seqs, outlines, sealed)

    def rarest(self, words: Collection[str], count: int) -> dict[str, Window]:
        """Return the newest postings of the `count` rarest of these words."""
        self.read(words)
        tails = [self._tails[word] for word in words]
        newest = max([self._waiting.newest, *[max(each.newest, each.sealed) for each in tails]])

        def commonness(word: str) -> tuple[bool, float, str]:
            tail = self._tails[word]
            postings = len(tail) + self._waiting.count(word)
            if not tail.sealed:
                return (False, postings, word)
            return (True, (PART_POSTINGS + postings) / (newest + 1 - tail.sealed), word)

        rarest = sorted(words, key=commonness)[:count]
        waiting = self._waiting.postings_of(rarest)
        return {word: self._window(word, *waiting.get(word, _NOTHING)) for word in rarest}

    def _window(self, word: str, waiting_seqs: bytes, waiting_outlines: bytes) -> Window:
        tail = self._tails[word]
        seqs, outlines = tail.seqs + waiting_seqs, tail.outlines + waiting_outlines
        sealed = tail.sealed
        while sealed and len(seqs) < NEWEST_POSTINGS * SEQ_BYTES:
            for part in self._parts(word, sealed):
                seqs, outlines, sealed = part.seqs + seqs, part.outlines + outlines, part.sealed
        whole = not sealed and len(seqs) <= NEWEST_POSTINGS * SEQ_BYTES
        return Window(
            seqs=numbers("I", seqs[-NEWEST_POSTINGS * SEQ_BYTES :]),
            outlines=outlines[-NEWEST_POSTINGS * OUTLINE_BYTES :],
            whole=whole,
        )

    def _parts(self, word: str, key: int) -> Iterator[Part]:
        """Yield the sealed part with this key and those before it, newest first, a window's worth.

        The key of a sealed part is below that of each later one, so their order is the chain's.
        """
        rows = self._cursor.execute(
            f"SELECT seqs, outlines, sealed FROM {self._table} "
            "WHERE scope = ? AND word = ? AND part BETWEEN 1 AND ? ORDER BY part DESC LIMIT ?",
            (self.scope, word, key, -(-NEWEST_POSTINGS // PART_POSTINGS)),
        )
        return (Part(*row) for row in rows)

    def all_seqs(self, word: str) -> list[int]:
        """Return every posting of one word, newest part first."""
        self.read([word])
        parts = [self._tails[word]]
        while parts[-1].sealed:
            parts.extend(self._parts(word, parts[-1].sealed))
        waiting, _ = self._waiting.postings_of([word]).get(word, _NOTHING)
        return [*numbers("I", waiting), *(seq for part in parts for seq in numbers("I", part.seqs))]

    def add(self, words: Iterable[str], *, seq: int, outline: int) -> None:
        """File a note under its words; `seq` must be above all seqs of the scope so far."""
        self._waiting.add(words, seq=seq, outline=outline)
        if self._waiting.postings >= WAITING_POSTINGS:
            self._merge()

    def _merge(self) -> None:
        """File all that wait."""
        waiting, self._waiting = self._waiting, Waiting()
        filings = list(waiting)
        self.read({word for words, _, _ in filings for word in words})
        for words, seq, outline in filings:
            for word in words:
                self._append(word, seq, outline)
            self._changed.update(words)

    def _append(self, word: str, seq: bytes, outline: bytes) -> None:
        part = self._tails[word]
        if len(part) >= PART_POSTINGS:
            key = part.seq_at(0)
            self._put([self._row(word, key, part)])
            part = Part(sealed=key)
        self._tails[word] = Part(part.seqs + seq, part.outlines + outline, part.sealed)

    def remove(self, words: Iterable[str], *, seq: int) -> None:
        """Take a note out from under its words, where `add` filed it under this seq."""
        if self._waiting.remove(seq):
            return
        carried = list(words)
        self.read(carried)
        for word in carried:
            tail = self._tails[word]
            if len(tail) and tail.seq_at(0) <= seq:
                self._tails[word] = tail.without_seq(seq)
                self._changed.add(word)
            else:
                key, part = self._sealed_with(word, seq)
                self._put([self._row(word, key, part.without_seq(seq))])

    def flush(self) -> bytes:
        """Store the newest parts that changed; return what waits, to be stored with the scope."""
        self._put([self._row(word, _TAIL, self._tails[word]) for word in sorted(self._changed)])
        self._changed.clear()
        return stored_form(self._waiting)

    def _sealed_with(self, word: str, seq: int) -> tuple[int, Part]:
        row = self._cursor.execute(
            f"SELECT part, seqs, outlines, sealed FROM {self._table} "
            "WHERE scope = ? AND word = ? AND part BETWEEN 1 AND ? ORDER BY part DESC LIMIT 1",
            (self.scope, word, seq),
        ).fetchone()
        return row[0], Part(*row[1:])

    def _row(self, word: str, key: int, part: Part) -> tuple[int, str, int, int, bytes, bytes]:
        return (self.scope, word, key, part.sealed, part.seqs, part.outlines)

    def _put(self, rows: Sequence[tuple[int, str, int, int, bytes, bytes]]) -> None:
        if not rows:
            return
        self._cursor.executemany(
            f"INSERT INTO {self._table} (scope, word, part, sealed, seqs, outlines) "
            "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (scope, word, part) DO UPDATE SET "
            "sealed = excluded.sealed, seqs = excluded.seqs, outlines = excluded.outlines",
            rows,
        )
