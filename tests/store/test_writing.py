"""What a write that cannot succeed leaves: nothing, and a handle that fits the error."""

import itertools
import os
import signal
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

import memlog
from memlog.errors import (
    BusyError,
    ClosedError,
    CorruptStoreError,
    ForkedError,
    InvalidRequestError,
    MemlogError,
    ReadOnlyError,
    StoreFullError,
    UnknownEventTypeError,
)
from memlog.log import Log
from memlog.store import faults
from memlog.store.lockfile import LockFile
from memlog.store.sqlite import SQLiteStore
from tests.store.files import IMPATIENT, run, sql, store_with_notes, tmpfs

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def store_of(log: Log) -> SQLiteStore:
    store = log._store  # noqa: SLF001  # these tests are about what a log keeps to itself
    assert isinstance(store, SQLiteStore)
    return store


def write(log: Log, title: str = "Tea", *, body: str = "oolong") -> int:
    return log.scope("owner", "alice").write(title=title, body=body).position


@pytest.fixture(params=["file", "memory"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Log]:
    target = ":memory:" if request.param == "memory" else tmp_path / "notes.db"
    with memlog.open(target, settings=IMPATIENT) as log:
        write(log, "First")
        yield log


class StoppedError(Exception):
    """Raised in the middle of a write."""


# --- Interrupted


@pytest.mark.parametrize("error", [StoppedError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_whatever_is_raised_in_a_write_leaves_nothing(
    log: Log, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    from memlog.step import Step

    with monkeypatch.context() as patch:

        def stop(_: Step) -> None:
            raise error

        patch.setattr(Step, "finish", stop)
        with pytest.raises(error):
            write(log, "Second")

    assert log.position() == 1
    assert len(log.scope("owner", "alice").notes()) == 1
    assert write(log, "Third") == 2


def test_an_exception_that_counts_as_false_leaves_nothing_as_well(log: Log) -> None:
    class FalseError(Exception):
        def __bool__(self) -> bool:
            return False

    def write_and_raise() -> None:
        with store_of(log).transaction() as transaction:
            transaction.cursor.execute("UPDATE log SET position = 9")
            raise FalseError

    with pytest.raises(FalseError):
        write_and_raise()

    assert log.position() == 1


def test_a_commit_that_fails_leaves_nothing(log: Log) -> None:
    def break_a_deferred_rule() -> None:
        with store_of(log).transaction() as transaction:
            transaction.cursor.execute("ROLLBACK")  # In a transaction the next pragma does nothing.
            transaction.cursor.execute("PRAGMA foreign_keys=ON")
            transaction.cursor.execute("BEGIN IMMEDIATE")
            transaction.cursor.execute("CREATE TABLE p (a INTEGER PRIMARY KEY)")
            transaction.cursor.execute(
                "CREATE TABLE c (a REFERENCES p DEFERRABLE INITIALLY DEFERRED)"
            )
            transaction.cursor.execute("INSERT INTO c VALUES (1)")

    with pytest.raises(CorruptStoreError, match="FOREIGN KEY"):
        break_a_deferred_rule()

    if log.target != ":memory:":
        assert sql(Path(log.target), "SELECT name FROM sqlite_master WHERE name = 'p'") == []
    with pytest.raises(ClosedError):
        write(log)


@pytest.mark.parametrize("target", ["file", "memory"])
def test_interrupts_at_any_moment_leave_a_usable_handle(tmp_path: Path, target: str) -> None:
    """SIGINT after random fractions of a write's time; a lock that stays would end in BusyError."""
    path = str(tmp_path / "notes.db") if target == "file" else ":memory:"
    report = run(INTERRUPTED_WRITES, path, 300)

    acknowledged, stored, interrupts = map(int, report.split())
    assert interrupts > 50, "the canary: most rounds are interrupted"
    assert acknowledged <= stored <= acknowledged + interrupts


INTERRUPTED_WRITES = """
import random, signal, sys, time, memlog
from memlog.settings import Settings
random.seed(20261130)
log = memlog.open(sys.argv[1], settings=Settings(lock_timeout_s=2))
memory = log.scope("owner", "alice")
began = time.perf_counter()
for index in range(20):
    memory.write(title="Warm", body=str(index))
write_s = (time.perf_counter() - began) / 20
acknowledged, interrupts = 20, 0
for index in range(int(sys.argv[2])):
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(0.00001, 2 * write_s))
        memory.write(title=f"Note {index}", body="b")
        acknowledged += 1
        memory.get("note-0")
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        interrupts += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    memory.write(title=f"After {index}", body="b")
    acknowledged += 1
assert [event.position for event in log.events()] == list(range(1, log.position() + 1))
print(acknowledged, log.position(), interrupts)
""".replace("log = ", "signal.signal(signal.SIGALRM, signal.default_int_handler)\nlog = ", 1)


# --- Busy


def test_a_foreign_writer_s_lock_refuses_one_write(tmp_path: Path) -> None:
    path = store_with_notes(tmp_path / "notes.db")
    with (
        memlog.open(path, settings=IMPATIENT) as log,
        closing(sqlite3.connect(path, isolation_level=None)) as foreign,
    ):
        foreign.execute("BEGIN IMMEDIATE")
        with pytest.raises(BusyError, match=r"notes\.db' was locked .* for 0\.05 s; try again"):
            write(log)
        assert log.position() == 3, "readers go on"
        foreign.execute("ROLLBACK")

        assert write(log) == 4


def test_a_write_keeps_foreign_writers_out_from_its_first_statement(tmp_path: Path) -> None:
    path = store_with_notes(tmp_path / "notes.db")
    with (
        memlog.open(path) as log,
        closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as foreign,
        store_of(log).transaction(),
        pytest.raises(sqlite3.OperationalError, match="locked"),
    ):
        foreign.execute("BEGIN IMMEDIATE")


def test_another_handle_in_a_write_refuses_one_write(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    with memlog.open(path) as slow, memlog.open(path, settings=IMPATIENT) as log:
        with store_of(slow).transaction():
            with pytest.raises(BusyError, match=r"for 0\.05 s"):
                write(log)
            with (
                pytest.raises(BusyError, match=r"for 0\.01 s"),
                store_of(log).transaction(wait_s=0.01),
            ):
                pass

        assert write(log) == 1


def test_a_write_inside_a_write_is_refused(log: Log) -> None:
    with store_of(log).transaction(), pytest.raises(BusyError):
        write(log, "Inner")

    assert write(log, "Second") == 2


def test_a_write_holds_the_lock_file_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    with memlog.open(path) as log:
        lock = LockFile(tmp_path / "notes.db-lock")
        with store_of(log).transaction():
            assert not lock.lock(0)
        assert lock.lock(0)
        with pytest.raises(BusyError), store_of(log).transaction(wait_s=0.01):
            pass
        lock.unlock()
        assert write(log) == 1
        lock.close()


def test_a_lock_file_that_somebody_deleted_still_excludes(tmp_path: Path) -> None:
    path, lock_path = tmp_path / "notes.db", tmp_path / "notes.db-lock"
    with memlog.open(path) as log:
        lock_path.unlink()
        lock = LockFile(lock_path)
        assert lock.lock(0)
        with pytest.raises(BusyError), store_of(log).transaction(wait_s=0.01):
            pass
        lock.close()
        assert write(log) == 1


# --- Full


def test_a_full_database_refuses_one_write(log: Log) -> None:
    with store_of(log).transaction() as transaction:
        (pages,) = transaction.cursor.execute("PRAGMA page_count").fetchone()
        transaction.cursor.execute(f"PRAGMA max_page_count = {pages}")

    with pytest.raises(StoreFullError, match=r"no space left for .* make room, then try again"):
        write(log, "Large", body="x" * 32_000)

    assert log.position() == 1
    assert len(log.scope("owner", "alice").notes()) == 1
    with store_of(log).transaction() as transaction:
        transaction.cursor.execute("PRAGMA max_page_count = 1000000")
    assert write(log, "Large", body="x" * 32_000) == 2


def test_a_full_disk_refuses_one_write_and_room_makes_the_next_one_work(tmp_path: Path) -> None:
    with tmpfs(tmp_path / "small", kilobytes=2_048) as disk:
        filler = disk / "filler"
        with memlog.open(disk / "notes.db", settings=IMPATIENT) as log:
            written = write(log)
            fill(filler)
            refused = 0
            while refused < 3:
                try:
                    written = write(log, f"Large {written}", body="x" * 32_000)
                except StoreFullError:
                    refused += 1
                    assert log.position() == written
            filler.unlink()

            assert write(log, "Room", body="x" * 32_000) == written + 1
        with memlog.open(disk / "notes.db") as log:
            assert log.position() == written + 1
            assert not disk.joinpath("notes.db-lock").read_bytes(), "nothing is suspect"


def test_a_full_disk_refuses_a_new_store_and_room_makes_it(tmp_path: Path) -> None:
    with tmpfs(tmp_path / "small", kilobytes=1_024) as disk:
        fill(disk / "filler")
        with pytest.raises(StoreFullError, match="no space left"):
            memlog.open(disk / "notes.db")
        disk.joinpath("filler").unlink()

        with memlog.open(disk / "notes.db") as log:
            assert write(log) == 1


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4_096)):
                pass
        except OSError:
            return


# --- Broken


def test_damage_met_on_the_way_ends_the_handle_and_leaves_the_mark(tmp_path: Path) -> None:
    path = store_with_notes(tmp_path / "notes.db", notes=400)
    lock = path.with_name("notes.db-lock")
    log = memlog.open(path)
    with path.open("r+b") as file:
        file.seek(4_096 * 8)
        file.write(os.urandom(4_096 * 200))

    with pytest.raises(CorruptStoreError, match=r"notes\.db' is damaged .* keep a copy"):
        for _ in log.events():
            pass

    assert lock.read_bytes() == b"suspect"
    for call in (log.position, lambda: write(log)):
        with pytest.raises(ClosedError, match="damaged"):
            call()
    log.close()
    with pytest.raises(CorruptStoreError):
        memlog.open(path)


@pytest.mark.parametrize("how", ["moved", "deleted", "replaced"])
def test_a_write_into_a_file_that_is_not_there_any_more_is_not_acknowledged(
    tmp_path: Path, how: str
) -> None:
    path = store_with_notes(tmp_path / "notes.db")
    with memlog.open(path) as log:
        if how == "deleted":
            path.unlink()
        else:
            path.rename(tmp_path / "elsewhere.db")
        if how == "replaced":
            path.touch()

        with pytest.raises(CorruptStoreError, match="moved, replaced or deleted while it was open"):
            write(log)
        with pytest.raises(ClosedError):
            write(log)


ENGINE_ERRORS: dict[int, type[MemlogError]] = {
    sqlite3.SQLITE_BUSY: BusyError,
    sqlite3.SQLITE_BUSY_RECOVERY: BusyError,
    sqlite3.SQLITE_LOCKED: BusyError,
    sqlite3.SQLITE_PROTOCOL: BusyError,
    sqlite3.SQLITE_FULL: StoreFullError,
    sqlite3.SQLITE_IOERR_SHMSIZE: StoreFullError,
    sqlite3.SQLITE_READONLY: ReadOnlyError,
    sqlite3.SQLITE_READONLY_DBMOVED: ReadOnlyError,
    sqlite3.SQLITE_IOERR: CorruptStoreError,
    sqlite3.SQLITE_IOERR_FSYNC: CorruptStoreError,
    sqlite3.SQLITE_IOERR_WRITE: CorruptStoreError,
    sqlite3.SQLITE_CORRUPT: CorruptStoreError,
    sqlite3.SQLITE_CANTOPEN: CorruptStoreError,
    sqlite3.SQLITE_ERROR: CorruptStoreError,
}


class _EngineError(sqlite3.OperationalError):
    def __init__(self, code: int) -> None:
        super().__init__("the engine's own words")
        self.sqlite_errorcode = code


@pytest.mark.parametrize("code", ENGINE_ERRORS)
def test_each_result_code_has_its_error_and_only_damage_ends_the_handle(
    log: Log, code: int
) -> None:
    expected = ENGINE_ERRORS[code]

    def meet_it_in_a_write() -> None:
        with store_of(log).transaction() as transaction:
            transaction.cursor.execute("UPDATE log SET position = 9")
            raise _EngineError(code)

    with pytest.raises(expected) as caught:
        meet_it_in_a_write()

    assert type(caught.value) is expected
    if expected is CorruptStoreError:
        with pytest.raises(ClosedError):
            write(log, "Second")
    else:
        assert write(log, "Second") == 2


def test_a_mistake_in_the_calling_code_stays_what_it_is(log: Log) -> None:
    with pytest.raises(sqlite3.ProgrammingError), store_of(log).transaction() as transaction:
        transaction.cursor.execute("UPDATE log SET position = ?", ())

    assert write(log, "Second") == 2


def test_an_error_without_a_code_is_not_translated() -> None:
    error = sqlite3.InterfaceError("misuse")

    assert faults.translate(error, target="notes.db", timeout_s=1) is error


# --- What the log holds


def append_raw(path: Path, *, topic: str) -> None:
    """Put a copy of the last event behind it, under another type, as a newer release might."""
    kind, version = topic.split("/")
    sql(
        path,
        "INSERT INTO stored_events (rowid, originator_id, originator_version, topic, state) "
        f"SELECT rowid + 1, originator_id, originator_version + 1, '{topic}', CAST(replace("
        f"CAST(state AS TEXT), '\"note_written/1\"', '\"{kind}/{version}\"') AS BLOB) "
        "FROM stored_events ORDER BY rowid DESC LIMIT 1",
        "UPDATE log SET position = position + 1",
    )


IMPORTED = "memlog_test_victim"


@pytest.mark.parametrize("topic", ["note_written/2", "note_burned/1", f"{IMPORTED}:Event/1"])
def test_an_unknown_type_is_named_with_its_position_and_nothing_is_imported(
    tmp_path: Path, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = store_with_notes(tmp_path / "notes.db")
    append_raw(path, topic=topic)
    victim = tmp_path / f"{IMPORTED}.py"
    victim.write_text("raise SystemExit('imported by a name from the data')")
    monkeypatch.syspath_prepend(tmp_path)

    with memlog.open(path) as log:
        for read in (
            lambda: list(log.events()),
            lambda: list(log.scope("owner", "alice").events()),
            log.rebuild,
        ):
            with pytest.raises(UnknownEventTypeError, match=f"position 4 .*{topic}.*newer release"):
                read()
        assert log.scope("owner", "alice").read("tea-1").note.title == "Tea 1"


# --- Time


def test_a_clock_that_runs_backwards_does_not_take_the_log_along(tmp_path: Path) -> None:
    times = iter([NOON, NOON, NOON - timedelta(days=1), NOON + timedelta(hours=1), NOON])
    with memlog.open(tmp_path / "notes.db", clock=lambda: next(times)) as log:
        for index in range(4):
            write(log, f"Tea {index}")

        hours = [event.recorded_at.hour for event in log.events()]

    assert hours == [12, 12, 13, 13]


def test_time_never_runs_backwards_between_handles_either(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    for moment in (NOON, NOON - timedelta(days=9)):
        with memlog.open(path, clock=lambda moment=moment: moment) as log:  # type: ignore[misc]
            write(log, f"Tea of {moment}")
    with memlog.open(path) as log:
        assert [event.recorded_at for event in log.events()] == [NOON, NOON]


def test_a_clock_that_loses_its_time_zone_is_refused_before_anything_is_locked(
    tmp_path: Path,
) -> None:
    times = iter([NOON, NOON.replace(tzinfo=None), NOON])
    path = tmp_path / "notes.db"
    with memlog.open(path, clock=lambda: next(times)) as log, memlog.open(path) as other:
        with (
            store_of(other).transaction(),
            pytest.raises(InvalidRequestError, match=r"2026, 11, 30"),
        ):
            write(log)

        assert write(log) == 1


# --- Processes and threads


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_is_refused_and_leaves_the_parent_s_handle_alone(log: Log) -> None:
    for call in (log.position, lambda: write(log), lambda: list(log.events())):
        pid = os.fork()
        if pid == 0:
            try:
                call()
            except ForkedError as error:
                log.close()
                os._exit(0 if f"process {os.getppid()}, this is {os.getpid()}" in str(error) else 2)
            os._exit(3)
        assert os.waitpid(pid, 0)[1] == 0

    assert write(log, "Second") == 2


HOLD_AND_DIE = """
import os, sys, memlog.log
log = memlog.open(sys.argv[1])
with log._store.transaction():
    read, write = os.pipe()
    if os.fork() == 0:
        os.read(0, 1)
        os._exit(0)
    print(flush=True)
    os.kill(os.getpid(), 9)
"""


def test_a_child_does_not_hold_the_lock_of_a_killed_parent(tmp_path: Path) -> None:
    import subprocess
    import sys

    path = store_with_notes(tmp_path / "notes.db")
    with subprocess.Popen(
        [sys.executable, "-c", HOLD_AND_DIE, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        assert parent.wait() == -signal.SIGKILL

        with memlog.open(path, settings=IMPATIENT) as log:
            assert write(log) == 4


def test_closing_waits_for_the_write_of_another_thread(log: Log) -> None:
    inside, go_on, outcome = threading.Event(), threading.Event(), list[object]()

    def write_slowly() -> None:
        try:
            with store_of(log).transaction() as transaction:
                inside.set()
                assert go_on.wait(60)
                outcome.append(transaction.cursor.execute("SELECT position FROM log").fetchone())
        except MemlogError as error:
            outcome.append(error)

    thread = threading.Thread(target=write_slowly)
    thread.start()
    assert inside.wait(60)
    log.close()  # It gives up after lock_timeout_s; the writer takes the connections along.
    with pytest.raises(ClosedError):
        write(log)
    go_on.set()
    thread.join()

    assert outcome == [(1,)]
    left = vars(store_of(log))
    assert (left["_open_connections"], left["_lock_file"]) == (None, None)


def test_closing_leaves_the_reads_of_other_threads_to_their_end(tmp_path: Path) -> None:
    log = memlog.open(tmp_path / "notes.db")
    write(log)
    inside, go_on, outcome = threading.Event(), threading.Event(), list[object]()

    def read_slowly() -> None:
        with store_of(log).reading() as cursor:
            inside.set()
            assert go_on.wait(60)
            outcome.append(cursor.execute("SELECT position FROM log").fetchone())

    thread = threading.Thread(target=read_slowly)
    thread.start()
    assert inside.wait(60)
    log.close()
    go_on.set()
    thread.join()

    assert outcome == [(1,)]
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["notes.db", "notes.db-lock"], "the reader was the last one, and closed"


def test_a_handle_closed_in_the_middle_of_reads_and_writes_gives_one_error_only(
    tmp_path: Path,
) -> None:
    def work(log: Log, call: Callable[[Log], object], failures: list[BaseException]) -> None:
        try:
            while True:
                call(log)
        except ClosedError:
            return
        except BaseException as error:  # noqa: BLE001  # whatever it is, the test names it
            failures.append(error)

    for target in [":memory:", *(str(tmp_path / f"{index}.db") for index in range(5))]:
        log, failures, under_way = memlog.open(target), list[BaseException](), threading.Event()
        numbers = itertools.count()

        def write_on(log: Log, under_way: threading.Event, numbers: Iterator[int]) -> None:
            if next(numbers) == 20:
                under_way.set()
            write(log, f"Tea {next(numbers)}")

        calls: list[Callable[[Log], object]] = [
            Log.position,
            Log.scopes,
            partial(write_on, under_way=under_way, numbers=numbers),
        ]
        threads = [threading.Thread(target=work, args=(log, call, failures)) for call in calls]
        for thread in threads:
            thread.start()
        assert under_way.wait(60)
        log.close()
        for thread in threads:
            thread.join(60)
        assert not failures
