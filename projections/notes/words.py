"""Which live notes carry a word: the postings by which a write finds similar notes.

A posting is a note's `updated_seq` and the outline of its words: their number, and a bit for each,
from which a bound on the similarity follows without reading the note. Those of one word lie in
parts of at most 75, in the order of `updated_seq`, so that a change rewrites one small row a word
however common the word is: part 0 is the newest and grows; a full one is sealed under the first seq
that it holds. `sealed` in part 0 is the key of the sealed part before it, 0 when there is none.

The notes that came last wait in an auxiliary index (Manning, Raghavan, Schuetze, "Introduction to
Information Retrieval", 4.5): one value in the scope's row, merged into the parts when it holds 512
postings. So most writes change one row instead of one for each word.

Beside its words a note is filed under a mark of its whole content (`=` and a hash), which finds the
note that an identical write without a slug repeats.
"""

from __future__ import annotations

import hashlib
import sys
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, Literal, Protocol

import msgspec

from memlog.codec import canonical_json
from memlog.errors import DriftError
from memlog.requests import Content

OUTLINE_BITS = 56
PART_POSTINGS = 75  # A row of 12 bytes each still fits into its page.
NEWEST_POSTINGS = 200
WAITING_POSTINGS = 512
_SEQ_BYTES = 4
_OUTLINE_BYTES = 8
_SIZE_MAX = 0xFF
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


class Part(msgspec.Struct):
    """Some postings of one word, oldest first, as they are stored.

    Attributes:
        seqs: the `updated_seq` of each note, 4 bytes little-endian.
        outlines: the outline of each note, 8 bytes little-endian.
        sealed: key of the part before this one, 0 when there is none.
    """

    seqs: bytes = b""
    outlines: bytes = b""
    sealed: int = 0

    def __len__(self) -> int:
        """Return the number of postings."""
        return len(self.seqs) // _SEQ_BYTES

    def seq_at(self, index: int) -> int:
        """Return the seq of one posting."""
        return int.from_bytes(self.seqs[_SEQ_BYTES * index :][:_SEQ_BYTES], "little")

    @property
    def newest(self) -> int:
        """The seq of the newest posting, 0 when there is none."""
        return int.from_bytes(self.seqs[-_SEQ_BYTES:], "little")

    def without_seq(self, seq: int) -> Part:
        """Return the part without the posting of a seq, which it must hold."""
        at = numbers("I", self.seqs).index(seq)
        seqs = _without(self.seqs, at, _SEQ_BYTES)
        return Part(seqs, _without(self.outlines, at, _OUTLINE_BYTES), self.sealed)


def _without(items: bytes, at: int, size: int) -> bytes:
    return items[: size * at] + items[size * (at + 1) :]


def numbers(code: Literal["I", "Q"], little_endian: bytes) -> array[int]:
    """Return stored numbers as an array of unsigned 4-byte (`I`) or 8-byte (`Q`) integers."""
    found = array(code, little_endian)
    if sys.byteorder == "big":
        found.byteswap()
    return found


@lru_cache(maxsize=4096)
def bit_of(word: str) -> int:
    """Return the bit of a word, one of 56."""
    return 1 << zlib.crc32(word.encode()) % OUTLINE_BITS


def outline_of(words: Iterable[str]) -> int:
    """Return the outline of a set of words: their number (at most 255) above 56 bits.

    Each word sets one of the bits, so a shared word is a shared bit.
    """
    bits = size = 0
    for word in words:
        bits |= bit_of(word)
        size += 1
    return min(size, _SIZE_MAX) << OUTLINE_BITS | bits


def content_mark(content: Content) -> str:
    """Return the word under which a note is filed for its whole content."""
    return f"={hashlib.sha256(canonical_json(content)).hexdigest()[:32]}"


class Window(msgspec.Struct, frozen=True):
    """The newest postings of one word, at most 200.

    Attributes:
        seqs: oldest first.
        outlines: the outline of each of these notes, 8 bytes little-endian.
        whole: whether these are all postings of the word.
    """

    seqs: array[int]
    outlines: bytes
    whole: bool

    def outline_at(self, index: int) -> int:
        """Return the outline of one note."""
        return int.from_bytes(self.outlines[_OUTLINE_BYTES * index :][:_OUTLINE_BYTES], "little")


class Waiting(msgspec.Struct, array_like=True):
    """Notes that wait to be filed under their words, oldest first.

    Attributes:
        seqs: the `updated_seq` of each note, 4 bytes little-endian.
        outlines: the outline of each note, 8 bytes little-endian.
        lines: for each note a line of its words, each after a space, and a space at the end.
    """

    seqs: bytes = b""
    outlines: bytes = b""
    lines: bytes = b""

    @property
    def postings(self) -> int:
        """Number of words of all these notes."""
        return self.lines.count(b" ") - self.lines.count(b"\n")

    def add(self, words: Iterable[str], *, seq: int, outline: int) -> None:
        """Let one more note wait."""
        self.seqs += seq.to_bytes(_SEQ_BYTES, "little")
        self.outlines += outline.to_bytes(_OUTLINE_BYTES, "little")
        self.lines += b"".join([b" %b" % word.encode() for word in sorted(words)]) + b" \n"

    def remove(self, seq: int) -> bool:
        """Let a note wait no longer; False when it does not wait."""
        seqs = numbers("I", self.seqs)
        if seq not in seqs:
            return False
        at = seqs.index(seq)
        self.seqs = _without(self.seqs, at, _SEQ_BYTES)
        self.outlines = _without(self.outlines, at, _OUTLINE_BYTES)
        lines = self.lines.splitlines(keepends=True)
        self.lines = b"".join(lines[:at] + lines[at + 1 :])
        return True

    def count(self, word: str) -> int:
        """Return how many of these notes carry a word."""
        return self.lines.count(b" %b " % word.encode())

    def postings_of(self, words: Iterable[str]) -> dict[str, tuple[bytes, bytes]]:
        """Return for each word that is carried seqs and outlines of its notes, oldest first."""
        found = {}
        ends = [*accumulate(map(len, self.lines.splitlines(keepends=True)))]
        for word in words:
            places = [bisect_right(ends, start) for start in self._starts(word)]
            if places:
                seqs = [self.seqs[_SEQ_BYTES * at :][:_SEQ_BYTES] for at in places]
                outlines = [self.outlines[_OUTLINE_BYTES * at :][:_OUTLINE_BYTES] for at in places]
                found[word] = (b"".join(seqs), b"".join(outlines))
        return found

    def _starts(self, word: str) -> Iterator[int]:
        needle = b" %b " % word.encode()
        start = self.lines.find(needle)
        while start >= 0:
            yield start
            start = self.lines.find(needle, start + 1)

    @property
    def newest(self) -> int:
        """The seq of the newest of these notes, 0 when there is none."""
        return int.from_bytes(self.seqs[-_SEQ_BYTES:], "little")

    def __iter__(self) -> Iterator[tuple[list[str], bytes, bytes]]:
        """Yield words, seq and outline of each note, the latter two as they are stored."""
        for at, line in enumerate(self.lines.splitlines()):
            seq = self.seqs[_SEQ_BYTES * at :][:_SEQ_BYTES]
            yield line.decode().split(), seq, self.outlines[_OUTLINE_BYTES * at :][:_OUTLINE_BYTES]


_encode_waiting = msgspec.msgpack.Encoder().encode
_decode_waiting = msgspec.msgpack.Decoder(Waiting).decode


def waiting_of(stored: bytes) -> Waiting:
    """Return the notes that wait from how they are stored.

    Raises:
        DriftError: the value was changed by another hand.
    """
    if not stored:
        return Waiting()
    try:
        waiting = _decode_waiting(stored)
        waiting.lines.decode()
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DriftError("notes", f"the words that wait are damaged ({error})") from None
    count = waiting.lines.count(b"\n")
    if (len(waiting.seqs), len(waiting.outlines)) != (count * _SEQ_BYTES, count * _OUTLINE_BYTES):
        raise DriftError("notes", "the words that wait are damaged: their lengths differ")
    return waiting


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
        newest = max([self._tails[word].newest for word in words], default=0)
        newest = max(newest, self._waiting.newest)

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
        while sealed and len(seqs) < NEWEST_POSTINGS * _SEQ_BYTES:
            for part in self._parts(word, sealed):
                seqs, outlines, sealed = part.seqs + seqs, part.outlines + outlines, part.sealed
        whole = not sealed and len(seqs) <= NEWEST_POSTINGS * _SEQ_BYTES
        return Window(
            seqs=numbers("I", seqs[-NEWEST_POSTINGS * _SEQ_BYTES :]),
            outlines=outlines[-NEWEST_POSTINGS * _OUTLINE_BYTES :],
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
        return _encode_waiting(self._waiting) if self._waiting.seqs else b""

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
