"""`memlog harvest`: run the worker, look at its queue, give dead jobs another chance."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from memlog.cli import output, rows
from memlog.cli.session import AsJson, Db, In, Session, session
from memlog.cli.words import counted, scope_name
from memlog.jobs import Listed
from memlog.note import Scope

if TYPE_CHECKING:
    from memlog.harvest import Done

harvest = typer.Typer(
    name="harvest",
    help="Facts out of compacted conversations: the worker and its queue.",
    no_args_is_help=False,
    rich_markup_mode=None,
)


@harvest.callback()
def _harvest() -> None:
    """Facts out of compacted conversations: the worker and its queue."""


@harvest.command()
def run(
    context: typer.Context,
    *,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on with what comes, until interrupted.")
    ] = False,
    timeout: Annotated[
        float,
        typer.Option("--timeout", metavar="SECONDS", min=0.1, help="How long a model may take."),
    ] = 60.0,
    db: Db = None,
    scope: In = None,
    as_json: AsJson = False,
) -> None:
    """Do the jobs of the harvest that are due.

    The model is the one that MEMLOG_HARVEST_LLM (the base URL of an OpenAI-compatible endpoint),
    MEMLOG_HARVEST_MODEL and MEMLOG_HARVEST_API_KEY name. Without --scope, jobs of all scopes.
    """
    from memlog.harvest import Worker

    asked = session(context, db=db, scope=scope, as_json=as_json)
    whose = _whose(asked)
    with asked.log_for_writing() as log:
        worker = Worker(log, whose, timeout_s=timeout)
        if not watch:
            ended = worker.run()
            for done in ended:
                _tell(asked, done)
            if not ended and not asked.as_json:
                output.line("nothing is due")
            return
        with _stopping() as stop:
            for done in worker.watch(stop.is_set):
                _tell(asked, done)
                output.flush()


@harvest.command("list")
def list_jobs(
    context: typer.Context,
    *,
    every: Annotated[bool, typer.Option("--all", help="Those that are done, too.")] = False,
    db: Db = None,
    scope: In = None,
    as_json: AsJson = False,
) -> None:
    """Show the queue of the harvest, the oldest job first.

    Dead jobs stay for 30 days; 'memlog harvest retry' queues them anew.
    """
    from memlog.harvest import listed

    asked = session(context, db=db, scope=scope, as_json=as_json)
    whose = _whose(asked)
    with asked.log_for_reading() as log:
        jobs = listed(log, whose, with_done=every)
    if asked.as_json:
        for job in jobs:
            output.record(_record(job))
        return
    columns = (
        rows.Column("STATE", 7),
        rows.Column("TRIES", 5, right=True),
        rows.Column("QUEUED (UTC)", 19),
        rows.Column("SCOPE", 14),
    )
    lines = (
        (
            job.state,
            str(job.attempts),
            output.moment(datetime.fromisoformat(job.queued_at)),
            scope_name(Scope.of_stream(job.stream)),
            job.key if job.reason is None else f"{job.key}: {job.reason}",
        )
        for job in jobs
    )
    shown = rows.show(columns, "KEY", lines, wrap_last=True)
    if not shown and output.on_terminal():
        output.line("the queue is empty")


@harvest.command()
def retry(
    context: typer.Context,
    key: Annotated[
        str | None,
        typer.Argument(metavar="KEY", help="Only the job with this key.", show_default=False),
    ] = None,
    *,
    db: Db = None,
    scope: In = None,
    as_json: AsJson = False,
) -> None:
    """Queue dead jobs anew.

    Without --scope, those of all scopes.
    """
    from memlog import harvest as queue

    asked = session(context, db=db, scope=scope, as_json=as_json)
    whose = _whose(asked)
    with asked.log_for_writing() as log:
        count = queue.retry(log, whose, key=key)
    if asked.as_json:
        output.record({"queued": count})
    else:
        output.line(f"queued {counted(count, 'job')} anew")


def _whose(asked: Session) -> Scope | None:
    return None if asked.scope_text is None else asked.scope()


def _tell(asked: Session, done: Done) -> None:
    if asked.as_json:
        output.record(
            {
                "scope": scope_name(done.scope),
                "key": done.key,
                "outcome": done.outcome,
                "slugs": done.slugs,
                "dropped": done.dropped,
                "reason": done.reason,
            }
        )
        return
    dropped = ", ".join(f"{reason} {count}" for reason, count in done.dropped.items())
    what = {
        "kept": f"kept {counted(len(done.slugs), 'fact')}"
        + (f", dropped {sum(done.dropped.values())} ({dropped})" if dropped else ""),
        "known": "was harvested before",
    }.get(done.outcome, f"{done.outcome}: {done.reason}")
    output.line(output.bold(done.key), f" of {scope_name(done.scope)}: {what}")
    for slug in done.slugs:
        output.line(f"  {slug}")


def _record(job: Listed) -> dict[str, object]:
    fields = {name: getattr(job, name) for name in Listed.__struct_fields__ if name != "stream"}
    return {"scope": scope_name(Scope.of_stream(job.stream)), **fields}


@contextmanager
def _stopping() -> Iterator[threading.Event]:
    """Give an event that SIGINT and SIGTERM set, so that a job is ended before the program is."""
    stop = threading.Event()
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(each, lambda *_: stop.set()) for each in signals]
    try:
        yield stop
    finally:
        for each, old in zip(signals, before, strict=True):
            signal.signal(each, old)
