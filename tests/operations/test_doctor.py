"""The doctor: each symptom is seen where it is, and on a healthy store none is bad."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import memlog.log
from memlog.doctor import Diagnosis, diagnose, postgres
from memlog.doctor import sqlite as sqlite_symptoms
from memlog.errors import StoreNotFoundError, UnreachableError
from memlog.settings import Settings
from memlog.store import files
from tests.operations.targets import fill
from tests.postgres_server import execute


def states(found: Diagnosis) -> dict[str, str]:
    return {symptom.name: symptom.state for symptom in found.symptoms}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    tmp_path.chmod(0o700)
    with memlog.log.open(tmp_path / "notes.db") as log:
        fill(log, count=5).search("note")
    return tmp_path / "notes.db"


def test_a_healthy_file_has_no_bad_symptom(path: Path) -> None:
    before = path.read_bytes()

    found = diagnose(path)

    assert found.ok
    assert {"sqlite", "disk", "permissions", "wal", "mark", "journal", "indexes", "rebuild"} <= set(
        states(found)
    )
    assert found.engine == "sqlite"
    assert path.read_bytes() == before


def test_permissions_that_let_others_in_are_seen(path: Path) -> None:
    path.chmod(0o666)
    assert states(diagnose(path))["permissions"] == "bad"
    path.chmod(0o644)
    assert states(diagnose(path))["permissions"] == "known"
    path.chmod(0o600)
    path.parent.chmod(0o777)
    assert states(diagnose(path))["permissions"] == "bad"
    path.parent.chmod(0o700)


def test_a_mark_of_an_io_error_is_seen(path: Path) -> None:
    path.with_name("notes.db-lock").write_bytes(b"suspect")

    found = diagnose(path)

    assert states(found)["mark"] == "bad"
    assert not found.ok


def test_damage_is_a_symptom_not_an_error(path: Path) -> None:
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE log SET position = 99")
        connection.commit()

    assert states(diagnose(path))["store"] == "bad"


@pytest.mark.parametrize(
    ("version", "state"), [((3, 51, 2), "known"), ((3, 51, 3), "well"), ((3, 40, 1), "known")]
)
def test_the_wal_reset_bug_is_told_by_the_version(version: tuple[int, ...], state: str) -> None:
    assert sqlite_symptoms.engine(version).state == state


@pytest.mark.parametrize(
    ("free", "size", "state"),
    [(10**6, 10**5, "bad"), (10**9, 9 * 10**8, "known"), (10**9, 10**6, "well")],
)
def test_room_on_the_disk_is_told(free: int, size: int, state: str) -> None:
    assert sqlite_symptoms.space(free, size).state == state


def test_a_large_write_ahead_log_is_told() -> None:
    assert [sqlite_symptoms.write_ahead(size).state for size in (0, 10**9)] == ["well", "known"]


def test_an_index_that_cannot_be_used_is_told(path: Path) -> None:
    (manifest,) = path.with_name("notes.db-index").glob("*/*/manifest.json")
    manifest.write_bytes(manifest.read_bytes().replace(b'"seq":', b'"seq":1'))

    assert states(diagnose(path))["indexes"] == "known"


def test_a_rebuild_that_was_broken_off_is_told(path: Path) -> None:
    with memlog.log.open(path) as log, log._store.transaction() as write:  # noqa: SLF001
        write.cursor.execute("UPDATE notes_pointer SET rebuild = 'x'")

    assert states(diagnose(path))["rebuild"] == "known"


def test_a_file_that_can_only_be_read_is_not_called_changed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On such a medium the engine reads it without its -wal, and names another journal."""
    name = files.immutable_uri(path)
    with closing(sqlite3.connect(name, uri=True)) as connection:
        for writable, state in ((True, "bad"), (False, "known")):
            monkeypatch.setattr("os.access", lambda *_, writable=writable: writable)
            journal = next(sqlite_symptoms.file_symptoms(connection.cursor(), path=path))
            assert (journal.name, journal.state) == ("journal", state)


def test_no_store_is_made(tmp_path: Path) -> None:
    with pytest.raises(StoreNotFoundError):
        diagnose(tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()


# --- PostgreSQL


def test_a_healthy_database_has_no_bad_symptom(postgres_url: str, tmp_path: Path) -> None:
    settings = Settings(index_dir=os.fspath(tmp_path / "index"))
    with memlog.log.open(postgres_url, settings=settings) as log:
        fill(log, count=3).search("note")

    found = diagnose(postgres_url, settings=settings)

    assert found.ok, found
    assert states(found)["append-only"] == states(found)["durability"] == "well"
    assert found.engine == "postgres"


def test_a_damaged_database_is_named_without_its_password(postgres_url: str) -> None:
    with memlog.log.open(postgres_url) as log:
        shown = log.target
    execute(postgres_url, "UPDATE log SET position = 9")

    found = diagnose(f"{postgres_url}&password=hidden")

    assert (states(found), found.target) == ({"store": "bad"}, shown)
    assert "hidden" not in str(found)


def test_a_trigger_that_is_off_is_seen(postgres_url: str) -> None:
    memlog.log.open(postgres_url).close()
    execute(
        postgres_url, "ALTER TABLE stored_events DISABLE TRIGGER stored_events_append_only_truncate"
    )

    assert states(diagnose(postgres_url))["append-only"] == "bad"


@pytest.mark.parametrize(
    ("fsync", "pages", "commit", "state"),
    [
        ("off", "on", "on", "bad"),
        ("on", "off", "on", "bad"),
        ("on", "on", "off", "known"),
        ("on", "on", "remote_apply", "well"),
    ],
)
def test_settings_that_lose_commits_are_told(
    fsync: str, pages: str, commit: str, state: str
) -> None:
    found = postgres.durability(fsync=fsync, full_page_writes=pages, synchronous_commit=commit)

    assert found.state == state


def test_a_server_that_is_away_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnreachableError):
        diagnose(f"postgresql:///d?host={tmp_path}")
