"""Where the index lies, and that nothing which happens to it there changes an answer."""

import logging
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

import memlog
from memlog.log import Log
from memlog.note import Scope
from memlog.settings import Settings
from memlog.testing import LOG_ID, START, CountingIds, open_log
from projections.search.protocol import Hit
from tests.section import children

QUERIES = ("tea", "kettle 17", "")
PATIENCE_S = 60.0


def filled(path: Path, settings: Settings | None = None) -> list[list[Hit]]:
    """Make a store with notes and a stored index; return what it answers."""
    with open_log(path, settings=settings) as log:
        memory = log.scope("owner", "alice")
        memory.write_many(
            [{"title": f"Cup {n}", "body": f"tea {'kettle ' * (n % 5)}{n}"} for n in range(60)]
        )
        memory.link("cup-1", "cup-2", "supersedes")
        return answers(log)


def answers(log: Log) -> list[list[Hit]]:
    return [log.scope("owner", "alice").search(q, limit=80, now=START) for q in QUERIES]


def answered(path: Path, settings: Settings | None = None) -> list[list[Hit]]:
    with open_log(path, settings=settings, ids=CountingIds(5)) as log:
        return answers(log)


def index_of(path: Path) -> Path:
    """Return the directory of the one index beside a store."""
    (log_directory,) = path.with_name(f"{path.name}-index").iterdir()
    (directory,) = log_directory.iterdir()
    return directory


# --- Where


def test_it_lies_beside_the_database_under_names_that_nobody_chose(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    with open_log(path) as log:
        for scope in (Scope("owner", "../../x"), Scope("owner", "Bob Ó/…"), Scope("global")):
            log.scope(scope).write(title="Tea", body="green")
            assert log.scope(scope).search("tea")
    index = tmp_path / "notes.db-index"

    assert [each.name for each in index.iterdir()] == [LOG_ID]
    names = [each.name for each in (index / LOG_ID).iterdir()]
    assert len(names) == 3
    assert all(re.fullmatch("[0-9a-f]{32}", name) for name in names)
    assert {each.name for each in tmp_path.iterdir()} == {
        "notes.db", "notes.db-index", "notes.db-lock"
    }  # fmt: skip


def test_it_lies_where_the_settings_say(tmp_path: Path) -> None:
    settings = Settings(index_dir=str(tmp_path / "elsewhere" / "index"))
    (tmp_path / "db").mkdir()
    expected = filled(tmp_path / "db" / "notes.db", settings)

    assert [each.name for each in (tmp_path / "elsewhere" / "index").iterdir()] == [LOG_ID]
    assert not (tmp_path / "db" / "notes.db-index").exists()
    assert answered(tmp_path / "db" / "notes.db", settings) == expected


def test_a_relative_place_stays_where_it_was_when_the_log_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "later").mkdir()
    monkeypatch.chdir(tmp_path)
    with open_log("notes.db", settings=Settings(index_dir="index")) as log:
        log.scope("global").write(title="Tea", body="green")
        monkeypatch.chdir(tmp_path / "later")
        assert log.scope("global").search("tea")

    assert (tmp_path / "index" / LOG_ID).is_dir()
    assert list((tmp_path / "later").iterdir()) == []


def test_a_log_in_memory_leaves_no_file_whatever_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for settings in (Settings(), Settings(index_dir=str(tmp_path / "index"))):
        with memlog.open(":memory:", settings=settings) as log:
            memory = log.scope("owner", "alice")
            memory.write_many([{"title": f"Cup {n}", "body": "a secret"} for n in range(50)])
            assert len(memory.search("secret", limit=99)) == 50
            log.rebuild("search")
            assert len(memory.search("secret", limit=99)) == 50

    assert list(tmp_path.iterdir()) == []


def test_a_stored_index_is_read_and_not_made_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "notes.db"
    expected = filled(path)
    before = {each: each.read_bytes() for each in index_of(path).iterdir()}

    assert answered(path) == expected

    assert {each: each.read_bytes() for each in index_of(path).iterdir()} == before
    assert caplog.records == []


def test_a_read_only_log_is_searched(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "notes.db"
    expected = filled(path)
    shutil.rmtree(tmp_path / "notes.db-index")
    before = path.read_bytes()

    for _ in range(2):
        with memlog.open(path, read_only=True) as log:
            assert answers(log) == expected

    assert path.read_bytes() == before
    assert caplog.records == []


def test_a_busy_store_is_searched(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    expected = filled(path)
    with open_log(path, ids=CountingIds(5), settings=Settings(lock_timeout_s=PATIENCE_S)) as log:
        child = children.start(children.HOLD_THE_LOCK, path)
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        assert answers(log) == expected
        children.ended(child, "enough\n")


# --- Damage


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


DAMAGE: dict[str, Callable[[Path], None]] = {
    "a flipped bit": _flip,
    "a missing byte": _cut,
    "a missing file": Path.unlink,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damage_to_any_file_changes_no_answer_and_makes_one_log_record(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: Callable[[Path], None]
) -> None:
    path = tmp_path / "notes.db"
    expected = filled(path)
    shutil.copytree(tmp_path / "notes.db-index", tmp_path / "whole")
    names = [each.name for each in index_of(path).iterdir() if each.stat().st_size]
    assert len(names) > 4
    for name in names:
        shutil.rmtree(tmp_path / "notes.db-index")
        shutil.copytree(tmp_path / "whole", tmp_path / "notes.db-index")
        damage(index_of(path) / name)
        caplog.clear()
        with caplog.at_level(logging.DEBUG):
            assert answered(path) == expected
            without_manifest = name == "manifest.json" and damage is Path.unlink
            assert len(caplog.records) == int(not without_manifest)  # No manifest, no index.
            assert all("owner/alice" in record.getMessage() for record in caplog.records)
            caplog.clear()
            assert answered(path) == expected  # It was stored anew.
            assert caplog.records == []


def test_the_index_of_another_scope_or_log_is_not_taken(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "notes.db"
    expected = filled(path)
    with memlog.open(tmp_path / "other.db") as other:
        memory = other.scope("owner", "alice")
        memory.write_many([{"title": "Forged", "body": "tea kettle 17"} for _ in range(3)])
        memory.search("tea")
    mine, theirs = index_of(path), index_of(tmp_path / "other.db")
    shutil.rmtree(mine)
    shutil.copytree(theirs, mine)

    assert answered(path) == expected
    assert len(caplog.records) == 1


def test_a_store_that_was_put_back_from_a_copy_is_searched_as_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "notes.db"
    expected = filled(path)
    shutil.copy(path, tmp_path / "copy.db")
    with open_log(path, ids=CountingIds(7)) as log:
        log.scope("owner", "alice").write(title="Late", body="tea kettle 17")
        assert answers(log) != expected
    shutil.copy(tmp_path / "copy.db", path)

    assert answered(path) == expected
    assert len(caplog.records) == 1
    assert "rebuilt" in caplog.records[0].getMessage()


# --- A fork


def test_a_forked_child_that_closes_its_handle_stores_nothing(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    with open_log(path) as log:
        memory = log.scope("owner", "alice")
        memory.write(title="Tea", body="green")
        memory.search("tea")
        child = os.fork()
        if child == 0:
            log.close()
            os._exit(int((tmp_path / "notes.db-index").exists()))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert memory.search("tea")
    assert (tmp_path / "notes.db-index").exists()
