"""Open a connection to an SQLite file: durable, in WAL mode, and known to be so."""

from __future__ import annotations

import sqlite3

_SYNCHRONOUS_FULL = 2
_TIMEOUT_MAX_S = 1_000_000  # The engine counts milliseconds in 31 bits.


class _NotWalError(sqlite3.OperationalError):
    def __str__(self) -> str:
        return f"the journal mode is {self.args[0]!r} and cannot be 'wal'"


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
