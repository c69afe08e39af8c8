"""Events and changes in plain words. Pure, and without typer or rich."""

from __future__ import annotations

from memlog.audit.timeline import TimelineEntry
from memlog.events import (
    CompactionHarvested,
    NotePinned,
    NotesLinked,
    NotesUnlinked,
    NoteUnpinned,
    NoteWritten,
    Payload,
)
from memlog.note import Change, Link, Note, Scope

NO_ROOM = "it has no room in the section: pinned notes get half of it, the newest first"

_PLAIN_CHANGES = {"note_written": "created", "note_pinned": "pinned", "note_unpinned": "unpinned"}


def scope_name(scope: Scope) -> str:
    """Return a scope as `--scope` takes it: `owner:alice`, or `global`."""
    return f"owner:{scope.principal}" if scope.kind == "owner" else "global"


def event_words(payload: Payload) -> str:
    """Return what happened, with the notes that it happened to."""
    match payload:
        case NoteWritten():
            return f"wrote {payload.slug}"
        case NotePinned():
            allowed = " (untrusted text allowed)" if payload.untrusted_allowed else ""
            return f"pinned {payload.slug}{allowed}"
        case NoteUnpinned():
            return f"unpinned {payload.slug}"
        case NotesLinked():
            return f"linked {payload.from_slug} to {payload.to_slug} {edge_words(payload.link)}"
        case NotesUnlinked():
            return f"unlinked {payload.from_slug} from {payload.to_slug} {edge_words(payload.link)}"
        case CompactionHarvested():
            return f"harvested a compaction: {payload.kept} facts kept"


def edge_words(link: Link) -> str:
    """Return an edge's relation and label in parentheses."""
    return f"({link.rel})" if link.label is None else f'({link.rel}, "{link.label}")'


def change_words(change: Change) -> str:
    """Return what one event did to one note, as seen from that note."""
    kind = change.type.partition("/")[0]
    if change.link is not None:
        return _edge_change(change.link, change.note, gone=kind == "notes_unlinked")
    if kind == "note_written" and change.changed != ("created",):
        return f"rewrote {', '.join(change.changed)}"
    return _PLAIN_CHANGES.get(kind, "named by a harvest")


def _edge_change(link: Link, note: Note, *, gone: bool) -> str:
    if link.from_slug == note.slug:
        return f"{'unlinked from' if gone else 'linked to'} {link.to_slug} {edge_words(link)}"
    if link.rel == "supersedes":
        return f"{'no longer superseded' if gone else 'superseded'} by {link.from_slug}"
    way = "no longer linked from" if gone else "linked from"
    return f"{way} {link.from_slug} {edge_words(link)}"


def origin_words(actor: str | None, conversation_id: str | None) -> str:
    """Return who did it and in which conversation, or nothing when neither is known."""
    by = "" if actor is None else f" by {actor}"
    return by if conversation_id is None else f"{by} in {conversation_id}"


def provenance_words(provenance: str) -> str:
    """Return where a text came from, or nothing when that is the agent, as it mostly is."""
    return "" if provenance == "agent" else f", from {provenance}"


def entry_words(entry: TimelineEntry) -> str:
    """Return what one event did, to which note and by whom, as seen from the whole scope."""
    event = entry.event
    what = event_words(event.payload)
    if isinstance(event.payload, NoteWritten):
        created = entry.changed == ("created",)
        what = f"{'created' if created else 'rewrote'} {entry.slug}"
        what += "" if created else f" ({', '.join(entry.changed)})"
        what += origin_words(event.actor, event.conversation_id)
        return what + provenance_words(event.payload.provenance)
    return what + origin_words(event.actor, event.conversation_id)


def state_words(*, pinned: bool, superseded_by: str | None) -> str:
    """Return the state of a note: `live`, `pinned` or `superseded by …`."""
    if superseded_by is not None:
        return f"superseded by {superseded_by}"
    return "pinned" if pinned else "live"


def state_mark(*, pinned: bool, superseded_by: str | None) -> str:
    """Return the same as one character, nothing for a note that is just live."""
    return "-" if superseded_by is not None else "*" if pinned else ""


def mark_words(*, all_notes: bool) -> str:
    """Return what stands below notes with marks: what the marks mean."""
    return f"* pinned  {'- superseded' if all_notes else 'superseded: --all'}"


def counted(number: int, noun: str) -> str:
    """Return a number of things: `1 note`, `1,200 notes`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
