"""One open write: SQL on the store's own connection, and the append. The same on both engines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from memlog import codec
from memlog.errors import CorruptStoreError
from memlog.events import Event
from memlog.store.protocol import Executor
from memlog.store.rows import EVENTS_TABLE, StoredRow, row_of

LOG_ROW = "SELECT position, recorded_at FROM log"

_PAGE_EVENTS = 500


class Transaction:
    """One open write: SQL on the store's own connection, and the append.

    Attributes:
        cursor: executes SQL inside the transaction.
        head: position of the log's last event, 0 when it has none.
        recorded_at: the time of all events of this transaction: the clock, but never before the
            last event of the log.
        first: position and id of the first event that was appended; None when there is none.
    """

    def __init__(
        self,
        cursor: Executor,
        insert: Callable[[Sequence[StoredRow]], Sequence[int]],
        *,
        target: str,
        log_id: str,
        now: str,
        log_row: tuple[int, str] | None,
    ) -> None:
        """Begin at the head.

        Args:
            cursor: on the store's connection, inside a transaction.
            insert: appends stored events there and returns their positions.
            target: what errors call the store.
            log_id: goes into each event.
            now: the clock.
            log_row: what `LOG_ROW` gives.

        Raises:
            CorruptStoreError: there is no such row.
        """
        self.cursor, self._insert = cursor, insert
        self._target, self._log_id = target, log_id
        if log_row is None:
            raise CorruptStoreError(target, "its head is missing")
        self.head: int = log_row[0]
        self._start = self.head
        self.recorded_at: str = max(now, log_row[1])
        self.first: tuple[int, str] | None = None

    @property
    def appended(self) -> int:
        """Number of events that were appended so far."""
        return self.head - self._start

    def adopt(self, log_id: str) -> None:
        """Give a log without events another id: that of the log which it becomes a copy of."""
        assert not self.head
        self.cursor.execute("UPDATE log SET log_id = ?", (log_id,))
        self._log_id = log_id

    def append(self, events: Sequence[Event], salts: Sequence[bytes]) -> list[bytes]:
        """Append events whose positions follow the head, each with a salt of its own.

        Returns:
            The bytes of each event's envelope, as they are stored.

        Raises:
            CorruptStoreError: another program put events behind the head.
        """
        encoded = [
            codec.encoded(event, log_id=self._log_id, salt=salt)
            for event, salt in zip(events, salts, strict=True)
        ]
        positions = self._insert(
            [
                StoredRow(event.position, event.stream, event.seq, event.type, each.state)
                for event, each in zip(events, encoded, strict=True)
            ]
        )
        if list(positions) != [event.position for event in events]:
            detail = f"its head says position {self.head}, its next event would be {positions[0]}"
            raise CorruptStoreError(self._target, detail)
        self.first = self.first or (events[0].position, events[0].event_id)
        self.head += len(events)
        return [each.envelope for each in encoded]

    def rows(self, *, after: int) -> Iterator[StoredRow]:
        """Yield the stored events above a position, in order, as this transaction sees them."""
        statement = (
            "SELECT rowid, originator_id, originator_version, topic, state "
            f"FROM {EVENTS_TABLE} WHERE rowid > ? ORDER BY rowid LIMIT {_PAGE_EVENTS}"
        )
        while page := self.cursor.execute(statement, (after,)).fetchall():
            yield from map(row_of, page)
            after = page[-1][0]

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
        if self.first is not None:
            self.cursor.execute(
                "UPDATE log SET position = ?, recorded_at = ?", (self.head, self.recorded_at)
            )
