"""`memlog doctor`, `backup`, `restore`, `copy` and `follow`, on both engines."""

import json
from pathlib import Path

import pytest

import memlog
from tests.cli.running import Run


@pytest.fixture(autouse=True)
def _notes(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with memlog.open(tmp_path / "notes.db") as log:
        log.scope("owner", "alice").write(title="Tea", body="b")
        log.scope("global").write(title="Milk", body="b")


def test_a_log_goes_to_a_backup_and_comes_back(alice: Run, tmp_path: Path) -> None:
    backup, restored = str(tmp_path / "backup.db"), str(tmp_path / "again.db")

    done = alice("backup", backup)
    assert (done.code, done.out[:31]) == (0, b"backed up and verified 2 events")
    assert max(map(len, done.out.splitlines())) <= 80
    assert alice("--db", restored, "restore", backup).code == 0

    assert alice("--db", restored, "log").out == alice("log").out
    assert alice("--db", restored, "verify").code == 0


def test_a_backup_is_named_relative_to_where_one_is(
    alice: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert alice("backup", "backup.db").code == 0
    assert alice("--db", "again.db", "restore", "backup.db").code == 0


def test_nothing_is_written_over(alice: Run, tmp_path: Path) -> None:
    path = str(tmp_path / "notes.db")
    for arguments in (["backup", path], ["restore", path]):
        done = alice(*arguments)
        assert done.code == 2
        assert "there is a file already" in done.err


def test_an_older_backup_is_refused_until_it_is_allowed(alice: Run, tmp_path: Path) -> None:
    backup, again = str(tmp_path / "backup.db"), str(tmp_path / "again.db")
    alice("backup", backup)

    refused = alice("--db", again, "restore", backup, "--position", "9")
    assert (refused.code, "position 9 was seen" in refused.err) == (2, True)
    done = alice("--db", again, "restore", backup, "--position", "9", "--allow-older")
    assert done.code == 0


def test_a_log_is_copied_to_postgresql_and_everything_works_there(
    alice: Run, tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    assert alice("copy", str(tmp_path / "notes.db"), postgres_url).code == 0

    for command in (["log"], ["list"], ["read", "tea"], ["index"], ["history", "tea"]):
        assert alice("--db", postgres_url, *command).out == alice(*command).out
    assert alice("--db", postgres_url, "search", "tea").out.startswith(b"tea\t")
    assert alice("--db", postgres_url, "verify").code == 0
    assert alice("--db", postgres_url, "doctor").code == 0
    assert b"size" not in alice("--db", postgres_url, "stats").out
    back = alice("--json", "copy", postgres_url, str(tmp_path / "back.db"))
    assert json.loads(back.out)["events"] == 2


def test_following_shows_what_the_log_shows(run: Run, tmp_path: Path) -> None:
    db = ("--db", str(tmp_path / "notes.db"))

    assert run(*db, "follow", "--after", "0", "--idle", "0").out == run(*db, "log").out
    first = run(*db, "follow", "--after", "0", "--limit", "1")
    assert first.out == run(*db, "log", "--limit", "1").out
    assert run(*db, "follow", "--idle", "0").out == b""
    as_json = run(*db, "--json", "follow", "--after", "1", "--idle", "0")
    assert json.loads(as_json.out)["position"] == 2
    assert run(*db, "follow", "--after", "3").code == 1


def test_the_doctor_says_what_is_bad(alice: Run, tmp_path: Path) -> None:
    assert alice("doctor").code == 0
    (tmp_path / "notes.db").chmod(0o666)

    done = alice("doctor", terminal=True)

    assert done.code == 1
    assert b"bad: permissions" in done.out
    assert all(len(line) <= 80 for line in done.out.decode().splitlines())


def test_no_password_is_shown(run: Run, tmp_path: Path) -> None:
    for command in (["doctor"], ["log"], ["backup", str(tmp_path / "b.db")]):
        done = run("--db", f"postgresql://u:hidden@/d?host={tmp_path}", *command)
        assert done.code == 3
        assert "hidden" not in done.err


@pytest.mark.parametrize("command", [["doctor"], ["backup", "b.db"], ["follow"]])
def test_a_log_in_memory_has_no_place(run: Run, command: list[str]) -> None:
    assert run("--db", ":memory:", *command).code == 2
