"""The table of the harvest's queue: one row a compaction. SQL only; nothing here does a job.

Operational state, not truth: no event, export or proof holds any of it, and a store that loses it
loses work to be done, no fact. A row is `queued`, then `running` under a lease, and at last `done`
or `dead`. `due_at` is the moment from which a queued job may begin, and from which a running one
may be taken over, because whoever had it is gone. A job that ends loses its entries and keeps its
key, so that no compaction is harvested twice; a dead one keeps them for 30 days, for `retry`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from memlog import text
from memlog.store.protocol import Executor

State = Literal["queued", "running", "dead", "done"]


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A job that one worker has for the time of its lease.

    Attributes:
        stream: whose notes it is about.
        key: which compaction.
        conversation_id: of which conversation, or None.
        entries: the masked transcript, one JSON document.
        entries_sha256: its SHA-256, hex.
        attempts: how often it was begun, this time included.
        lease: proves that this worker has it.
    """

    stream: str
    key: str
    conversation_id: str | None
    entries: str
    entries_sha256: str
    attempts: int
    lease: str


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """A job as a person sees it, without its entries.

    Attributes:
        stream: whose notes it is about.
        key: which compaction.
        state: `queued`, `running`, `dead` or `done`.
        attempts: how often it was begun.
        queued_at: when it came.
        due_at: when it may begin, or be taken over.
        ended_at: when it was done or given up, or None.
        reason: why the last attempt failed, or None.
        entries_bytes: size of the masked transcript; 0 when it is gone.
        masked: number of masked secrets, by kind.
    """

    stream: str
    key: str
    state: State
    attempts: int
    queued_at: str
    due_at: str
    ended_at: str | None
    reason: str | None
    entries_bytes: int
    masked: dict[str, int]


def ddl() -> tuple[str, ...]:
    """Return the statements that make the table."""
    return (
        """
        CREATE TABLE harvest_jobs (
            stream TEXT NOT NULL,
            key TEXT NOT NULL,
            state TEXT NOT NULL,
            conversation_id TEXT,
            queued_at TEXT NOT NULL,
            due_at TEXT NOT NULL,
            ended_at TEXT,
            lease TEXT,
            attempts INTEGER NOT NULL,
            reason TEXT,
            masked TEXT NOT NULL,
            entries_sha256 TEXT NOT NULL,
            entries_bytes INTEGER NOT NULL,
            entries TEXT,
            PRIMARY KEY (stream, key)
        )
        """,
        "CREATE INDEX harvest_jobs_due ON harvest_jobs (state, due_at)",
    )


class _Only(NamedTuple):
    """A restriction of a statement: what follows its conditions, and the values for that."""

    sql: str
    values: tuple[str, ...]


def _only(*, stream: str | None, key: str | None = None) -> _Only:
    chosen = {"stream": stream, "key": key}
    given = {name: value for name, value in chosen.items() if value is not None}
    return _Only("".join(f" AND {name} = ?" for name in given), tuple(given.values()))


def add(
    cursor: Executor,
    *,
    stream: str,
    key: str,
    conversation_id: str | None,
    entries: str,
    entries_sha256: str,
    masked: Mapping[str, int],
    now: str,
) -> bool:
    """Queue a job, due at once; False when this key was queued before, whatever became of it."""
    known = cursor.execute(
        "SELECT 1 FROM harvest_jobs WHERE stream = ? AND key = ?", (stream, key)
    ).fetchone()
    if known is not None:
        return False
    counts = msgspec.json.encode(dict(sorted(masked.items()))).decode()
    cursor.execute(
        "INSERT INTO harvest_jobs (stream, key, state, conversation_id, queued_at, due_at, "
        "attempts, masked, entries_sha256, entries_bytes, entries) "
        "VALUES (?, ?, 'queued', ?, ?, ?, 0, ?, ?, ?, ?)",
        (
            stream,
            key,
            conversation_id,
            now,
            now,
            counts,
            entries_sha256,
            text.byte_length(entries),
            entries,
        ),
    )
    return True


def claim(
    cursor: Executor, *, stream: str | None, now: str, horizon: str, leased_until: str, lease: str
) -> Job | None:
    """Take the job that has been due for longest, or None when none is due.

    Args:
        cursor: of a write.
        stream: only jobs of this stream.
        now: the time.
        horizon: no due time lies beyond it; one that does was written by a clock that was ahead.
        leased_until: until when it is this worker's alone.
        lease: a fresh id.
    """
    only = _only(stream=stream)
    row = cursor.execute(
        "SELECT stream, key, conversation_id, entries, entries_sha256, attempts FROM harvest_jobs "
        f"WHERE state IN ('queued', 'running') AND (due_at <= ? OR due_at > ?){only.sql} "
        "ORDER BY due_at, stream, key LIMIT 1",
        (now, horizon, *only.values),
    ).fetchone()
    if row is None:
        return None
    cursor.execute(
        "UPDATE harvest_jobs SET state = 'running', lease = ?, due_at = ?, attempts = ? "
        "WHERE stream = ? AND key = ?",
        (lease, leased_until, row[5] + 1, row[0], row[1]),
    )
    return Job(
        stream=row[0],
        key=row[1],
        conversation_id=row[2],
        entries=row[3],
        entries_sha256=row[4],
        attempts=row[5] + 1,
        lease=lease,
    )


def is_held(cursor: Executor, job: Job) -> bool:
    """Tell whether a job is still that of the worker who took it."""
    row = cursor.execute(
        "SELECT lease FROM harvest_jobs WHERE stream = ? AND key = ?", (job.stream, job.key)
    ).fetchone()
    return row is not None and row[0] == job.lease


def finish(cursor: Executor, job: Job, *, now: str) -> None:
    """End a job that is held; its entries go."""
    cursor.execute(
        "UPDATE harvest_jobs SET state = 'done', ended_at = ?, lease = NULL, entries = NULL, "
        "entries_bytes = 0, reason = NULL WHERE stream = ? AND key = ?",
        (now, job.stream, job.key),
    )


def postpone(cursor: Executor, job: Job, *, reason: str, due_at: str) -> None:
    """Give a job that is held back to the queue."""
    cursor.execute(
        "UPDATE harvest_jobs SET state = 'queued', due_at = ?, lease = NULL, reason = ? "
        "WHERE stream = ? AND key = ?",
        (due_at, reason, job.stream, job.key),
    )


def bury(cursor: Executor, job: Job, *, reason: str, now: str) -> None:
    """Give a job that is held up for good; its entries stay for `retry`."""
    cursor.execute(
        "UPDATE harvest_jobs SET state = 'dead', ended_at = ?, lease = NULL, reason = ? "
        "WHERE stream = ? AND key = ?",
        (now, reason, job.stream, job.key),
    )


def revive(cursor: Executor, *, stream: str | None, key: str | None, now: str) -> int:
    """Queue dead jobs anew, with all their attempts; return how many.

    Args:
        cursor: of a write.
        stream: only those of this stream.
        key: only those with this key.
        now: the time.
    """
    only = _only(stream=stream, key=key)
    dead = f"WHERE state = 'dead'{only.sql}"
    row = cursor.execute(f"SELECT count(*) FROM harvest_jobs {dead}", only.values).fetchone()
    cursor.execute(
        "UPDATE harvest_jobs SET state = 'queued', due_at = ?, ended_at = NULL, attempts = 0 "
        f"{dead}",
        (now, *only.values),
    )
    count: int = row[0]
    return count


def forget_dead(cursor: Executor, *, before: str) -> None:
    """Delete the jobs that were given up before a moment."""
    cursor.execute("DELETE FROM harvest_jobs WHERE state = 'dead' AND ended_at < ?", (before,))


def next_due(cursor: Executor, *, stream: str | None) -> str | None:
    """Return when the next job is due or may be taken over, or None when there is none."""
    only = _only(stream=stream)
    row: Any = cursor.execute(
        f"SELECT min(due_at) FROM harvest_jobs WHERE state IN ('queued', 'running'){only.sql}",
        only.values,
    ).fetchone()
    due_at: str | None = row[0]
    return due_at


def listed(cursor: Executor, *, stream: str | None, with_done: bool) -> list[Listed]:
    """Return the jobs, the oldest first."""
    only = _only(stream=stream)
    states = "1 = 1" if with_done else "state != 'done'"
    rows = cursor.execute(
        "SELECT stream, key, state, attempts, queued_at, due_at, ended_at, reason, entries_bytes, "
        f"masked FROM harvest_jobs WHERE {states}{only.sql} ORDER BY queued_at, stream, key",
        only.values,
    )
    return [
        Listed(
            stream=row[0],
            key=row[1],
            state=row[2],
            attempts=row[3],
            queued_at=row[4],
            due_at=row[5],
            ended_at=row[6],
            reason=row[7],
            entries_bytes=row[8],
            masked=msgspec.json.decode(row[9], type=dict[str, int]),
        )
        for row in rows
    ]
