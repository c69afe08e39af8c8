"""The database itself refuses what an append-only log must never take, from any client."""

import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import memlog
from memlog.errors import CorruptStoreError
from tests.store.files import sql, store_with_notes

NEW = "('owner/alice', 4, 'note_written/1', X'7B7D')"
COLUMNS = "(rowid, originator_id, originator_version, topic, state)"
REFUSED = {
    "update": "UPDATE stored_events SET state = X'7B7D' WHERE rowid = 1",
    "update or replace": "UPDATE OR REPLACE stored_events SET rowid = 1 WHERE rowid = 2",
    "update that changes nothing": "UPDATE stored_events SET rowid = rowid",
    "delete": "DELETE FROM stored_events WHERE rowid = 3",
    "delete everything": "DELETE FROM stored_events",
    "replace the last": (
        f"INSERT OR REPLACE INTO stored_events {COLUMNS} VALUES (3, 'owner/alice', 3, 't', X'7B7D')"
    ),
    "replace by stream and seq": (
        f"INSERT OR REPLACE INTO stored_events {COLUMNS} VALUES (4, 'owner/alice', 2, 't', X'7B7D')"
    ),
    "replace statement": f"REPLACE INTO stored_events {COLUMNS} VALUES (1, 'x/y', 1, 't', X'7B7D')",
    "upsert": (
        f"INSERT INTO stored_events {COLUMNS} VALUES (3, 'owner/alice', 3, 't', X'7B7D') "
        "ON CONFLICT DO UPDATE SET state = excluded.state"
    ),
    "ignored conflict": (
        f"INSERT OR IGNORE INTO stored_events {COLUMNS} VALUES (9, 'x/y', 1, 't', X'7B7D')"
    ),
    "gap": f"INSERT INTO stored_events {COLUMNS} VALUES (5, 'owner/alice', 4, 't', X'7B7D')",
    "position zero": f"INSERT INTO stored_events {COLUMNS} VALUES (0, 'x/y', 1, 't', X'7B7D')",
    "no position": (
        f"INSERT INTO stored_events (originator_id, originator_version, topic, state) VALUES {NEW}"
    ),
    "seq too high": f"INSERT INTO stored_events {COLUMNS} VALUES (4, 'owner/alice', 5, 't', X'7B')",
    "seq again": f"INSERT INTO stored_events {COLUMNS} VALUES (4, 'owner/alice', 3, 't', X'7B')",
    "first seq not 1": f"INSERT INTO stored_events {COLUMNS} VALUES (4, 'x', 2, 't', X'7B7D')",
    "seq zero": f"INSERT INTO stored_events {COLUMNS} VALUES (4, 'x', 0, 't', X'7B7D')",
    "no stream": f"INSERT INTO stored_events {COLUMNS} VALUES (4, NULL, 1, 't', X'7B7D')",
    "no seq": f"INSERT INTO stored_events {COLUMNS} VALUES (4, 'x', NULL, 't', X'7B7D')",
}


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    path = store_with_notes(tmp_path / "notes.db")
    before = sql(path, "SELECT * FROM stored_events")
    yield path
    assert sql(path, "SELECT * FROM stored_events") == before


@pytest.mark.parametrize("recursive", ["OFF", "ON"])
@pytest.mark.parametrize("kind", REFUSED)
def test_a_plain_client_is_refused(path: Path, kind: str, recursive: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as client:
        client.execute(f"PRAGMA recursive_triggers={recursive}")

        with pytest.raises(sqlite3.IntegrityError, match=r"append-only|NOT NULL"):
            client.execute(REFUSED[kind])


@pytest.mark.parametrize("kind", REFUSED)
def test_the_store_s_own_connection_is_refused_and_the_handle_ends(path: Path, kind: str) -> None:
    with (
        memlog.open(path) as log,
        pytest.raises(CorruptStoreError, match=r"append-only|NOT NULL"),
        log._store.transaction() as transaction,  # noqa: SLF001
    ):
        transaction.cursor.execute(REFUSED[kind])


def test_the_sqlite3_program_is_refused(path: Path) -> None:
    program = shutil.which("sqlite3")
    if program is None:
        pytest.skip("there is no sqlite3 program here")
    for statement in REFUSED.values():
        done = subprocess.run(
            [program, path, statement], capture_output=True, text=True, check=False
        )
        assert done.returncode != 0, statement
        assert "append-only" in done.stderr or "NOT NULL" in done.stderr


def test_the_next_event_of_a_stream_is_taken(tmp_path: Path) -> None:
    path = store_with_notes(tmp_path / "notes.db")

    sql(path, f"INSERT INTO stored_events {COLUMNS} VALUES (4, 'owner/alice', 4, 't', X'7B7D')")

    with pytest.raises(CorruptStoreError, match="head says position 3, its last event is 4"):
        memlog.open(path)


def test_an_event_that_another_program_appends_meanwhile_is_noticed(tmp_path: Path) -> None:
    path = store_with_notes(tmp_path / "notes.db")
    with memlog.open(path) as log:
        memory = log.scope("owner", "bob")
        sql(path, f"INSERT INTO stored_events {COLUMNS} VALUES (4, 'owner/alice', 4, 't', X'7B7D')")

        with pytest.raises(CorruptStoreError, match="head says position 3, its next event would"):
            memory.write(title="Tea", body="oolong")

    assert sql(path, "SELECT count(*) FROM stored_events") == [(4,)]


def test_positions_survive_a_dump_and_a_vacuum(tmp_path: Path) -> None:
    path = store_with_notes(tmp_path / "notes.db")
    events = "SELECT rowid, * FROM stored_events"
    before = sql(path, events)
    sql(path, "VACUUM")
    assert sql(path, events) == before

    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(":memory:")) as copy:
        copy.executescript("\n".join(source.iterdump()))
        assert copy.execute(events).fetchall() == before
