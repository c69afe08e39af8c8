"""The connections of one open store: one for writing, and some for reading.

The writing one is kept for the life of the handle; whoever uses it holds the handle's writer lock,
so that however many threads write, one connection of this process waits for the log's lock.
Reading ones are taken and put back, at most `READERS_MAX` at once. A connection that turns out to
be broken when a transaction begins on it is replaced, which is safe: nothing was asked of it yet.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus

from memlog.errors import BusyError, InvalidRequestError
from memlog.store.counters import Counters
from memlog.store.postgres_dialect import adapters

Connection = psycopg.Connection[tuple[Any, ...]]

logger = logging.getLogger(__name__)

READERS_MAX = 16
_PREPARE_AFTER = 5  # times that a statement was run
_PREPARED_MAX = 500  # Lists of different lengths make many statements.
# Taken where the conninfo says nothing: no wait is without an end.
_DEFAULTS: Mapping[str, str | int] = {
    "connect_timeout": 10,
    "fallback_application_name": "memlog",
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
_SECRETS = frozenset(
    {"password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key"}
)
_HIDDEN = "postgresql://***"
_SHOWN_ELSEWHERE = frozenset({"user", "dbname", "client_encoding"})


class Conninfo:
    """A connection string, whole, and what of it may be shown.

    Attributes:
        text: what the driver gets.
        shown: a URL that names the same database, without passwords.
        names_schema: whether its options say which schema to use.
    """

    def __init__(self, url: str) -> None:
        """Take a connection URL apart.

        Raises:
            InvalidRequestError: it is none, or would be read as another one than was meant; the
                error does not repeat it, as a password may be anywhere in it.
        """
        try:
            given = conninfo_to_dict(url)
        except psycopg.Error:
            rule = "write it as postgresql://USER@HOST:PORT/DATABASE?OPTION=VALUE"
            raise InvalidRequestError("target", _HIDDEN, rule) from None
        if _splits_a_password(url):
            rule = "its port is no number, or its password holds @, / or ?: write %40, %2F, %3F"
            raise InvalidRequestError("target", _HIDDEN, rule)
        self.names_schema = "search_path" in str(given.get("options", ""))
        missing = {name: value for name, value in _DEFAULTS.items() if name not in given}
        self.text = make_conninfo(url, client_encoding="utf8", **missing)
        self.shown = _shown(given)


def _splits_a_password(url: str) -> bool:
    """Tell whether a password may stand where the driver sees a host, a port or a database."""
    before_options = url.partition("://")[2].partition("?")[0]
    place, _, database = before_options.partition("/")
    _, _, hosts = place.rpartition("@")
    ports = [host.rpartition("]")[2].partition(":")[2] for host in hosts.split(",")]
    return "@" in database or place.count("@") > 1 or not all(map(_is_port, ports))


def _is_port(text: str) -> bool:
    return not text or (text.isascii() and text.isdigit())


def _shown(given: Mapping[str, Any]) -> str:
    rest = {
        name: value
        for name, value in given.items()
        if name not in _SECRETS and name not in _SHOWN_ELSEWHERE
    }
    place, host = "", str(rest.get("host", ""))
    if host and not {"/", ","} & set(host):
        del rest["host"]
        port = rest.pop("port", "")
        place = (f"[{host}]" if ":" in host else host) + (f":{port}" if port else "")
    user = f"{quote(str(given['user']))}@" if "user" in given else ""
    url = f"postgresql://{user}{place}/{quote(str(given.get('dbname', '')))}"
    return f"{url}?{urlencode(rest)}" if rest else url


class Connections:
    """Hands out the connections of one database.

    Attributes:
        prepares: whether statements are prepared; turned off for good where the server forgets
            them.
    """

    def __init__(self, conninfo: Conninfo, counters: Counters, *, timeout_s: float) -> None:
        self._conninfo, self._timeout_s, self._counters = conninfo, timeout_s, counters
        self._idle: deque[Connection] = deque()
        self._free = threading.BoundedSemaphore(READERS_MAX)
        self._writer: Connection | None = None
        self._closed = False
        self.prepares = True

    def open(self) -> Connection:
        """Return a new connection in autocommit mode.

        Raises:
            psycopg.OperationalError: there is no server, it refuses, or it did not answer in time.
        """
        connection = psycopg.connect(
            self._conninfo.text,
            autocommit=True,
            prepare_threshold=None,
            cursor_factory=psycopg.RawCursor,
            context=adapters(),
        )
        self._counters.add("connections")
        if self.prepares and _is_direct(connection):
            connection.prepare_threshold = _PREPARE_AFTER
            connection.prepared_max = _PREPARED_MAX
        return connection

    def begin_read(self, statement: str) -> Connection:
        """Return a connection on which `statement` has begun a transaction; see `put_reader`.

        Raises:
            BusyError: other threads had all connections for too long.
            psycopg.Error: there is no server.
        """
        if not self._free.acquire(timeout=self._timeout_s):
            raise BusyError(self._conninfo.shown, self._timeout_s)
        try:
            while True:
                try:
                    connection, is_new = self._idle.pop(), False
                except IndexError:
                    connection, is_new = self.open(), True
                try:
                    connection.execute(statement)
                except BaseException as error:
                    connection.close()
                    if is_new or not isinstance(error, psycopg.OperationalError):
                        raise
                    self._note_reconnection()
                else:
                    return connection
        except BaseException:
            self._free.release()
            raise

    def _note_reconnection(self) -> None:
        self._counters.add("reconnections")
        logger.info("a broken connection is replaced", extra={"target": self._conninfo.shown})

    def put_reader(self, connection: Connection) -> None:
        """Take a connection back, after ending its transaction."""
        try:
            # A rollback would make the driver forget, and prepare anew, all statements.
            if _ended(connection, connection.commit):
                self._idle.append(connection)
            if self._closed:  # Looked at last: `close` may have emptied the queue just before.
                self._close_idle()
        finally:
            self._free.release()

    def begin_write(self, statement: str) -> psycopg.Cursor[tuple[Any, ...]]:
        """Begin a transaction on the writing connection; the caller holds the writer lock.

        Returns:
            The cursor that ran `statement`, which holds the rows of its last part.
        """
        writer = self._writer
        if writer is not None:
            try:
                return writer.execute(statement)
            except psycopg.OperationalError:
                if not writer.closed:  # It is the lock that was not given, not the connection.
                    raise
                self.drop_writer()
                self._note_reconnection()
        self._writer = self.open()
        return self._writer.execute(statement)

    def end_write(self) -> None:
        """End what is left of a transaction on the writing connection: nothing of it is kept."""
        if self._writer is not None and not _ended(self._writer, self._writer.rollback):
            self.drop_writer()

    def drop_writer(self) -> None:
        """Close the writing connection; the next write opens another one."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def forget_prepared(self) -> None:
        """Prepare no statement any more, on connections that are opened from now on."""
        self.prepares = False
        self._close_idle()
        self.drop_writer()

    def close(self) -> None:
        """Close every connection that is not in use; the others close when they are put back."""
        self._closed = True
        self._close_idle()

    def _close_idle(self) -> None:
        while self._idle:
            try:
                self._idle.pop().close()
            except IndexError:  # Another thread closed the last one.
                return


def _is_direct(connection: Connection) -> bool:
    """Tell whether the server's process is the one that greeted, and no pooler stands in between.

    Behind a pooler each transaction may run in another process, in which the driver's name for a
    prepared statement can be another client's name for another statement: that would be run. A
    pooler makes up the process that it greets with, as it keeps the key for cancelling to itself.
    """
    try:
        row = connection.execute("SELECT pg_backend_pid()").fetchone()
    except BaseException:
        connection.close()
        raise
    return row == (connection.info.backend_pid,)


def _ended(connection: Connection, end: Callable[[], None]) -> bool:
    """End what is open on a connection; close it and say False where that fails."""
    try:
        if not connection.closed and connection.info.transaction_status != TransactionStatus.IDLE:
            end()
    except BaseException as error:
        connection.close()
        if not isinstance(error, psycopg.Error):
            raise
    return not connection.closed
