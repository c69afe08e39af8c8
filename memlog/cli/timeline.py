"""`memlog timeline`: the events around one of them, each with what it changed."""

from __future__ import annotations

from typing import Annotated

import typer

from memlog.audit.timeline import TimelineEntry
from memlog.cli import output, rows
from memlog.cli.logs import event_record
from memlog.cli.session import AsJson, Db, In, session
from memlog.cli.words import entry_words

_MOMENT_CELLS = 19


def timeline(
    context: typer.Context,
    *,
    around: Annotated[
        int | None,
        typer.Option("--around", metavar="SEQ", min=1, help="This event; the last one if missing."),
    ] = None,
    before: Annotated[
        int, typer.Option("--before", metavar="N", min=0, help="So many before it.")
    ] = 10,
    after: Annotated[
        int, typer.Option("--after", metavar="N", min=0, help="So many behind it.")
    ] = 10,
    db: Db = None,
    scope: In = None,
    as_json: AsJson = False,
) -> None:
    """Show the events of a scope around one of them.

    Oldest first, with what each changed, by whom and in which conversation. Into a pipe: seq,
    position, time, fingerprint of the scope after it, and what, with tabs between them.
    """
    asked = session(context, db=db, scope=scope, as_json=as_json)
    with asked.notes_for_reading() as memory:
        entries = memory.timeline(around=around, before=before, after=after)
    if asked.as_json:
        for entry in entries:
            output.record(_record(entry))
    elif output.on_terminal():
        columns = (
            rows.Column("", 1),
            rows.Column("SEQ", 6, right=True),
            rows.Column("WHEN (UTC)", _MOMENT_CELLS),
        )
        lines = (
            (
                ">" if entry.event.seq == around else "",
                str(entry.event.seq),
                output.moment(entry.event.recorded_at),
                entry_words(entry),
            )
            for entry in entries
        )
        rows.show(columns, "WHAT", lines, wrap_last=True)
    else:
        for entry in entries:
            event = entry.event
            when = output.moment(event.recorded_at)
            place = str(event.seq), str(event.position), when
            output.fields((*place, entry.fingerprint, entry_words(entry)))


def _record(entry: TimelineEntry) -> dict[str, object]:
    fields = {name: getattr(entry, name) for name in entry.__struct_fields__}
    return {**fields, "event": event_record(entry.event)}
