"""Read one scope from the tables: what the rules ask, and what callers read.

Everything here happens on one cursor inside one transaction of the caller, so all answers are of
one moment. Each query is one function with one statement.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

import msgspec

from memlog import text
from memlog.decide import content_of
from memlog.note import Link, Note, Reading, Scope, ScopeInfo, Similar
from memlog.requests import Content
from projections.notes import rows
from projections.notes.fold import Remembered
from projections.notes.similar import candidate_words, similar_notes
from projections.notes.tables import Names
from projections.notes.words import Executor, Words, content_mark

_NEAR_MAX = 3
_NEAR_CANDIDATES_MAX = 500


class Counters(msgspec.Struct):
    """One scope's row.

    Attributes:
        scope_id: position of the scope's first event, 0 while it has none.
        live: number of live notes.
        notes: number of all notes.
        last_seq: seq of the last event.
        touched_seq: seq of the last event that touched a note.
        waiting: the notes that wait to be filed under their words (`projections.notes.words`).
    """

    scope_id: int = 0
    live: int = 0
    notes: int = 0
    last_seq: int = 0
    touched_seq: int = 0
    waiting: bytes = b""

    @property
    def fingerprint(self) -> str:
        """`{live notes}:{highest updated_seq of all notes}`."""
        return f"{self.live}:{self.touched_seq}"


def live_set(cursor: Executor) -> Names:
    """Return the names of the live tables."""
    return Names(cursor.execute("SELECT live FROM notes_pointer").fetchone()[0])


def counters(cursor: Executor, names: Names, stream: str) -> Counters:
    """Return the counters of a scope; all zero when it has no events."""
    row = cursor.execute(
        f"SELECT id, live, notes, last_seq, touched_seq, waiting FROM {names.scopes} "
        "WHERE stream = ?",
        (stream,),
    ).fetchone()
    return Counters() if row is None else Counters(*row)


def scopes(cursor: Executor, names: Names) -> tuple[ScopeInfo, ...]:
    """Return every scope that has events, by stream name."""
    found = cursor.execute(
        f"SELECT stream, live, notes, last_seq FROM {names.scopes} ORDER BY stream"
    )
    return tuple(
        ScopeInfo(scope=Scope.of_stream(stream), live=live, notes=notes, last_seq=last_seq)
        for stream, live, notes, last_seq in found
    )


class Reader:
    """One scope as the tables have it now. Implements `memlog.decide.State`."""

    def __init__(self, cursor: Executor, names: Names, stream: str) -> None:
        self.cursor, self.names = cursor, names
        self.counters = counters(cursor, names, stream)
        self.scope_id = self.counters.scope_id
        self.words = Words(cursor, names.words, self.scope_id, self.counters.waiting)
        self._marked: tuple[Content, str] | None = None

    # --- What the rules ask

    def note(self, slug: str) -> Note | None:
        """Return the note, or None."""
        row = self.cursor.execute(
            f"SELECT {rows.NOTE_COLUMNS} FROM {self.names.notes} "
            "WHERE scope = ? AND stem = ? AND number = ?",
            (self.scope_id, *text.split_number(slug)),
        ).fetchone()
        return None if row is None else rows.note_of(row)

    def superseder(self, slug: str) -> str | None:
        """Return the slug that supersedes this one, or None."""
        row = self.cursor.execute(
            f"SELECT superseded_by FROM {self.names.notes} "
            "WHERE scope = ? AND stem = ? AND number = ?",
            (self.scope_id, *text.split_number(slug)),
        ).fetchone()
        return None if row is None else row[0]

    def has_link(self, link: Link) -> bool:
        """Tell whether this very edge exists."""
        return self.link_id(link) is not None

    def link_id(self, link: Link) -> int | None:
        """Return the position of the event that made this edge, or None."""
        row = self.cursor.execute(
            f"SELECT id FROM {self.names.links} WHERE scope = ? AND from_slug = ? "
            "AND to_slug = ? AND rel = ? AND label IS ?",
            (self.scope_id, link.from_slug, link.to_slug, link.rel, link.label),
        ).fetchone()
        return None if row is None else row[0]

    def highest_number(self, stem: str) -> int:
        """Return the highest number in use for a stem, 0 when none is."""
        row = self.cursor.execute(
            f"SELECT max(number) FROM {self.names.notes} WHERE scope = ? AND stem = ?",
            (self.scope_id, stem),
        ).fetchone()
        return row[0] or 0

    def read_words(self, words: frozenset[str], content: Content) -> None:
        """Read in one statement what a write will ask of the words, so that it asks once."""
        self.words.read([*words, self._mark(content)])

    def _mark(self, content: Content) -> str:
        """Return `content_mark`; a write asks for that of one content, twice."""
        if self._marked is None or self._marked[0] is not content:
            self._marked = (content, content_mark(content))
        return self._marked[1]

    def twin(self, stems: Sequence[str], content: Content) -> Note | None:
        """Return the live note of one of the stems with this content, the oldest, or None."""
        numbered = map(self.note_by_seq, self.words.all_seqs(self._mark(content)))
        first = (self.note(stem) for stem in stems)
        equal = [
            note
            for note in (*numbered, *first)
            if note is not None
            and note.live
            and text.split_number(note.slug)[0] in stems
            and content_of(note) == content
        ]
        return min(equal, key=lambda note: note.created_seq, default=None)

    def near(self, slug: str) -> Sequence[str]:
        """Return the slugs most similar to one that does not exist, best first."""
        alike = self.cursor.execute(
            f"SELECT slug FROM {self.names.notes} WHERE scope = ? AND stem >= ? "
            "ORDER BY stem, number LIMIT ?",
            (self.scope_id, slug[:2], _NEAR_CANDIDATES_MAX),
        ).fetchall()
        newest = self.cursor.execute(
            f"SELECT slug FROM {self.names.notes} WHERE scope = ? "
            "ORDER BY written_seq DESC LIMIT ?",
            (self.scope_id, _NEAR_CANDIDATES_MAX),
        ).fetchall()
        candidates = dict.fromkeys(row[0] for row in (*alike, *newest))
        return difflib.get_close_matches(slug, candidates, n=_NEAR_MAX)

    # --- What callers read

    def note_by_seq(self, seq: int) -> Note | None:
        """Return the note that was touched last at this seq, or None."""
        row = self.cursor.execute(
            f"SELECT {rows.NOTE_COLUMNS} FROM {self.names.notes} "
            "WHERE scope = ? AND updated_seq = ?",
            (self.scope_id, seq),
        ).fetchone()
        return None if row is None else rows.note_of(row)

    def reading(self, note: Note) -> Reading:
        """Return a note with its edges."""
        return Reading(
            note=note,
            links=self._links("from_slug", note.slug),
            backlinks=self._links("to_slug", note.slug),
        )

    def _links(self, column: str, slug: str) -> tuple[Link, ...]:
        found = self.cursor.execute(
            f"SELECT {rows.LINK_COLUMNS} FROM {self.names.links} "
            f"WHERE scope = ? AND {column} = ? ORDER BY id",
            (self.scope_id, slug),
        )
        return tuple(rows.link_of(row) for row in found)

    def notes(self, *, before: int, limit: int, live_only: bool) -> Iterator[Note]:
        """Yield notes by falling `written_seq`, from below `before`."""
        only_live = "AND superseded_by IS NULL" if live_only else ""
        found = self.cursor.execute(
            f"SELECT {rows.NOTE_COLUMNS} FROM {self.names.notes} "
            f"WHERE scope = ? AND written_seq < ? {only_live} ORDER BY written_seq DESC LIMIT ?",
            (self.scope_id, before, limit),
        )
        return (rows.note_of(row) for row in found)

    def remembered(self, request_id: str) -> Remembered | None:
        """Return what a request id did, or None when it is new."""
        row = self.cursor.execute(
            f"SELECT slug, created, first_position, seq, position FROM {self.names.requests} "
            "WHERE scope = ? AND request_id = ?",
            (self.scope_id, request_id),
        ).fetchone()
        if row is None:
            return None
        return Remembered(
            slug=row[0],
            created=bool(row[1]),
            first_position=row[2],
            seq=row[3],
            position=row[4],
        )

    def similar(
        self, words: frozenset[str], *, threshold: float, without_seq: int | None = None
    ) -> tuple[Similar, ...]:
        """Return live notes with overlapping words, best first, at most 5."""
        if not words:
            return ()
        return similar_notes(
            words,
            self.words.rarest(words, candidate_words(len(words), threshold)),
            threshold=threshold,
            names_of=self._names_of,
            without_seq=without_seq,
        )

    def _names_of(self, seqs: Sequence[int]) -> dict[int, tuple[str, str, tuple[str, ...]]]:
        found = self.cursor.execute(
            f"SELECT updated_seq, slug, title, topics FROM {self.names.notes} "
            f"WHERE scope = ? AND updated_seq IN ({','.join('?' * len(seqs))})",
            (self.scope_id, *seqs),
        )
        return {row[0]: (row[1], row[2], rows.topics_of(row[3])) for row in found}
