"""Copy a log into another store, of the same engine or the other one: id, positions and bytes kept.

Everything that is truth or record goes along: the events, the handed-out sections, the
conversations that keep one, the checkpoints that were signed. What can be made from those is made
anew on the other side. The queue of harvests stays behind: two stores must not do one job twice.

The copy is one transaction: a destination has all of it, or is as it was. One that holds a
beginning of the same log is continued.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import islice

import msgspec

from memlog import codec, step
from memlog import log as logs
from memlog.errors import CorruptStoreError, InvalidRequestError
from memlog.events import Event
from memlog.log import Log
from memlog.settings import Settings
from memlog.store.protocol import Executor, Store
from memlog.store.rows import StoredRow, decoded
from memlog.store.transaction import Transaction
from projections import tree
from projections.notes.reader import live_set
from projections.notes.writer import Writer

_BATCH_EVENTS = 500
_RECORDS = {
    "sections": ("id, stream, hash, updated_seq, settings, conversation_id, handed_out_at, text"),
    "conversations": "stream, conversation_id, section_id, compaction",
    "checkpoints": "id, vkey, size, note",
}
# Records that only ever grow, and what they are called.
_GROWING = {"sections": "handed-out sections", "checkpoints": "signed checkpoints"}

Target = str | os.PathLike[str]
Progress = Callable[[int, int], None]


class Copied(msgspec.Struct, frozen=True, kw_only=True):
    """What a copy did.

    Attributes:
        log_id: the log, on both sides.
        target: the destination.
        events: how many events were added there.
        head: position of its last event by now.
        root: of the Merkle tree over all of them, hex; the same on both sides.
    """

    log_id: str
    target: str
    events: int
    head: int
    root: str


def copy_log(
    source: Target,
    destination: Target,
    *,
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> Copied:
    """Copy a log as it is at this moment; others may write into the source meanwhile.

    Args:
        source: as for `memlog.open`; opened for reading only.
        destination: as for `memlog.open`: a store that does not exist yet or has no events, or a
            beginning of the same log.
        settings: for both.
        progress: called with (events done, events to do).

    Raises:
        InvalidRequestError: the destination holds another log, one that went another way, or
            records that the source has not.
        TargetError, RetryError, DamageError: as for `memlog.open` and a write.
    """
    with (
        logs.open(source, settings=settings, read_only=True, create=False) as origin,
        logs.open(destination, settings=settings) as copy,
    ):
        return copy_into(origin, copy, progress=progress)


def copy_into(source: Log, copy: Log, *, progress: Progress | None = None) -> Copied:
    """Copy an open log into another one, whose handle must not be used any more; see `copy_log`."""
    source_store, store = source._store, copy._store  # noqa: SLF001  # an edge of ours
    head, root = _head_and_root(source_store)
    with store.transaction() as transaction:
        before = transaction.head
        if not before:
            _adopt(transaction, source_store)
        elif copy.log_id != source.log_id:
            rule = f"it holds the log {copy.log_id}, not {source.log_id}; name a new store"
            raise InvalidRequestError("destination", copy.target, rule)
        _check_beginning(source_store, transaction, head, copy.target)
        rows = source_store.rows(after=before, up_to=head)
        while batch := list(islice(rows, _BATCH_EVENTS)):
            _append(transaction, batch)
            if progress is not None:
                progress(transaction.head - before, head - before)
        copied = tree.root(transaction.cursor, size=transaction.head)
        if copied != root:
            detail = f"its tree says root {root.hex()}, its events give {copied.hex()}"
            raise CorruptStoreError(source.target, detail)
        _copy_records(source_store, transaction.cursor, copy.target)
    return Copied(
        log_id=source.log_id,
        target=copy.target,
        events=head - before,
        head=head,
        root=root.hex(),
    )


def _head_and_root(store: Store) -> tuple[int, bytes]:
    with store.reading() as cursor:
        (head,) = cursor.execute("SELECT position FROM log").fetchone()
        return head, tree.root(cursor, size=head)


def _adopt(transaction: Transaction, source: Store) -> None:
    """Let an empty log become a copy: its id goes into every event."""
    with source.reading() as cursor:
        (created_at,) = cursor.execute("SELECT created_at FROM log").fetchone()
    transaction.adopt(source.log_id)
    transaction.cursor.execute("UPDATE log SET created_at = ?", (created_at,))


def _check_beginning(source: Store, transaction: Transaction, head: int, target: str) -> None:
    size = transaction.head
    if size > head:
        rule = f"it has {size} events, the source {head}; copy the other way"
        raise InvalidRequestError("destination", target, rule)
    with source.reading() as cursor:
        root = tree.root(cursor, size=size)
    if tree.root(transaction.cursor, size=size) != root:
        rule = f"its first {size} events are not those of the source; name a new store"
        raise InvalidRequestError("destination", target, rule)


def _append(transaction: Transaction, batch: list[StoredRow]) -> None:
    events = [decoded(row) for row in batch]
    salts = [codec.split(row.state, position=row.position).salt for row in batch]
    step.append(transaction, events, salts)
    transaction.recorded_at = events[-1].recorded_at_text
    _project(transaction.cursor, events)


def _project(cursor: Executor, events: list[Event]) -> None:
    writers: dict[str, Writer] = {}
    for event in events:
        if event.stream not in writers:
            writers[event.stream] = Writer(cursor, live_set(cursor), event.stream)
        writers[event.stream].apply(event)
    for writer in writers.values():
        writer.flush()


def _copy_records(source: Store, cursor: Executor, target: str) -> None:
    """Replace the records of the copy by those of the source, of which they must be the first."""
    for table, columns in _RECORDS.items():
        if table in _GROWING:
            _check_first(source, cursor, table, columns, target)
        marks = ", ".join("?" * len(columns.split(",")))
        cursor.execute(f"DELETE FROM {table}")
        cursor.executemany(
            f"INSERT INTO {table} ({columns}) VALUES ({marks})", _rows(source, table, columns)
        )


def _check_first(source: Store, cursor: Executor, table: str, columns: str, target: str) -> None:
    theirs = _rows(source, table, columns)
    for own in cursor.execute(f"SELECT {columns} FROM {table} ORDER BY 1, 2"):
        if own != next(theirs, None):
            rule = f"it has {_GROWING[table]} of its own, which would be lost; name a new store"
            raise InvalidRequestError("destination", target, rule)


def _rows(source: Store, table: str, columns: str) -> Iterator[tuple[object, ...]]:
    with source.reading() as cursor:
        yield from cursor.execute(f"SELECT {columns} FROM {table} ORDER BY 1, 2")
