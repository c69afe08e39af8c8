"""The store's own part of an SQLite file: identity, head, and append-only triggers.

A file carries `application_id` 0x6D656D6C ("meml") and `user_version`, the format of its tables.
The triggers hold against every client of the database, not only against this program: they refuse
UPDATE, DELETE, and any INSERT whose position is not the highest plus one or whose seq is not its
stream's next. The insert trigger also stops `INSERT OR REPLACE`, which deletes a row without
firing a DELETE trigger.
"""

from __future__ import annotations

from memlog.store.rows import EVENTS_TABLE

APPLICATION_ID = 0x6D656D6C
FORMAT = 1

TABLES = (
    """
    CREATE TABLE log (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        log_id TEXT NOT NULL,
        created_at TEXT NOT NULL,
        secret BLOB NOT NULL,
        position INTEGER NOT NULL,
        recorded_at TEXT NOT NULL
    )
    """,
)

TRIGGERS = (
    f"""
    CREATE TRIGGER {EVENTS_TABLE}_append_only_insert BEFORE INSERT ON {EVENTS_TABLE}
    BEGIN
        SELECT RAISE(ABORT, 'append-only: the position is not the next one')
        WHERE NEW.rowid IS NOT (SELECT coalesce(max(rowid), 0) + 1 FROM {EVENTS_TABLE});
        SELECT RAISE(ABORT, 'append-only: the seq is not the next one of its stream')
        WHERE NEW.originator_version IS NOT (
            SELECT coalesce(max(originator_version), 0) + 1 FROM {EVENTS_TABLE}
            WHERE originator_id = NEW.originator_id
        );
    END
    """,  # a table name of our own
    f"""
    CREATE TRIGGER {EVENTS_TABLE}_append_only_update BEFORE UPDATE ON {EVENTS_TABLE}
    BEGIN
        SELECT RAISE(ABORT, 'append-only: events are never changed');
    END
    """,
    f"""
    CREATE TRIGGER {EVENTS_TABLE}_append_only_delete BEFORE DELETE ON {EVENTS_TABLE}
    BEGIN
        SELECT RAISE(ABORT, 'append-only: events are never deleted');
    END
    """,
)
