"""The database below the log: its pages, its triggers, the row that heads the log."""

from __future__ import annotations

import sqlite3

import msgspec

from memlog.shown import shown
from memlog.store import schema
from memlog.store.protocol import Executor
from memlog.store.rows import EVENTS_TABLE
from memlog.verify.report import FINDINGS_MAX, Findings
from projections.notes.tables import SETS, Names

_HEAD_TYPES = (str, bytes, int, str)
_EPOCH = "0001-01-01T00:00:00.000000Z"


class Head(msgspec.Struct, frozen=True):
    """What the log's own row says."""

    log_id: str
    secret: bytes
    position: int
    recorded_at: str


def page_faults(cursor: Executor) -> list[str] | None:
    """Return what is wrong with the pages of an SQLite file, and with indexes against their tables.

    Reads the whole file. None for another engine, whose own business that is.
    """
    if not isinstance(cursor, sqlite3.Cursor):
        return None
    try:
        found = cursor.execute(f"PRAGMA integrity_check({FINDINGS_MAX})").fetchall()
    except sqlite3.DatabaseError as error:
        return [str(error)]
    return [shown(fault)[1:-1] for (fault,) in found if fault != "ok"]


def check_triggers(cursor: Executor, findings: Findings) -> None:
    """Check that the triggers of an SQLite file are those that the log was made with."""
    if not isinstance(cursor, sqlite3.Cursor):
        findings.looked_at("triggers", "of SQLite files only", outcome="skipped")
        return
    found = {
        name: _words(sql)
        for name, sql in cursor.execute(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"
        )
    }
    for statement in schema.TRIGGERS:
        name = statement.split()[2]
        if name not in found:
            findings.add("triggers", None, f"{name} is missing: somebody dropped it")
        elif found[name] != _words(statement):
            findings.add("triggers", None, f"{name} was changed")
    findings.looked_at("triggers", f"{len(schema.TRIGGERS)} triggers")


def _words(sql: str) -> list[str]:
    return sql.split()


def has_table(cursor: Executor, name: str) -> bool:
    """Tell whether there is a table with this name."""
    if isinstance(cursor, sqlite3.Cursor):
        statement = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?"
    else:
        statement = "SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = ?"
    return cursor.execute(statement, (name,)).fetchone() is not None


def head(cursor: Executor, findings: Findings) -> Head | None:
    """Return what the log's row says; None, and a finding, when there is none."""
    row = cursor.execute("SELECT log_id, secret, position, recorded_at FROM log").fetchone()
    if row is None:
        findings.add("order", None, "the log's own row is missing")
        return None
    if tuple(map(type, row)) != _HEAD_TYPES:
        findings.add("order", None, f"the log's own row holds {shown(row[2:])}")
        return None
    return Head(*row)


def check_head(found: Head, findings: Findings, *, last_position: int, last_time: str) -> None:
    """Check the log's row against the last event."""
    if found.position != last_position:
        detail = f"the log's head says {found.position}, its last event is {last_position}"
        findings.add("order", min(found.position, last_position) + 1, detail)
    elif found.recorded_at != (last_time or _EPOCH):
        detail = f"the log's head says {shown(found.recorded_at)}, its last event {last_time}"
        findings.add("time", last_position or None, detail)


def highest_position(cursor: Executor) -> int:
    """Return the position of the last event, 0 when there is none."""
    row = cursor.execute(f"SELECT coalesce(max(rowid), 0) FROM {EVENTS_TABLE}").fetchone()
    return int(row[0])


def live_set(cursor: Executor) -> Names | None:
    """Return the live tables of the notes projection; None when none are."""
    row = cursor.execute("SELECT live FROM notes_pointer").fetchone()
    return None if row is None else {each.set: each for each in SETS}.get(row[0])
