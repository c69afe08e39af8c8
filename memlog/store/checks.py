"""What must hold between the tables of a store: looked at when it is opened.

Every opening compares the head with the last event. After an I/O or corruption error all pages and
counters are looked at as well, which reads the whole file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from memlog import codec
from memlog.store.protocol import Executor
from memlog.store.rows import EVENTS_TABLE

_FAULTS_SHOWN_MAX = 3


def head_fault(cursor: Executor) -> str | None:
    """Return what is wrong with the log's row and its last event, or None."""
    row = cursor.execute("SELECT position FROM log").fetchone()
    if row is None:
        return "its head is missing"
    position: int = row[0]
    highest = cursor.execute(f"SELECT max(rowid) FROM {EVENTS_TABLE}").fetchone()[0] or 0
    if highest != position:
        return f"its head says position {position}, its last event is {highest}"
    return None


def faults(cursor: sqlite3.Cursor, counter_checks: Sequence[str]) -> list[str]:
    """Return the first faults of the whole store, at most three; empty when all is well.

    Args:
        cursor: inside a transaction.
        counter_checks: SELECTs of the inline projections; each row's first column is a fault.
    """
    pages = [row[0] for row in cursor.execute(f"PRAGMA integrity_check({_FAULTS_SHOWN_MAX})")]
    if pages != ["ok"]:
        return pages
    head = head_fault(cursor)
    if head is not None:
        return [head]
    counters = [
        *_event_faults(cursor),
        *(str(row[0]) for check in counter_checks for row in cursor.execute(check)),
    ]
    return counters[:_FAULTS_SHOWN_MAX]


def _event_faults(cursor: sqlite3.Cursor) -> Iterator[str]:
    count, highest = cursor.execute(
        f"SELECT count(*), coalesce(max(rowid), 0) FROM {EVENTS_TABLE}"
    ).fetchone()
    if count != highest:
        yield f"it holds {count} events, the last one at position {highest}"
    for stream, events, last_seq in cursor.execute(
        f"SELECT originator_id, count(*), max(originator_version) FROM {EVENTS_TABLE} "
        "GROUP BY originator_id HAVING count(*) != max(originator_version) "
        "OR min(originator_version) != 1"
    ).fetchall():
        yield f"stream {stream!r} holds {events} events, the last one at seq {last_seq}"
    last = cursor.execute(
        f"SELECT state, recorded_at FROM {EVENTS_TABLE} e JOIN log ON e.rowid = log.position"
    ).fetchone()
    if last is not None:
        recorded_at = codec.decode_envelope(last[0], position=highest).recorded_at
        if recorded_at != last[1]:
            yield f"its head says {last[1]}, its last event was recorded at {recorded_at}"
