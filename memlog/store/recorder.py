"""The `eventsourcing` recorder for SQLite, with the transactions and table that a log needs.

What the stock classes lack and these add: transactions that begin IMMEDIATE (a deferred one fails
at once when it must upgrade to writing), connections of `memlog.store.connecting`, and positions in
an INTEGER PRIMARY KEY, so that VACUUM and dumps keep them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from eventsourcing.persistence import StoredEvent
from eventsourcing.sqlite import (
    SQLiteApplicationRecorder,
    SQLiteConnection,
    SQLiteConnectionPool,
    SQLiteCursor,
    SQLiteDatastore,
    SQLiteTransaction,
)

from memlog.store.connecting import open_connection
from memlog.store.rows import EVENTS_TABLE, StoredRow


def stored_events(rows: Iterable[StoredRow]) -> list[StoredEvent]:
    """Return rows as the recorders take them; they give the positions themselves."""
    return [
        StoredEvent(
            originator_id=row.stream,
            originator_version=row.seq,
            topic=row.type,
            state=row.state,
        )
        for row in rows
    ]


class _ImmediateTransaction(SQLiteTransaction):
    def __enter__(self) -> SQLiteCursor:
        cursor = self.connection.cursor()
        cursor.execute("BEGIN IMMEDIATE" if self.commit else "BEGIN")
        return cursor


class _Connection(SQLiteConnection):
    @contextmanager
    def transaction(self, *, commit: bool) -> Iterator[SQLiteCursor]:
        with _ImmediateTransaction(self, commit=commit) as cursor, cursor:
            yield cursor


class _Pool(SQLiteConnectionPool):
    def __init__(self, *, db_name: str, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        super().__init__(db_name=db_name, pool_timeout=timeout_s)

    def _create_connection(self) -> SQLiteConnection:
        connection = open_connection(self.db_name, timeout_s=self._timeout_s)
        connection.row_factory = sqlite3.Row  # The stock recorder reads rows by column name.
        return _Connection(sqlite_conn=connection, max_age=None)


class Datastore(SQLiteDatastore):
    """The stock datastore over connections of `open_connection`, with text stream names.

    It connects when its recorder's own reads and writes ask it to. A store never does: it hands the
    recorder a cursor of its transaction.
    """

    def __init__(self, db_name: str, *, timeout_s: float) -> None:
        super().__init__(db_name, originator_id_type="text")
        self.pool.close()
        self.pool = _Pool(db_name=db_name, timeout_s=timeout_s)


class Recorder(SQLiteApplicationRecorder):
    """Events by position: the next one is always the highest plus one, given at the insert.

    The table has no triggers here, since the recorder's contract allows gaps in versions; the
    store's schema adds them (`memlog.store.schema`).
    """

    def __init__(self, datastore: SQLiteDatastore, events_table_name: str = EVENTS_TABLE) -> None:
        super().__init__(datastore, events_table_name)
        self.insert_events_statement = (
            f"INSERT INTO {events_table_name} "  # a table name of our own
            "(rowid, originator_id, originator_version, topic, state) VALUES "
            f"((SELECT coalesce(max(rowid), 0) + 1 FROM {events_table_name}), ?, ?, ?, ?)"
        )

    def construct_create_table_statements(self) -> list[str]:
        """Return the DDL of the events table."""
        return [
            (
                f"CREATE TABLE IF NOT EXISTS {self.events_table_name} ("
                "rowid INTEGER PRIMARY KEY, "
                "originator_id TEXT NOT NULL, "
                "originator_version INTEGER NOT NULL, "
                "topic TEXT NOT NULL, "
                "state BLOB NOT NULL, "
                "UNIQUE (originator_id, originator_version))"
            )
        ]

    def insert(self, cursor: sqlite3.Cursor, events: Sequence[StoredEvent]) -> Sequence[int]:
        """Append stored events inside a transaction of the caller; return their positions."""
        return self._insert_events(SQLiteCursor(cursor), events) or []
