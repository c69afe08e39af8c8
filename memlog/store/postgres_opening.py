"""Whether a database holds a log, and how one comes into it, however many nodes open it at once."""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence

import psycopg

from memlog.errors import (
    CorruptStoreError,
    NewerFormatError,
    NotAStoreError,
    UnsafeLocationError,
)
from memlog.store import checks, postgres_faults, postgres_schema
from memlog.store.postgres_connections import Connection
from memlog.store.postgres_dialect import Cursor
from memlog.store.rows import EVENTS_TABLE

_ORIGINS = ("client", "session")  # Of a setting that the options of a connection make.
_SERVERS_OWN = ("pg_", "information_schema")
_TAKEN = "its schema is another program's, so give it one of its own"
_EPOCH = "0001-01-01T00:00:00.000000Z"  # Before every clock.


def place(cursor: Cursor, target: str, *, is_named: bool) -> str:
    """Return the schema that holds the log or will hold it, quoted as an identifier.

    Args:
        cursor: on a new connection.
        target: what errors call the store.
        is_named: whether the URL's options name the schema.

    Raises:
        UnsafeLocationError: there is no such schema, it is none for tables that last, a pooler
            dropped the options, or the database's encoding is not UTF-8.
    """
    schema, quoted, encoding, origin = cursor.execute(
        "SELECT current_schema(), quote_ident(current_schema()), "
        "current_setting('server_encoding'), source FROM pg_settings WHERE name = 'search_path'"
    ).fetchone()
    why = None
    if is_named and origin not in _ORIGINS:
        why = "a pooler drops the options of its URL; name the schema by ALTER ROLE ... SET"
    elif schema is None:
        why = "its search_path names no schema that this role may use; create or grant it first"
    elif schema.startswith(_SERVERS_OWN):
        why = f"schema {schema!r} is the server's own; give it another one"
    elif encoding != "UTF8":
        why = f"its encoding is {encoding}; create the database with ENCODING 'UTF8'"
    if why is not None:
        raise UnsafeLocationError(target, why)
    return str(quoted)


def holds_log(cursor: Cursor, target: str) -> bool:
    """Tell whether the schema holds a log, True, or nothing of that kind, False.

    Raises:
        NotAStoreError: it holds tables of another program under the names that a log needs.
    """
    marked, taken = cursor.execute(
        "SELECT to_regclass('memlog_format') IS NOT NULL, "
        f"coalesce(to_regclass('log'), to_regclass('{EVENTS_TABLE}')) IS NOT NULL"
    ).fetchone()
    if taken and not marked:
        raise NotAStoreError(target, _TAKEN)
    return bool(marked)


def create(
    connection: Connection,
    tables: Sequence[str],
    *,
    target: str,
    now: str,
    namespace: str,
    begin: str,
) -> None:
    """Make all tables in one transaction, unless another node did so meanwhile.

    Args:
        connection: outside of a transaction.
        tables: DDL of the inline projections, written for SQLite.
        target: what errors call the store.
        now: when it is made.
        namespace: the schema, quoted as an identifier.
        begin: begins a transaction in it, and takes the log's lock.

    Raises:
        UnsafeLocationError: the role may not make tables.
        NotAStoreError: the schema holds something under a name that a log needs.
        psycopg.Error: other nodes took too long, or the server is gone.
    """
    try:
        connection.execute(begin.encode())
        cursor = Cursor(connection.cursor())
        if holds_log(cursor, target):
            return
        for statement in postgres_schema.statements(tables, namespace=namespace):
            connection.execute(statement.encode())
        cursor.execute(
            "INSERT INTO log VALUES (1, ?, ?, ?, 0, ?)",
            (str(uuid.uuid4()), now, os.urandom(32), _EPOCH),
        )
        connection.execute("COMMIT")
    except psycopg.errors.InsufficientPrivilege as error:
        why = f"this role may not make its tables ({postgres_faults.detail_of(error)})"
        raise UnsafeLocationError(target, why) from error
    except (psycopg.errors.DuplicateTable, psycopg.errors.DuplicateFunction) as error:
        raise NotAStoreError(target, f"{postgres_faults.detail_of(error)}: {_TAKEN}") from error


def check(cursor: Cursor, target: str) -> None:
    """Refuse a log of a newer format, or one whose head is not its last event.

    Raises:
        NewerFormatError: a newer release made it.
        CorruptStoreError: its format is missing, or head and events differ.
    """
    row = cursor.execute("SELECT format FROM memlog_format").fetchone()
    if row is None:
        raise CorruptStoreError(target, "its format is missing")
    if row[0] > postgres_schema.FORMAT:
        raise NewerFormatError(target, row[0], postgres_schema.FORMAT)
    head_fault = checks.head_fault(cursor)
    if head_fault is not None:
        raise CorruptStoreError(target, head_fault)
