"""The log in one SQLite file: open and check it, append to it, read it back.

One write is one transaction: the lock file, `BEGIN IMMEDIATE`, whatever the caller reads, decides
and projects inside it, `COMMIT`. A transaction that returns is on disk; one that raises left
nothing, except where an I/O error or a KeyboardInterrupt came during the commit itself: then only
the log knows, and a `request_id` makes the repetition safe. Not promised: that a store survives its
file being copied while open, or its `-wal` file being deleted.
"""

from __future__ import annotations

import os
import sqlite3
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from memlog.errors import (
    ClosedError,
    CorruptStoreError,
    ReadOnlyError,
    StoreNotFoundError,
)
from memlog.store import checks, faults, files, schema
from memlog.store.connections import Connections
from memlog.store.handle import CLOSED, Clock, Handle
from memlog.store.hints import Polling
from memlog.store.location import MEMORY, check_location, index_dir_of
from memlog.store.lockfile import LockFile
from memlog.store.rows import StoredRow
from memlog.store.transaction import LOG_ROW, Transaction

if TYPE_CHECKING:
    from memlog.store.recorder import Recorder

_EPOCH = "0001-01-01T00:00:00.000000Z"  # Before every clock.
# What a failed fsync left in the -wal may be found there, or be written over, at the next opening.
_DURING_COMMIT = "during the commit: open it again, and the same request_id tells what was stored"


class SQLiteStore(Handle):
    """An open log. Safe to share between threads; not across a fork."""

    _page_events = 250  # With their bodies they stay in the processor's cache until they are used.

    def __init__(
        self,
        path: Path | None,
        *,
        clock: Clock,
        lock_timeout_s: float,
        tables: Sequence[str],
        counter_checks: Sequence[str] = (),
        read_only: bool = False,
        create: bool = True,
    ) -> None:
        """Open the log at `path` (None: a private one in memory), or make a new one there.

        Args:
            path: a resolved file path.
            clock: gives the time, aware; read once a transaction.
            lock_timeout_s: how long a write waits for others.
            tables: DDL of the inline projections, run once when the log is made.
            counter_checks: SELECTs over those, run after an I/O or corruption error; a row's first
                column is a sentence about a counter that is wrong.
            read_only: open an existing log without being able to write.
            create: make the log when there is none.

        Raises:
            StoreNotFoundError: there is none, and none may be made.
            NotAStoreError: the file is something else; it is left untouched.
            NewerFormatError: a newer release made it.
            UnsafeLocationError: its place cannot hold a log.
            ReadOnlyError: it cannot be written, and `read_only` was not asked for.
            CorruptStoreError: it is damaged.
            BusyError: another process held the lock for too long.
        """
        self.path = path
        super().__init__(
            MEMORY if path is None else str(path),
            index_dir=None if path is None else index_dir_of(path),
            clock=clock,
            lock_timeout_s=lock_timeout_s,
            read_only=read_only,
        )
        self._lock_file: LockFile | None = None
        self._open_connections: Connections | None = None
        now = self._now()
        if path is not None:
            self._prepare_files(path, create=create)
        try:
            with self._exclusive(lock_timeout_s), self._translated():
                self._open(tables, counter_checks, now=now)
        except BaseException:
            self.close()
            raise

    # --- Opening

    def _prepare_files(self, path: Path, *, create: bool) -> None:
        """Refuse what is no store before anything is made; then open the lock file."""
        with files.file_errors(path):
            check_location(path)
        if path.exists() or self.read_only or not create:
            with self._translated():
                is_new = not files.holds_log(path, timeout_s=self._timeout_s)
            if is_new and (self.read_only or not create):
                raise StoreNotFoundError(self.target)
        if not self.read_only:
            self._lock_file = LockFile(path.with_name(f"{path.name}-lock"))

    def _open(self, tables: Sequence[str], counter_checks: Sequence[str], *, now: str) -> None:
        name, is_new = f"file:memlog-{uuid.uuid4()}?mode=memory&cache=shared", True
        if self.path is not None:
            if not self.read_only:
                files.make(self.path)
            is_new = not files.holds_log(self.path, timeout_s=self._timeout_s)
            self._identity = files.identity(self.path)
            name = files.uri(self.path, read_only=self.read_only, timeout_s=self._timeout_s)
        self._open_connections = Connections(
            name, timeout_s=self._timeout_s, read_only=self.read_only
        )
        self._database_name = name
        if is_new:
            self._create(tables, now)
        with contextmanager(self._view)(self._connections.writer) as cursor:
            self._check(cursor, counter_checks)
            row = cursor.execute("SELECT log_id, secret FROM log").fetchone()
            self.log_id: str = row[0]
            self.secret: bytes = row[1]

    @cached_property
    def _recorder(self) -> Recorder:
        """The recorder: made, and its package imported, when something is to be written."""
        from memlog.store.recorder import Datastore, Recorder

        return Recorder(Datastore(self._database_name, timeout_s=self._timeout_s))

    def _insert(self, cursor: sqlite3.Cursor, rows: Sequence[StoredRow]) -> Sequence[int]:
        from memlog.store.recorder import stored_events

        return self._recorder.insert(cursor, stored_events(rows))

    def _create(self, tables: Sequence[str], now: str) -> None:
        with self._connections.writer as writer:
            writer.execute("BEGIN IMMEDIATE")
            for statement in (
                *self._recorder.create_table_statements,
                *schema.TABLES,
                *tables,
                *schema.TRIGGERS,
                f"PRAGMA application_id = {schema.APPLICATION_ID}",
                f"PRAGMA user_version = {schema.FORMAT}",
            ):
                writer.execute(statement)
            writer.execute(
                "INSERT INTO log VALUES (1, ?, ?, ?, 0, ?)",
                (str(uuid.uuid4()), now, os.urandom(32), _EPOCH),
            )
        if self.path is not None:
            files.sync_directory(self.path)

    def _check(self, cursor: sqlite3.Cursor, counter_checks: Sequence[str]) -> None:
        if self.path is not None:
            files.marks(cursor, self.path)  # As they are by now, and in what will be written.
        head_fault = checks.head_fault(cursor)
        if head_fault is not None:
            raise CorruptStoreError(self.target, head_fault)
        if self._lock_file is not None and self._lock_file.suspect:
            found = checks.faults(cursor, counter_checks)
            if found:
                raise CorruptStoreError(self.target, "; ".join(found))
            self._lock_file.clear()

    @property
    def _connections(self) -> Connections:
        connections = self._open_connections
        if connections is None or self._closed_because is not None:  # By another thread, just now.
            raise ClosedError(self.target, self._closed_because or CLOSED)
        return connections

    # --- Writing

    @contextmanager
    def transaction(self, *, wait_s: float | None = None) -> Iterator[Transaction]:
        """One write: commits when the block ends, leaves nothing when it raises.

        Args:
            wait_s: how long to wait for the other writers; `lock_timeout_s` when None.

        Raises:
            BusyError: other writers held the lock for so long.
            StoreFullError: no space; nothing was stored.
            ReadOnlyError: the store cannot be written.
            ClosedError, ForkedError: the handle is not usable here.
            CorruptStoreError: an I/O or corruption error; the handle is closed.
        """
        self._check_usable()
        if self.read_only:
            raise ReadOnlyError(self.target)
        now = self._now()
        wait_s = self._timeout_s if wait_s is None else wait_s
        committing = False
        with self._exclusive(wait_s):
            writer = self._connections.writer
            try:
                self._check_in_place()
                with writer:  # It commits or rolls back in C: no interrupt can come in between.
                    writer.execute("BEGIN IMMEDIATE")
                    cursor = writer.cursor()
                    transaction = Transaction(
                        cursor,
                        partial(self._insert, cursor),
                        target=self.target,
                        log_id=self.log_id,
                        now=now,
                        log_row=cursor.execute(LOG_ROW).fetchone(),
                    )
                    yield transaction
                    transaction.finish()
                    committing = True
            except (sqlite3.Error, CorruptStoreError) as error:
                self.counters.add("refusals")
                self._fail(error, committing=committing)
            except BaseException:
                self.counters.add("refusals")
                raise
            self.counters.add("commits")
            self.counters.add("events_appended", transaction.appended)

    def _check_in_place(self) -> None:
        """Refuse to acknowledge writes into a file that nobody will ever open again."""
        if self.path is not None and files.identity(self.path) != self._identity:
            detail = "its file was moved, replaced or deleted while it was open"
            raise CorruptStoreError(self.target, detail)

    def _exclude_processes(self, wait_s: float) -> bool:
        """Take the lock file's lock."""
        return self._lock_file is None or self._lock_file.lock(wait_s)

    def _leave(self) -> None:
        """End an exclusive part: after `close`, or after damage, the connections go as well."""
        if self._closed_because is not None and self._open_connections is not None:
            self._open_connections.close()  # The last one of all processes makes a checkpoint.
            self._open_connections = None
        lock_file = self._lock_file
        if lock_file is not None:
            lock_file.unlock()
            if self._closed_because is not None:
                self._lock_file = None
                lock_file.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Raise errors of the engine as memlog's own; damage ends the handle."""
        try:
            yield
        except (sqlite3.Error, CorruptStoreError) as error:
            self._fail(error)

    def _fail(
        self, error: sqlite3.Error | CorruptStoreError, *, committing: bool = False
    ) -> NoReturn:
        seen: Exception = error
        if isinstance(error, sqlite3.Error):
            seen = faults.translate(error, target=self.target, timeout_s=self._timeout_s)
        if isinstance(seen, CorruptStoreError) and committing:
            seen = CorruptStoreError(self.target, f"{seen.detail}, {_DURING_COMMIT}")
        if isinstance(seen, CorruptStoreError):
            self._closed_because = self._closed_because or str(seen)
            lock_file = self._lock_file
            if lock_file is not None:
                lock_file.mark_suspect()
        if seen is error:
            raise error
        raise seen from error

    # --- Reading

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Cursor]:
        """One consistent view of the store, as of the block's first statement.

        Raises:
            ClosedError, ForkedError: the handle is not usable here.
            BusyError: another thread kept a store in memory to itself for `lock_timeout_s`.
            CorruptStoreError: an I/O or corruption error; the handle is closed.
        """
        self._check_usable()
        if self.path is None:
            with self._exclusive(self._timeout_s):
                yield from self._view(self._connections.writer)
            return
        connections = self._connections
        try:
            connection = connections.take_reader()
        except sqlite3.Error as error:
            self._fail(error)
        try:
            yield from self._view(connection)
        finally:
            connections.put_reader(connection)

    def _view(self, connection: sqlite3.Connection) -> Iterator[sqlite3.Cursor]:
        try:
            cursor = connection.cursor()
            cursor.execute("BEGIN")
            self.counters.add("views")
            yield cursor
        except (sqlite3.Error, CorruptStoreError) as error:
            self._fail(error)
        finally:
            if connection.in_transaction:
                connection.rollback()

    def hint(self) -> Polling:
        """Return what waits for the next append; close it."""
        return Polling()

    # --- Ending

    def _begin_closing(self) -> bool:
        return self._open_connections is not None or self._lock_file is not None
