"""The facts that the log can hold. What they look like on disk is `memlog.codec`'s business."""

from __future__ import annotations

from datetime import datetime

import msgspec

from memlog.note import NO_SOURCE, Link, Provenance, Rel, Scope, Source


class Fact(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base of every payload: frozen, keyword-only, closed."""


class NoteWritten(Fact, frozen=True, kw_only=True, gc=False):
    """A note was written: created, or its whole content replaced."""

    slug: str
    title: str
    body: str
    topics: tuple[str, ...] = ()
    confidence: float = 1.0
    provenance: Provenance = "agent"
    source: Source = NO_SOURCE
    extra: dict[str, str] = msgspec.field(default_factory=dict)


class NotePinned(Fact, frozen=True, kw_only=True, gc=False):
    """A note's body entered the section; `untrusted_allowed` says that code overrode the rule."""

    slug: str
    untrusted_allowed: bool = False


class NoteUnpinned(Fact, frozen=True, kw_only=True, gc=False):
    """A note's body left the section."""

    slug: str


class NotesLinked(Fact, frozen=True, kw_only=True, gc=False):
    """An edge was added. A `supersedes` edge makes the older note, `to_slug`, history."""

    from_slug: str
    to_slug: str
    rel: Rel
    label: str | None = None

    @property
    def link(self) -> Link:
        """The edge as a value."""
        return Link(self.from_slug, self.to_slug, self.rel, self.label)


class NotesUnlinked(Fact, frozen=True, kw_only=True, gc=False):
    """An edge was taken away again."""

    from_slug: str
    to_slug: str
    rel: Rel
    label: str | None = None

    @property
    def link(self) -> Link:
        """The edge as a value."""
        return Link(self.from_slug, self.to_slug, self.rel, self.label)


class CompactionHarvested(Fact, frozen=True, kw_only=True, gc=False):
    """A compaction was harvested for facts.

    Attributes:
        key: which compaction; each key is harvested once.
        entries_sha256: SHA-256 of the masked entries, hex.
        model: the model that was asked.
        slugs: the notes that it wrote.
        kept: number of facts kept.
        dropped: number of facts dropped, by reason.
    """

    key: str
    entries_sha256: str
    model: str
    slugs: tuple[str, ...] = ()
    kept: int = 0
    dropped: dict[str, int] = msgspec.field(default_factory=dict)


Payload = (
    NoteWritten | NotePinned | NoteUnpinned | NotesLinked | NotesUnlinked | CompactionHarvested
)


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A fact with its place and circumstances, as the log gives it back.

    Attributes:
        position: place in the log: 1, 2, 3 ... without gaps.
        seq: place in the scope: 1, 2, 3 ... without gaps.
        stream: name of the scope's stream.
        type: the type on disk, such as `note_written/1`.
        recorded_at: `2026-11-30T19:15:00.000000Z`; never runs backwards in a log.
        event_id: a random UUID.
        actor: who asked, or None.
        conversation_id: in which conversation, or None.
        request_id: by which request, or None.
        request: on a request's first event: the salted hash of the request.
        payload: the fact.
    """

    position: int
    seq: int
    stream: str
    type: str
    recorded_at_text: str
    event_id: str
    actor: str | None = None
    conversation_id: str | None = None
    request_id: str | None = None
    request: str | None = None
    payload: Payload

    @property
    def scope(self) -> Scope:
        """Whose notes it is about."""
        return Scope.of_stream(self.stream)

    @property
    def recorded_at(self) -> datetime:
        """When it was recorded, aware UTC."""
        return datetime.fromisoformat(self.recorded_at_text)
