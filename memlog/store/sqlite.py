"""The log in one SQLite file: open and check it, append to it, read it back.

One write is one transaction: the lock file, `BEGIN IMMEDIATE`, whatever the caller reads, decides
and projects inside it, `COMMIT`. A transaction that returns is on disk; one that raises left
nothing. Not promised: that a store survives its file being copied while open, or its `-wal` file
being deleted.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from eventsourcing.persistence import PersistenceError

from memlog import text
from memlog.errors import (
    BusyError,
    ClosedError,
    CorruptStoreError,
    ForkedError,
    InvalidRequestError,
    MemlogError,
    NewerFormatError,
    NotAStoreError,
    ReadOnlyError,
    StoreNotFoundError,
)
from memlog.store import faults, schema
from memlog.store.connections import Connections
from memlog.store.location import check_location
from memlog.store.lockfile import LockFile
from memlog.store.recorder import EVENTS_TABLE, Recorder
from memlog.store.transaction import StoredRow, Transaction

_PAGE_EVENTS = 1_000
_NO_LIMIT = 2**62
_EPOCH = "0001-01-01T00:00:00.000000Z"  # Before every clock.

Clock = Callable[[], datetime]


class SQLiteStore:
    """An open log. Safe to share between threads; not across a fork."""

    def __init__(
        self,
        path: Path | None,
        *,
        clock: Clock,
        lock_timeout_s: float,
        tables: Sequence[str],
        read_only: bool = False,
        create: bool = True,
    ) -> None:
        """Open the log at `path` (None: a private one in memory), or make a new one there.

        Args:
            path: a resolved file path.
            clock: gives the time, aware; read once a transaction.
            lock_timeout_s: how long a write waits for others.
            tables: DDL of the inline projections, run once when the log is made.
            read_only: open an existing log without being able to write.
            create: make the log when there is none.

        Raises:
            StoreNotFoundError: there is none, and none may be made.
            NotAStoreError: the file is something else; it is left untouched.
            NewerFormatError: a newer release made it.
            UnsafeLocationError: its place cannot hold a log.
            CorruptStoreError: it is damaged.
            BusyError: another process held the lock for too long.
        """
        self.path = path
        self.target = ":memory:" if path is None else str(path)
        self.read_only = read_only
        self._clock, self._timeout_s = clock, lock_timeout_s
        self._pid = os.getpid()
        self._writer = threading.Lock()
        self._closed_because: str | None = None
        self._lock_file: LockFile | None = None
        self._open_connections: Connections | None = None
        if path is not None:
            self._prepare_file(path, create=create and not read_only)
        try:
            with self._translated():
                self._open(tables)
        except BaseException:
            self.close()
            raise

    # --- Opening

    def _prepare_file(self, path: Path, *, create: bool) -> None:
        check_location(path)
        if not path.exists():
            if not create:
                raise StoreNotFoundError(self.target)
            with self._file_errors():
                os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        elif not self.read_only and not os.access(path, os.W_OK):
            raise ReadOnlyError(self.target)
        self._identify(path)
        if not self.read_only:
            with self._file_errors():
                self._lock_file = LockFile(path.with_name(path.name + "-lock"))

    @contextmanager
    def _file_errors(self) -> Iterator[None]:
        try:
            yield
        except PermissionError:
            raise ReadOnlyError(self.target) from None
        except OSError as error:
            raise CorruptStoreError(self.target, error.strerror or str(error)) from error

    def _identify(self, path: Path) -> None:
        """Refuse a file that is something else, before anything could change it."""
        with self._file_errors(), path.open("rb") as file:
            header = file.read(16)
        if header and header != b"SQLite format 3\0":
            raise NotAStoreError(self.target, "it is not an SQLite database")
        if not header and self.read_only:
            raise NotAStoreError(self.target, "it is empty")

    def _database_name(self) -> str:
        if self.path is None:
            return f"file:memlog-{uuid.uuid4()}?mode=memory&cache=shared"
        return self.path.as_uri() + ("?mode=ro" if self.read_only else "?mode=rw")

    def _open(self, tables: Sequence[str]) -> None:
        with self._exclusive():
            is_ours = self.path is not None and self._is_ours(self.path)
            self._open_connections = Connections(
                self._database_name(),
                timeout_s=self._timeout_s,
                read_only=self.read_only,
                writer_lock=self._writer,
            )
            self._recorder = Recorder(self._connections.datastore)
            if not is_ours:
                self._create(tables)
            elif self._lock_file is not None and self._lock_file.suspect:
                self._check_pages()
                self._lock_file.clear()
        with self.reading() as cursor:
            row = cursor.execute("SELECT log_id, secret, position FROM log").fetchone()
            self.log_id: str = row[0]
            self.secret: bytes = row[1]
            highest = cursor.execute(f"SELECT max(rowid) FROM {EVENTS_TABLE}").fetchone()[0] or 0
        if highest != row[2]:
            detail = f"its head says position {row[2]}, its last event is {highest}"
            raise CorruptStoreError(self.target, detail)

    @property
    def _connections(self) -> Connections:
        if self._open_connections is None:  # Closed by another thread, just now.
            raise ClosedError(self.target, self._closed_because or "it was closed")
        return self._open_connections

    def _is_ours(self, path: Path) -> bool:
        """Look at the file through a connection that changes nothing, not even the journal mode."""
        connection = sqlite3.connect(self._database_name(), uri=True, timeout=self._timeout_s)
        with closing(connection):
            application_id = connection.execute("PRAGMA application_id").fetchone()[0]
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            objects = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if application_id == schema.APPLICATION_ID:
            if version > schema.FORMAT:
                raise NewerFormatError(str(path), version, schema.FORMAT)
            return True
        if objects or application_id:
            raise NotAStoreError(str(path), "it is the database of another program")
        if self.read_only:
            raise NotAStoreError(str(path), "it is empty")
        return False

    def _create(self, tables: Sequence[str]) -> None:
        created_at = self._now()
        with self._connections.writer.transaction(commit=True) as cursor:
            for statement in (
                *self._recorder.create_table_statements,
                *schema.TABLES,
                *tables,
                *schema.TRIGGERS,
                f"PRAGMA application_id = {schema.APPLICATION_ID}",
                f"PRAGMA user_version = {schema.FORMAT}",
            ):
                cursor.execute(statement)
            cursor.execute(
                "INSERT INTO log VALUES (1, ?, ?, ?, 0, ?)",
                (str(uuid.uuid4()), created_at, os.urandom(32), _EPOCH),
            )
        if self.path is not None and os.name == "posix":
            directory = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(directory)  # A new file's name is durable only once its directory is.
            finally:
                os.close(directory)

    def _check_pages(self) -> None:
        with self.reading() as cursor:
            problems = [row[0] for row in cursor.execute("PRAGMA integrity_check(3)")]
        if problems != ["ok"]:
            raise CorruptStoreError(self.target, "; ".join(problems))

    # --- Writing

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """One write: commits when the block ends, leaves nothing when it raises.

        Raises:
            BusyError: other writers held the lock for `lock_timeout_s`.
            StoreFullError: no space; nothing was stored.
            ReadOnlyError: the store cannot be written.
            ClosedError, ForkedError: the handle is not usable here.
            CorruptStoreError: an I/O or corruption error; the handle is closed.
        """
        self._check_usable()
        if self.read_only:
            raise ReadOnlyError(self.target)
        now = self._now()
        with self._exclusive(), self._translated():
            writer = self._connections.writer
            with writer.transaction(commit=True) as cursor:
                transaction = Transaction(cursor, self._recorder, log_id=self.log_id, now=now)
                yield transaction
                transaction.finish()

    def _now(self) -> str:
        moment = self._clock()
        if moment.utcoffset() is None:
            raise InvalidRequestError("clock", moment, "it must give an aware datetime")
        return text.utc_text(moment)

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Exclude the other writers: threads by a lock, processes by the lock file."""
        if not self._writer.acquire(timeout=self._timeout_s):
            raise BusyError(self.target, self._timeout_s)
        try:
            with self._lock_file.held(self._timeout_s) if self._lock_file else nullcontext():
                yield
        finally:
            self._writer.release()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (PersistenceError, sqlite3.Error) as error:
            raise self._translation(error) from error

    def _translation(self, error: Exception) -> MemlogError:
        translated = faults.translate(error, target=self.target, timeout_s=self._timeout_s)
        if faults.ends_handle(translated):
            if self._lock_file is not None:
                self._lock_file.mark_suspect()
            self._closed_because = self._closed_because or str(translated)
        return translated

    # --- Reading

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Cursor]:
        """One consistent view of the store, as of the block's first statement."""
        self._check_usable()
        connection = self._connections.take_reader()
        try:
            cursor = connection.cursor()
            cursor.row_factory = None
            cursor.execute("BEGIN")
            yield cursor
        except (PersistenceError, sqlite3.Error) as error:
            raise self._translation(error) from error
        finally:
            self._connections.put_reader(connection)

    def rows(self, *, after: int = 0, up_to: int = _NO_LIMIT) -> Iterator[StoredRow]:
        """Yield stored events with positions in (after, up_to], in order.

        Read in pages of 1,000, each a view of its own, so that no read lasts long: a long one
        would keep the write-ahead log from being emptied.
        """
        where = "rowid > ? AND rowid <= ? ORDER BY rowid"
        return self._paged(where, (), after=after, up_to=up_to, place=0)

    def stream_rows(
        self, stream: str, *, after: int = 0, up_to: int = _NO_LIMIT, containing: bytes = b""
    ) -> Iterator[StoredRow]:
        """Yield a stream's stored events with seqs in (after, up_to], in order.

        Args:
            stream: name of the stream.
            after: the seq before the first.
            up_to: the last seq.
            containing: bytes that the state of each must hold.
        """
        where = (
            "originator_id = ? AND (? = X'' OR instr(state, ?)) "
            "AND originator_version > ? AND originator_version <= ? ORDER BY originator_version"
        )
        parameters = (stream, containing, containing)
        return self._paged(where, parameters, after=after, up_to=up_to, place=2)

    def _paged(
        self, where: str, parameters: tuple[Any, ...], *, after: int, up_to: int, place: int
    ) -> Iterator[StoredRow]:
        statement = (
            "SELECT rowid, originator_id, originator_version, topic, state "
            f"FROM {EVENTS_TABLE} WHERE {where} LIMIT {_PAGE_EVENTS}"
        )
        while True:
            with self.reading() as cursor:
                page = cursor.execute(statement, (*parameters, after, up_to)).fetchall()
            for row in page:
                yield StoredRow._make(row)
            if len(page) < _PAGE_EVENTS:
                return
            after = page[-1][place]

    # --- Ending

    def _check_usable(self) -> None:
        if self._closed_because is not None:
            raise ClosedError(self.target, self._closed_because)
        pid = os.getpid()
        if pid != self._pid:
            raise ForkedError(self.target, self._pid, pid)

    def close(self) -> None:
        """Close the store; a second call does nothing. In a forked child it leaves all alone."""
        if os.getpid() != self._pid:
            return
        self._closed_because = self._closed_because or "it was closed"
        connections, self._open_connections = self._open_connections, None
        if connections is not None:
            with suppress(BusyError), self._exclusive():  # The last connection checkpoints.
                connections.close()
        if self._lock_file is not None:
            self._lock_file.close()
            self._lock_file = None
