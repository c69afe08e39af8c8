"""`memlog demo`."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import typer

from memlog import demo as story
from memlog.cli import output
from memlog.cli.exits import UsageError
from memlog.cli.session import AsJson, Db, In, parse_scope, session


def demo(
    context: typer.Context, *, db: Db = None, scope: In = None, as_json: AsJson = False
) -> None:
    """Show what memlog does.

    Python's own help topics become notes in a new file. It lies in a new temporary directory unless
    --db names one that does not exist yet. MEMLOG_DB and MEMLOG_SCOPE are left aside.
    """
    asked = session(context, db=db, scope=scope, as_json=as_json, environ={})
    whose = parse_scope(asked.scope_text or story.SCOPE_NAME)
    target = asked.target or story.new_path()
    if os.path.lexists(target):
        sentence = f"{os.fspath(target)!r} exists; the demo needs a file of its own"
        raise UsageError(sentence)
    say = _silent if asked.as_json else output.line
    told = story.run(target, scope=whose, program=_program(), say=say)
    if asked.as_json:
        output.record(told)


def _silent(_line: str) -> None:
    pass


def _program() -> str:
    """Return how to call this program again: by its name where the shell finds it, or by a path."""
    called = Path(sys.argv[0])
    if called.name != "memlog":
        return f"{_short(sys.executable)} -m memlog"
    found = shutil.which("memlog")
    return "memlog" if found and called.exists() and called.samefile(found) else _short(called)


def _short(path: str | Path) -> str:
    return min(str(path), os.path.relpath(path), key=len)
