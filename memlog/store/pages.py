"""Stored events read in pages, each a view of its own, so that no read lasts long.

On SQLite a long one would keep the write-ahead log from being emptied, on PostgreSQL it would keep
dead rows from being removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from memlog.store.protocol import Executor
from memlog.store.rows import EVENTS_TABLE, StoredRow, row_of

Reading = Callable[[], AbstractContextManager[Executor]]


def log_rows(reading: Reading, *, after: int, up_to: int, size: int) -> Iterator[StoredRow]:
    """Yield stored events with positions in (after, up_to], in order, read `size` at once."""
    where = "rowid > ? AND rowid <= ? ORDER BY rowid"
    return _paged(reading, where, (), after=after, up_to=up_to, size=size, place=0)


def stream_rows(
    reading: Reading, stream: str, *, after: int, up_to: int, size: int, containing: bytes
) -> Iterator[StoredRow]:
    """Yield a stream's stored events with seqs in (after, up_to] that hold some bytes, in order."""
    where = (
        "originator_id = ? AND (? = X'' OR instr(state, ?) > 0) "
        "AND originator_version > ? AND originator_version <= ? ORDER BY originator_version"
    )
    parameters = (stream, containing, containing)
    return _paged(reading, where, parameters, after=after, up_to=up_to, size=size, place=2)


def _paged(
    reading: Reading,
    where: str,
    parameters: tuple[Any, ...],
    *,
    after: int,
    up_to: int,
    size: int,
    place: int,
) -> Iterator[StoredRow]:
    statement = (
        "SELECT rowid, originator_id, originator_version, topic, state "
        f"FROM {EVENTS_TABLE} WHERE {where} LIMIT {size}"
    )
    while True:
        with reading() as cursor:
            page = cursor.execute(statement, (*parameters, after, up_to)).fetchall()
        yield from map(row_of, page)
        if len(page) < size:
            return
        after = page[-1][place]
