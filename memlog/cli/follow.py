"""`memlog follow`: events as they commit."""

from __future__ import annotations

import sys
from itertools import islice
from typing import Annotated

import typer

from memlog.cli import output, rows
from memlog.cli.logs import event_record, when_whose_what
from memlog.cli.session import AsJson, Db, session

_POSITION = rows.Column("POS", 6, right=True)
_WHEN = rows.Column("WHEN (UTC)", 19)
_SCOPE = rows.Column("SCOPE", 14)


def follow(
    context: typer.Context,
    *,
    after: Annotated[
        int | None,
        typer.Option(
            "--after",
            metavar="N",
            min=0,
            help="Start behind this position.",
            show_default="the log's end",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", metavar="N", min=1, help="End after so many.", show_default="none"),
    ] = None,
    idle_s: Annotated[
        float | None,
        typer.Option(
            "--idle",
            metavar="SECONDS",
            min=0,
            help="End when nothing came for so long.",
            show_default="never",
        ),
    ] = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Show the events of the log as they commit.

    Each comes once and in order, however long the connection was away. Ends with Ctrl-C. Into a
    pipe: position, seq, time, scope and what happened, with tabs between them.
    """
    asked = session(context, db=db, as_json=as_json)
    with asked.log_for_reading() as log:
        start = log.position() if after is None else after
        events = islice(log.follow(after=start, timeout_s=idle_s), limit)
        heading = True
        for event in events:
            if asked.as_json:
                output.record(event_record(event))
            elif output.on_terminal():
                row = (str(event.position), *when_whose_what(event))
                columns = (_POSITION, _WHEN, _SCOPE)
                rows.show(columns, "WHAT", [row], wrap_last=True, heading=heading)
                heading = False
            else:
                output.fields((str(event.position), str(event.seq), *when_whose_what(event)))
            sys.stdout.flush()  # Whoever reads the pipe waits for it.
