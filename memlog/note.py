"""The values that memlog speaks in: scopes, notes, links and results. All are frozen.

`gc=False`: these hold only strings, numbers and containers of them, so they can be part of no
cycle, and a replay makes too many of them for the collector to look at.
"""

from __future__ import annotations

import unicodedata
from datetime import datetime
from typing import Literal

import msgspec

from memlog import text
from memlog.errors import InvalidRequestError

Provenance = Literal["agent", "web", "user", "compaction", "import"]
PROVENANCES: tuple[Provenance, ...] = ("agent", "web", "user", "compaction", "import")

Rel = Literal["related", "derived_from", "supersedes"]
RELS: tuple[Rel, ...] = ("related", "derived_from", "supersedes")

ID_BYTES_MAX = 256


class Scope(msgspec.Struct, frozen=True, order=True):
    """Whose notes: `Scope("owner", principal)`, or `Scope("global")`.

    A principal is 1 to 256 bytes of UTF-8 in NFC, without control characters or outer space. It is
    case-sensitive, refused when it does not fit, never repaired, and never becomes a path.

    Raises:
        InvalidRequestError: on construction, when kind or principal do not fit.
    """

    kind: Literal["owner", "global"]
    principal: str = ""

    def __post_init__(self) -> None:
        """Check what the types cannot say."""
        if self.kind == "global":
            if self.principal != "":
                raise InvalidRequestError("principal", self.principal, "global has no principal")
        elif self.kind == "owner":
            _check_principal(self.principal)
        else:
            raise InvalidRequestError("scope", self.kind, "use 'owner' or 'global'")

    @property
    def stream(self) -> str:
        """The name of the scope's event stream: `owner/alice`, or `global/`."""
        return f"{self.kind}/{self.principal}"

    @classmethod
    def of_stream(cls, stream: str) -> Scope:
        """Return the scope whose stream has this name."""
        kind, _, principal = stream.partition("/")
        return cls(kind, principal)  # type: ignore[arg-type]  # checked on construction


def _check_principal(principal: object) -> None:
    if not isinstance(principal, str):
        raise InvalidRequestError("principal", principal, "give a string")
    if text.has_lone_surrogate(principal):
        raise InvalidRequestError("principal", principal, "give valid Unicode")
    if not 1 <= text.byte_length(principal) <= ID_BYTES_MAX:
        raise InvalidRequestError("principal", principal, "give 1 to 256 bytes of UTF-8")
    if not unicodedata.is_normalized("NFC", principal):
        raise InvalidRequestError("principal", principal, "give it in Unicode normal form C")
    if text.has_control_character(principal):
        raise InvalidRequestError("principal", principal, "leave out control characters")
    if principal != principal.strip():
        raise InvalidRequestError("principal", principal, "leave out outer white space")


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """Where a note's content came from, as its writer said.

    Attributes:
        url: a note with one is of provenance `web` and is not pinned unasked; at most 2,048 bytes.
        artifact: a file, ticket or other thing; at most 1,000 bytes.
        note: free words about the origin; at most 1,000 bytes.
        created_at: when the original was made, `2026-11-30T19:15:00.000000Z`.
        updated_at: when it was last changed, in the same form.
    """

    url: str | None = None
    artifact: str | None = None
    note: str | None = None
    created_at: str | None = None
    updated_at: str | None = None


NO_SOURCE = Source()


class Note(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A note as it is at one moment of its scope. Title and body are exactly as written.

    Attributes:
        slug: its name inside the scope.
        title: 1 to 500 bytes of UTF-8.
        body: at most `max_body_bytes` of UTF-8.
        topics: normalised, in the writer's order; the first one files it in the index.
        confidence: 0 to 1, three decimals.
        provenance: who it came from; a model cannot set it.
        source: where the content came from.
        extra: what an importer could not place elsewhere; never shown to a model.
        pinned: its body is in the section.
        created_seq: seq of its first `note_written`.
        written_seq: seq of its last `note_written`.
        updated_seq: seq of the last event that touched it.
        created_at: time of its first `note_written`.
        written_at: time of its last `note_written`; its age goes by this.
        superseded_by: slug of the note that replaced it, or None while it is live.
        ever_untrusted: some version of it was `web` or `compaction`.
    """

    slug: str
    title: str
    body: str
    topics: tuple[str, ...] = ()
    confidence: float = 1.0
    provenance: Provenance = "agent"
    source: Source = NO_SOURCE
    extra: dict[str, str] = msgspec.field(default_factory=dict)
    pinned: bool = False
    created_seq: int
    written_seq: int
    updated_seq: int
    created_at: datetime
    written_at: datetime
    superseded_by: str | None = None
    ever_untrusted: bool = False

    @property
    def live(self) -> bool:
        """Whether no other note supersedes it."""
        return self.superseded_by is None

    @property
    def untrusted(self) -> str | None:
        """Why its text must not enter the system prompt unasked, or None."""
        return why_untrusted(self.provenance, self.source)


def why_untrusted(provenance: Provenance, source: Source) -> str | None:
    """Return what makes content of this origin untrusted, or None when nothing does."""
    if provenance == "compaction":
        return "its provenance is 'compaction'"
    if source.url is not None:
        return "it has a source URL"
    return None


class Link(msgspec.Struct, frozen=True, order=True, gc=False):
    """A directed edge between two notes of one scope; all four fields are its identity."""

    from_slug: str
    to_slug: str
    rel: Rel
    label: str | None = None


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """A note with everything that is linked to it.

    Attributes:
        note: the note.
        links: edges that leave it, in the order they were made.
        backlinks: edges that reach it, in the order they were made.
        superseded_by: slug of its superseder, or None.
    """

    note: Note
    links: tuple[Link, ...]
    backlinks: tuple[Link, ...]

    @property
    def superseded_by(self) -> str | None:
        """Slug of the note that replaced it, or None while it is live."""
        return self.note.superseded_by


class Similar(msgspec.Struct, frozen=True):
    """A live note whose title and topic words overlap; `score` is their Jaccard similarity."""

    slug: str
    title: str
    score: float


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What every request answers.

    Attributes:
        changed: whether the request appended events.
        replayed: the request id was known: nothing was done again.
        seq: seq of the request's last event; when it appended none, of the note's last touch.
        position: place in the log of that same event.
    """

    changed: bool
    replayed: bool = False
    seq: int
    position: int


class Written(Outcome, frozen=True, kw_only=True):
    """What a write answers.

    Attributes:
        note: the note as it is after the write.
        created: whether the write made a new note.
        similar: live notes with overlapping words, best first, at most 5.
        unpinned: the rewrite took away a pin that the note had.
        pin_shown: whether the pinned body has room in the section; None when it is not pinned.
    """

    note: Note
    created: bool
    similar: tuple[Similar, ...] = ()
    unpinned: bool = False
    pin_shown: bool | None = None


class Linked(Outcome, frozen=True, kw_only=True):
    """What `link` and `unlink` answer.

    Attributes:
        from_note: the note that the edge leaves, as it is after the request.
        to_note: the note that it reaches, as it is after the request.
        link: the edge.
        left_section: the older note was pinned, and being superseded took it out of the section.
    """

    from_note: Note
    to_note: Note
    link: Link
    left_section: bool = False

    @property
    def rel(self) -> Rel:
        """The edge's relation."""
        return self.link.rel


class Pinned(Outcome, frozen=True, kw_only=True):
    """What `pin` and `unpin` answer.

    Attributes:
        note: the note as it is after the request.
        pin_shown: whether the pinned body has room in the section; None when it is not pinned.
    """

    note: Note
    pin_shown: bool | None = None


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One event of one note's history, newest facts last.

    Attributes:
        position: place in the log.
        seq: place in the scope.
        type: the event's type on disk, such as `note_written/1`.
        recorded_at: aware UTC.
        actor: who asked, or None.
        conversation_id: in which conversation, or None.
        request_id: by which request, or None.
        provenance: who the note's content came from after the event.
        changed: names of what the event changed, such as `("body", "topics")`.
        note: the note as it was after the event.
        link: the edge, for link events.
    """

    position: int
    seq: int
    type: str
    recorded_at: datetime
    actor: str | None
    conversation_id: str | None
    request_id: str | None
    provenance: Provenance
    changed: tuple[str, ...]
    note: Note
    link: Link | None = None


class ScopeInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One scope of a log, as `log.scopes()` lists it."""

    scope: Scope
    live: int
    notes: int
    last_seq: int
