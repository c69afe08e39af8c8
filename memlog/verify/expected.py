"""What the events add up to, in bounded memory: the fold without the texts.

It answers what the rules ask (`memlog.decide.Facts`), and at the end the tables of the notes
projection are held against it row by row. Of a note's content it keeps a keyed hash of the
payload's bytes, which can be made again from a row of the table.
"""

from __future__ import annotations

import hashlib
import os
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

_SECRET_BYTES = 16


class ScopeCell(msgspec.Struct, array_like=True, gc=False):
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


class NoteCell(msgspec.Struct, array_like=True, gc=False):
    """One note: all but its texts.

    Attributes:
        id: position of the event that made it.
        position: position of the event that touched it last.
        content: that of `contents` of its last `note_written`.
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


class LinkCell(msgspec.Struct, array_like=True, gc=False):
    """One edge; `id` is the position of the event that made it."""

    id: int


class RequestCell(msgspec.Struct, array_like=True, gc=False):
    """What one request id did, as `projections.notes.fold.Remembered` has it."""

    slug: str
    created: bool
    first_position: int
    seq: int
    position: int


def contents(payloads: Iterable[bytes], secret: bytes) -> list[bytes]:
    """Return a keyed hash of the bytes of each payload."""
    sha256 = hashlib.sha256
    return [sha256(secret + payload).digest() for payload in payloads]


class Expected:
    """What the events so far add up to, for every scope of the log.

    Attributes:
        secret: the key of `contents`.
    """

    def __init__(self) -> None:
        self.secret = os.urandom(_SECRET_BYTES)
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
        """Keep the counters of a scope."""
        self.scopes.put((stream,), scope)

    def touch_scope(self, stream: str) -> None:
        """Say that the counters of a scope were changed in place."""
        self.scopes.touch((stream,))

    def close(self) -> None:
        """Drop everything."""
        for cells in (self.scopes, self.notes, self.links, self.requests):
            cells.close()

    def contents(self, payloads: Iterable[bytes]) -> list[bytes]:
        """Return a keyed hash of the bytes of each payload."""
        return contents(payloads, self.secret)

    def add(
        self, scope: ScopeCell, record: Record, *, position: int, content: bytes
    ) -> tuple[str, ...]:
        """Add one event; return each rule that it breaks in the state before it.

        What an illegal one says about notes that do not exist is left out.

        Args:
            scope: its scope's counters; changed in place, the caller's to keep.
            record: the event.
            position: its place in the log.
            content: of its payload.
        """
        envelope, event = record.envelope, record.payload
        if type(event) is not NoteWritten:
            broken = decide.violations(_Scope(self, envelope.stream), event)
            if envelope.request_id is not None:
                self._remember(envelope, envelope.request_id, subject(event), position)
            self._change(scope, envelope, event, position)
            return broken
        key = (envelope.stream, event.slug)
        note = self.notes.get(key)
        if envelope.request_id is not None:
            created = note is None
            self._remember(envelope, envelope.request_id, event.slug, position, created=created)
        is_new = note is None  # As most are, which no rule is about.
        found = () if is_new else decide.violations(_Scope(self, envelope.stream), event)
        self._write(scope, envelope, event, note, position=position, content=content)
        return found

    def _change(
        self, scope: ScopeCell, envelope: Envelope, payload: Payload, position: int
    ) -> None:
        stream = envelope.stream
        match payload:
            case NotePinned() | NoteUnpinned():
                note = self.notes.get((stream, payload.slug))
                if note is not None:
                    note.pinned = isinstance(payload, NotePinned)
                    self._touch(scope, (stream, payload.slug), note, envelope, position)
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
        note: NoteCell | None,
        *,
        position: int,
        content: bytes,
    ) -> None:
        key = (envelope.stream, payload.slug)
        untrusted = why_untrusted(payload.provenance, payload.source)
        seq, time = envelope.seq, envelope.recorded_at
        if note is None:
            scope.live += 1
            scope.notes += 1
            scope.touched_seq = seq
            note = NoteCell(  # By place, which is three times as quick.
                position, position, seq, seq, seq, time, time, content, untrusted, bool(untrusted)
            )
            self.notes.put(key, note)
            return
        note.written_seq, note.written_at = seq, time
        note.content, note.untrusted = content, untrusted
        note.ever_untrusted = note.ever_untrusted or untrusted is not None
        self._touch(scope, key, note, envelope, position)

    def _touch(
        self, scope: ScopeCell, key: Key, note: NoteCell, envelope: Envelope, position: int
    ) -> None:
        note.updated_seq, note.position = envelope.seq, position
        scope.touched_seq = envelope.seq
        self.notes.touch(key)

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
        self._touch(scope, key, note, envelope, position)

    def _remember(
        self,
        envelope: Envelope,
        request_id: str,
        slug: str,
        position: int,
        *,
        created: bool = False,
    ) -> None:
        key = (envelope.stream, request_id)
        known = self.requests.get(key)
        if known is None:
            cell = RequestCell(slug, created, position, envelope.seq, position)
            self.requests.put(key, cell)
        else:
            known.seq, known.position = envelope.seq, position
            self.requests.touch(key)


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
