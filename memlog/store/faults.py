"""What an error of the SQLite engine means for the caller, as memlog's own errors.

The class of an error follows from SQLite's result code (sqlite.org/rescode.html): busy, locked and
full refuse one write; an I/O error or damage ends the handle, because nothing that the engine
says afterwards can be trusted (a failed fsync is not repeated: its pages may be gone). An error
without such a code is a mistake in the calling code, and stays what it is.
"""

from __future__ import annotations

import sqlite3

from memlog.errors import (
    BusyError,
    CorruptStoreError,
    NotAStoreError,
    ReadOnlyError,
    StoreFullError,
)

_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})
_READ_ONLY = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH})
_OUR_MISTAKES = frozenset(
    {
        sqlite3.SQLITE_MISMATCH,
        sqlite3.SQLITE_MISUSE,
        sqlite3.SQLITE_RANGE,
        sqlite3.SQLITE_TOOBIG,
    }
)
_PRIMARY_CODE = 0xFF


def translate(error: sqlite3.Error, *, target: str, timeout_s: float) -> Exception:
    """Return the error that the caller should see."""
    code = getattr(error, "sqlite_errorcode", None)  # The driver's own errors have none.
    if code is None or code & _PRIMARY_CODE in _OUR_MISTAKES:
        return error
    detail = str(error)
    if code & _PRIMARY_CODE in _BUSY:
        return BusyError(target, timeout_s)
    if code & _PRIMARY_CODE == sqlite3.SQLITE_FULL or code == sqlite3.SQLITE_IOERR_SHMSIZE:
        return StoreFullError(target, detail)
    if code & _PRIMARY_CODE in _READ_ONLY:
        return ReadOnlyError(target)
    if code & _PRIMARY_CODE == sqlite3.SQLITE_NOTADB:
        return NotAStoreError(target, "it is not an SQLite database")
    return CorruptStoreError(target, detail)
