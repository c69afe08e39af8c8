"""What an error of the SQLite engine means for the caller, as memlog's own errors.

The class of an error follows from SQLite's result code (sqlite.org/rescode.html): busy, locked and
full refuse one write; an I/O error or damage ends the handle, because nothing that the engine
says afterwards can be trusted (a failed fsync is not repeated: its pages may be gone).
"""

from __future__ import annotations

import sqlite3

from memlog.errors import (
    BusyError,
    CorruptStoreError,
    MemlogError,
    NotAStoreError,
    ReadOnlyError,
    StoreFullError,
)

_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})
_READ_ONLY = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH})
_PRIMARY_CODE = 0xFF


def engine_error(error: BaseException) -> sqlite3.Error | None:
    """Return the SQLite error behind an error of the `eventsourcing` package, if there is one."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, sqlite3.Error):
            return seen
        seen = seen.__cause__
    return None


def translate(error: BaseException, *, target: str, timeout_s: float) -> MemlogError:
    """Return the error that the caller should see."""
    engine = engine_error(error)
    if engine is None:  # The pool gave up waiting for a connection.
        return BusyError(target, timeout_s)
    code = getattr(engine, "sqlite_errorcode", 0) & _PRIMARY_CODE
    detail = str(engine)
    if code in _BUSY:
        return BusyError(target, timeout_s)
    if code == sqlite3.SQLITE_FULL:
        return StoreFullError(target, detail)
    if code in _READ_ONLY:
        return ReadOnlyError(target)
    if code == sqlite3.SQLITE_NOTADB:
        return NotAStoreError(target, "it is not an SQLite database")
    return CorruptStoreError(target, detail)


def ends_handle(error: MemlogError) -> bool:
    """Tell whether a handle must not be used any more after this error."""
    return isinstance(error, CorruptStoreError)
