"""One open write of an SQLite store: SQL on the store's own connection, and the append."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from eventsourcing.persistence import StoredEvent
from eventsourcing.sqlite import SQLiteCursor

from memlog import codec
from memlog.errors import CorruptStoreError
from memlog.events import Event
from memlog.store.recorder import EVENTS_TABLE, Recorder
from memlog.store.rows import StoredRow


class Transaction:
    """One open write: SQL on the store's own connection, and the append.

    Attributes:
        cursor: executes SQL inside the transaction.
        head: position of the log's last event, 0 when it has none.
        recorded_at: the time of all events of this transaction: the clock, but never before the
            last event of the log.
    """

    def __init__(
        self, cursor: sqlite3.Cursor, recorder: Recorder, *, target: str, log_id: str, now: str
    ) -> None:
        self.cursor, self._recorder = cursor, recorder
        self._target, self._log_id = target, log_id
        row = cursor.execute("SELECT position, recorded_at FROM log").fetchone()
        if row is None:
            raise CorruptStoreError(target, "its head is missing")
        self.head: int = row[0]
        self._first_head = self.head
        self.recorded_at: str = max(now, row[1])

    def append(self, events: Sequence[Event], salts: Sequence[bytes]) -> None:
        """Append events whose positions follow the head, each with a salt of its own.

        Raises:
            CorruptStoreError: another program put events behind the head.
        """
        positions = self._recorder.insert(
            SQLiteCursor(self.cursor),
            [
                StoredEvent(
                    originator_id=event.stream,
                    originator_version=event.seq,
                    topic=event.type,
                    state=codec.encode(event, log_id=self._log_id, salt=salt),
                )
                for event, salt in zip(events, salts, strict=True)
            ],
        )
        if list(positions) != [event.position for event in events]:
            detail = f"its head says position {self.head}, its next event would be {positions[0]}"
            raise CorruptStoreError(self._target, detail)
        self.head += len(events)

    def rows(self, *, after: int) -> Iterator[StoredRow]:
        """Yield the stored events above a position, in order, as this transaction sees them."""
        yield from map(
            StoredRow._make,
            self.cursor.connection.execute(
                "SELECT rowid, originator_id, originator_version, topic, state "
                f"FROM {EVENTS_TABLE} WHERE rowid > ? ORDER BY rowid",
                (after,),
            ),
        )

    def state_at(self, position: int) -> bytes:
        """Return the stored bytes of an event."""
        statement = f"SELECT state FROM {EVENTS_TABLE} WHERE rowid = ?"
        state: bytes = self.cursor.execute(statement, (position,)).fetchone()[0]
        return state

    def position_of(self, stream: str, seq: int) -> int:
        """Return the place in the log of an event of a stream."""
        statement = (
            f"SELECT rowid FROM {EVENTS_TABLE} WHERE originator_id = ? AND originator_version = ?"
        )
        position: int = self.cursor.execute(statement, (stream, seq)).fetchone()[0]
        return position

    def finish(self) -> None:
        """Store the new head; the last thing before the commit."""
        if self.head != self._first_head:
            self.cursor.execute(
                "UPDATE log SET position = ?, recorded_at = ?", (self.head, self.recorded_at)
            )
