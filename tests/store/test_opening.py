"""What may be opened, what is refused, and what opening leaves of it."""

import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

import memlog
from memlog.errors import (
    BusyError,
    ClosedError,
    CorruptStoreError,
    InvalidRequestError,
    MemlogError,
    NewerFormatError,
    NotAStoreError,
    ReadOnlyError,
    StoreNotFoundError,
    UnsafeLocationError,
)
from memlog.store import schema
from memlog.store.connecting import open_connection
from memlog.store.connections import Connections
from memlog.store.sqlite import SQLiteStore
from projections.notes import tables
from tests.store.files import (
    IMPATIENT,
    NOBODY,
    PAGE_BYTES,
    left_by_a_killed_process,
    read_only,
    run,
    sql,
    store_with_notes,
)

THREADS = 8


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


# --- A new store


def test_a_new_store_is_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    memlog.open(path).close()

    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_whose_creation_was_cut_short_is_completed(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.touch()
    memlog.open(path).close()
    in_wal_mode = tmp_path / "started.db"
    sql(in_wal_mode, "PRAGMA journal_mode=WAL")
    assert in_wal_mode.stat().st_size > 0

    with memlog.open(path) as log, memlog.open(in_wal_mode) as started:
        assert (log.position(), started.position()) == (0, 0)


def test_a_creation_that_only_the_wal_knows_is_not_repeated(tmp_path: Path) -> None:
    path = left_by_a_killed_process(tmp_path / "notes.db")
    assert path.stat().st_size == PAGE_BYTES, "its first page only"

    with memlog.open(path) as log:
        assert log.scope("owner", "alice").read("tea").note.body == "oolong"


def test_threads_that_make_one_store_at_once_all_get_the_same(tmp_path: Path) -> None:
    path, log_ids, start = tmp_path / "notes.db", list[str](), threading.Barrier(THREADS)

    def open_it() -> None:
        start.wait()
        with memlog.open(path) as log:
            log_ids.append(log.log_id)

    threads = [threading.Thread(target=open_it) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(log_ids) == THREADS
    assert len(set(log_ids)) == 1


def test_two_stores_in_memory_share_nothing() -> None:
    with memlog.open(":memory:") as left, memlog.open("sqlite:///:memory:") as right:
        left.scope("global").write(title="Tea", body="oolong")

        assert (left.position(), right.position()) == (1, 0)
        assert left.log_id != right.log_id


@pytest.mark.parametrize("clock", [lambda: datetime(2026, 11, 30, 19, 15), lambda: "now"])  # noqa: DTZ001
def test_a_clock_without_a_time_zone_is_refused_before_anything_is_made(
    tmp_path: Path, clock: Callable[[], datetime]
) -> None:
    with pytest.raises(InvalidRequestError, match=r"clock .* aware datetime"):
        memlog.open(tmp_path / "notes.db", clock=clock)

    assert names_in(tmp_path) == []


# --- Every connection


def settings_of(connection: sqlite3.Connection) -> tuple[str, int]:
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    (level,) = connection.execute("PRAGMA synchronous").fetchone()
    return mode, level


def test_every_connection_is_in_wal_mode_and_fully_synchronous(tmp_path: Path) -> None:
    path = store_with_notes(tmp_path / "notes.db")

    connections = Connections(f"{path.as_uri()}?mode=rw", timeout_s=1, read_only=False)
    readers = [connections.take_reader() for _ in range(3)]

    assert [settings_of(each) for each in (connections.writer, *readers)] == [("wal", 2)] * 4
    for reader in readers:
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            reader.execute("DELETE FROM notes_a")
        connections.put_reader(reader)
    connections.close()


def test_a_connection_that_cannot_be_in_wal_mode_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plain.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode=EXCLUSIVE")
        other.execute("CREATE TABLE t (a)")

        with pytest.raises(sqlite3.OperationalError):
            open_connection(f"{path.as_uri()}?mode=rw", timeout_s=0)


def test_a_journal_mode_that_a_client_changed_is_changed_back(tmp_path: Path) -> None:
    path = store_with_notes(tmp_path / "notes.db")
    assert sql(path, "PRAGMA journal_mode=DELETE") == [("delete",)]

    with memlog.open(path) as log:
        log.scope("global").write(title="Tea", body="oolong")
        assert sql(path, "PRAGMA journal_mode") == [("wal",)]


def test_the_locks_of_one_handle_survive_another_that_this_process_opens(tmp_path: Path) -> None:
    """Closing any descriptor of the file drops a process's locks (howtocorrupt.html, 2.2).

    Without them the next process that closes the store deletes the -wal under this handle, and
    what this handle writes afterwards is gone.
    """
    path = tmp_path / "notes.db"
    with memlog.open(path) as log:
        memory = log.scope("owner", "alice")
        memory.write(title="First", body="before")
        memlog.open(path).close()
        memlog.open(path, read_only=True).close()

        run("import memlog, sys; memlog.open(sys.argv[1]).close()", path)
        memory.write(title="Second", body="after")

        assert run("import memlog, sys; print(memlog.open(sys.argv[1]).position())", path) == "2"


# --- What is no store


def foreign_wal_database(path: Path) -> None:
    sql(path, "PRAGMA journal_mode=WAL", "CREATE TABLE t (a)")


NO_STORES: dict[str, tuple[Callable[[Path], object], type[MemlogError], str]] = {
    "text": (lambda path: path.write_text("Tea is tea.\n" * 99), NotAStoreError, "not an SQLite"),
    "short text": (lambda path: path.write_text("tea"), NotAStoreError, "not an SQLite"),
    "header only": (
        lambda path: path.write_bytes(b"SQLite format 3\0"),
        NotAStoreError,
        "not an SQLite",
    ),
    "database of another program": (
        lambda path: sql(path, "CREATE TABLE t (a)"),
        NotAStoreError,
        "another program",
    ),
    "database of another program, in WAL mode": (
        foreign_wal_database,
        NotAStoreError,
        "another program",
    ),
    "marked by another program": (
        lambda path: sql(path, "PRAGMA application_id = 7"),
        NotAStoreError,
        "another program",
    ),
    "numbered by another program": (
        lambda path: sql(path, "PRAGMA user_version = 7"),
        NotAStoreError,
        "another program",
    ),
    "newer format": (
        lambda path: sql(store_with_notes(path), "PRAGMA user_version = 2"),
        NewerFormatError,
        "format 2, this release reads up to 1; upgrade",
    ),
    "directory": (lambda path: path.mkdir(), UnsafeLocationError, "name a file in it"),
    "pipe": (os.mkfifo, UnsafeLocationError, "a device or a pipe; name a file"),
}


@pytest.mark.parametrize("reading", [False, True], ids=["writable", "read_only"])
@pytest.mark.parametrize("kind", NO_STORES)
def test_what_is_no_store_is_refused_and_left_untouched(
    tmp_path: Path, kind: str, *, reading: bool
) -> None:
    make, error, sentence = NO_STORES[kind]
    path = tmp_path / "thing"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    names = names_in(tmp_path)

    with pytest.raises(error, match=sentence) as caught:
        memlog.open(path, read_only=reading)

    assert str(path) in str(caught.value)
    assert (path.read_bytes() if path.is_file() else None) == before
    assert names_in(tmp_path) == names, "nothing lies beside it that was not there"


def test_a_newer_format_that_only_the_wal_knows_is_refused(tmp_path: Path) -> None:
    path = store_with_notes(tmp_path / "notes.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as newer:
        newer.execute("PRAGMA user_version = 2")

        with pytest.raises(NewerFormatError):
            memlog.open(path)


@pytest.mark.parametrize("options", [{"create": False}, {"read_only": True}])
@pytest.mark.parametrize("is_empty", [False, True], ids=["missing", "empty"])
def test_only_an_opening_that_may_create_makes_a_store(
    tmp_path: Path, options: dict[str, bool], *, is_empty: bool
) -> None:
    path = tmp_path / "notes.db"
    if is_empty:
        path.touch()
    names = names_in(tmp_path)

    with pytest.raises(StoreNotFoundError, match=r"there is no store at .*notes\.db"):
        memlog.open(path, create=options.get("create", True), read_only="read_only" in options)

    assert names_in(tmp_path) == names
    assert not is_empty or path.stat().st_size == 0


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnsafeLocationError, match=r"there is no directory .*nowhere"):
        memlog.open(tmp_path / "nowhere" / "notes.db")


def test_a_foreign_file_in_the_place_of_the_lock_is_left_untouched(tmp_path: Path) -> None:
    path, lock = tmp_path / "notes.db", tmp_path / "notes.db-lock"
    lock.write_text("suspect of nothing")

    with pytest.raises(NotAStoreError, match=r"notes\.db-lock' is not .* must have this name"):
        memlog.open(path)

    assert lock.read_text() == "suspect of nothing"


def test_a_link_in_the_place_of_the_lock_is_not_followed(tmp_path: Path) -> None:
    path, victim = tmp_path / "notes.db", tmp_path / "victim"
    victim.write_text("suspect")
    path.with_name("notes.db-lock").symlink_to(victim)

    with pytest.raises(CorruptStoreError, match=r"notes\.db-lock"):
        memlog.open(path)

    assert victim.read_text() == "suspect"


# --- Read-only places


AS_SOMEBODY_ELSE = """
import os, sys, memlog.log
from memlog.errors import ReadOnlyError
os.setuid(int(sys.argv[2]))
try:
    memlog.open(sys.argv[1])
except ReadOnlyError as error:
    print(error)
print(memlog.open(sys.argv[1], read_only=True).position())
"""


def test_a_file_of_somebody_else_is_opened_for_reading_only(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can try another user")
    path = store_with_notes(tmp_path / "notes.db")
    path.chmod(0o644)
    for directory in (tmp_path, *tmp_path.parents):
        if not directory.stat().st_mode & 0o005:
            directory.chmod(0o755)

    refused, position = run(AS_SOMEBODY_ELSE, path, NOBODY).splitlines()

    assert "cannot be written" in refused
    assert position == "3"


def test_a_store_on_a_read_only_medium_is_read_and_not_written(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    store_with_notes(home / "notes.db")
    names = names_in(home)

    with read_only(home) as medium:
        with pytest.raises(ReadOnlyError, match="cannot be written"):
            memlog.open(medium / "notes.db")
        with pytest.raises(ReadOnlyError, match="cannot be written"):
            memlog.open(medium / "new.db")
        with memlog.open(medium / "notes.db", read_only=True) as log:
            assert log.position() == 3
            assert log.scope("owner", "alice").read("tea-1").note.title == "Tea 1"
            with pytest.raises(ReadOnlyError):
                log.scope("owner", "alice").write(title="Tea", body="no")

    assert names_in(home) == names


def test_writes_in_a_wal_on_a_read_only_medium_are_not_passed_over(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    left_by_a_killed_process(home / "notes.db")

    with (
        read_only(home) as medium,
        pytest.raises(UnsafeLocationError, match="its -wal holds writes"),
    ):
        memlog.open(medium / "notes.db", read_only=True)

    with memlog.open(home / "notes.db", read_only=True) as log:
        assert log.position() == 1


def test_a_reader_leaves_the_file_as_it_is_and_sees_what_others_write(tmp_path: Path) -> None:
    path = store_with_notes(tmp_path / "notes.db")
    before = path.read_bytes()

    with memlog.open(path, read_only=True) as reader:
        assert reader.position() == 3
    assert path.read_bytes() == before

    with memlog.open(path) as log, memlog.open(path, read_only=True) as reader:
        log.scope("global").write(title="Tea", body="oolong")
        assert reader.position() == 4


# --- Damage


def cut_to(path: Path, size: int) -> None:
    os.truncate(path, size)


def overwrite(path: Path, *, page: int) -> None:
    with path.open("r+b") as file:
        file.seek((page - 1) * PAGE_BYTES)
        file.write(os.urandom(PAGE_BYTES))


def root_page(path: Path, table: str) -> int:
    ((page,),) = sql(path, f"SELECT rootpage FROM sqlite_master WHERE name = '{table}'")
    assert isinstance(page, int)
    return page


def move_head(path: Path) -> None:
    sql(path, "UPDATE log SET position = 7")


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "cut to one page": (lambda path: cut_to(path, PAGE_BYTES), "malformed"),
    "cut in half": (lambda path: cut_to(path, path.stat().st_size // 2), "malformed"),
    "page of the log overwritten": (
        lambda path: overwrite(path, page=root_page(path, "log")),
        "malformed",
    ),
    "page of the events overwritten": (
        lambda path: overwrite(path, page=root_page(path, "stored_events")),
        "malformed",
    ),
    "head moved": (move_head, "its head says position 7, its last event is 3"),
    "head missing": (lambda path: sql(path, "DELETE FROM log"), "its head is missing"),
    "table missing": (lambda path: sql(path, "DROP TABLE log"), "no such table: log"),
}


@pytest.mark.parametrize("reading", [False, True], ids=["writable", "read_only"])
@pytest.mark.parametrize("kind", DAMAGES)
def test_damage_is_found_when_a_store_is_opened(
    tmp_path: Path, kind: str, *, reading: bool
) -> None:
    damage, sentence = DAMAGES[kind]
    path = store_with_notes(tmp_path / "notes.db")
    damage(path)

    with pytest.raises(CorruptStoreError, match=sentence) as caught:
        memlog.open(path, read_only=reading)

    assert str(path) in str(caught.value)


def test_a_file_that_was_emptied_under_its_wal_does_not_become_a_new_store(tmp_path: Path) -> None:
    path = left_by_a_killed_process(tmp_path / "notes.db")
    cut_to(path, 0)

    with pytest.raises(CorruptStoreError, match="empty, but there are writes in its -wal"):
        memlog.open(path)

    assert path.with_name("notes.db-wal").stat().st_size > 0


def swap_two_streams(path: Path) -> None:
    """Break a stream's seqs, which the head does not show."""
    triggers = sql(path, "SELECT name FROM sqlite_master WHERE type = 'trigger'")
    drops = [f"DROP TRIGGER {name}" for (name,) in triggers]
    sql(path, *drops, "UPDATE stored_events SET originator_version = 9 WHERE rowid = 2")


def lose_an_event(path: Path) -> None:
    triggers = sql(path, "SELECT name FROM sqlite_master WHERE type = 'trigger'")
    drops = [f"DROP TRIGGER {name}" for (name,) in triggers]
    sql(path, *drops, "DELETE FROM stored_events WHERE rowid = 2")


SUSPECTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "page": (
        lambda path: overwrite(path, page=root_page(path, "notes_a_written")),
        "(?i)page|malformed",
    ),
    "seq": (swap_two_streams, "stream 'owner/alice' holds 3 events, the last one at seq 9"),
    "gap": (lose_an_event, "it holds 2 events, the last one at position 3"),
    "time": (
        lambda path: sql(path, "UPDATE log SET recorded_at = '2001-01-01T00:00:00.000000Z'"),
        "its head says 2001-01-01T00:00:00.000000Z, its last event was recorded at 20",
    ),
}


@pytest.mark.parametrize("kind", SUSPECTS)
def test_a_suspect_store_is_looked_at_as_a_whole(tmp_path: Path, kind: str) -> None:
    damage, sentence = SUSPECTS[kind]
    path = store_with_notes(tmp_path / "notes.db")
    damage(path)
    memlog.open(path).close()
    lock = path.with_name("notes.db-lock")
    lock.write_bytes(b"suspect")

    with pytest.raises(CorruptStoreError, match=sentence):
        memlog.open(path)

    assert lock.read_bytes() == b"suspect", "the next opening looks again"


def test_counters_of_the_projections_are_looked_at_in_a_suspect_store(tmp_path: Path) -> None:
    path = store_with_notes(tmp_path / "notes.db")
    sql(path, "UPDATE scopes_a SET last_seq = 2")
    path.with_name("notes.db-lock").write_bytes(b"suspect")
    check = "SELECT stream || ' is at seq ' || last_seq FROM scopes_a WHERE last_seq != 3"

    with pytest.raises(CorruptStoreError, match="owner/alice is at seq 2"):
        SQLiteStore(
            path,
            clock=memlog.log.utc_now,
            lock_timeout_s=1,
            tables=tables.ddl(),
            counter_checks=[check],
        )


def test_a_suspect_store_without_a_fault_is_trusted_again(tmp_path: Path) -> None:
    path = store_with_notes(tmp_path / "notes.db")
    lock = path.with_name("notes.db-lock")
    lock.write_bytes(b"suspect")

    memlog.open(path).close()

    assert lock.read_bytes() == b""


# --- Others at work


def test_opening_waits_for_a_lock_no_longer_than_it_was_told(tmp_path: Path) -> None:
    path = store_with_notes(tmp_path / "notes.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as foreign:
        foreign.execute("PRAGMA locking_mode=EXCLUSIVE")
        foreign.execute("BEGIN IMMEDIATE")
        foreign.execute("UPDATE log SET position = position")

        with pytest.raises(BusyError, match=r"locked by another writer for 0\.05 s; try again"):
            memlog.open(path, settings=IMPATIENT)


def test_a_failed_opening_holds_nothing(tmp_path: Path) -> None:
    path = store_with_notes(tmp_path / "notes.db")
    move_head(path)
    with pytest.raises(CorruptStoreError):
        memlog.open(path)
    sql(path, "UPDATE log SET position = 3")

    with memlog.open(path, settings=IMPATIENT) as log:
        assert log.position() == 3


def test_a_store_marks_itself(tmp_path: Path) -> None:
    path = store_with_notes(tmp_path / "notes.db")

    assert sql(path, "PRAGMA application_id") == [(schema.APPLICATION_ID,)]
    assert sql(path, "PRAGMA user_version") == [(schema.FORMAT,)]


def test_a_closed_handle_says_so(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    log = memlog.open(path)
    log.close()
    log.close()

    for call in (log.position, log.scopes, lambda: log.scope("global").write(title="T", body="b")):
        with pytest.raises(ClosedError, match=r"notes\.db' is closed \(close\(\) was called\)"):
            call()
    assert names_in(tmp_path) == ["notes.db", "notes.db-lock"], "nothing is left in a -wal"
