"""`memlog at`: the notes as they were, or as they would be without some events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from memlog.audit.past import Past
from memlog.cli import moments, notes, output, rows
from memlog.cli.exits import UsageError
from memlog.cli.logs import event_record, show_history
from memlog.cli.search import show_hits
from memlog.cli.section import show_section
from memlog.cli.session import AsJson, Db, In, session
from memlog.cli.words import counted, event_words
from memlog.events import Event
from memlog.memory import Memory
from memlog.shown import shown

_VIEWS = ("list", "read", "search", "index", "history", "missing")
_KNOWN_VIEWS = "list, read SLUG, search QUERY, index, history SLUG or missing"
_HITS_MAX = 10
_NO_MOMENT = "when? give one of --seq N, --time TIME and --position N"


def _views() -> list[str]:
    return list(_VIEWS)


def at(
    context: typer.Context,
    view: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[list | read SLUG | search QUERY | index | history SLUG | missing]",
            autocompletion=_views,
            help="What to show of it; the live notes when nothing is said.",
            show_default=False,
        ),
    ] = None,
    *,
    seq: moments.Seq = None,
    time: moments.Time = None,
    position: moments.Position = None,
    without_url: moments.WithoutUrl = None,
    without_position: moments.WithoutPosition = None,
    without_provenance: moments.WithoutProvenance = None,
    without_conversation: moments.WithoutConversation = None,
    without_actor: moments.WithoutActor = None,
    all_notes: Annotated[bool, typer.Option("--all", help="Superseded notes too.")] = False,
    db: Db = None,
    scope: In = None,
    as_json: AsJson = False,
) -> None:
    """Show the notes of a scope as they were at a moment.

    Give one of --seq, --time and --position. With a --without option: as they would be if those
    events had never been; 'missing' lists them, and those that are illegal without them. Changes
    and records nothing.
    """
    asked = session(context, db=db, scope=scope, as_json=as_json)
    show = _shower(view or ["list"], all_notes=all_notes, as_json=asked.as_json)
    if sum(value is not None for value in (seq, time, position)) != 1:
        raise UsageError(_NO_MOMENT)
    when = None if time is None else moments.parse_time(time)
    without = moments.chosen(
        position=without_position,
        url=without_url,
        provenance=without_provenance,
        conversation=without_conversation,
        actor=without_actor,
    )
    with asked.notes_for_reading() as memory:
        past = memory.at(seq=seq, time=when, position=position, without=without)
        if without is not None:
            output.notice(_what_if(past))
        elif output.on_terminal() and not asked.as_json:
            output.line(output.dim(_when(past, memory)))
        show(past)


def _shower(view: Sequence[str], *, all_notes: bool, as_json: bool) -> Callable[[Past], None]:
    """Return what shows a view.

    Raises:
        UsageError: there is no such view, or it takes something else.
    """
    match view:
        case ["list"]:
            return lambda past: notes.show_notes(
                past, all_notes=all_notes, limit=None, as_json=as_json
            )
        case ["read", slug]:
            return lambda past: notes.show_note(past, slug, as_json=as_json)
        case ["history", slug]:
            return lambda past: show_history(past.history(slug), diff=False, as_json=as_json)
        case ["search", *words] if words:
            query = " ".join(words)
            return lambda past: _show_found(past, query, all_notes=all_notes, as_json=as_json)
        case ["index"]:
            return lambda past: show_section(past.section(), only_hash=False, as_json=as_json)
        case ["missing"]:
            return lambda past: _show_missing(past, as_json=as_json)
    sentence = f"{shown(' '.join(view))} is no view: give {_KNOWN_VIEWS}"
    raise UsageError(sentence)


def _show_found(past: Past, query: str, *, all_notes: bool, as_json: bool) -> None:
    hits = past.search(query, limit=_HITS_MAX, include_superseded=all_notes)
    if not hits:
        output.notice(f"no note of then fits {shown(query)}")
    show_hits(hits, explain=False, limit=_HITS_MAX, all_notes=all_notes, as_json=as_json)


def _when(past: Past, memory: Memory) -> str:
    if not past.seq:
        return f"before the first event of {memory.scope.stream}"
    return f"as of seq {past.seq}, {output.moment(past.moment.time)} UTC"


def _what_if(past: Past) -> str:
    left_out = counted(len(past.left_out), "event")
    refused = len(past.refused)
    more = f", and without {refused:,} more that would be illegal" if refused else ""
    return f"without {left_out}{more}; 'missing' lists them"


def _show_missing(past: Past, *, as_json: bool) -> None:
    found: list[tuple[Event, Sequence[str]]] = [(event, ()) for event in past.left_out]
    found += [(each.event, each.reasons) for each in past.refused]
    found.sort(key=lambda each: each[0].seq)
    if as_json:
        for event, reasons in found:
            output.record({**event_record(event), "refused": list(reasons)})
        return
    columns = (rows.Column("SEQ", 6, right=True), rows.Column("", 8))
    lines = ((str(event.seq), *_state(event, reasons)) for event, reasons in found)
    rows.show(columns, "WHAT", lines, wrap_last=True)


def _state(event: Event, reasons: Sequence[str]) -> tuple[str, str]:
    what = event_words(event.payload)
    return ("refused", f"{what}: {'; '.join(reasons)}") if reasons else ("left out", what)
