"""The `eventsourcing` recorder for PostgreSQL, with the lock, table and conninfo that a log needs.

What the stock classes lack and these add: the whole conninfo reaches the driver (the stock
datastore drops `sslmode` and `options`), writers exclude each other by an advisory lock that
neither VACUUM nor an index build waits for, positions without gaps, and nothing is inserted again
after a connection was lost, when nobody knows whether the first insert was committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from eventsourcing.persistence import Notification, StoredEvent
from eventsourcing.postgres import ConnectionPool as _Pool
from eventsourcing.postgres import PostgresApplicationRecorder, PostgresDatastore
from psycopg import Connection, RawCursor
from psycopg.rows import dict_row, tuple_row
from psycopg.sql import SQL

from memlog.store.postgres_dialect import Cursor, adapters
from memlog.store.postgres_schema import EVENTS_TABLE_DDL, LOCK_CLASS
from memlog.store.rows import EVENTS_TABLE

_POOL_MAX = 4
_COLUMNS = "rowid AS notification_id, originator_id, originator_version, topic, state"

LOCK = f"SELECT pg_advisory_xact_lock({LOCK_CLASS}, hashtext(current_schema()))"
"""One log's writers exclude each other; its first statement, so that the next sees their work."""


class Datastore(PostgresDatastore):
    """The stock datastore over a whole conninfo, with text stream names.

    It connects when its recorder's own reads and writes ask it to. A store never does: it hands the
    recorder a cursor of its transaction.
    """

    def __init__(self, conninfo: str) -> None:
        super().__init__("", "", "", "", "", originator_id_type="text")
        self.pool = _Pool(
            conninfo,
            connection_class=Connection[dict[str, Any]],
            kwargs={"row_factory": dict_row, "autocommit": True, "context": adapters()},
            min_size=0,
            max_size=_POOL_MAX,
            open=False,
        )

    def register_type_adapters(self) -> None:
        """Do nothing: no composite type is used."""


class Recorder(PostgresApplicationRecorder):
    """Events by position: the next one is always the highest plus one, given at the insert.

    The table has no triggers here, since the recorder's contract allows gaps in versions; the
    store's schema adds them (`memlog.store.postgres_schema`).
    """

    def __init__(self, datastore: PostgresDatastore) -> None:
        super().__init__(datastore, events_table_name=EVENTS_TABLE)
        self.sql_create_statements = [SQL(EVENTS_TABLE_DDL).format()]
        self.select_events_statement = SQL(
            f"SELECT {_COLUMNS} FROM {EVENTS_TABLE} WHERE originator_id = %s"
        ).format()
        self.max_notification_id_statement = SQL(
            f"SELECT max(rowid) AS max FROM {EVENTS_TABLE}"
        ).format()
        self._insert = (
            f"INSERT INTO {EVENTS_TABLE} (rowid, originator_id, originator_version, topic, state) "
            f"SELECT (SELECT coalesce(max(rowid), 0) FROM {EVENTS_TABLE}) + n, stream, seq, type, "
            "bytes FROM unnest(?::text[], ?::bigint[], ?::text[], ?::bytea[]) "
            "WITH ORDINALITY AS given (stream, seq, type, bytes, n) ORDER BY n RETURNING rowid"
        )

    def insert(self, cursor: Cursor, events: Sequence[StoredEvent]) -> Sequence[int]:
        """Append stored events inside a transaction of the caller; return their positions."""
        columns = (
            [event.originator_id for event in events],
            [event.originator_version for event in events],
            [event.topic for event in events],
            [event.state for event in events],
        )
        return [row[0] for row in cursor.execute(self._insert, columns)]

    def insert_events(
        self,
        stored_events: Sequence[StoredEvent],
        **_: Any,  # noqa: ANN401  # the base's signature
    ) -> Sequence[int] | None:
        """Append stored events in a transaction of their own; return their positions."""
        if not stored_events:
            return []
        with self.datastore.get_connection() as connection, connection.transaction():
            connection.execute(LOCK)
            cursor = RawCursor(connection, row_factory=tuple_row)
            return self.insert(Cursor(cursor), stored_events)

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
    ) -> Sequence[Notification]:
        """Return stored events by position, from `start` on, at most `limit`."""
        low = 0 if start is None else start if inclusive_of_start else start + 1
        statement = (
            f"SELECT {_COLUMNS} FROM {EVENTS_TABLE} WHERE rowid >= %s "
            "AND (%s::bigint IS NULL OR rowid <= %s) AND (%s::text[] = '{}' OR topic = ANY(%s)) "
            "ORDER BY rowid LIMIT %s"
        )
        named = list(topics)
        with self.datastore.get_connection() as connection, connection.cursor() as cursor:
            found = cursor.execute(statement, (low, stop, stop, named, named, limit)).fetchall()
        return [
            Notification(
                id=row["notification_id"],
                originator_id=_text(row["originator_id"]),
                originator_version=row["originator_version"],
                topic=row["topic"],
                state=bytes(row["state"]),
            )
            for row in found
        ]


def _text(stream: str | UUID) -> str:
    return str(stream)
