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
from memlog.store.postgres_recorder import LOCK
from memlog.store.rows import EVENTS_TABLE

_EPOCH = "0001-01-01T00:00:00.000000Z"  # Before every clock.


def holds_log(cursor: Cursor, target: str) -> bool:
    """Tell whether the schema holds a log, True, or nothing of that kind, False.

    Raises:
        UnsafeLocationError: there is no such schema, or the database's encoding is not UTF-8.
        NotAStoreError: it holds tables of another program under the names that a log needs.
    """
    schema, encoding, marked, taken = cursor.execute(
        "SELECT current_schema(), current_setting('server_encoding'), "
        "to_regclass(quote_ident(current_schema()) || '.memlog_format') IS NOT NULL, "
        "to_regclass(quote_ident(current_schema()) || '.log') IS NOT NULL "
        f"OR to_regclass(quote_ident(current_schema()) || '.{EVENTS_TABLE}') IS NOT NULL"
    ).fetchone()
    if schema is None:
        why = "its search_path names no schema; create the schema first"
        raise UnsafeLocationError(target, why)
    if encoding != "UTF8":
        why = f"its encoding is {encoding}; create the database with ENCODING 'UTF8'"
        raise UnsafeLocationError(target, why)
    if taken and not marked:
        why = f"schema {schema!r} holds tables of another program; give it one of its own"
        raise NotAStoreError(target, why)
    return bool(marked)


def create(
    connection: Connection, tables: Sequence[str], *, target: str, now: str, wait_ms: int
) -> None:
    """Make all tables in one transaction, unless another node did so meanwhile.

    Args:
        connection: outside of a transaction.
        tables: DDL of the inline projections, written for SQLite.
        target: what errors call the store.
        now: when it is made.
        wait_ms: how long to wait for other nodes.

    Raises:
        UnsafeLocationError: the role may not make tables.
        psycopg.Error: other nodes took too long, or the server is gone.
    """
    try:
        with connection.transaction():
            connection.execute(f"SET LOCAL lock_timeout = {wait_ms}".encode())
            connection.execute(LOCK)
            cursor = Cursor(connection.cursor())
            if holds_log(cursor, target):
                return
            (namespace,) = cursor.execute("SELECT quote_ident(current_schema())").fetchone()
            for statement in postgres_schema.statements(tables, namespace=namespace):
                connection.execute(statement.encode())
            cursor.execute(
                "INSERT INTO log VALUES (1, ?, ?, ?, 0, ?)",
                (str(uuid.uuid4()), now, os.urandom(32), _EPOCH),
            )
    except psycopg.errors.InsufficientPrivilege as error:
        why = f"this role may not make its tables ({postgres_faults.detail_of(error)})"
        raise UnsafeLocationError(target, why) from error


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
