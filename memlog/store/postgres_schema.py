"""The tables of a log in PostgreSQL, made once, and append-only by triggers.

All tables of a log lie in one schema, the first of the connection's `search_path`, beside nothing
else. `memlog_format` says that they are ours and which format they have. They are made in one
transaction under the log's advisory lock, so that any number of nodes may open an empty database at
once, and from then on no role needs to make, change or drop a table.

The triggers hold against every client, also one that ignores the lock: they refuse UPDATE, DELETE,
TRUNCATE, and any INSERT whose position is not the highest plus one or whose seq is not its stream's
next. They fire whatever `session_replication_role` says.
"""

from __future__ import annotations

from collections.abc import Sequence

from memlog.store import postgres_dialect as dialect
from memlog.store import schema
from memlog.store.rows import EVENTS_TABLE

FORMAT = schema.FORMAT
LOCK_CLASS = schema.APPLICATION_ID

EVENTS_TABLE_DDL = f"""
CREATE TABLE {EVENTS_TABLE} (
    rowid BIGINT PRIMARY KEY,
    originator_id TEXT COLLATE "C" NOT NULL,
    originator_version BIGINT NOT NULL,
    topic TEXT COLLATE "C" NOT NULL,
    state BYTEA NOT NULL,
    UNIQUE (originator_id, originator_version)
)
"""


def statements(tables: Sequence[str], *, namespace: str) -> tuple[str, ...]:
    """Return what makes all tables and triggers of a log, in order.

    Args:
        tables: DDL of the inline projections, written for SQLite.
        namespace: the schema that they are made in, quoted as an identifier.
    """
    return (
        "CREATE TABLE memlog_format (format BIGINT NOT NULL)",
        f"INSERT INTO memlog_format VALUES ({FORMAT})",
        EVENTS_TABLE_DDL,
        *map(dialect.ddl, (*schema.TABLES, *tables)),
        *_triggers(namespace),
    )


def _triggers(namespace: str) -> tuple[str, ...]:
    # Named with their schema, so that a temporary table of the same name cannot stand in.
    events = f"{namespace}.{EVENTS_TABLE}"
    return (
        f"""
        CREATE FUNCTION {EVENTS_TABLE}_next() RETURNS trigger LANGUAGE plpgsql VOLATILE AS $memlog$
        BEGIN
            IF NEW.rowid IS DISTINCT FROM
                (SELECT coalesce(max(rowid), 0) + 1 FROM {events})
            THEN
                RAISE EXCEPTION 'append-only: the position is not the next one'
                USING ERRCODE = 'integrity_constraint_violation';
            END IF;
            IF NEW.originator_version IS DISTINCT FROM
                (SELECT coalesce(max(originator_version), 0) + 1 FROM {events}
                 WHERE originator_id = NEW.originator_id)
            THEN
                RAISE EXCEPTION 'append-only: the seq is not the next one of its stream'
                USING ERRCODE = 'integrity_constraint_violation';
            END IF;
            RETURN NEW;
        END $memlog$
        """,
        f"""
        CREATE FUNCTION {EVENTS_TABLE}_never() RETURNS trigger LANGUAGE plpgsql AS $memlog$
        BEGIN
            RAISE EXCEPTION 'append-only: events are never changed or deleted (%)', TG_OP
            USING ERRCODE = 'integrity_constraint_violation';
        END $memlog$
        """,
        *(
            statement
            for name, moment, function in (
                ("insert", "BEFORE INSERT", "next() "),
                ("change", "BEFORE UPDATE OR DELETE", "never()"),
            )
            for statement in _trigger(
                name, moment, f"FOR EACH ROW EXECUTE FUNCTION {EVENTS_TABLE}_{function}"
            )
        ),
        *_trigger(
            "truncate",
            "BEFORE TRUNCATE",
            f"FOR EACH STATEMENT EXECUTE FUNCTION {EVENTS_TABLE}_never()",
        ),
    )


def _trigger(name: str, moment: str, does: str) -> tuple[str, str]:
    trigger = f"{EVENTS_TABLE}_append_only_{name}"
    return (
        f"CREATE TRIGGER {trigger} {moment} ON {EVENTS_TABLE} {does}",
        f"ALTER TABLE {EVENTS_TABLE} ENABLE ALWAYS TRIGGER {trigger}",
    )
