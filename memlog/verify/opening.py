"""Verify a store that may be too damaged to be opened: only its file must be readable."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import msgspec

from memlog.errors import MemlogError, NotAStoreError, StoreNotFoundError, UnsafeLocationError
from memlog.searching import index_dir
from memlog.settings import Settings
from memlog.store import files
from memlog.store.location import index_dir_of
from memlog.verify.report import Verification
from memlog.verify.run import Asked, verify
from memlog.verify.second import File


def verify_file(path: Path, *, settings: Settings, asked: Asked) -> Verification:
    """Return what is wrong with the store in a file; changes no byte of it.

    Args:
        path: the file.
        settings: say where its search indexes lie, and how long to wait for a lock.
        asked: what to look at.

    Raises:
        TargetError: there is no store, or it cannot be looked at.
    """
    asked = msgspec.structs.replace(asked, index_dir=index_dir(settings, index_dir_of(path)))
    timeout_s = settings.lock_timeout_s
    with files.file_errors(path):
        before = _as_nobody_has_it_open(path)
    if before is not None:
        found = _verified(path, asked, timeout_s=timeout_s, immutable=True)
        if _as_nobody_has_it_open(path) == before:
            return found
    return _verified(path, asked, timeout_s=timeout_s, immutable=False)


def file_of(path: Path | None, *, timeout_s: float) -> File | None:
    """Return how a second process can open the file of an open store; None when it cannot."""
    if path is None:
        return None
    try:
        return File(files.uri(path, read_only=True, timeout_s=timeout_s), timeout_s)
    except (MemlogError, sqlite3.Error):
        return None


def _verified(path: Path, asked: Asked, *, timeout_s: float, immutable: bool) -> Verification:
    file = _file(path, timeout_s=timeout_s, immutable=immutable)
    later = None if immutable else partial(_reading, path, file)
    with _reading(path, file) as cursor:
        return verify(cursor, msgspec.structs.replace(asked, file=file, later=later))


def _as_nobody_has_it_open(path: Path) -> tuple[int, int] | None:
    """Return what changes with a file's content; None while a program may have it open.

    Whoever has a database in WAL mode open keeps two files beside it. Without them it can be read
    as a file that nobody changes, so that SQLite makes none of its own; if it was changed after
    all, it has another size or time afterwards, and is read again.
    """
    if any(path.with_name(f"{path.name}{suffix}").exists() for suffix in ("-wal", "-shm")):
        return None
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_size, status.st_mtime_ns


def _file(path: Path, *, timeout_s: float, immutable: bool) -> File:
    """Return how to open a file that holds a log, checked no further than its marks."""
    if path.is_dir():
        raise NotAStoreError(str(path), "it is a directory")
    try:
        if not files.holds_log(path, timeout_s=timeout_s):
            raise StoreNotFoundError(str(path))
        uri = (
            files.immutable_uri(path)
            if immutable
            else files.uri(path, read_only=True, timeout_s=timeout_s)
        )
    except sqlite3.Error as error:
        raise _unreadable(path, error) from error
    return File(uri, timeout_s)


@contextmanager
def _reading(path: Path, file: File) -> Iterator[sqlite3.Cursor]:
    """One view of a file, opened so that nothing is written."""
    try:
        connection = file.opened()
    except sqlite3.Error as error:
        raise _unreadable(path, error) from error
    with closing(connection):
        cursor = connection.cursor()
        cursor.execute("BEGIN")
        yield cursor


def _unreadable(path: Path, error: sqlite3.Error) -> NotAStoreError | UnsafeLocationError:
    code = getattr(error, "sqlite_errorcode", 0) or 0
    if code & 0xFF == sqlite3.SQLITE_NOTADB:
        return NotAStoreError(str(path), "it is not an SQLite database")
    return UnsafeLocationError(str(path), f"it cannot be read ({error})")
