"""The log in a PostgreSQL database: open and check it, append to it, read it back, on many nodes.

One write is one transaction: one advisory lock, then whatever the caller reads, decides and
projects, then the commit. The lock is held to the end, so positions have no gaps, and the order in
which they are given is the order in which they become visible. When the connection breaks during
the commit, the outcome is looked up by event id on a new connection, after the log's lock, which
the lost transaction held to its end. Every wait has an end.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import psycopg

from memlog import codec
from memlog.errors import (
    BusyError,
    CorruptStoreError,
    ReadOnlyError,
    StoreNotFoundError,
    UnknownOutcomeError,
    UnsafeLocationError,
)
from memlog.store import postgres_faults, postgres_opening
from memlog.store.handle import Clock, Handle
from memlog.store.postgres_connections import Connection, Connections, Conninfo
from memlog.store.postgres_dialect import Cursor
from memlog.store.postgres_hints import Listening
from memlog.store.postgres_recorder import LOCK, Datastore, Recorder
from memlog.store.postgres_transaction import PostgresTransaction, channel
from memlog.store.recorder import stored_events
from memlog.store.rows import EVENTS_TABLE, StoredRow
from memlog.store.transaction import LOG_ROW

logger = logging.getLogger(__name__)

_OUTCOME_WAIT_S = 15.0
_OUTCOME_PAUSE_S = 0.1
_IDLE_IN_WRITE_MAX_S = 60  # A node that hangs must not keep the log's lock for ever.
_WAIT_MIN_MS, _WAIT_MAX_MS = 1, 2**31 - 1  # To PostgreSQL a timeout of 0 means none.
_BEGIN_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_SET_DURABLE = (
    "SELECT set_config('synchronous_commit', 'on', true) "
    "WHERE current_setting('synchronous_commit') = 'off'"
)


class PostgresStore(Handle):
    """An open log; see `memlog.store.protocol.Store`."""

    _page_events = 1_000  # Each page is a round trip to the server.

    def __init__(
        self,
        url: str,
        *,
        clock: Clock,
        lock_timeout_s: float,
        tables: Sequence[str],
        read_only: bool = False,
        create: bool = True,
    ) -> None:
        """Open the log in the database that `url` names, or make a new one in it.

        Args:
            url: `postgresql://…`; all of it goes to the driver.
            clock: gives the time, aware; read once a transaction.
            lock_timeout_s: how long a write waits for others.
            tables: DDL of the inline projections, written for SQLite, run once.
            read_only: open an existing log without being able to write.
            create: make the log when there is none.

        Raises:
            StoreNotFoundError: there is none, and none may be made.
            NotAStoreError: the schema holds tables of another program; they are left untouched.
            NewerFormatError: a newer release made it.
            UnsafeLocationError: the database cannot hold a log, or the role may not make one.
            UnreachableError: there is no server, or it refuses.
            CorruptStoreError: it is damaged.
        """
        conninfo = Conninfo(url)
        super().__init__(
            conninfo.shown,
            index_dir=_cache_dir(),
            clock=clock,
            lock_timeout_s=lock_timeout_s,
            read_only=read_only,
        )
        self._connections = Connections(conninfo, self.counters, timeout_s=lock_timeout_s)
        self._recorder = Recorder(Datastore(conninfo.text))
        self._in_schema = ""
        now = self._now()
        try:
            with self._translated():
                with self.reading() as cursor:
                    namespace = postgres_opening.place(
                        cursor, self.target, is_named=conninfo.names_schema
                    )
                # A pooler's other clients, or a change of the role, may set another one meanwhile.
                self._in_schema = f"; SET LOCAL search_path = {namespace}, pg_temp"
                self._open(tables, namespace, now=now, create=create and not read_only)
        except BaseException:
            self.close()
            raise

    # --- Opening

    def _open(self, tables: Sequence[str], namespace: str, *, now: str, create: bool) -> None:
        with self.reading() as cursor:
            is_there = postgres_opening.holds_log(cursor, self.target)
        if not is_there:
            if not create:
                raise StoreNotFoundError(self.target)
            with closing(self._connections.open()) as connection:
                postgres_opening.create(
                    connection,
                    tables,
                    target=self.target,
                    now=now,
                    namespace=namespace,
                    begin=self._begin_locked(self._timeout_s),
                )
        with self.reading() as cursor:
            postgres_opening.check(cursor, self.target)
            row = cursor.execute("SELECT log_id, secret FROM log").fetchone()
            self.log_id: str = row[0]
            self.secret: bytes = row[1]

    # --- Writing

    def _insert(self, cursor: Cursor, rows: Sequence[StoredRow]) -> Sequence[int]:
        return self._recorder.insert(cursor, stored_events(rows))

    @contextmanager
    def transaction(self, *, wait_s: float | None = None) -> Iterator[PostgresTransaction]:
        """One write: commits when the block ends, leaves nothing when it raises.

        Args:
            wait_s: how long to wait for the other writers; `lock_timeout_s` when None.

        Raises:
            BusyError: other writers held the lock for so long.
            StoreFullError: no space; nothing was stored.
            ReadOnlyError: the role or the server does not allow it.
            UnreachableError: the connection broke before the commit; nothing was stored.
            UnknownOutcomeError: it broke during the commit, and no answer could be had since.
            ClosedError, ForkedError: the handle is not usable here.
            CorruptStoreError: damage; the handle is closed.
        """
        self._check_usable()
        if self.read_only:
            raise ReadOnlyError(self.target)
        now = self._now()
        wait_s = self._timeout_s if wait_s is None else wait_s
        with self._exclusive(wait_s) as left_s:
            start = time.monotonic()
            try:
                with self._translated(timeout_s=wait_s):
                    begun = self._connections.begin_write(
                        f"{self._begin_locked(left_s)}; {LOG_ROW}"
                    )
                    self.counters.add("lock_wait_s", time.monotonic() - start)
                    cursor = Cursor(begun.connection.cursor(binary=True))
                    transaction = PostgresTransaction(
                        cursor,
                        partial(self._insert, cursor),
                        target=self.target,
                        log_id=self.log_id,
                        now=now,
                        log_row=_last_row(begun),
                    )
                    yield transaction
                    self._commit(begun.connection, transaction)
            except BaseException:
                self.counters.add("refusals")
                raise
            else:
                self.counters.add("commits")
                self.counters.add("events_appended", transaction.appended)
            finally:
                self._connections.end_write()

    def _begin_locked(self, wait_s: float) -> str:
        """Return what begins a transaction and takes the log's lock, in one exchange.

        READ COMMITTED: the statements after the lock must see what its last holder committed.
        """
        return (
            "BEGIN ISOLATION LEVEL READ COMMITTED"
            f"{self._in_schema}; SET LOCAL lock_timeout = {self._wait_ms(wait_s)}"
            f"; SET LOCAL idle_in_transaction_session_timeout = '{_IDLE_IN_WRITE_MAX_S}s'"
            f"; {_SET_DURABLE}; {LOCK}"
        )

    @staticmethod
    def _wait_ms(wait_s: float) -> int:
        return int(min(max(wait_s * 1_000, _WAIT_MIN_MS), _WAIT_MAX_MS))

    def _commit(self, connection: Connection, transaction: PostgresTransaction) -> None:
        try:
            ended = connection.execute(transaction.ending())
        except psycopg.Error as error:
            self._connections.drop_writer()
            self._settle(transaction, error)
        else:
            while ended.nextset():
                pass
            # Or else a failed statement was swallowed inside the block.
            assert ended.statusmessage == "COMMIT", ended.statusmessage

    def _settle(self, transaction: PostgresTransaction, error: psycopg.Error) -> None:
        """Return if the transaction was committed; raise if it was not, or if nobody knows."""
        unknown = UnknownOutcomeError(self.target, postgres_faults.detail_of(error))
        if transaction.first is None:  # Nothing in the log tells: projections, queues, settings.
            raise unknown from error
        self.counters.add("outcomes_looked_up")
        deadline = time.monotonic() + _OUTCOME_WAIT_S
        while True:
            try:
                stored = self._is_stored(*transaction.first)
            except psycopg.Error:
                if time.monotonic() > deadline:
                    raise unknown from error
                time.sleep(_OUTCOME_PAUSE_S)
            else:
                break
        logger.warning(
            "a commit went wrong and was %s",
            "stored" if stored else "not stored",
            extra={"log_id": self.log_id, "position": transaction.first[0], "stored": stored},
        )
        if not stored:
            raise error

    def _is_stored(self, position: int, event_id: str) -> bool:
        """Look an event up on a new connection, once the lost transaction is known to be over."""
        with closing(self._connections.open()) as connection:
            connection.execute(self._begin_locked(self._timeout_s).encode())
            row = (
                Cursor(connection.cursor(binary=True))
                .execute(f"SELECT state FROM {EVENTS_TABLE} WHERE rowid = ?", (position,))
                .fetchone()
            )
        return row is not None and codec.decode_envelope(row[0]).event_id == event_id

    def _leave(self) -> None:
        if self._closed_because is not None:
            self._connections.drop_writer()

    @contextmanager
    def _translated(self, *, timeout_s: float | None = None) -> Iterator[None]:
        """Raise errors of the driver as memlog's own; damage ends the handle."""
        try:
            yield
        except (psycopg.Error, CorruptStoreError) as error:
            self._fail(error, self._timeout_s if timeout_s is None else timeout_s)

    def _fail(self, error: psycopg.Error | CorruptStoreError, timeout_s: float) -> NoReturn:
        seen: Exception = error
        if isinstance(error, psycopg.Error):
            seen = postgres_faults.translate(error, target=self.target, timeout_s=timeout_s)
            if error.sqlstate in postgres_faults.STALE_STATEMENTS and self._connections.prepares:
                self._connections.forget_prepared()
                logger.warning(
                    "a pooler forgets prepared statements; they are not used any more",
                    extra={"target": self.target},
                )
        if isinstance(seen, BusyError):
            self.counters.add("busy")
        if isinstance(seen, CorruptStoreError):
            self._closed_because = self._closed_because or str(seen)
        if seen is error:
            raise error
        raise seen from error

    # --- Reading

    @contextmanager
    def reading(self) -> Iterator[Cursor]:
        """One consistent view of the store, as of the block's first statement.

        Raises:
            ClosedError, ForkedError: the handle is not usable here.
            UnsafeLocationError: the role may not read the tables.
            BusyError: other threads had all connections for `lock_timeout_s`.
            UnreachableError: the connection broke.
            CorruptStoreError: damage; the handle is closed.
        """
        self._check_usable()
        with self._translated():
            connection = self._connections.begin_read(f"{_BEGIN_READ}{self._in_schema}")
            self.counters.add("views")
            try:
                yield Cursor(connection.cursor(binary=True))
            except psycopg.errors.InsufficientPrivilege as error:
                why = f"this role may not read it ({postgres_faults.detail_of(error)})"
                raise UnsafeLocationError(self.target, why) from error
            finally:
                self._connections.put_reader(connection)

    def hint(self) -> Listening:
        """Return what waits for the next append; close it."""
        return Listening(channel(self.log_id), self._connections.open)

    # --- Ending

    def _begin_closing(self) -> bool:
        self._connections.close()
        return True


def _last_row(cursor: psycopg.Cursor[tuple[Any, ...]]) -> tuple[int, str] | None:
    """Return the row that the last of several statements gave, or None."""
    while cursor.nextset():
        pass
    row = cursor.fetchone()
    return None if row is None else (row[0], row[1])


def _cache_dir() -> Path:
    """Return where this node keeps what it can make again: in the user's cache directory."""
    from platformdirs import user_cache_path

    return user_cache_path("memlog", appauthor=False) / "index"
