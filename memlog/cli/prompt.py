"""`memlog prompt`: from the hash of a section to the events behind each of its lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from memlog.audit.prompts import Prompt, Span
from memlog.cli import output, rows
from memlog.cli.exits import DAMAGE, REFUSED
from memlog.cli.progress import progress
from memlog.cli.session import AsJson, Db, In, session
from memlog.cli.words import counted
from memlog.shown import shown

_SEQS_CELLS = 12
_SEQS_MAX = 3


def prompt(
    context: typer.Context,
    section_hash: Annotated[
        str, typer.Argument(metavar="HASH", help="As 'memlog index --hash' prints it.")
    ],
    *,
    budget: Annotated[
        int | None,
        typer.Option(
            "--budget",
            metavar="TOKENS",
            min=0,
            help="The size that it was rendered for, if that was not recorded.",
        ),
    ] = None,
    db: Db = None,
    scope: In = None,
    as_json: AsJson = False,
) -> None:
    """Prove what a system prompt said.

    Finds when the section of the scope had the hash, renders it anew from the events, compares that
    with the record of what was handed out, and names the events (seqs) behind each line. Exits 1
    when no section of the scope ever had it, 4 when the record is not what the events give. Into a
    pipe: seqs and line, with a tab between them.
    """
    asked = session(context, db=db, scope=scope, as_json=as_json)
    with asked.notes_for_reading(budget_tokens=budget) as memory, progress("looking") as show:
        found = memory.prompt(section_hash, progress=show)
    if found is None:
        output.notice(f"memlog: no section of this scope had the hash {shown(section_hash)}")
        raise typer.Exit(REFUSED)
    if asked.as_json:
        output.record(_record(found))
    else:
        _show(found)
    if not found.agrees:
        output.notice(f"memlog: {_fault(found)}")
        raise typer.Exit(DAMAGE)


def _record(found: Prompt) -> dict[str, object]:
    fields = {name: getattr(found, name) for name in found.__struct_fields__}
    return {**fields, "agrees": found.agrees}


def _fault(found: Prompt) -> str:
    if found.text is None:
        return "it was handed out, but the events of this scope never give it"
    return "a record of handing it out is not what the events give"


def _show(found: Prompt) -> None:
    lines = ((_seqs(line.seqs), line.text) for line in found.lines)
    if not output.on_terminal():
        for each in lines:
            output.fields(each)
        return
    for words in _facts(found):
        output.line(words)
    output.line()
    rows.show((rows.Column("SEQ", _SEQS_CELLS),), "LINE", lines, wrap_last=True)


def _facts(found: Prompt) -> Iterator[str]:
    yield f"hash {found.hash}, {found.budget_tokens} tokens"
    for span in found.spans:
        yield _held(span)
    agreeing = sum(each.agrees for each in found.deliveries)
    for each in found.deliveries:
        to = "" if each.conversation_id is None else f" to {each.conversation_id}"
        when = each.handed_out_at[:19].replace("T", " ")
        verdict = "the same text" if each.agrees else "NOT what the events give"
        yield f"handed out {when} UTC{to}: {verdict}"
    if not found.deliveries:
        yield "no record of handing it out"
    elif agreeing == len(found.deliveries):
        yield f"rendered anew from {counted(len(found.events), 'event')}: equal, byte for byte"


def _held(span: Span) -> str:
    if not span.first_seq:
        return f"held from the beginning to seq {span.last_seq}"
    first, last = span.first_seq, span.last_seq
    seqs = f"at seq {first}" if first == last else f"from seq {first} to {last}"
    return f"held {seqs}, since {output.moment(span.since)} UTC"


def _seqs(seqs: Sequence[int]) -> str:
    """Return seqs for a narrow column: all of few, the first and last of many."""
    if output.on_terminal() and len(seqs) > _SEQS_MAX:
        return f"{seqs[0]} … {seqs[-1]}"
    return ", ".join(map(str, seqs))
