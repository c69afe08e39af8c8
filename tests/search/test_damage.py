"""Whatever happens to the index on disk, answers stay right, nothing runs, and the log says why."""

import builtins
import errno
import logging
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from whoosh.filedb.filestore import FileStorage

from projections.search import Weights, WhooshBackend
from projections.search.directory import MANIFEST, private_path
from tests.search.notebook import KEY, LOG_ID, START, Notebook
from tests.search.reference import ReferenceBackend

QUERY = "tea kettle 17"


@pytest.fixture
def notes() -> Notebook:
    made = Notebook()
    for number in range(80):
        made.write(f"n-{number}", body=f"tea number {number} {'kettle ' * (number % 5)}")
    made.write("n-3", body="rewritten kettle")
    return made


@pytest.fixture
def index_dir(tmp_path: Path) -> Path:
    return tmp_path / "index"


def directory_of(index_dir: Path, notes: Notebook) -> Path:
    return private_path(index_dir, log_id=notes.log_id, stream=notes.stream)


def answers(backend: WhooshBackend | ReferenceBackend, notes: Notebook) -> list[tuple[str, float]]:
    hits = backend.search(notes, QUERY, now=START, limit=30, weights=Weights())
    return [(hit.slug, round(hit.score, 9)) for hit in hits]


def stored(index_dir: Path, notes: Notebook, *, commits: int = 2) -> Path:
    """Store an index of several segments, and return its directory."""
    backend = WhooshBackend(index_dir, idle_s=3_600.0)
    backend.commit(notes)
    for number in range(commits - 1):
        notes.write(f"late-{number}", body="tea kettle, late")
        backend.commit(notes)
    backend.close()
    return directory_of(index_dir, notes)


def check_recovers(
    index_dir: Path, notes: Notebook, caplog: pytest.LogCaptureFixture, *, warnings: int = 1
) -> list[str]:
    """Search the index that lies there, and once more after it was stored again."""
    caplog.clear()
    backend = WhooshBackend(index_dir, idle_s=3_600.0)
    with caplog.at_level(logging.WARNING):
        assert answers(backend, notes) == answers(ReferenceBackend(), notes)
        assert answers(backend, notes) == answers(ReferenceBackend(), notes)
        backend.close()
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == warnings, messages

    notes.calls.clear()
    again = WhooshBackend(index_dir, idle_s=3_600.0)
    found = answers(again, notes)
    assert "all" not in notes.calls, "the index was not stored, or not read"
    assert found == answers(ReferenceBackend(), notes)
    again.close()
    return messages


def _delete(path: Path) -> None:
    path.unlink()


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _flip_first(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[0] ^= 1
    path.write_bytes(content)


def _flip_middle(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x10
    path.write_bytes(content)


def _lengthen(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")


class _Bomb:
    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return os.mkdir, (str(self.target),)

    target = Path("planted")


def _plant_pickle(path: Path) -> None:
    _Bomb.target = path.parent / "planted"
    path.write_bytes(pickle.dumps(_Bomb()))


def _become_a_link(path: Path) -> None:
    content = path.read_bytes()
    target = path.parent.parent.parent.parent / "elsewhere"
    target.write_bytes(content)
    path.unlink()
    path.symlink_to(target)


def _become_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


DAMAGE = [
    _delete, _truncate, _empty, _flip_first, _flip_middle, _lengthen, _plant_pickle,
    _become_a_link, _become_a_pipe,
]  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda each: each.__name__.strip("_"))
def test_every_damage_to_every_file_is_survived(
    damage: Callable[[Path], None],
    notes: Notebook,
    index_dir: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    names = sorted(
        path.name.split(".", 1)[-1] if path.name.startswith("MAIN_") else path.name
        for path in stored(index_dir, notes).iterdir()
        if path.stat().st_size and path.name != MANIFEST
    )
    assert len(names) >= 9, names
    for place in range(len(names)):
        shutil.rmtree(index_dir)
        directory = stored(index_dir, notes)
        files = sorted(path for path in directory.iterdir() if path.stat().st_size)
        target = [path for path in files if path.name != MANIFEST][place]
        damage(target)

        messages = check_recovers(index_dir, notes, caplog)

        assert "rebuilt" in messages[0]
        assert not _Bomb.target.exists()


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda each: each.__name__.strip("_"))
def test_every_damage_to_the_manifest_is_survived(
    damage: Callable[[Path], None],
    notes: Notebook,
    index_dir: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    damage(stored(index_dir, notes) / MANIFEST)

    # Without a manifest there is no index, which is nothing to complain about.
    check_recovers(index_dir, notes, caplog, warnings=int(damage is not _delete))


def test_an_undamaged_index_is_read_not_rebuilt(
    notes: Notebook, index_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stored(index_dir, notes)
    check_recovers(index_dir, notes, caplog, warnings=0)


def test_the_index_of_another_scope_is_not_taken(
    notes: Notebook, index_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = Notebook("owner/bob")
    other.write("secret", body=QUERY)
    mine, theirs = stored(index_dir, notes, commits=1), stored(index_dir, other, commits=1)
    shutil.rmtree(mine)
    shutil.copytree(theirs, mine)

    messages = check_recovers(index_dir, notes, caplog)

    assert "owner/bob" in messages[0]


def test_the_index_of_another_database_is_not_taken(
    notes: Notebook, index_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    forger = Notebook(key=bytes(32))
    forger.write("forged", body=QUERY)
    stored(index_dir, forger)

    messages = check_recovers(index_dir, notes, caplog)

    assert "not signed" in messages[0]


def test_an_index_that_is_ahead_of_its_log_is_rebuilt(
    notes: Notebook, index_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    restored = Notebook()
    restored.write("n-0", body="tea, from the backup")
    stored(index_dir, notes)

    check_recovers(index_dir, restored, caplog)


def test_an_index_of_another_history_of_the_same_log_is_rebuilt(
    notes: Notebook, index_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stored(index_dir, notes, commits=1)
    fork = Notebook()
    for number in range(len(notes.history) + 5):
        fork.write(f"n-{number}", body="tea, differently", fork="fork-")

    check_recovers(index_dir, fork, caplog)


def test_an_older_copy_of_the_index_catches_up(
    notes: Notebook, index_dir: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    directory = stored(index_dir, notes)
    shutil.copytree(directory, tmp_path / "old")
    notes.write("n-5", body="something else")
    stored(index_dir, notes)
    shutil.rmtree(directory)
    (tmp_path / "old").rename(directory)

    check_recovers(index_dir, notes, caplog, warnings=0)


@pytest.mark.parametrize("level", ["scope", "log"])
def test_a_directory_that_others_can_write_is_not_opened_but_made_private(
    notes: Notebook, index_dir: Path, caplog: pytest.LogCaptureFixture, level: str
) -> None:
    directory = stored(index_dir, notes)
    opened = directory if level == "scope" else directory.parent
    opened.chmod(0o777)

    messages = check_recovers(index_dir, notes, caplog)

    assert "written by others" in messages[0]
    assert opened.stat().st_mode & 0o777 == 0o700


def test_directories_are_private(notes: Notebook, index_dir: Path) -> None:
    directory = stored(index_dir, notes)

    assert [path.stat().st_mode & 0o077 for path in (directory, directory.parent)] == [0, 0]
    assert directory.parent.name == LOG_ID
    assert len(directory.name) == 32


def test_no_scope_or_log_becomes_a_path(index_dir: Path) -> None:
    for name in ("../../etc", "..", "", "a/b", "\x00", "x" * 1_000):
        path = private_path(index_dir, log_id=name, stream=name)
        assert path.parent.parent == index_dir
        assert path.resolve().is_relative_to(index_dir.resolve())
        assert path.name not in {"", ".", ".."}
        assert path.parent.name not in {"", ".", ".."}


def test_a_scope_directory_that_is_a_link_is_not_followed(
    notes: Notebook, index_dir: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    directory = stored(index_dir, notes)
    directory.rename(tmp_path / "moved")
    before = sorted(path.name for path in (tmp_path / "moved").iterdir())
    directory.symlink_to(tmp_path / "moved")

    backend = WhooshBackend(index_dir, idle_s=3_600.0)
    with caplog.at_level(logging.WARNING):
        assert answers(backend, notes) == answers(ReferenceBackend(), notes)
        backend.close()

    assert [r.getMessage() for r in caplog.records if "kept in memory" in r.getMessage()]
    assert sorted(path.name for path in (tmp_path / "moved").iterdir()) == before


def test_an_index_directory_that_cannot_be_made_costs_one_warning(
    notes: Notebook, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "index").write_text("a file, not a directory")
    backend = WhooshBackend(tmp_path / "index", idle_s=3_600.0)
    with caplog.at_level(logging.WARNING):
        for number in range(3):
            notes.write(f"more-{number}", body="tea")
            assert answers(backend, notes) == answers(ReferenceBackend(), notes)
            backend.commit(notes)
        backend.close()

    assert len({record.getMessage() for record in caplog.records}) == len(caplog.records) <= 2


def _refuse(code: int) -> Callable[..., Any]:
    def refuse(*_args: object, **_kwargs: object) -> None:
        raise OSError(code, os.strerror(code))

    return refuse


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO])
@pytest.mark.parametrize("failing", ["create_file", "rename_file", "temp_storage", "lock"])
def test_a_commit_that_the_disk_refuses_leaves_the_last_one_in_place(
    *, notes: Notebook, index_dir: Path, caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch, failing: str, code: int,
) -> None:  # fmt: skip
    stored(index_dir, notes)
    backend = WhooshBackend(index_dir, idle_s=3_600.0)
    notes.write("new", body="tea kettle 17")
    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr("projections.search.segments._DirectoryStorage." + failing, _refuse(code))
        backend.commit(notes)
        assert answers(backend, notes) == answers(ReferenceBackend(), notes)
    assert [os.strerror(code) in record.getMessage() for record in caplog.records] == [True]
    backend.close()

    check_recovers(index_dir, notes, caplog, warnings=0)


class _FullDisk:
    """A file that takes some bytes, and then no more."""

    def __init__(self, file: Any, room: list[int]) -> None:  # noqa: ANN401
        self._file, self._room = file, room

    def write(self, content: bytes) -> int:
        self._room[0] -= len(content)
        if self._room[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return int(self._file.write(content))

    def __getattr__(self, name: str) -> object:
        return getattr(self._file, name)


@pytest.mark.parametrize("room", [0, 10, 500, 5_000, 20_000])
def test_a_disk_that_fills_up_in_the_middle_of_a_commit_loses_nothing(
    notes: Notebook, index_dir: Path, caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch, room: int,
) -> None:  # fmt: skip
    stored(index_dir, notes)
    backend = WhooshBackend(index_dir, idle_s=3_600.0)
    for number in range(90):
        notes.write(f"new-{number}", body="tea kettle 17 " * 20)
    left = [room]
    create = FileStorage.create_file

    def filling(storage: FileStorage, name: str, *, excl: bool, mode: str) -> object:
        file = create(storage, name, excl=excl, mode=mode)
        file.file = _FullDisk(file.file, left)
        file.is_real = False
        return file

    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr(FileStorage, "create_file", filling)
        backend.commit(notes)
        assert answers(backend, notes) == answers(ReferenceBackend(), notes)
    assert len(caplog.records) == 1
    backend.close()

    check_recovers(index_dir, notes, caplog, warnings=0)


def test_files_that_a_crash_left_behind_are_swept_by_the_next_commit(
    notes: Notebook, index_dir: Path
) -> None:
    directory = stored(index_dir, notes)
    (directory / "MAIN_0123456789abcdef.pst").write_bytes(b"half")
    (directory / "_MAIN_99.toc").write_bytes(b"half")
    (directory / "MAIN.tmp").mkdir()
    (directory / "MAIN.tmp" / "run").write_bytes(b"half")
    notes.write("new", body="tea")

    stored(index_dir, notes)

    left = {path.name for path in directory.iterdir()}
    assert not left & {"MAIN_0123456789abcdef.pst", "_MAIN_99.toc", "MAIN.tmp"}


def test_damage_to_an_index_that_is_open_changes_no_answer(
    notes: Notebook, index_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    directory = stored(index_dir, notes)
    backend = WhooshBackend(index_dir, idle_s=3_600.0)
    answers(backend, notes)
    for path in directory.iterdir():
        _flip_middle(path) if path.stat().st_size else _lengthen(path)

    assert answers(backend, notes) == answers(ReferenceBackend(), notes)
    notes.write("new", body="tea kettle 17")
    backend.commit(notes)
    backend.close()

    check_recovers(index_dir, notes, caplog, warnings=0)


def test_nothing_is_unpickled_before_the_hashes_were_checked(
    notes: Notebook, index_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = stored(index_dir, notes)
    toc = next(path for path in directory.iterdir() if path.suffix == ".toc")
    _flip_middle(toc)
    monkeypatch.setattr("whoosh.filedb.structfile.load_pickle", _refuse(errno.EPERM))
    monkeypatch.setattr(pickle, "loads", _refuse(errno.EPERM))
    backend = WhooshBackend(index_dir, idle_s=3_600.0)

    assert answers(backend, notes) == answers(ReferenceBackend(), notes)
    backend.close()


def test_whoosh_opens_no_file_by_name_when_it_reads(
    notes: Notebook, index_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(index_dir, notes)
    opened: list[object] = []
    monkeypatch.setattr(builtins, "open", lambda *args: opened.append(args))
    backend = WhooshBackend(index_dir, idle_s=3_600.0)

    found = answers(backend, notes)
    monkeypatch.undo()

    assert found
    assert not opened
    backend.close()


def test_the_key_signs_the_manifest() -> None:
    assert len(KEY) == 32
