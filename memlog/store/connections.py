"""The connections of one open store: one for writing, and as many for reading as are in use.

The writing one is kept for the life of the handle; whoever uses it holds the store's writer lock.
Reading ones are taken and put back in a microsecond. A store in memory has the writing one only,
since connections that share a cache lock each other's tables.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from functools import partial

from memlog.store.connecting import open_connection


class Connections:
    """Hands out the connections of one database.

    Attributes:
        writer: the connection for writing; in a store opened for reading it is one more reader.
    """

    def __init__(self, database_name: str, *, timeout_s: float, read_only: bool) -> None:
        connect = partial(open_connection, database_name, timeout_s=timeout_s, read_only=read_only)
        self.writer = connect(query_only=read_only)
        self._open_reader = partial(connect, query_only=True)
        self._idle: deque[sqlite3.Connection] = deque()
        self._closed = False

    def take_reader(self) -> sqlite3.Connection:
        """Return a connection for one read; give it back with `put_reader`."""
        try:
            return self._idle.pop()
        except IndexError:
            return self._open_reader()

    def put_reader(self, connection: sqlite3.Connection) -> None:
        """Keep a connection for the next read."""
        self._idle.append(connection)
        if self._closed:  # Looked at last: `close` may have emptied the queue just before.
            self._close_idle()

    def close(self) -> None:
        """Close every connection that is not in use; those that are close when put back."""
        self._closed = True
        self._close_idle()
        self.writer.close()

    def _close_idle(self) -> None:
        while self._idle:
            try:
                self._idle.pop().close()
            except IndexError:  # Another thread closed the last one.
                return
