"""`memlog index`: the section, as it goes into a system prompt."""

from __future__ import annotations

from typing import Annotated

import typer

from memlog.cli import output
from memlog.cli.session import AsJson, Db, In, session
from memlog.sections import Section


def index(
    context: typer.Context,
    *,
    only_hash: Annotated[bool, typer.Option("--hash", help="Print only its hash.")] = False,
    budget: Annotated[
        int | None,
        typer.Option(
            "--budget",
            metavar="TOKENS",
            min=0,
            help="Its size in tokens of 4 bytes, at least 200. [env: "
            "MEMLOG_INDEX_TOKEN_BUDGET; default: 2000]",
        ),
    ] = None,
    db: Db = None,
    scope: In = None,
    as_json: AsJson = False,
) -> None:
    """Print the index of a scope for a system prompt.

    Pinned notes with their text, the others by title and topic. The same notes and budget give the
    same bytes. Into a pipe: exactly these, with no line break at the end; --hash is the first 16
    hex digits of their SHA-256. Nothing is recorded.
    """
    asked = session(context, db=db, scope=scope, as_json=as_json)
    with asked.notes_for_reading(budget_tokens=budget) as memory:
        section = memory.section()
    show_section(section, only_hash=only_hash, as_json=asked.as_json)


def show_section(section: Section, *, only_hash: bool, as_json: bool) -> None:
    """Show a section, or only its hash."""
    if as_json:
        output.record({"hash": section.hash} if only_hash else section._asdict())
    elif only_hash:
        output.line(section.hash)
    else:
        output.body(section.text)
