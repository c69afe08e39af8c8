"""`memlog history`, `memlog log` and `memlog scopes`: what the log says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Annotated, Any

import typer

from memlog.audit.diff import text_diff
from memlog.cli import difftext, options, output, rows
from memlog.cli.session import AsJson, Db, In, session
from memlog.cli.words import (
    change_words,
    event_words,
    origin_words,
    provenance_words,
    scope_name,
)
from memlog.events import Event
from memlog.note import Change, Note

_MOMENT_CELLS = 19
_SCOPE_CELLS = 14


def history(
    context: typer.Context,
    slug: options.Slug,
    *,
    diff: Annotated[
        bool, typer.Option("--diff", help="Below each rewrite, what it changed in the body.")
    ] = False,
    db: Db = None,
    scope: In = None,
    as_json: AsJson = False,
) -> None:
    """Show what happened to a note.

    Oldest first: when, what, by whom, in which conversation, and where the text came from when that
    was not the agent.
    """
    asked = session(context, db=db, scope=scope, as_json=as_json)
    with asked.notes_for_reading() as memory:
        show_history(memory.history(slug), diff=diff, as_json=asked.as_json)


def show_history(changes: Sequence[Change], *, diff: bool, as_json: bool) -> None:
    """Show what happened to a note, until now or until then."""
    if as_json:
        for change in changes:
            output.record(change)
        return
    columns = (rows.Column("SEQ", 6, right=True), rows.Column("WHEN (UTC)", _MOMENT_CELLS))

    def row(change: Change) -> Sequence[str]:
        origin = origin_words(change.actor, change.conversation_id)
        written = provenance_words(change.provenance) if "note_written" in change.type else ""
        what = change_words(change) + origin + written
        return str(change.seq), output.moment(change.recorded_at), what

    if not diff:
        rows.show(columns, "WHAT", map(row, changes), wrap_last=True)
        return
    before: Note | None = None
    for index, change in enumerate(changes):
        rows.show(columns, "WHAT", [row(change)], wrap_last=True, heading=not index)
        if before is not None:
            difftext.show(text_diff(before, change.note))
        before = change.note


def log(
    context: typer.Context,
    *,
    after: Annotated[
        int,
        typer.Option(
            "--after",
            metavar="N",
            min=0,
            help="Start behind this position (with --scope: behind this seq).",
        ),
    ] = 0,
    limit: Annotated[
        int | None,
        typer.Option("--limit", metavar="N", min=1, help="At most so many.", show_default="all"),
    ] = None,
    db: Db = None,
    scope: In = None,
    as_json: AsJson = False,
) -> None:
    """Show the events of the log.

    Oldest first; with --scope, those of that scope. Into a pipe: position, seq, time, scope and
    what happened, with tabs between them.
    """
    asked = session(context, db=db, scope=scope, as_json=as_json)
    whose = None if asked.scope_text is None else asked.scope()
    with asked.log_for_reading() as opened:
        source = opened if whose is None else opened.scope(whose)
        events = islice(source.events(after=after), limit)
        if asked.as_json:
            for event in events:
                output.record(event_record(event))
            return
        if output.on_terminal():
            _show_on_terminal(events, of_one_scope=whose is not None)
        else:
            for event in events:
                output.fields((str(event.position), str(event.seq), *when_whose_what(event)))


def _show_on_terminal(events: Iterable[Event], *, of_one_scope: bool) -> None:
    """Show events in 80 columns: a seq means something in one scope only, a scope among several."""
    position = rows.Column("POS", 6, right=True)
    when = rows.Column("WHEN (UTC)", _MOMENT_CELLS)
    if of_one_scope:
        columns = (position, rows.Column("SEQ", 6, right=True), when)
    else:
        columns = (position, when, rows.Column("SCOPE", _SCOPE_CELLS))

    def row(event: Event) -> Sequence[str]:
        moment, scope, what = when_whose_what(event)
        if of_one_scope:
            return str(event.position), str(event.seq), moment, what
        return str(event.position), moment, scope, what

    rows.show(columns, "WHAT", map(row, events), wrap_last=True)


def when_whose_what(event: Event) -> tuple[str, str, str]:
    """Return the fields of an event that every listing shows."""
    what = event_words(event.payload) + origin_words(event.actor, event.conversation_id)
    return output.moment(event.recorded_at), scope_name(event.scope), what


def event_record(event: Event) -> dict[str, Any]:
    """Return an event as JSON Lines have it."""
    return {
        "position": event.position,
        "seq": event.seq,
        "scope": scope_name(event.scope),
        "type": event.type,
        "recorded_at": event.recorded_at_text,
        "event_id": event.event_id,
        "actor": event.actor,
        "conversation_id": event.conversation_id,
        "request_id": event.request_id,
        "payload": event.payload,
    }


def scopes(context: typer.Context, *, db: Db = None, as_json: AsJson = False) -> None:
    """List the scopes that have notes."""
    asked = session(context, db=db, as_json=as_json)
    with asked.log_for_reading() as opened:
        found = opened.scopes()
    if asked.as_json:
        for each in found:
            name = scope_name(each.scope)
            output.record(
                {"scope": name, "live": each.live, "notes": each.notes, "last_seq": each.last_seq}
            )
        return
    columns = (
        rows.Column("LIVE", 8, right=True),
        rows.Column("NOTES", 8, right=True),
        rows.Column("LAST SEQ", 8, right=True),
    )
    lines = (
        (str(each.live), str(each.notes), str(each.last_seq), scope_name(each.scope))
        for each in found
    )
    rows.show(columns, "SCOPE", lines, wrap_last=True)
