"""`memlog stats` and `memlog rebuild`: how the store is, and its projections made anew."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, get_args

import msgspec
import typer

from memlog.cli import output
from memlog.cli.exits import DAMAGE, UsageError
from memlog.cli.progress import progress
from memlog.cli.session import AsJson, Db, In, Session, session
from memlog.cli.words import counted, scope_name
from memlog.log import Log, Projection
from memlog.note import Scope
from memlog.rebuild import Rebuilt
from memlog.shown import shown
from memlog.store.location import is_postgres

_LABEL_CELLS = 15
_NAMES = {"tree": "hashes of the tree", "notes": "notes", "section": "sections"}


class _Stats(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What `memlog stats` tells; the last two only of a scope."""

    path: str
    bytes: int | None = None
    log_id: str
    events: int
    last_event_at: str | None
    scopes: int
    notes: int
    live_notes: int
    scope: str | None = None
    fingerprint: str | None = None


def stats(
    context: typer.Context, *, db: Db = None, scope: In = None, as_json: AsJson = False
) -> None:
    """Show where the log is and what it holds.

    With --scope, of the notes only those of that scope.
    """
    asked = session(context, db=db, scope=scope, as_json=as_json)
    whose = None if asked.scope_text is None else asked.scope()
    with asked.log_for_reading() as log:
        found = _stats(log, whose)
    if asked.as_json:
        output.record(found)
        return
    for label, words in _lines(found):
        if output.on_terminal():
            output.line(output.dim(f"{label:<{_LABEL_CELLS}}"), words)
        else:
            output.fields((label, words))


def _stats(log: Log, scope: Scope | None) -> _Stats:
    head = log.position()
    last = next(iter(log.events(after=head - 1)), None) if head else None
    listed = [each for each in log.scopes() if scope in (None, each.scope)]
    return _Stats(
        path=log.target,
        bytes=None if is_postgres(log.target) else _bytes_on_disk(log.target),
        log_id=log.log_id,
        events=head,
        last_event_at=None if last is None else last.recorded_at_text,
        scopes=len(listed),
        notes=sum(each.notes for each in listed),
        live_notes=sum(each.live for each in listed),
        scope=None if scope is None else scope_name(scope),
        fingerprint=None if scope is None else log.scope(scope).fingerprint(),
    )


def _bytes_on_disk(path: str) -> int:
    total = 0
    for part in (path, f"{path}-wal"):
        with suppress(FileNotFoundError):  # The write-ahead log goes when the last handle closes.
            total += Path(part).stat().st_size
    return total


def _lines(found: _Stats) -> Iterator[tuple[str, str]]:
    yield "file" if found.bytes is not None else "store", found.path
    if found.bytes is not None:
        yield "size", f"{found.bytes:,} bytes"
    yield "log id", found.log_id
    yield "events", f"{found.events:,}"
    if found.last_event_at is not None:
        yield "last event", found.last_event_at
    if found.scope is None:
        yield "scopes", f"{found.scopes:,}"
    else:
        yield "scope", found.scope
    yield "notes", f"{found.notes:,}"
    yield "live notes", f"{found.live_notes:,}"
    if found.fingerprint is not None:
        yield "fingerprint", found.fingerprint


def _projections() -> list[str]:
    return list(get_args(Projection))


def rebuild(
    context: typer.Context,
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[tree|notes|section|search]",
            autocompletion=_projections,
            help="Only this one.",
            show_default=False,
        ),
    ] = None,
    *,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Make the Merkle tree, the notes tables, the sections and the search indexes anew.

    Tree and tables follow from the log, the rest from the tables. They are compared with what was
    there, while readers and writers go on. Exits 4 when that was not what the log says; it is now.
    """
    asked = session(context, db=db, as_json=as_json)
    chosen: list[Projection] = [each for each in get_args(Projection) if what in (None, each)]
    if not chosen:
        names = ", ".join(get_args(Projection))
        sentence = f"{shown(what)} cannot be rebuilt: give one of {names}, or nothing for all"
        raise UsageError(sentence)
    differ = False
    with asked.log_for_writing() as log:
        for projection in chosen:
            with progress("rebuilding") as show:
                rebuilt = log.rebuild(projection, progress=show)
            _tell(asked, rebuilt)
            differ = differ or bool(rebuilt.differences)
    if differ:
        raise typer.Exit(DAMAGE)


def _tell(asked: Session, rebuilt: Rebuilt) -> None:
    events = counted(rebuilt.events, "event")
    if asked.as_json:
        output.record(rebuilt)
    elif rebuilt.projection == "search":
        output.line(f"rebuilt the search indexes from the notes of {events}")
    else:
        found = "they differed and are right now" if rebuilt.differences else "no difference"
        output.line(f"rebuilt the {_NAMES[rebuilt.projection]} from {events}: {found}")
        for difference in rebuilt.differences:
            output.line(f"  {difference}")
