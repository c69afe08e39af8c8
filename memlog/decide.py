"""The rules: `decide(state, request) -> events`, and `violations(state, event)`. Pure.

`decide` answers what a well-formed request adds to the log in this state: a tuple of payloads, the
empty one when nothing is to be done, or an error of `memlog.errors` that says why not. `violations`
says what is wrong with an event that is already there; it knows only what holds under any settings
and any release, so that old logs stay legal.

Not promised: that a request which was allowed once is allowed again; that sizes of stored events
respect the settings of today.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from memlog import text
from memlog.errors import (
    AlreadySupersededError,
    NoteNotFoundError,
    StaleWriteError,
    SupersedeCycleError,
    SupersededNoteError,
    UntrustedPinError,
)
from memlog.events import (
    CompactionHarvested,
    NotePinned,
    NotesLinked,
    NotesUnlinked,
    NoteUnpinned,
    NoteWritten,
    Payload,
)
from memlog.note import Link, Note, why_untrusted
from memlog.requests import (
    AddLink,
    AnyRequest,
    Content,
    Harvest,
    Pin,
    RemoveLink,
    Unpin,
    Write,
)


class Standing(Protocol):
    """What `violations` asks about one note; a `Note` has it all."""

    @property
    def live(self) -> bool:
        """Whether no other note supersedes it."""

    @property
    def superseded_by(self) -> str | None:
        """The slug of its superseder, or None."""

    @property
    def pinned(self) -> bool:
        """Whether its body is in the section."""

    @property
    def untrusted(self) -> str | None:
        """Why its text must not enter the system prompt unasked, or None."""


class Facts(Protocol):
    """What `violations` asks about one scope."""

    def note(self, slug: str) -> Standing | None:
        """Return the note, or None."""

    def superseder(self, slug: str) -> str | None:
        """Return the slug that supersedes this one, or None."""

    def has_link(self, link: Link) -> bool:
        """Tell whether this very edge exists."""


class State(Facts, Protocol):
    """What the rules ask about one scope; answered by the fold and by the tables alike."""

    def note(self, slug: str) -> Note | None:
        """Return the note, or None."""

    def highest_number(self, stem: str) -> int:
        """Return the highest number in use for a stem, 0 when none is."""

    def twin(self, stems: Sequence[str], content: Content) -> Note | None:
        """Return the live note of one of the stems with this content, the oldest, or None."""

    def near(self, slug: str) -> Sequence[str]:
        """Return the slugs most similar to one that does not exist, best first."""


Target = tuple[str, Note | None]


def decide(state: State, request: AnyRequest, *, at: Target | None = None) -> tuple[Payload, ...]:
    """Return the payloads that a request appends, in order; empty when it changes nothing.

    Args:
        state: what the scope holds now.
        request: what is asked.
        at: the `target` of a write, when the caller knows it.

    Raises:
        RequestError: the request is not allowed in this state.
    """
    match request:
        case Write():
            return _write(state, request, *(at or target(state, request)))
        case Pin():
            return _pin(state, request)
        case Unpin():
            return (NoteUnpinned(slug=request.slug),) if _found(state, request.slug).pinned else ()
        case AddLink():
            return _add_link(state, request.link)
        case RemoveLink():
            return _remove_link(state, request.link)
        case Harvest():
            return (_compaction_harvested(request),)


def content_of(note: Note) -> Content:
    """Return the content of a note, without its place and its pin."""
    return Content(
        title=note.title,
        body=note.body,
        topics=note.topics,
        confidence=note.confidence,
        provenance=note.provenance,
        source=note.source,
        extra=note.extra,
    )


# --- Writing


def target(state: State, request: Write) -> Target:
    """Return the slug that a write goes to, and the note that stands there.

    A slug derived from the title never names another note: either an equal note of the same stem
    (a client's retry), or a slug that nobody has.
    """
    if request.slug is not None:
        return request.slug, state.note(request.slug)
    stem = text.slugify(request.content.title)
    taken = state.note(stem)
    if taken is not None and taken.live and content_of(taken) == request.content:
        return stem, taken
    twin = state.twin(text.numbering_stems(stem), request.content)
    if twin is not None:
        return twin.slug, twin
    return (stem if taken is None else _next_slug(state, stem)), None


def _next_slug(state: State, stem: str) -> str:
    numbering_stems = text.numbering_stems(stem)
    number = max(1, *(state.highest_number(each) for each in numbering_stems)) + 1
    if number > text.SLUG_NUMBER_MAX:  # Somebody named such a slug; count under another stem.
        return _next_slug(state, text.hashed_slug(stem))
    return text.numbered_slug(stem, number)


def _write(state: State, request: Write, slug: str, note: Note | None) -> tuple[Payload, ...]:
    _check_seen(request, slug, note)
    if note is not None and not note.live:
        raise SupersededNoteError(slug, living_end(state, slug))
    untrusted = why_untrusted(request.content.provenance, request.content.source)
    written = (
        ()
        if note is not None and content_of(note) == request.content
        else (_note_written(slug, request.content),)
    )
    was_pinned = note is not None and note.pinned
    pins_anew = bool(written) and bool(untrusted)
    before = was_pinned and (not request.pinned or pins_anew)
    after = request.pinned and (not was_pinned or pins_anew)
    if after and untrusted and not request.allow_pin_untrusted:
        raise UntrustedPinError(slug, untrusted)
    return (
        *((NoteUnpinned(slug=slug),) if before else ()),
        *written,
        *((NotePinned(slug=slug, untrusted_allowed=bool(untrusted)),) if after else ()),
    )


def _check_seen(request: Write, slug: str, note: Note | None) -> None:
    if request.if_seq is None or (request.slug is None and request.if_seq == 0):
        return
    updated_seq = 0 if note is None else note.updated_seq
    if request.if_seq != updated_seq:
        raise StaleWriteError(slug, request.if_seq, updated_seq)


def _note_written(slug: str, content: Content) -> NoteWritten:
    return NoteWritten(
        slug=slug,
        title=content.title,
        body=content.body,
        topics=content.topics,
        confidence=content.confidence,
        provenance=content.provenance,
        source=content.source,
        extra=content.extra,
    )


# --- Pins


def _pin(state: State, request: Pin) -> tuple[Payload, ...]:
    note = _found(state, request.slug)
    if not note.live:
        raise SupersededNoteError(note.slug, living_end(state, note.slug))
    if note.pinned:
        return ()
    untrusted = note.untrusted
    if untrusted and not request.allow_pin_untrusted:
        raise UntrustedPinError(note.slug, untrusted)
    return (NotePinned(slug=note.slug, untrusted_allowed=bool(untrusted)),)


def _found(state: State, slug: str) -> Note:
    note = state.note(slug)
    if note is None:
        raise NoteNotFoundError(slug, state.near(slug))
    return note


# --- Links


def _add_link(state: State, link: Link) -> tuple[Payload, ...]:
    newer, older = _found(state, link.from_slug), _found(state, link.to_slug)
    if state.has_link(link):
        return ()
    if link.rel == "supersedes":
        if older.superseded_by is not None:
            raise AlreadySupersededError(older.slug, older.superseded_by)
        if older.slug in superseders(state, newer.slug):
            raise SupersedeCycleError(newer.slug, older.slug)
    return (
        NotesLinked(from_slug=link.from_slug, to_slug=link.to_slug, rel=link.rel, label=link.label),
    )


def _remove_link(state: State, link: Link) -> tuple[Payload, ...]:
    _found(state, link.from_slug)
    _found(state, link.to_slug)
    if not state.has_link(link):
        return ()
    return (
        NotesUnlinked(
            from_slug=link.from_slug, to_slug=link.to_slug, rel=link.rel, label=link.label
        ),
    )


def superseders(state: Facts, slug: str) -> Iterator[str]:
    """Yield what supersedes a note, then what supersedes that, up to the living end.

    Ends also on a damaged log in which notes supersede each other: no slug comes twice.
    """
    seen = {slug}
    superseder = state.superseder(slug)
    while superseder is not None and superseder not in seen:
        yield superseder
        seen.add(superseder)
        superseder = state.superseder(superseder)


def living_end(state: State, slug: str) -> str:
    """Return the live note at the end of a note's chain of superseders: itself when it is live."""
    end = slug
    for superseder in superseders(state, slug):
        end = superseder
    return end


# --- Harvests


def _compaction_harvested(request: Harvest) -> CompactionHarvested:
    return CompactionHarvested(
        key=request.key,
        entries_sha256=request.entries_sha256,
        model=request.model,
        slugs=request.slugs,
        kept=len(request.slugs),
        dropped=request.dropped,
    )


# --- What is wrong with an event that is already there


def violations(state: Facts, event: Payload) -> tuple[str, ...]:
    """Return each rule that an event breaks in the state before it, as a sentence; empty if none.

    Checked is what holds under any settings and any release: notes exist, no link to itself, one
    superseder, no cycle, no change of history, nothing untrusted pinned unless the event says that
    it was allowed, and no untrusted text under an old pin.
    """
    match event:
        case NoteWritten():
            return tuple(_write_violations(state, event))
        case NotePinned():
            return tuple(_pin_violations(state, event))
        case NoteUnpinned():
            return tuple(_missing(state, event.slug))
        case NotesLinked():
            return tuple(_link_violations(state, event.link))
        case NotesUnlinked():
            return tuple(_unlink_violations(state, event.link))
        case CompactionHarvested():
            return tuple(fault for slug in event.slugs for fault in _missing(state, slug))


def _missing(state: Facts, *slugs: str) -> Iterator[str]:
    for slug in slugs:
        if state.note(slug) is None:
            yield f"there is no note {slug!r}"


def _write_violations(state: Facts, event: NoteWritten) -> Iterator[str]:
    note = state.note(event.slug)
    if note is None:
        return
    if not note.live:
        yield f"{event.slug!r} is superseded by {note.superseded_by!r} and cannot be rewritten"
    if note.pinned and why_untrusted(event.provenance, event.source):
        yield f"{event.slug!r} gets untrusted text under an old pin"


def _pin_violations(state: Facts, event: NotePinned) -> Iterator[str]:
    yield from _missing(state, event.slug)
    note = state.note(event.slug)
    if note is None:
        return
    if not note.live:
        yield f"{event.slug!r} is superseded by {note.superseded_by!r} and cannot be pinned"
    if note.untrusted and not event.untrusted_allowed:
        yield f"{event.slug!r} is pinned though {note.untrusted}"


def _link_violations(state: Facts, link: Link) -> Iterator[str]:
    yield from _missing(state, link.from_slug, link.to_slug)
    if link.from_slug == link.to_slug:
        yield f"{link.from_slug!r} is linked to itself"
    elif link.rel == "supersedes":
        superseder = state.superseder(link.to_slug)
        if superseder is not None:
            yield f"{link.to_slug!r} is already superseded by {superseder!r}"
        elif link.to_slug in superseders(state, link.from_slug):
            yield f"{link.from_slug!r} and {link.to_slug!r} supersede each other"


def _unlink_violations(state: Facts, link: Link) -> Iterator[str]:
    yield from _missing(state, link.from_slug, link.to_slug)
    if not state.has_link(link):
        yield f"there is no {link.rel} link from {link.from_slug!r} to {link.to_slug!r}"
