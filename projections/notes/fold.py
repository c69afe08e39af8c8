"""Fold events into the notes and links of a scope, in memory. Pure, and the measure of the tables.

`Fold` is what the events of one scope add up to. It answers all that the rules ask
(`memlog.decide.State`), so that a history can be decided, checked and replayed without a database,
and the tables of `projections.notes.tables` must hold exactly what it holds.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Self

import msgspec

from memlog import text
from memlog.codec import replayed
from memlog.decide import content_of
from memlog.events import (
    CompactionHarvested,
    Event,
    NotePinned,
    NotesLinked,
    NotesUnlinked,
    NoteUnpinned,
    NoteWritten,
    Payload,
)
from memlog.note import Link, Note, why_untrusted
from memlog.requests import Content

_NEAR_MAX = 3
_replace = msgspec.structs.replace


class Remembered(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is kept of a request that appended events, to answer its repetition.

    Attributes:
        slug: the note that it was about (the newer one of a link).
        created: whether it made that note.
        first_position: where its first event stands, whose envelope carries the request's hash.
        seq: seq of its last event.
        position: place in the log of its last event.
    """

    slug: str
    created: bool
    first_position: int
    seq: int
    position: int


class Fold:
    """The notes, links and counters of one scope after some prefix of its events.

    Attributes:
        notes: by slug, in the order of their creation.
        links: each edge with the position of the event that added it, in that order.
        requests: what each request id did.
        live: number of live notes.
        last_seq: seq of the last event.
        touched_seq: seq of the last event that touched a note.
    """

    def __init__(self) -> None:
        self.notes: dict[str, Note] = {}
        self.links: dict[Link, int] = {}
        self.requests: dict[str, Remembered] = {}
        self.live = 0
        self.last_seq = 0
        self.touched_seq = 0

    @classmethod
    def of(cls, events: Iterable[Event]) -> Self:
        """Return the fold of the events of one scope, in order."""
        fold = cls()
        for event in events:
            fold.add(event)
        return fold

    @property
    def fingerprint(self) -> str:
        """`{live notes}:{highest updated_seq of all notes}`."""
        return f"{self.live}:{self.touched_seq}"

    # --- What the rules ask

    def note(self, slug: str) -> Note | None:
        """Return the note, or None."""
        return self.notes.get(slug)

    def superseder(self, slug: str) -> str | None:
        """Return the slug that supersedes this one, or None."""
        note = self.notes.get(slug)
        return None if note is None else note.superseded_by

    def has_link(self, link: Link) -> bool:
        """Tell whether this very edge exists."""
        return link in self.links

    def highest_number(self, stem: str) -> int:
        """Return the highest number in use for a stem, 0 when none is."""
        numbered = (text.split_number(slug) for slug in self.notes)
        return max((number for each, number in numbered if each == stem), default=0)

    def twin(self, stems: Sequence[str], content: Content) -> Note | None:
        """Return the live note of one of the stems with this content, the oldest, or None."""
        for note in self.notes.values():
            equal = note.live and note.title == content.title and content_of(note) == content
            if equal and text.split_number(note.slug)[0] in stems:
                return note
        return None

    def near(self, slug: str) -> Sequence[str]:
        """Return the slugs most similar to one that does not exist, best first."""
        return difflib.get_close_matches(slug, self.notes, n=_NEAR_MAX)

    # --- What events do

    def add(self, event: Event) -> None:
        """Add one event of the scope; it must be a legal one."""
        self.apply(
            event.payload,
            position=event.position,
            seq=event.seq,
            recorded_at=event.recorded_at_text,
            request_id=event.request_id,
        )

    def apply(
        self,
        payload: Payload,
        *,
        position: int,
        seq: int,
        recorded_at: str,
        request_id: str | None = None,
    ) -> None:
        """Add one event of the scope by its parts; it must be a legal one."""
        if request_id is not None:
            self._remember(request_id, payload, seq=seq, position=position)
        self.last_seq = seq
        match payload:
            case NoteWritten():
                self._write(payload, seq, datetime.fromisoformat(recorded_at))
            case NotePinned():
                self._touch(payload.slug, seq, pinned=True)
            case NoteUnpinned():
                self._touch(payload.slug, seq, pinned=False)
            case NotesLinked():
                self.links.setdefault(payload.link, position)
                if payload.rel == "supersedes":
                    self._supersede(payload.to_slug, payload.from_slug, seq)
            case NotesUnlinked():
                self.links.pop(payload.link, None)
                if payload.rel == "supersedes":
                    self._supersede(payload.to_slug, None, seq)
            case _:  # A harvest touches no note.
                pass

    def _write(self, payload: NoteWritten, seq: int, moment: datetime) -> None:
        slug = payload.slug
        old = self.notes.get(slug)
        if old is None:
            self.live += 1
        self.touched_seq = seq
        self.notes[slug] = written(old, payload, seq=seq, moment=moment)

    def _touch(self, slug: str, seq: int, *, pinned: bool) -> None:
        self.notes[slug] = _replace(self.notes[slug], pinned=pinned, updated_seq=seq)
        self.touched_seq = seq

    def _supersede(self, older: str, superseder: str | None, seq: int) -> None:
        note = self.notes[older]
        self.live += int(superseder is None) - int(note.live)
        self.notes[older] = _replace(note, superseded_by=superseder, updated_seq=seq)
        self.touched_seq = seq

    def _remember(self, request_id: str, payload: Payload, *, seq: int, position: int) -> None:
        known = self.requests.get(request_id)
        if known is not None:
            self.requests[request_id] = _replace(known, seq=seq, position=position)
            return
        slug = subject(payload)
        self.requests[request_id] = Remembered(
            slug=slug,
            created=isinstance(payload, NoteWritten) and slug not in self.notes,
            first_position=position,
            seq=seq,
            position=position,
        )


def written(old: Note | None, payload: NoteWritten, *, seq: int, moment: datetime) -> Note:
    """Return a note after it was written: a new one, or an old one with all its content replaced.

    Never more than 15 arguments by name: of more than that CPython makes a dict first, and the call
    takes four times as long.
    """
    untrusted = why_untrusted(payload.provenance, payload.source) is not None
    if old is None:
        return Note(
            slug=payload.slug,
            title=payload.title,
            body=payload.body,
            topics=payload.topics,
            confidence=payload.confidence,
            provenance=payload.provenance,
            source=payload.source,
            extra=payload.extra,
            created_seq=seq,
            written_seq=seq,
            updated_seq=seq,
            created_at=moment,
            written_at=moment,
            ever_untrusted=untrusted,
        )
    return _replace(
        old,
        title=payload.title,
        body=payload.body,
        topics=payload.topics,
        confidence=payload.confidence,
        provenance=payload.provenance,
        source=payload.source,
        extra=payload.extra,
        written_seq=seq,
        updated_seq=seq,
        written_at=moment,
        ever_untrusted=untrusted or old.ever_untrusted,
    )


def subject(payload: Payload) -> str:
    """Return the slug that an event is about: the newer one of a link, "" for a harvest."""
    match payload:
        case NoteWritten() | NotePinned() | NoteUnpinned():
            return payload.slug
        case NotesLinked() | NotesUnlinked():
            return payload.from_slug
        case CompactionHarvested():
            return ""


def replay(
    rows: Iterable[tuple[int, str, int, str, bytes]],
) -> dict[str, Fold]:
    """Return the fold of every scope of a log, by stream name.

    Args:
        rows: `(position, stream, seq, type, state)` of each event by position, as the store has
            them.

    Raises:
        CorruptEventError, UnknownEventTypeError: an event cannot be read.
    """
    folds: dict[str, Fold] = {}
    for position, stream, _, type_, state in rows:
        record = replayed(type_, state, position=position)
        envelope = record.envelope
        fold = folds.get(stream)
        if fold is None:
            fold = folds[stream] = Fold()
        fold.apply(
            record.payload,
            position=position,
            seq=envelope.seq,
            recorded_at=envelope.recorded_at,
            request_id=envelope.request_id,
        )
    return folds
