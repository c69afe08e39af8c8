"""What an error of PostgreSQL or its driver means for the caller, as memlog's own errors.

The class of an error follows from its SQLSTATE (PostgreSQL documentation, appendix A): a lock that
was not given in time and a full disk refuse one write; a connection or a statement that was ended
before the commit wrote nothing; damage ends the handle. An error of the statement itself is a
mistake in the calling code, and stays what it is.
"""

from __future__ import annotations

import psycopg

from memlog.errors import (
    BusyError,
    CorruptStoreError,
    ReadOnlyError,
    StoreFullError,
    UnreachableError,
)

# Lock not available, deadlock, serialization failure.
_BUSY = frozenset({"55P03", "40P01", "40001"})
# A statement was canceled; a transaction was idle, or open, for longer than the server allows.
_ENDED = frozenset({"57014", "25P03", "25P04"})
_READ_ONLY = frozenset({"25006", "42501"})
_CLASSES = {
    StoreFullError: ("53100",),
    # An integrity rule, the server's own I/O, corruption, a table or a column that is not there.
    CorruptStoreError: ("23", "58", "XX", "42P01", "42703"),
}
# The driver's names for statements are gone: a pooler gave it another connection.
STALE_STATEMENTS = frozenset({"26000", "42P05"})


def translate(error: psycopg.Error, *, target: str, timeout_s: float) -> Exception:
    """Return the error that the caller should see; nothing was committed."""
    state, detail = error.sqlstate or "", detail_of(error)
    if state in _BUSY:
        return BusyError(target, timeout_s)
    if state in _READ_ONLY:
        return ReadOnlyError(target)
    for error_class, states in _CLASSES.items():
        if state.startswith(states):
            return error_class(target, detail)
    return UnreachableError(target, detail) if _is_gone(error) else error


def _is_gone(error: psycopg.Error) -> bool:
    return (
        isinstance(error, psycopg.OperationalError) or error.sqlstate in STALE_STATEMENTS | _ENDED
    )


def detail_of(error: psycopg.Error) -> str:
    """Return what the server or the driver says, on one line and without values of rows.

    A conninfo's password is in neither.
    """
    primary = error.diag.message_primary
    return " ".join((primary or str(error)).split()) or type(error).__name__
