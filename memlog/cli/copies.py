"""`memlog backup`, `memlog restore` and `memlog copy`: one log in another place."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

import memlog
from memlog.cli import output
from memlog.cli.exits import UsageError
from memlog.cli.progress import progress
from memlog.cli.session import AsJson, Db, Session, session
from memlog.cli.verify import Keys, Saved
from memlog.cli.words import counted
from memlog.errors import InvalidRequestError, format_error
from memlog.log import default_path

_NewFile = Annotated[Path, typer.Argument(metavar="FILE", help="The new file.")]
_Backup = Annotated[Path, typer.Argument(metavar="FILE", help="The backup; it is not changed.")]
_Source = Annotated[
    str, typer.Argument(metavar="SRC", help="A file, sqlite:///PATH or postgresql://…")
]
_Destination = Annotated[
    str, typer.Argument(metavar="DST", help="The same; without events, or a beginning of the log.")
]


def backup(
    context: typer.Context, path: _NewFile, *, db: Db = None, as_json: AsJson = False
) -> None:
    """Write the log as it is now into a new file, and verify that.

    Writers go on meanwhile. The file is a store of its own, of an SQLite log as of one in
    PostgreSQL; search indexes are not in it, since they make themselves anew.
    """
    from memlog.backup import back_up

    asked = session(context, db=db, as_json=as_json)
    asked.check_target()
    with _refusals(), progress("verifying") as show:
        settings = memlog.from_env(os.environ)
        done = back_up(asked.target or default_path(), path, settings=settings, progress=show)
    if asked.as_json:
        output.record(done)
    else:
        output.line(f"backed up and verified {counted(done.events, 'event')}")
        output.line(f"root {done.root}")


def restore(
    context: typer.Context,
    path: _Backup,
    *,
    saved: Saved = None,
    keys: Keys = None,
    position: Annotated[
        int,
        typer.Option(
            "--position", metavar="N", min=0, help="One that was seen; the backup must reach it."
        ),
    ] = 0,
    allow_older: Annotated[
        bool,
        typer.Option(
            "--allow-older",
            help="Restore it although it is older than what was seen; what came since is lost.",
        ),
    ] = False,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Make a store from a backup, at --db, where there must be none.

    The backup is verified first. It is refused when a checkpoint, a position or a search index
    shows that the log was longer once.
    """
    from memlog.backup import restore as restore_backup

    asked = session(context, db=db, as_json=as_json)
    asked.check_target()
    with _refusals(), progress("verifying") as show:
        done = restore_backup(
            path,
            _named(asked),
            checkpoints={str(each): each.read_bytes() for each in saved or []},
            keys=keys or [],
            position=position,
            allow_older=allow_older,
            settings=memlog.from_env(os.environ),
            progress=show,
        )
    if asked.as_json:
        output.record(done)
    else:
        output.line(f"verified and restored {counted(done.events, 'event')}")
        output.line(f"root {done.root}")


def copy(
    context: typer.Context, source: _Source, destination: _Destination, *, as_json: AsJson = False
) -> None:
    """Copy a log into another store, of the same engine or the other one.

    Id, positions, bytes and hashes stay. A destination that holds a beginning of the log gets what
    is missing.
    """
    from memlog.copying import copy_log

    asked = session(context, db=None, as_json=as_json)
    for target in (source, destination):
        Session(target=target, scope_text=None, as_json=False).check_target()
    with _refusals(), progress("copying") as show:
        settings = memlog.from_env(os.environ)
        done = copy_log(source, destination, settings=settings, progress=show)
    if asked.as_json:
        output.record(done)
    else:
        added = counted(done.events, "event")
        output.line(f"copied {added}; the log ends at position {done.head}")
        output.line(f"root {done.root}")


def _named(asked: Session) -> str:
    if asked.target is None:
        raise UsageError("where to? give --db TARGET, or set MEMLOG_DB")  # noqa: TRY003  # a usage line
    return asked.target


@contextmanager
def _refusals() -> Iterator[None]:
    """Tell what is wrong with a target, a file or a setting as a wrong call."""
    try:
        yield
    except InvalidRequestError as error:
        raise UsageError(format_error(error)) from None
