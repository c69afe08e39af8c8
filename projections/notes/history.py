"""What happened to one note, event by event. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from memlog.events import (
    CompactionHarvested,
    Event,
    NotesLinked,
    NotesUnlinked,
    NoteWritten,
    Payload,
)
from memlog.note import Change, Link, Note
from projections.notes.fold import Fold

CONTENT_FIELDS = ("title", "body", "topics", "confidence", "provenance", "source", "extra")


def changes(events: Iterable[Event], slug: str) -> Iterator[Change]:
    """Yield what each event that names a note did to it, oldest first.

    Args:
        events: legal events of one scope, in order, from the note's first one on; those that do not
            name the note are passed over.
        slug: the note.
    """
    fold = Fold()
    for event in events:
        if not _names(event.payload, slug):
            continue
        before = fold.note(slug)
        if _touches(event.payload, slug):
            fold.add(event)
        after = fold.note(slug)
        assert after is not None
        yield Change(
            position=event.position,
            seq=event.seq,
            type=event.type,
            recorded_at=event.recorded_at,
            actor=event.actor,
            conversation_id=event.conversation_id,
            request_id=event.request_id,
            provenance=after.provenance,
            changed=changed(before, after, event.payload),
            note=after,
            link=_link(event.payload),
        )


def _names(payload: Payload, slug: str) -> bool:
    match payload:
        case NotesLinked() | NotesUnlinked():
            return slug in (payload.from_slug, payload.to_slug)
        case CompactionHarvested():
            return slug in payload.slugs
        case _:
            return payload.slug == slug


def _touches(payload: Payload, slug: str) -> bool:
    match payload:
        case NotesLinked() | NotesUnlinked():
            return payload.rel == "supersedes" and payload.to_slug == slug
        case CompactionHarvested():
            return False
        case _:
            return True


def changed(before: Note | None, after: Note, payload: Payload) -> tuple[str, ...]:
    """Return the names of what an event changed of a note: `("body", "topics")`, `("created",)`.

    A link changes its relation, and a pin that was there already nothing.
    """
    if isinstance(payload, NotesLinked | NotesUnlinked):
        return (payload.rel,)
    if before is None:
        return ("created",)
    fields = CONTENT_FIELDS if isinstance(payload, NoteWritten) else ("pinned",)
    return changed_fields(before, after, fields)


def changed_fields(
    before: Note, after: Note, fields: Iterable[str] = CONTENT_FIELDS
) -> tuple[str, ...]:
    """Return the names of the fields in which two states of a note differ."""
    return tuple(name for name in fields if getattr(before, name) != getattr(after, name))


def _link(payload: Payload) -> Link | None:
    return payload.link if isinstance(payload, NotesLinked | NotesUnlinked) else None
