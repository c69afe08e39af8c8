"""A backup during writes restores to a verified store, and never over a longer history."""

import errno
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import memlog.log
from memlog import backup as backups
from memlog.backup import back_up, restore
from memlog.errors import (
    CorruptStoreError,
    DamageError,
    InvalidRequestError,
    ReadOnlyError,
    StoreFullError,
    StoreNotFoundError,
)
from memlog.log import Log
from memlog.settings import Settings
from memlog.signing import SigningKey
from memlog.store.connecting import open_connection
from memlog.testing import tables_equal_fold
from tests.operations.targets import ENGINES, Places, fill, places
from tests.postgres.twins import stored
from tests.postgres_server import execute


@pytest.fixture
def stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Places]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with places(tmp_path) as found:
        yield found


@contextmanager
def write_load(log: Log) -> Iterator[list[int]]:
    """Write from two threads while the block runs; gives the positions that were acknowledged."""
    stop, acked = threading.Event(), []

    def write(name: str) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            written = log.scope("owner", name).write(title=f"{name} {number}", body="b" * 500)
            acked.append(written.position)

    threads = [threading.Thread(target=write, args=(name,)) for name in ("x", "y")]
    for thread in threads:
        thread.start()
    try:
        yield acked
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_backup_during_writes_restores_to_a_verified_store(
    stores: Places, tmp_path: Path, engine: str
) -> None:
    source, target = stores.new(engine), stores.new(engine)
    with memlog.log.open(source, settings=Settings(lock_timeout_s=30)) as log:
        section = fill(log, count=5).section()
        with write_load(log) as acked:
            while len(acked) < 10:
                pass
            before = max(acked[:10])
            backed_up = back_up(source, tmp_path / "backup.db")

        restored = restore(tmp_path / "backup.db", target)

        assert restored.events == backed_up.events >= before
        assert (restored.root, restored.log_id) == (backed_up.root, log.log_id)
        with memlog.log.open(target) as copy:
            assert stored(copy) == stored(log)[: backed_up.events]
            assert copy.verify().ok
            assert tables_equal_fold(copy)
            memory = copy.scope("owner", "alice")
            assert memory.section_text(section.hash) == section.text
            assert memory.search("pinned")[0].slug == "pinned"
            assert memory.write(title="On", body="b").position == backed_up.events + 1


def test_a_backup_is_a_store_that_others_cannot_read(stores: Places, tmp_path: Path) -> None:
    source = stores.new("sqlite")
    with memlog.log.open(source) as log:
        fill(log, count=2)
    back_up(source, tmp_path / "backup.db")

    assert (tmp_path / "backup.db").stat().st_mode & 0o777 == 0o600
    with memlog.log.open(tmp_path / "backup.db", read_only=True) as log:
        assert log.scope("owner", "alice").get("note-1") is not None
    assert [path.name for path in tmp_path.glob(".*")] == []


def test_nothing_is_written_over(stores: Places, tmp_path: Path) -> None:
    source = stores.new("sqlite")
    memlog.log.open(source).close()
    (tmp_path / "backup.db").write_bytes(b"precious")

    with pytest.raises(InvalidRequestError):
        back_up(source, tmp_path / "backup.db")
    with pytest.raises(InvalidRequestError):
        restore(Path(source), tmp_path / "backup.db")

    assert (tmp_path / "backup.db").read_bytes() == b"precious"


def test_a_database_with_events_is_not_written_over(stores: Places, tmp_path: Path) -> None:
    source, target = stores.new("sqlite"), stores.new("postgres")
    for each in (source, target):
        with memlog.log.open(each) as log:
            fill(log, count=2)
    back_up(source, tmp_path / "backup.db")

    with pytest.raises(InvalidRequestError, match="holds events"):
        restore(tmp_path / "backup.db", target)


def test_a_damaged_backup_is_not_restored(stores: Places, tmp_path: Path) -> None:
    source, target = stores.new("sqlite"), stores.new("sqlite")
    with memlog.log.open(source) as log:
        fill(log, count=3)
    back_up(source, tmp_path / "backup.db")
    with closing(sqlite3.connect(tmp_path / "backup.db")) as connection:
        connection.execute("UPDATE notes_a SET body = 'forged' WHERE slug = 'note-2'")
        connection.commit()

    with pytest.raises(CorruptStoreError, match="note"):
        restore(tmp_path / "backup.db", target)
    assert not Path(target).exists()


@pytest.mark.parametrize("end", ["-wal", "-journal"])
def test_writes_that_wait_beside_the_place_are_not_put_into_it(
    stores: Places, tmp_path: Path, end: str
) -> None:
    """The engine would write them into whatever file has that name."""
    source, backup = stores.new("sqlite"), tmp_path / "backup.db"
    with memlog.log.open(source) as log:
        fill(log, count=2)
        back_up(source, backup)
        fill(log, count=2)
        pending = Path(f"{source}-wal").read_bytes()
    place = tmp_path / "again.db"
    place.with_name(f"again.db{end}").write_bytes(pending)

    for make in (partial(restore, backup, place), partial(back_up, source, place)):
        with pytest.raises(InvalidRequestError, match="writes of a store that was there"):
            make()

    assert not place.exists()
    place.with_name(f"again.db{end}").write_bytes(b"")
    assert restore(backup, place).events == 6


def test_a_full_disk_is_told_and_nothing_is_left(
    stores: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = stores.new("sqlite")
    with memlog.log.open(source) as log:
        fill(log, count=2)

    def open_small(name: str, **how: Any) -> sqlite3.Connection:  # noqa: ANN401  # as it came
        connection = open_connection(name, **how)
        connection.execute("PRAGMA max_page_count = 5")
        return connection

    monkeypatch.setattr("memlog.backup.open_connection", open_small)

    with pytest.raises(StoreFullError) as caught:
        back_up(source, tmp_path / "backup.db")

    assert caught.value.target == str(tmp_path / "backup.db")
    assert not list(tmp_path.glob("*backup*"))


def test_a_place_that_cannot_be_written_is_named(
    stores: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = stores.new("sqlite")
    with memlog.log.open(source) as log:
        fill(log, count=2)

    def refuse(path: Path, *_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "read-only", str(path))

    monkeypatch.setattr("os.open", refuse)
    monkeypatch.setattr("pathlib.Path.unlink", refuse)

    with pytest.raises(ReadOnlyError) as caught:
        back_up(source, tmp_path / "backup.db")

    assert caught.value.target == str(tmp_path / "backup.db")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_damaged_log_is_named_not_its_copy(stores: Places, tmp_path: Path, engine: str) -> None:
    source = stores.new(engine)
    with memlog.log.open(source) as log:
        fill(log, count=2)
        shown = log.target
        spoil = "UPDATE stored_events SET topic = 'note_written/9' WHERE rowid = 2"
        if engine == "sqlite":
            with closing(sqlite3.connect(source)) as connection, connection:
                connection.execute("DROP TRIGGER stored_events_append_only_update")
                connection.execute(spoil)
        else:
            execute(source, "ALTER TABLE stored_events DISABLE TRIGGER USER", spoil)

    with pytest.raises(DamageError) as caught:
        back_up(source, tmp_path / "backup.db")

    assert ".backup.db" not in str(caught.value)
    assert getattr(caught.value, "target", shown) == shown
    assert not list(tmp_path.glob("*backup*"))


def test_a_file_system_without_second_names_gets_its_backup(
    stores: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = stores.new("sqlite")
    with memlog.log.open(source) as log:
        fill(log, count=2)

    def refuse(path: Path, place: Path) -> None:
        raise OSError(errno.EPERM, "no links here", str(path), None, str(place))

    monkeypatch.setattr("os.link", refuse)
    backup = tmp_path / "backup.db"

    assert back_up(source, backup).events == 6
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    with memlog.log.open(backup) as log:
        assert log.position() == 6
    (tmp_path / "taken.db").write_bytes(b"")
    with pytest.raises(FileExistsError):
        backups._name(backup, tmp_path / "taken.db")  # noqa: SLF001  # a file that came meanwhile
    assert (tmp_path / "taken.db").read_bytes() == b""


def test_a_password_of_the_target_is_not_in_the_answer(stores: Places, tmp_path: Path) -> None:
    source, target = stores.new("sqlite"), stores.new("postgres")
    with memlog.log.open(source) as log:
        fill(log, count=2)
    back_up(source, tmp_path / "backup.db")

    done = restore(tmp_path / "backup.db", f"{target}&password=hidden")

    assert "hidden" not in done.target


def test_what_is_not_there_cannot_be_backed_up(tmp_path: Path) -> None:
    with pytest.raises(StoreNotFoundError):
        back_up(tmp_path / "none.db", tmp_path / "backup.db")
    assert list(tmp_path.iterdir()) == []


# --- Older than what was seen


@pytest.fixture
def old_backup(stores: Places, tmp_path: Path) -> tuple[str, Path]:
    """A store that went on after its backup, and that backup."""
    source = stores.new("sqlite")
    with memlog.log.open(source) as log:
        fill(log, count=2)
        back_up(source, tmp_path / "backup.db")
        log.scope("owner", "alice").write(title="Since then", body="b")
    return source, tmp_path / "backup.db"


def moved_away(source: str) -> str:
    for end in ("", "-wal", "-shm", "-lock"):
        Path(f"{source}{end}").unlink(missing_ok=True)
    return source


def test_a_position_that_was_seen_must_be_in_it(old_backup: tuple[str, Path]) -> None:
    source, backup = old_backup
    with memlog.log.open(source) as log:
        head = log.position()

    with pytest.raises(InvalidRequestError, match=f"position {head} was seen"):
        restore(backup, moved_away(source), position=head)
    assert restore(backup, source, position=head - 1).events == head - 1


def test_a_checkpoint_that_was_kept_must_be_in_it(
    old_backup: tuple[str, Path], tmp_path: Path
) -> None:
    source, backup = old_backup
    key, key_file = SigningKey.generate("example.org/log"), tmp_path / "key"
    key.save(key_file)
    with memlog.log.open(source) as log:
        checkpoint = log.checkpoint(key_file)
    kept, keys = {"kept elsewhere": checkpoint}, [str(key.verifier)]

    with pytest.raises(InvalidRequestError, match="use a newer backup"):
        restore(backup, moved_away(source), checkpoints=kept, keys=keys)

    assert restore(backup, source, checkpoints=kept, keys=keys, allow_older=True).events == 6


def test_a_search_index_that_has_seen_more_stops_it(old_backup: tuple[str, Path]) -> None:
    source, backup = old_backup
    with memlog.log.open(source) as log:
        assert log.scope("owner", "alice").search("since")

    with pytest.raises(InvalidRequestError, match="search index"):
        restore(backup, moved_away(source))

    restore(backup, source, allow_older=True)
    with memlog.log.open(source) as log:
        memory = log.scope("owner", "alice")
        assert [hit.slug for hit in memory.search("since")] == []
        memory.write(title="Another since", body="b")
        assert [hit.slug for hit in memory.search("since")] == ["another-since"]
