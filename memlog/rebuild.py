"""Make the notes tables anew from the log, beside the live ones; compare; swap the pointer.

Events are applied in batches, each a short write of its own, so that other writers wait for
milliseconds. The last batch, the comparison and the swap are one transaction.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from memlog import codec
from memlog.errors import RebuildTakenOverError
from memlog.events import Event
from projections.digest import tables as digest_tables
from projections.notes import comparison
from projections.notes.reader import live_set
from projections.notes.tables import Names, other
from projections.notes.words import Executor
from projections.notes.writer import Writer

if TYPE_CHECKING:
    from memlog.store.protocol import Store
    from memlog.store.transaction import Transaction

_BATCH_EVENTS = 500

Progress = Callable[[int, int], None]


class Rebuilt(msgspec.Struct, frozen=True, kw_only=True):
    """What a rebuild did.

    Attributes:
        projection: its name.
        events: number of events that it was made from.
        differences: what the old one had otherwise, a sentence each; empty when nothing.
    """

    projection: str
    events: int
    differences: tuple[str, ...]


def rebuild_notes(store: Store, *, progress: Progress | None = None) -> Rebuilt:
    """Rebuild the notes tables; see `Log.rebuild`.

    Raises:
        RebuildTakenOverError: another rebuild began meanwhile.
        DamageError: an event cannot be read; the live tables stay as they were.
    """
    token = str(uuid.uuid4())
    names = _begin(store, token)
    done = 0
    while batch := list(islice(_events(store.rows(after=done)), _BATCH_EVENTS)):
        with store.transaction() as transaction:
            _check_token(transaction, token, store.target)
            _apply(transaction.cursor, names, batch)
            head = transaction.head
        done = batch[-1].position
        if progress is not None:
            progress(done, head)
        if len(batch) < _BATCH_EVENTS:  # Other writers may go on: the swap applies what is left.
            break
    return _swap(store, token, names, done)


def _begin(store: Store, token: str) -> Names:
    with store.transaction() as transaction:
        names = other(live_set(transaction.cursor))
        transaction.cursor.execute("UPDATE notes_pointer SET rebuild = ?", (token,))
        for table in names.all:
            transaction.cursor.execute(f"DELETE FROM {table}")
    return names


def _check_token(transaction: Transaction, token: str, target: str) -> None:
    (holder,) = transaction.cursor.execute("SELECT rebuild FROM notes_pointer").fetchone()
    if holder != token:
        raise RebuildTakenOverError(target)


def _events(rows: Iterable[tuple[int, str, int, str, bytes]]) -> Iterator[Event]:
    for position, _, _, type_, state in rows:
        yield codec.event_of(codec.replayed(type_, state, position=position), position=position)


def _apply(cursor: Executor, names: Names, events: Iterable[Event]) -> None:
    writers: dict[str, Writer] = {}
    for event in events:
        writer = writers.get(event.stream)
        if writer is None:
            writer = writers[event.stream] = Writer(cursor, names, event.stream)
        writer.apply(event)
    for writer in writers.values():
        writer.flush()


def _swap(store: Store, token: str, names: Names, done: int) -> Rebuilt:
    with store.transaction() as transaction:
        _check_token(transaction, token, store.target)
        _apply(transaction.cursor, names, _events(transaction.rows(after=done)))
        differences = comparison.differences(transaction.cursor, other(names), names)
        transaction.cursor.execute(
            "UPDATE notes_pointer SET live = ?, rebuild = NULL", (names.set,)
        )
        for table in other(names).all:
            transaction.cursor.execute(f"DELETE FROM {table}")
        digest_tables.forget(transaction.cursor)  # What forged rows gave must not live on.
        return Rebuilt(projection="notes", events=transaction.head, differences=differences)
