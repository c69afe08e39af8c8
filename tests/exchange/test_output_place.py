"""Where an export may be put: nothing but an earlier export is ever replaced."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import memlog
from memlog.errors import InvalidRequestError
from memlog.exchange.log_export import export_log, export_scope
from memlog.exchange.markdown_export import export_markdown
from memlog.log import Log


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with memlog.open(tmp_path / "notes.db") as log:
        log.scope("owner", "alice").write(title="Tea", body="at four")
        yield log


def _export(log: Log, kind: str, path: Path) -> None:
    scope = memlog.Scope("owner", "alice")
    match kind:
        case "log":
            export_log(log, path)
        case "scope":
            export_scope(log, scope, path)
        case _:
            export_markdown(log.scope(scope), path)


@pytest.mark.parametrize("kind", ["log", "scope", "markdown"])
@pytest.mark.parametrize(
    "place", ["notes.db", "mine.txt", "full", "pipe", "device", "no/such", "mine.txt/x"]
)
def test_what_is_no_export_is_not_replaced(log: Log, tmp_path: Path, kind: str, place: str) -> None:
    (tmp_path / "mine.txt").write_bytes(b"mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_bytes(b"x")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/null")
    before = {path: path.lstat() for path in tmp_path.rglob("*")}

    with pytest.raises((InvalidRequestError, OSError)) as refused:
        _export(log, kind, tmp_path / place)

    error = refused.value  # Its sentence cuts long paths.
    named = error.value if isinstance(error, InvalidRequestError) else error
    assert place in str(named)
    after = {path: path.lstat() for path in tmp_path.rglob("*")}
    assert {path: (at.st_ino, at.st_size) for path, at in after.items()} == {
        path: (at.st_ino, at.st_size) for path, at in before.items()
    }
    assert log.scope("owner", "alice").read("tea").note.body == "at four"


@pytest.mark.parametrize("kind", ["log", "scope"])
def test_an_earlier_export_and_an_empty_file_are_replaced_also_behind_a_link(
    log: Log, tmp_path: Path, kind: str
) -> None:
    file, link = tmp_path / "log.jsonl", tmp_path / "link.jsonl"
    file.touch()
    link.symlink_to(file.name)
    for path in (file, link):
        log.scope("owner", "alice").write(title=f"More {path.name}", body="x")
        before = file.read_bytes()
        _export(log, kind, path)

        assert link.is_symlink()
        assert file.read_bytes() != before


def test_an_empty_folder_is_filled_also_behind_a_link(log: Log, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("empty")

    _export(log, "markdown", tmp_path / "link")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "empty" / "tea.md").exists()
