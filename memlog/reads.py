"""Read the notes of one scope. Every call answers from one moment of the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from memlog import fields, sections, text
from memlog.errors import NoteNotFoundError
from memlog.events import Event
from memlog.note import Change, Note, Reading, Scope, Similar
from memlog.searching import Searcher
from memlog.sections import Section
from memlog.settings import Settings
from memlog.store.rows import decoded
from projections.digest.tables import handed_out
from projections.notes import history
from projections.notes.reader import Reader, counters, live_set
from projections.search.protocol import Hit

if TYPE_CHECKING:
    from memlog.store.protocol import Store


class Reads:
    """The reading half of `memlog.Memory`.

    Attributes:
        scope: whose notes these are.
    """

    def __init__(
        self, store: Store, scope: Scope, *, settings: Settings, searcher: Searcher
    ) -> None:
        self.scope = scope
        self._store, self._settings, self._searcher = store, settings, searcher
        self._stream = scope.stream

    def get(self, slug: str) -> Note | None:
        """Return the note with this slug, or None."""
        if not text.is_slug(fields.string("slug", slug)):
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
            named = text.is_slug(fields.string("slug", slug))
            note = reader.note(slug) if named else None
            if note is None:
                raise NoteNotFoundError(slug, reader.near(text.slugify(_encodable(slug))))
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
        fields.whole("limit", limit, low=1)
        start = fields.WHOLE_MAX if before is None else fields.whole("before", before)
        with self._store.reading() as cursor:
            reader = Reader(cursor, live_set(cursor), self._stream)
            return list(reader.notes(before=start, limit=limit, live_only=live_only))

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        topic: str | None = None,
        include_superseded: bool = False,
        now: datetime | None = None,
    ) -> list[Hit]:
        """Return the notes that fit a query best, best first; it sees every write before it.

        The score is relevance x (1 + recency + pin): recency is `recency_weight` for a note written
        now and halves every `half_life_days`, pin is `pinned_bonus` for a pinned one. Relevance is
        that of `projections.search.ranking`, over the statistics of this scope's live notes only.
        Ties go to the note touched last.

        Args:
            query: any text; there is no syntax. A blank one lists the most recently written notes.
            limit: how many hits at most.
            topic: only notes with exactly this topic.
            include_superseded: rank superseded notes among the others.
            now: the time that ages are counted from; the log's clock when None.

        Raises:
            InvalidRequestError: limit is below 1, or `now` has no time zone.
        """
        fields.whole("limit", limit, low=1)
        fields.string("query", query)
        if topic is not None:
            fields.string("topic", topic)
        if now is not None:
            fields.aware("now", now)
        return self._searcher.search(
            self._stream,
            query,
            limit=limit,
            topic=topic,
            include_superseded=include_superseded,
            now=now,
        )

    def section(self, *, conversation_id: str | None = None) -> Section:
        """Return the index of the scope for the system prompt: `(text, hash)`.

        The same notes and settings give the same bytes, so that a prompt cache holds until a note
        is touched. Costs three point reads while it is current, a rendering when it is not.

        Args:
            conversation_id: kept with the record of what was handed out.
        """
        return sections.section(
            self._store,
            self._stream,
            sections.render_settings(self._settings),
            conversation_id=fields.opaque_id("conversation_id", conversation_id),
        )

    def section_text(self, section_hash: str) -> str | None:
        """Return the text of a section of this scope that was handed out with this hash, or None.

        Every section that was rendered and could be recorded is found; recording is best effort.
        """
        fields.string("section_hash", section_hash)
        with self._store.reading() as cursor:
            return handed_out(cursor, self._stream, section_hash)

    def similar(self, title: str, *, topics: Sequence[str] = ()) -> tuple[Similar, ...]:
        """Return live notes whose title and topic words overlap with these, best first, at most 5.

        The score is the Jaccard similarity of the words, from `duplicate_threshold` on.
        """
        raw = fields.raw_topics(topics)
        words = text.words(fields.string("title", title), text.normalize_topics(raw))
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
        return list(history.changes(map(decoded, rows), slug))

    def events(self, *, after: int = 0) -> Iterator[Event]:
        """Yield the scope's events with a seq above `after`, in order.

        Raises:
            InvalidRequestError: `after` is no whole number of at least 0.
            DamageError: an event's bytes are not canonical, of an unknown type, or misfiled.
        """
        return map(
            decoded, self._store.stream_rows(self._stream, after=fields.whole("after", after))
        )


def _encodable(slug: str) -> str:
    return slug.encode(errors="replace").decode()
