"""`memlog doctor`: how the store and its place are."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import typer

import memlog
from memlog.cli import output, rows
from memlog.cli.exits import REFUSED
from memlog.cli.session import AsJson, Db, session
from memlog.log import default_path

if TYPE_CHECKING:
    from memlog.doctor import Diagnosis, Symptom

_NAME = rows.Column("WHAT", 11)
_STATE = rows.Column("STATE", 5)


def doctor(context: typer.Context, *, db: Db = None, as_json: AsJson = False) -> None:
    """Look at the store, its engine and its place: what to know before trouble comes.

    Versions, durability, permissions, room, indexes and their lag; what is stored is the business
    of 'memlog verify'. Changes nothing. Exits with 1 when something is bad.
    """
    from memlog.doctor import diagnose

    asked = session(context, db=db, as_json=as_json)
    asked.check_target()
    found = diagnose(asked.target or default_path(), settings=memlog.from_env(os.environ))
    if asked.as_json:
        for symptom in found.symptoms:
            output.record(symptom)
        output.record({"target": found.target, "engine": found.engine, "ok": found.ok})
    else:
        rows.show((_NAME, _STATE), "DETAIL", map(_row, found.symptoms), wrap_last=True)
        if output.on_terminal():
            output.line("")
            output.line(_last_words(found))
    if not found.ok:
        raise typer.Exit(REFUSED)


def _row(symptom: Symptom) -> tuple[str, str, str]:
    return symptom.name, symptom.state, symptom.detail


def _last_words(found: Diagnosis) -> str:
    bad = [symptom.name for symptom in found.symptoms if symptom.state == "bad"]
    return f"bad: {', '.join(bad)}" if bad else "nothing is bad"
