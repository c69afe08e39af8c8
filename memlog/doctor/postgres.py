"""A PostgreSQL server's settings, as far as a log's promises rest on them."""

from __future__ import annotations

from collections.abc import Iterator

from memlog.doctor.symptom import Symptom, sized
from memlog.store.protocol import Executor
from memlog.store.rows import EVENTS_TABLE

_VERSION_MIN = 130_000
_CONNECTIONS_SHARE = 0.8
_TRIGGERS = 3


def symptoms(cursor: Executor) -> Iterator[Symptom]:
    """Yield what the server, the database and the role are like."""
    yield _version(cursor)
    yield durability(
        **{name: _setting(cursor, name) for name in ("fsync", "full_page_writes")},
        synchronous_commit=_setting(cursor, "synchronous_commit"),
    )
    yield _database(cursor)
    yield _triggers(cursor)
    yield _role(cursor)
    yield _connections(cursor)
    yield _vacuum(cursor)
    yield _secrecy(cursor)


def _setting(cursor: Executor, name: str) -> str:
    value: str = cursor.execute("SELECT current_setting(?)", (name,)).fetchone()[0]
    return value


def _version(cursor: Executor) -> Symptom:
    number, name = int(_setting(cursor, "server_version_num")), _setting(cursor, "server_version")
    if number < _VERSION_MIN:
        return Symptom("postgres", "bad", f"{name} is no longer maintained; upgrade the server")
    return Symptom("postgres", "well", name)


def durability(*, fsync: str, full_page_writes: str, synchronous_commit: str) -> Symptom:
    """Tell whether a commit outlives a power cut."""
    if fsync == "off":
        return Symptom("durability", "bad", "fsync is off: a power cut loses the log; turn it on")
    if full_page_writes == "off":
        return Symptom("durability", "bad", "full_page_writes is off: a crash can tear pages")
    if synchronous_commit == "off":
        detail = "synchronous_commit is off; memlog turns it on for its own commits"
        return Symptom("durability", "known", detail)
    detail = f"fsync on, full_page_writes on, synchronous_commit {synchronous_commit}"
    return Symptom("durability", "well", detail)


def _database(cursor: Executor) -> Symptom:
    size, collation, schema = cursor.execute(
        "SELECT pg_database_size(current_database()), datcollate, current_schema() "
        "FROM pg_database WHERE datname = current_database()"
    ).fetchone()
    detail = f"{sized(size)}, schema {schema}, sorts by {collation}; memlog's texts sort by bytes"
    return Symptom("database", "well", detail)


def _triggers(cursor: Executor) -> Symptom:
    (always,) = cursor.execute(
        "SELECT count(*) FROM pg_trigger WHERE tgrelid = to_regclass(?) AND tgenabled = 'A' "
        "AND NOT tgisinternal",
        (EVENTS_TABLE,),
    ).fetchone()
    if always != _TRIGGERS:
        detail = f"{always} of {_TRIGGERS} triggers keep the log append-only; verify it"
        return Symptom("append-only", "bad", detail)
    return Symptom("append-only", "well", f"{_TRIGGERS} triggers, which always fire")


def _role(cursor: Executor) -> Symptom:
    role, owns, is_super = cursor.execute(
        "SELECT current_user, pg_has_role(current_user, relowner, 'USAGE'), "
        "current_setting('is_superuser') FROM pg_class WHERE oid = to_regclass(?)",
        (EVENTS_TABLE,),
    ).fetchone()
    if is_super == "on" or owns:
        detail = f"{role} may drop the tables and their triggers; let nodes use a role without DDL"
        return Symptom("role", "known", detail)
    return Symptom("role", "well", f"{role} may use the tables, not change them")


def _connections(cursor: Executor) -> Symptom:
    used, most = cursor.execute(
        "SELECT count(*), current_setting('max_connections')::bigint FROM pg_stat_activity "
        "WHERE backend_type = 'client backend'"
    ).fetchone()
    detail = f"{used} of {most} connections are in use"
    if used > _CONNECTIONS_SHARE * most:
        return Symptom("connections", "bad", f"{detail}; nodes will soon be refused")
    return Symptom("connections", "well", detail)


def _vacuum(cursor: Executor) -> Symptom:
    if _setting(cursor, "autovacuum") == "off":
        detail = "autovacuum is off: the tables that follow the log grow with every write"
        return Symptom("vacuum", "bad", detail)
    return Symptom("vacuum", "well", "autovacuum is on")


def _secrecy(cursor: Executor) -> Symptom:
    row = cursor.execute(
        "SELECT inet_client_addr() IS NULL, "
        "coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false)"
    ).fetchone()
    if not any(row):
        detail = "notes cross the network in the clear; add sslmode=verify-full to the URL"
        return Symptom("connection", "known", detail)
    return Symptom("connection", "well", "a local socket" if row[0] else "encrypted")
