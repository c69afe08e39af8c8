"""How PostgreSQL tells that something was appended: LISTEN, on a connection of its own.

A message can be lost at any time: while nobody listens, behind a transaction pooler, on a
connection that broke without a sign. So whoever waits here also looks every few moments, and what
goes wrong here is no error: the waiting becomes a sleep, and the next one tries to listen again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import psycopg

from memlog.store.postgres_connections import Connection


class Listening:
    """Waits for a message on one channel."""

    def __init__(self, channel: str, connect: Callable[[], Connection]) -> None:
        self._channel, self._connect = channel, connect
        self._connection: Connection | None = None
        self._listen()

    def _listen(self) -> None:
        try:
            self._connection = self._connect()
            self._connection.execute(f'LISTEN "{self._channel}"'.encode())
        except psycopg.Error:
            self.close()

    def wait(self, timeout_s: float) -> None:
        """Return when a message came, or after so many seconds."""
        deadline = time.monotonic() + timeout_s
        if self._connection is None:
            self._listen()  # What came until now was not heard; whoever waits looks next.
            time.sleep(max(min(deadline - time.monotonic(), timeout_s), 0))
            return
        try:
            for _ in self._connection.notifies(timeout=timeout_s, stop_after=1):
                pass
        except psycopg.Error:
            self.close()
            time.sleep(max(deadline - time.monotonic(), 0))

    def close(self) -> None:
        """Stop listening."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(psycopg.Error):
                connection.close()
