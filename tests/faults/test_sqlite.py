"""Each write happened whole or not at all, wherever below it something failed, and one is told.

At the n-th call for every n of a write: reading, writing, truncating, syncing and locking fail. A
note with a pin is two events and touches every table.
"""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

import memlog.log
from memlog.errors import (
    BusyError,
    ClosedError,
    CorruptStoreError,
    DamageError,
    MemlogError,
    RetryError,
    StoreFullError,
)
from memlog.log import Log
from memlog.settings import Settings
from memlog.testing import tables_equal_fold
from memlog.verify.run import SKIPPABLE
from tests.faults.vfs import FaultyFiles, faulty_files

IMPATIENT = Settings(lock_timeout_s=0.002)
# What fails, how the engine is told, whether later calls fail too, and what the caller must see.
FAULTS = [
    ("write", sqlite3.SQLITE_FULL, False, StoreFullError),
    ("write", sqlite3.SQLITE_FULL, True, StoreFullError),
    ("write", sqlite3.SQLITE_IOERR_WRITE, False, CorruptStoreError),
    ("write", sqlite3.SQLITE_IOERR_WRITE, True, CorruptStoreError),
    ("sync", sqlite3.SQLITE_IOERR_FSYNC, False, CorruptStoreError),
    ("sync", sqlite3.SQLITE_IOERR_FSYNC, True, CorruptStoreError),
    ("read", sqlite3.SQLITE_IOERR_READ, False, CorruptStoreError),
    ("read", sqlite3.SQLITE_IOERR_READ, True, CorruptStoreError),
    ("truncate", sqlite3.SQLITE_IOERR_TRUNCATE, False, CorruptStoreError),
    ("lock", sqlite3.SQLITE_BUSY, True, BusyError),
    ("shm_lock", sqlite3.SQLITE_BUSY, False, BusyError),
    ("shm_lock", sqlite3.SQLITE_IOERR_SHMLOCK, False, CorruptStoreError),
]
CALLS_MAX = 200
BODY = "a body of some length " * 30


@pytest.fixture
def files() -> Iterator[FaultyFiles]:
    with faulty_files() as found:
        yield found


def open_notes(path: Path) -> Log:
    return memlog.log.open(path, settings=IMPATIENT)


def store_with_notes(path: Path) -> None:
    with open_notes(path) as log:
        for number in range(3):
            log.scope("global").write(title=f"before {number}", body=BODY, topics=["t"])


def write(log: Log) -> int:
    return (
        log.scope("global")
        .write(title="The one", body=BODY, topics=["t"], pinned=True, request_id="r-1")
        .position
    )


@pytest.mark.parametrize(("method", "code", "lasting", "expected"), FAULTS)
def test_at_each_call_of_a_write(
    files: FaultyFiles,
    tmp_path: Path,
    method: str,
    code: int,
    expected: type[MemlogError],
    *,
    lasting: bool,
) -> None:
    failures = 0
    template = tmp_path / "template.db"
    store_with_notes(template)
    for call in range(1, CALLS_MAX):
        path = tmp_path / f"{call}.db"
        path.write_bytes(template.read_bytes())
        log = open_notes(path)
        files.arm(method, call=call, code=code, lasting=lasting)
        error: MemlogError | None = None
        try:
            write(log)
        except MemlogError as caught:
            error = caught
        failed = files.failed
        files.arm()
        if error is not None:
            failures += 1
            assert isinstance(error, expected)
        check_the_handle(log, error)
        log.close()
        check_what_is_stored(path, error)
        if not failed:
            break
    else:
        pytest.fail("a write makes more calls than that")
    if method in ("write", "sync"):  # A small write reads from the cache and truncates nothing.
        assert failures > 0


def check_the_handle(log: Log, error: MemlogError | None) -> None:
    """After an I/O error it refuses to go on; after a refusal that can pass it goes on."""
    if isinstance(error, DamageError):
        for ask in (lambda: write(log), log.position, lambda: log.scope("global").notes()):
            with pytest.raises(ClosedError):
                ask()
    elif isinstance(error, RetryError):
        assert log.scope("global").get("the-one") is None
        assert log.position() == 3


def check_what_is_stored(path: Path, error: MemlogError | None) -> None:
    """The same request once more does it now, or says that it was done: exactly once either way."""
    with open_notes(path) as log:
        stored = log.position() == 5
        assert log.position() in (3, 5)
        assert (log.scope("global").get("the-one") is not None) == stored
        if error is None:
            assert stored
            return
        assert log.verify(skip=SKIPPABLE).ok
        assert tables_equal_fold(log)
        if isinstance(error, RetryError) or "during the commit" not in str(error):
            assert not stored
        again = log.scope("global").write(
            title="The one", body=BODY, topics=["t"], pinned=True, request_id="r-1"
        )
        assert (again.replayed, again.position) == (stored, 5)


def test_a_failed_fsync_leaves_a_mark_until_the_whole_store_was_looked_at(
    files: FaultyFiles, tmp_path: Path
) -> None:
    path = tmp_path / "notes.db"
    store_with_notes(path)
    log = open_notes(path)
    files.arm("sync", call=1, code=sqlite3.SQLITE_IOERR_FSYNC)

    with pytest.raises(CorruptStoreError, match="during the commit"):
        write(log)

    files.arm()
    log.close()
    assert path.with_name("notes.db-lock").read_bytes() != b""
    open_notes(path).close()
    assert path.with_name("notes.db-lock").read_bytes() == b""


def test_a_read_that_fails_ends_the_handle(files: FaultyFiles, tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    with open_notes(path) as log:
        for number in range(30):
            log.scope("global").write(title=f"note {number}", body=BODY)
    log = open_notes(path)
    files.arm("read", call=1, code=sqlite3.SQLITE_IOERR_READ, lasting=True)

    with pytest.raises(CorruptStoreError):
        log.scope("global").notes()

    files.arm()
    with pytest.raises(ClosedError):
        log.position()
    log.close()
    with open_notes(path) as log:
        assert len(log.scope("global").notes()) == 30


def test_the_faults_are_real(files: FaultyFiles, tmp_path: Path) -> None:
    """The engine itself sees them, and without one nothing changes."""
    connection = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE t (x)")
    files.arm("sync", call=1, code=sqlite3.SQLITE_IOERR_FSYNC)
    with pytest.raises(sqlite3.OperationalError) as caught:
        connection.execute("INSERT INTO t VALUES (1)")
    assert caught.value.sqlite_errorcode == sqlite3.SQLITE_IOERR_FSYNC
    files.arm()
    connection.execute("INSERT INTO t VALUES (2)")
    assert files.calls["write"] > 0
    assert files.calls["sync"] > 0
    connection.close()
