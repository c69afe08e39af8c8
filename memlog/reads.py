"""Read the notes of one scope. Every call answers from one moment of the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from memlog import codec, text
from memlog.errors import InvalidRequestError, NoteNotFoundError
from memlog.events import Event
from memlog.note import Change, Note, Reading, Scope, Similar
from memlog.settings import Settings
from projections.notes import history
from projections.notes.reader import Reader, counters, live_set

if TYPE_CHECKING:
    from memlog.store.sqlite import SQLiteStore

_ALL = 2**62


class Reads:
    """The reading half of `memlog.Memory`.

    Attributes:
        scope: whose notes these are.
    """

    def __init__(self, store: SQLiteStore, scope: Scope, *, settings: Settings) -> None:
        self.scope = scope
        self._store, self._settings = store, settings
        self._stream = scope.stream

    def get(self, slug: str) -> Note | None:
        """Return the note with this slug, or None."""
        if not text.is_slug(slug):
            return None
        with self._store.reading() as cursor:
            return Reader(cursor, live_set(cursor), self._stream).note(slug)

    def read(self, slug: str) -> Reading:
        """Return a note with its links, its backlinks and its superseder.

        Raises:
            NoteNotFoundError: there is none; the error offers similar slugs.
        """
        with self._store.reading() as cursor:
            reader = Reader(cursor, live_set(cursor), self._stream)
            note = reader.note(slug) if text.is_slug(slug) else None
            if note is None:
                raise NoteNotFoundError(slug, reader.near(slug))
            return reader.reading(note)

    def notes(
        self, *, limit: int = 1_000, before: int | None = None, live_only: bool = False
    ) -> list[Note]:
        """Return a page of the scope's notes, the most recently written first.

        Args:
            limit: how many at most.
            before: `written_seq` of the last note of the page before; None for the first page.
            live_only: leave out superseded notes.

        Raises:
            InvalidRequestError: limit is below 1.
        """
        if limit < 1:
            raise InvalidRequestError("limit", limit, "give a whole number of at least 1")
        with self._store.reading() as cursor:
            reader = Reader(cursor, live_set(cursor), self._stream)
            start = _ALL if before is None else before
            return list(reader.notes(before=start, limit=limit, live_only=live_only))

    def similar(self, title: str, *, topics: Sequence[str] = ()) -> tuple[Similar, ...]:
        """Return live notes whose title and topic words overlap with these, best first, at most 5.

        The score is the Jaccard similarity of the words, from `duplicate_threshold` on.
        """
        words = text.words(title, text.normalize_topics(topics))
        with self._store.reading() as cursor:
            reader = Reader(cursor, live_set(cursor), self._stream)
            return reader.similar(words, threshold=self._settings.duplicate_threshold)

    def fingerprint(self) -> str:
        """Return `{live notes}:{highest updated_seq}`: equal as long as no note was touched."""
        with self._store.reading() as cursor:
            return counters(cursor, live_set(cursor), self._stream).fingerprint

    def history(self, slug: str) -> list[Change]:
        """Return what happened to a note, oldest first: who, when, in which conversation, what.

        Costs a scan of the scope's events from the note's first one on.

        Raises:
            NoteNotFoundError: there is no such note.
        """
        note = self.read(slug).note
        rows = self._store.stream_rows(
            self._stream, after=note.created_seq - 1, containing=f'"{slug}"'.encode()
        )
        events = (codec.decode(row.state, position=row.position) for row in rows)
        return list(history.changes(events, slug))

    def events(self, *, after: int = 0) -> Iterator[Event]:
        """Yield the scope's events with a seq above `after`, in order."""
        for row in self._store.stream_rows(self._stream, after=after):
            yield codec.decode(row.state, position=row.position)
