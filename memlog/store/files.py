"""The files of a store: made when missing, refused untouched when they are something else."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from memlog.errors import (
    CorruptStoreError,
    NewerFormatError,
    NotAStoreError,
    ReadOnlyError,
    StoreFullError,
    StoreNotFoundError,
    UnsafeLocationError,
)
from memlog.store import schema

_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_FULL = frozenset({errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)})


@contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Raise an error of the operating system as one of memlog's own."""
    try:
        yield
    except OSError as error:
        detail = error.strerror or str(error)
        if error.errno in _FORBIDDEN:
            raise ReadOnlyError(str(path)) from error
        if error.errno in _FULL:
            raise StoreFullError(str(path), detail) from error
        raise CorruptStoreError(str(path), detail) from error


def identity(path: Path) -> tuple[int, int] | None:
    """Return which file a path names at this moment; None when it names none."""
    try:
        status = os.stat(path)  # noqa: PTH116  # once a write: half the time of Path.stat
    except OSError:
        return None
    return status.st_dev, status.st_ino


def make(path: Path) -> bool:
    """Make the empty file of a new store, for its owner only; False when there is a file.

    Raises:
        ReadOnlyError: its directory, or the file that is there, cannot be written.
        StoreFullError: no space left.
    """
    with file_errors(path):
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            if os.access(path, os.W_OK):
                return False
            raise ReadOnlyError(str(path)) from None
    return True


def sync_directory(path: Path) -> None:
    """Make the name of a new file durable: it is so only once its directory is."""
    if os.name != "posix":
        return
    with file_errors(path):
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def holds_log(path: Path, *, timeout_s: float) -> bool:
    """Tell whether a file holds a log, True, or nothing at all, False. Changes no byte.

    Only the engine may open the file: to close any descriptor of it drops all locks that another
    handle of this process has on it (sqlite.org/howtocorrupt.html, 2.2), and then the next process
    that closes the store deletes the `-wal` under that handle.

    Raises:
        StoreNotFoundError: there is no file.
        NotAStoreError: it holds something else.
        NewerFormatError: a newer release made it.
        CorruptStoreError: it was a database once, and lost its content.
        UnsafeLocationError: it cannot be read.
        sqlite3.Error: it cannot be read by the engine.
    """
    with file_errors(path):
        has_wal = _wal_has_content(path)  # Looked at first: the file has content before it has.
        size = path.stat().st_size if path.exists() else None
    if size is None:
        raise StoreNotFoundError(str(path))
    if not os.access(path, os.R_OK):
        why = "this process may not read it; check its permissions"
        raise UnsafeLocationError(str(path), why)
    if size == 0:
        if has_wal:
            raise CorruptStoreError(str(path), "it is empty, but there are writes in its -wal file")
        return False
    # To be asked for its -wal, an engine makes a -shm: not beside something else.
    name = uri(path, read_only=True, timeout_s=timeout_s) if has_wal else immutable_uri(path)
    with closing(sqlite3.connect(name, uri=True, timeout=timeout_s)) as connection:
        application_id = marks(connection.cursor(), path)
        (schema_cookie,) = connection.execute("PRAGMA schema_version").fetchone()
    if application_id == 0 and schema_cookie:
        raise NotAStoreError(str(path), "it is the database of another program")
    return application_id == schema.APPLICATION_ID


def marks(cursor: sqlite3.Cursor, path: Path) -> int:
    """Return the application id of a database: ours, or 0 in one that nothing was made in yet.

    Raises:
        NotAStoreError, NewerFormatError: another program, or a newer release, marked it as its own.
    """
    (application_id,) = cursor.execute("PRAGMA application_id").fetchone()
    (version,) = cursor.execute("PRAGMA user_version").fetchone()
    if application_id == schema.APPLICATION_ID and version > schema.FORMAT:
        raise NewerFormatError(str(path), version, schema.FORMAT)
    if application_id != schema.APPLICATION_ID and (application_id or version):
        raise NotAStoreError(str(path), "it is the database of another program")
    return int(application_id)


def _wal_has_content(path: Path) -> bool:
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size > 0
    except FileNotFoundError:
        return False


def uri(path: Path, *, read_only: bool, timeout_s: float) -> str:
    """Return the name under which the engine opens a file that exists.

    A database in WAL mode needs its `-shm` file, also for reading. In a directory without one where
    none can be made, the file is read as immutable; what somebody else may write later is not seen.

    Raises:
        UnsafeLocationError: there may be writes in its `-wal`, which cannot be read there.
        sqlite3.Error: it cannot be read.
    """
    if not read_only:
        return f"{path.as_uri()}?mode=rw"
    name = f"{path.as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(name, uri=True, timeout=timeout_s)) as connection:
            connection.execute("PRAGMA schema_version").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise
        if _wal_has_content(path):
            why = "its -wal holds writes that can be read in a writable directory only; copy both"
            raise UnsafeLocationError(str(path), why) from error
        return immutable_uri(path)
    return name


def immutable_uri(path: Path) -> str:
    """Return the name under which the engine opens a file as one that nobody changes."""
    return f"{path.as_uri()}?mode=ro&immutable=1"
