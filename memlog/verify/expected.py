"""What the events add up to, in bounded memory: the fold without the texts.

It answers what the rules ask (`memlog.decide.Facts`), and at the end the tables of the notes
projection are held against it row by row. Of a note's content it keeps the salted hash of the
payload's bytes that was made to check the commitment; it can be made again from a row of the table.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

from memlog import decide
from memlog.codec import Envelope, Record
from memlog.events import (
    CompactionHarvested,
    NotePinned,
    NotesLinked,
    NotesUnlinked,
    NoteUnpinned,
    NoteWritten,
    Payload,
)
from memlog.note import Link, why_untrusted
from memlog.verify.cells import Cells, Key
from projections.notes.fold import subject

_SALT_BYTES = 32


class ScopeCell(msgspec.Struct, gc=False):
    """One scope's counters, as `projections.notes.reader.Counters` has them."""

    id: int
    live: int = 0
    notes: int = 0
    last_seq: int = 0
    touched_seq: int = 0

    @property
    def fingerprint(self) -> str:
        """`{live notes}:{highest updated_seq of all notes}`."""
        return f"{self.live}:{self.touched_seq}"


class NoteCell(msgspec.Struct, kw_only=True, gc=False):
    """One note: all but its texts.

    Attributes:
        id: position of the event that made it.
        position: position of the event that touched it last.
        content: salt of its last `note_written`, and SHA-256(salt || payload bytes).
        untrusted: why its text must not enter the system prompt unasked, or None.
    """

    id: int
    position: int
    created_seq: int
    written_seq: int
    updated_seq: int
    created_at: str
    written_at: str
    content: bytes
    untrusted: str | None
    ever_untrusted: bool
    pinned: bool = False
    superseded_by: str | None = None

    @property
    def live(self) -> bool:
        """Whether no other note supersedes it."""
        return self.superseded_by is None


class LinkCell(msgspec.Struct, gc=False):
    """One edge; `id` is the position of the event that made it."""

    id: int


class RequestCell(msgspec.Struct, gc=False):
    """What one request id did, as `projections.notes.fold.Remembered` has it."""

    slug: str
    created: bool
    first_position: int
    seq: int
    position: int


def is_content(content: bytes, payload: bytes) -> bool:
    """Tell whether this `content` of a note is of these payload bytes."""
    salt, digest = content[:_SALT_BYTES], content[_SALT_BYTES:]
    return hashlib.sha256(salt + payload).digest() == digest


class Expected:
    """What the events so far add up to, for every scope of the log."""

    def __init__(self) -> None:
        self.scopes = Cells(ScopeCell)
        self.notes = Cells(NoteCell)
        self.links = Cells(LinkCell)
        self.requests = Cells(RequestCell)

    def prepare(self, records: Iterable[Record]) -> None:
        """Read what these events will ask for, at once, and keep memory within bounds."""
        for cells in (self.scopes, self.notes, self.links, self.requests):
            cells.make_room()
        if not any(cells.spilled for cells in (self.scopes, self.notes, self.links, self.requests)):
            return
        events = [(record.envelope, record.payload) for record in records]
        self.scopes.load((envelope.stream,) for envelope, _ in events)
        self.notes.load(
            (envelope.stream, slug) for envelope, payload in events for slug in _slugs(payload)
        )
        self.links.load(
            link_key(envelope.stream, payload.link)
            for envelope, payload in events
            if isinstance(payload, NotesLinked | NotesUnlinked)
        )
        self.requests.load((envelope.stream, envelope.request_id) for envelope, _ in events)

    def scope(self, stream: str) -> ScopeCell | None:
        """Return the counters of a scope; None before its first event."""
        return self.scopes.get((stream,))

    def put_scope(self, stream: str, scope: ScopeCell) -> None:
        """Keep the counters of a scope, new or changed in place."""
        self.scopes.put((stream,), scope)

    def close(self) -> None:
        """Drop everything."""
        for cells in (self.scopes, self.notes, self.links, self.requests):
            cells.close()

    def violations(self, stream: str, payload: Payload) -> tuple[str, ...]:
        """Return each rule that an event breaks in the state before it."""
        if isinstance(payload, NoteWritten) and self.notes.get((stream, payload.slug)) is None:
            return ()  # What most events are, and what no rule is about.
        return decide.violations(_Scope(self, stream), payload)

    def apply(self, scope: ScopeCell, record: Record, *, position: int, content: bytes) -> None:
        """Add one event. What an illegal one says about notes that do not exist is left out.

        Args:
            scope: its scope's counters; changed in place, the caller's to keep.
            record: the event.
            position: its place in the log.
            content: as in a `NoteCell`, for a `note_written`.
        """
        envelope, payload = record.envelope, record.payload
        stream = envelope.stream
        if envelope.request_id is not None:
            self._remember(envelope, payload, envelope.request_id, position)
        match payload:
            case NoteWritten():
                self._write(scope, envelope, payload, position, content)
            case NotePinned() | NoteUnpinned():
                note = self.notes.get((stream, payload.slug))
                if note is not None:
                    note.pinned = isinstance(payload, NotePinned)
                    self._touch(scope, (stream, payload.slug), note, envelope.seq, position)
            case NotesLinked():
                key = link_key(stream, payload.link)
                if self.links.get(key) is None:
                    self.links.put(key, LinkCell(position))
                if payload.rel == "supersedes":
                    self._supersede(scope, envelope, payload, payload.from_slug, position)
            case NotesUnlinked():
                self.links.remove(link_key(stream, payload.link))
                if payload.rel == "supersedes":
                    self._supersede(scope, envelope, payload, None, position)
            case _:  # A harvest touches no note.
                pass

    def _write(
        self,
        scope: ScopeCell,
        envelope: Envelope,
        payload: NoteWritten,
        position: int,
        content: bytes,
    ) -> None:
        key = (envelope.stream, payload.slug)
        untrusted = why_untrusted(payload.provenance, payload.source)
        note = self.notes.get(key)
        if note is None:
            scope.live += 1
            scope.notes += 1
            note = NoteCell(
                id=position,
                position=position,
                created_seq=envelope.seq,
                written_seq=envelope.seq,
                updated_seq=envelope.seq,
                created_at=envelope.recorded_at,
                written_at=envelope.recorded_at,
                content=content,
                untrusted=untrusted,
                ever_untrusted=False,
            )
        note.written_seq, note.written_at = envelope.seq, envelope.recorded_at
        note.content, note.untrusted = content, untrusted
        note.ever_untrusted = note.ever_untrusted or untrusted is not None
        self._touch(scope, key, note, envelope.seq, position)

    def _touch(self, scope: ScopeCell, key: Key, note: NoteCell, seq: int, position: int) -> None:
        note.updated_seq, note.position = seq, position
        scope.touched_seq = seq
        self.notes.put(key, note)

    def _supersede(
        self,
        scope: ScopeCell,
        envelope: Envelope,
        payload: NotesLinked | NotesUnlinked,
        superseder: str | None,
        position: int,
    ) -> None:
        key = (envelope.stream, payload.to_slug)
        note = self.notes.get(key)
        if note is None:
            return
        scope.live += int(superseder is None) - int(note.live)
        note.superseded_by = superseder
        self._touch(scope, key, note, envelope.seq, position)

    def _remember(
        self, envelope: Envelope, payload: Payload, request_id: str, position: int
    ) -> None:
        key = (envelope.stream, request_id)
        known = self.requests.get(key)
        if known is None:
            slug = subject(payload)
            made = type(payload) is NoteWritten and self.notes.get((envelope.stream, slug)) is None
            known = RequestCell(slug, made, position, 0, 0)
        known.seq, known.position = envelope.seq, position
        self.requests.put(key, known)


class _Scope:
    """One scope as the rules see it."""

    def __init__(self, expected: Expected, stream: str) -> None:
        self._expected, self._stream = expected, stream

    def note(self, slug: str) -> NoteCell | None:
        return self._expected.notes.get((self._stream, slug))

    def superseder(self, slug: str) -> str | None:
        note = self.note(slug)
        return None if note is None else note.superseded_by

    def has_link(self, link: Link) -> bool:
        return self._expected.links.get(link_key(self._stream, link)) is not None


def link_key(stream: str, link: Link) -> Key:
    """Return the key of an edge."""
    return (stream, link.from_slug, link.to_slug, link.rel, link.label)


def _slugs(payload: Payload) -> tuple[str, ...]:
    match payload:
        case NotesLinked() | NotesUnlinked():
            return (payload.from_slug, payload.to_slug)
        case CompactionHarvested():
            return payload.slugs
        case _:
            return (payload.slug,)
