"""`memlog taint`: what came from some events."""

from __future__ import annotations

import typer

from memlog.audit.taint import Exposure, Taint, Tainted
from memlog.cli import moments, output, rows
from memlog.cli.exits import UsageError
from memlog.cli.logs import event_record
from memlog.cli.session import AsJson, Db, In, session
from memlog.cli.words import counted, state_words
from memlog.note import Note

_NOTHING = (
    "what came from what? give --url, --provenance, --conversation, --actor or --position; "
    "what fits all that is given counts"
)


def taint(
    context: typer.Context,
    *,
    url: moments.OfUrl = None,
    provenance: moments.OfProvenance = None,
    conversation: moments.OfConversation = None,
    actor: moments.OfActor = None,
    position: moments.OfPosition = None,
    db: Db = None,
    scope: In = None,
    as_json: AsJson = False,
) -> None:
    """Show what came from a source, a conversation or an actor.

    Notes of which any version did, notes derived from those at any distance, and every section that
    was handed out and showed one. Into a pipe: 'note', slug, state, distance and why, or 'section',
    hash, time, conversation and slugs, with tabs between them.
    """
    asked = session(context, db=db, scope=scope, as_json=as_json)
    source = moments.chosen(
        position=position,
        url=url,
        provenance=provenance,
        conversation=conversation,
        actor=actor,
    )
    if source is None:
        raise UsageError(_NOTHING)
    with asked.notes_for_reading() as memory:
        found = memory.taint(source)
    if position is not None and not found.events:
        sentence = f"position {position} is no such event of this scope"
        raise UsageError(sentence)
    if asked.as_json:
        events = [event_record(event) for event in found.events]
        output.record({"events": events, "notes": found.notes, "sections": found.sections})
    elif output.on_terminal():
        _show_on_terminal(found)
    else:
        for each in found.notes:
            output.fields(("note", each.note.slug, _state(each), str(each.distance), _why(each)))
        for section in found.sections:
            output.fields(_fields(section))


def _fields(section: Exposure) -> tuple[str, ...]:
    slugs = ",".join(section.slugs)
    conversation = section.conversation_id or ""
    return ("section", section.hash, section.handed_out_at, conversation, slugs)


def _state(each: Tainted) -> str:
    return state_words(pinned=each.note.pinned, superseded_by=each.note.superseded_by)


def _short(note: Note) -> str:
    return state_words(pinned=note.pinned, superseded_by=note.superseded_by).split(" ")[0]


def _why(each: Tainted) -> str:
    if each.derived_from is not None:
        return f"derived from {each.derived_from}"
    seqs = f"written by seq {', '.join(map(str, each.seqs))}"
    return seqs if each.current else f"{seqs}, rewritten since"


def _show_on_terminal(found: Taint) -> None:
    counts = (
        counted(len(found.events), "event"),
        counted(len(found.notes), "note"),
        f"{sum(each.note.pinned for each in found.notes):,} of them pinned",
        counted(len(found.sections), "handed-out section"),
    )
    output.line(output.bold(" · ".join(counts)))
    if found.notes:
        output.line()
        columns = (rows.Column("NOTE", 24, whole=True), rows.Column("STATE", 10))
        lines = ((each.note.slug, _short(each.note), _why(each)) for each in found.notes)
        rows.show(columns, "WHY", lines, wrap_last=True)
    if found.sections:
        output.line()
        section_columns = (
            rows.Column("SECTION", 16),
            rows.Column("HANDED OUT (UTC)", 19),
            rows.Column("CONVERSATION", 12),
        )
        shown_sections = (
            (
                section.hash,
                section.handed_out_at[:19].replace("T", " "),
                section.conversation_id or "",
                ", ".join(section.slugs),
            )
            for section in found.sections
        )
        rows.show(section_columns, "SHOWED", shown_sections, wrap_last=True)
