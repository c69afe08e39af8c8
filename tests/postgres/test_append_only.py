"""PostgreSQL itself refuses whatever would change, remove, skip or misfile an event."""

from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from memlog.errors import CorruptStoreError
from memlog.testing import open_log

INSERT = (
    "INSERT INTO stored_events (rowid, originator_id, originator_version, topic, state) "
    "SELECT {position}, 'owner/a', {seq}, topic, state FROM stored_events WHERE rowid = 1"
)
FORBIDDEN = [
    "UPDATE stored_events SET state = 'x'",
    "UPDATE stored_events SET rowid = 9 WHERE rowid = 2",
    "DELETE FROM stored_events",
    "DELETE FROM stored_events WHERE rowid = 2",
    "TRUNCATE stored_events",
    INSERT.format(position=4, seq=3),  # a gap
    INSERT.format(position=2, seq=3),  # a position that is taken
    INSERT.format(position=1, seq=1),
    INSERT.format(position=3, seq=4),  # a gap in the stream
    INSERT.format(position=3, seq=2),  # a seq that is taken
    INSERT.format(position=3, seq=0),
    INSERT.format(position="NULL", seq=3),
    INSERT.format(position=2, seq=2) + " ON CONFLICT (rowid) DO UPDATE SET state = 'x'",
    INSERT.format(position=3, seq=2)
    + " ON CONFLICT (originator_id, originator_version) DO UPDATE SET state = 'x'",
    "MERGE INTO stored_events e USING (SELECT 1) AS one ON rowid = 1 WHEN MATCHED THEN DELETE",
]


@pytest.fixture
def direct(postgres_url: str) -> Iterator[psycopg.Connection]:
    """A connection of another program to a log with two events."""
    with open_log(postgres_url) as log:
        memory = log.scope("owner", "a")
        memory.write(title="One", body="b")
        memory.write(title="Two", body="b")
    with closing(psycopg.connect(postgres_url, autocommit=True)) as connection:
        yield connection


@pytest.mark.parametrize("replicating", [False, True])
@pytest.mark.parametrize("statement", FORBIDDEN)
def test_it_is_refused_by_the_database(
    direct: psycopg.Connection, statement: str, *, replicating: bool
) -> None:
    before = direct.execute("SELECT * FROM stored_events ORDER BY rowid").fetchall()
    if replicating:  # Ordinary triggers are silent then.
        direct.execute("SET session_replication_role = replica")

    with pytest.raises(psycopg.errors.IntegrityError, match=r"append-only|null value"):
        direct.execute(statement.encode())

    assert direct.execute("SELECT * FROM stored_events ORDER BY rowid").fetchall() == before


def test_the_next_event_of_its_stream_is_accepted(direct: psycopg.Connection) -> None:
    """What is refused above is refused for what is wrong with it."""
    direct.execute(INSERT.format(position=3, seq=3).encode())

    assert direct.execute("SELECT max(rowid) FROM stored_events").fetchone() == (3,)


def test_an_event_that_somebody_else_appended_stops_the_log(
    direct: psycopg.Connection, postgres_url: str
) -> None:
    with open_log(postgres_url) as log:
        direct.execute(INSERT.format(position=3, seq=3).encode())

        with pytest.raises(CorruptStoreError, match="position"):
            log.scope("owner", "b").write(title="Three", body="b")


def test_writers_that_ignore_the_lock_cannot_fork_the_log(
    direct: psycopg.Connection, postgres_url: str
) -> None:
    with closing(psycopg.connect(postgres_url)) as other:
        other.execute("SET lock_timeout = '200ms'")
        direct.execute("BEGIN")
        direct.execute(INSERT.format(position=3, seq=3).encode())

        with pytest.raises((psycopg.errors.LockNotAvailable, psycopg.errors.UniqueViolation)):
            other.execute(INSERT.format(position=3, seq=3).encode())
        direct.execute("ROLLBACK")
