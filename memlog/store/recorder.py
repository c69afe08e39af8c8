"""The `eventsourcing` recorder for SQLite, with the transactions and table that a log needs.

What the stock classes lack and these add: transactions that begin IMMEDIATE (a deferred one fails
at once when it must upgrade to writing), `synchronous=FULL` set and asserted, the WAL mode checked,
and positions in an INTEGER PRIMARY KEY, so that VACUUM and dumps keep them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
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

EVENTS_TABLE = "stored_events"

_SYNCHRONOUS_FULL = 2
_TIMEOUT_MAX_S = 1_000_000  # The engine counts milliseconds in 31 bits.


class _NotWalError(sqlite3.OperationalError):
    def __str__(self) -> str:
        return f"the journal mode is {self.args[0]!r} and cannot be 'wal'"


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


def open_connection(
    database_name: str, *, timeout_s: float, read_only: bool = False, query_only: bool = False
) -> sqlite3.Connection:
    """Return a connection in autocommit mode, durable, and known to be in WAL mode when on a file.

    Args:
        database_name: a URI.
        timeout_s: how long it waits for other programs.
        read_only: the file is not to be changed, so its journal mode stays as it is.
        query_only: refuse statements that write.

    Raises:
        sqlite3.Error: the database cannot be opened, or cannot be in WAL mode.
    """
    connection = sqlite3.connect(
        database_name,
        uri=True,
        check_same_thread=False,
        isolation_level=None,
        timeout=min(timeout_s, _TIMEOUT_MAX_S),
        cached_statements=256,
    )
    try:
        connection.execute("PRAGMA trusted_schema=OFF")
        if not read_only:
            _make_durable(connection, on_file="mode=memory" not in database_name)
        if query_only:
            connection.execute("PRAGMA query_only=ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _make_durable(connection: sqlite3.Connection, *, on_file: bool) -> None:
    connection.execute("PRAGMA synchronous=FULL")
    (level,) = connection.execute("PRAGMA synchronous").fetchone()
    assert level == _SYNCHRONOUS_FULL
    if on_file:
        (mode,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
        if mode != "wal":
            raise _NotWalError(mode)


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
