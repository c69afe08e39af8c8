"""`memlog verify`: is everything that is stored as it was written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import memlog
from memlog.cli import cells, output, rows
from memlog.cli.exits import REFUSED, USAGE, UsageError
from memlog.cli.progress import progress
from memlog.cli.session import AsJson, Db, Session, session
from memlog.cli.words import counted
from memlog.errors import InvalidRequestError, format_error
from memlog.log import default_path
from memlog.store.location import is_postgres, sqlite_path

if TYPE_CHECKING:
    from memlog.verify.report import Check, Finding, Verification

_IN_MEMORY = "a log in memory is gone when its process ends; name a file"
_CHECK_CELLS = 11
_OUTCOME_CELLS = 10
_POSITION_CELLS = 8

Saved = Annotated[
    list[Path] | None,
    typer.Option(
        "--checkpoint",
        metavar="FILE",
        help="A signed checkpoint that was kept elsewhere; the log must begin as it says. "
        "[may be given often]",
    ),
]
Keys = Annotated[
    list[str] | None,
    typer.Option(
        "--key", metavar="VKEY", help="Whose signature those must carry. [may be given often]"
    ),
]
Skip = Annotated[
    list[str] | None,
    typer.Option(
        "--skip",
        metavar="CHECK",
        help="Leave out pages, index, sections or words. [may be given often]",
    ),
]


def verify(
    context: typer.Context,
    *,
    saved: Saved = None,
    keys: Keys = None,
    skip: Skip = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Check everything that is stored, and say where the first damage is.

    Bytes, commitments, order, times, rules, the Merkle tree, checkpoints, and each table and index
    that is made from the events. Opens the store for reading, and changes no byte of it. Exits with
    1 when something is wrong, with 2 when it could not look.
    """
    asked = session(context, db=db, as_json=as_json)
    found = _verified(asked, saved or [], keys or [], skip or [])
    (_tell_json if asked.as_json else _tell)(found)
    if found.failed:
        raise typer.Exit(REFUSED)
    if not found.ok:
        raise typer.Exit(USAGE)


def _verified(asked: Session, saved: list[Path], keys: list[str], skip: list[str]) -> Verification:
    from memlog.verify.opening import verify_file
    from memlog.verify.run import Asked, verifier_keys

    checkpoints = {str(path): path.read_bytes() for path in saved}
    try:
        if asked.target is not None and is_postgres(asked.target):
            with asked.log_for_reading() as log, progress("verifying") as show:
                return log.verify(skip=skip, checkpoints=checkpoints, keys=keys, progress=show)
        settings = memlog.from_env(os.environ)
        path = sqlite_path(asked.target or default_path())
        with progress("verifying") as show:
            request = Asked(
                target=str(path),
                skip=skip,
                saved=checkpoints,
                keys=verifier_keys(keys),
                progress=show,
            )
            if path is None:
                raise UsageError(_IN_MEMORY)
            return verify_file(path, settings=settings, asked=request)
    except InvalidRequestError as error:
        raise UsageError(format_error(error)) from None


def _tell_json(found: Verification) -> None:
    for check in found.checks:
        output.record(check)
    output.record(
        {
            "target": found.target,
            "log_id": found.log_id,
            "events": found.events,
            "root": found.root,
            "ok": found.ok,
            "first": found.first,
        }
    )


def _tell(found: Verification) -> None:
    columns = (rows.Column("CHECK", _CHECK_CELLS), rows.Column("OUTCOME", _OUTCOME_CELLS))
    rows.show(columns, "LOOKED AT", map(_check_row, found.checks), wrap_last=True)
    wrong = sorted(
        (finding for check in found.failed for finding in check.findings), key=_by_position
    )
    if wrong:
        output.line("")
        columns = (
            rows.Column("POSITION", _POSITION_CELLS, right=True),
            rows.Column("CHECK", _CHECK_CELLS),
        )
        rows.show(columns, "WHAT IS WRONG", map(_finding_row, wrong), wrap_last=True)
    output.line("")
    for sentence in _last_words(found):
        for line in cells.wrap(sentence, output.width()) if output.on_terminal() else [sentence]:
            output.line(line)


def _check_row(check: Check) -> tuple[str, str, str]:
    more = f"; {counted(check.count, 'fault')}" if check.count else ""
    return check.name, check.outcome, check.looked_at + more


def _by_position(finding: Finding) -> tuple[bool, int]:
    return finding.position is None, finding.position or 0


def _finding_row(finding: Finding) -> tuple[str, str, str]:
    position = "-" if finding.position is None else str(finding.position)
    return position, finding.check, finding.detail


def _last_words(found: Verification) -> tuple[str, ...]:
    first = found.first
    if first is not None:
        where = "" if first.position is None else f" at position {first.position}"
        return (f"wrong: the first damage is{where} ({first.check}: {first.detail})",)
    if not found.ok:
        unread = ", ".join(each.name for each in found.checks if each.outcome == "unreadable")
        return (f"not all could be looked at: {unread}",)
    return (f"verified: {counted(found.events, 'event')}", f"root {found.root}")
