"""The connections of one open store: one for writing, and as many for reading as are in use.

The writing one comes from the `eventsourcing` pool and is kept for the life of the handle; whoever
uses it holds the store's writer lock. Reading ones are taken and put back in a microsecond. A store
in memory has one connection for everything, under that same lock, since connections that share a
cache lock each other's tables.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import deque
from functools import partial

from eventsourcing.sqlite import SQLiteConnection

from memlog.store.recorder import Datastore, open_connection


class Connections:
    """Hands out the connections of one database.

    Attributes:
        datastore: the `eventsourcing` datastore, for its recorder.
        writer: the connection for writing (for reading only, in a store opened so).
    """

    def __init__(
        self, database_name: str, *, timeout_s: float, read_only: bool, writer_lock: threading.Lock
    ) -> None:
        self.datastore = Datastore(database_name, timeout_s=timeout_s, read_only=read_only)
        self.writer: SQLiteConnection = self.datastore.pool.get_connection()
        self._open = partial(
            open_connection, database_name, timeout_s=timeout_s, read_only=read_only
        )
        self._idle: deque[sqlite3.Connection] = deque()
        self._only = writer_lock if self.datastore.pool.is_sqlite_memory_mode else None
        self._closed = False

    def take_reader(self) -> sqlite3.Connection:
        """Return a connection for one read; give it back with `put_reader`."""
        if self._only is not None:
            self._only.acquire()
            return self.writer._sqlite_conn  # noqa: SLF001  # the package gives no other way
        try:
            return self._idle.pop()
        except IndexError:
            return self._open()

    def put_reader(self, connection: sqlite3.Connection) -> None:
        """End the read of a connection and keep it for the next."""
        if connection.in_transaction:
            connection.rollback()
        if self._only is not None:
            self._only.release()
        elif self._closed:
            connection.close()
        else:
            self._idle.append(connection)

    def close(self) -> None:
        """Close every connection that is not in use; those that are close when put back."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()
        self.datastore.pool.put_connection(self.writer)
        self.datastore.close()
