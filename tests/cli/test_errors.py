"""Errors are one sentence on standard error, and an exit code that tells what to do next."""

import fcntl
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from memlog import errors
from memlog.cli import exits, output
from tests.cli.running import Ended, Run


@pytest.fixture
def tea(alice: Run) -> Run:
    alice("write", "Tea", "--body", "Oolong.")
    return alice


def told(ended: Ended, code: int) -> str:
    """Return the one sentence that an error told."""
    assert (ended.code, ended.out) == (code, b""), ended
    assert ended.err.startswith("memlog: ")
    assert ended.err.endswith("\n")
    assert ended.err.count("\n") == 1, ended.err
    return ended.err[len("memlog: ") : -1]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("read coffee", "no note 'coffee' in this scope"),
        ("read teaa", "did you mean 'tea'?"),
        ("read TEA", "no note 'TEA'"),
        ("history coffee", "no note 'coffee'"),
        ("pin coffee", "no note 'coffee'"),
        ("pin Tea", "'tea' would do"),
        ("link tea coffee related", "no note 'coffee'"),
        ("link tea tea related", "cannot be linked to itself"),
        ("link tea b likes", "use one of related, derived_from, supersedes"),
        ("write T --body x --confidence nan", "give a number from 0 to 1"),
        ("write T --body x --slug ../x", "a slug is"),
        ("write T --body x --provenance god", "use one of agent, web"),
        ("write T --body x --slug tea --if-seq 9", "'tea' is at updated_seq 1, not at 9"),
        ("write T --body x --source-created-at yesterday", "ISO 8601"),
    ],
)
def test_a_refused_request_exits_1(arguments: str, sentence: str, tea: Run) -> None:
    assert sentence in told(tea(*arguments.split()), 1)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("read", "Missing argument 'SLUG'; see 'memlog read --help'"),
        ("brew", "No such command 'brew'; see 'memlog --help'"),
        ("list --sideways", "No such option: --sideways"),
        ("list --limit 0", "Invalid value for '--limit'"),
        ("search", "Missing argument 'QUERY'"),
        ("search tea --limit 0", "Invalid value for '--limit'"),
        ("index --budget -1", "Invalid value for '--budget'"),
        (
            "rebuild brew",
            "'brew' cannot be rebuilt: give one of tree, notes, section, search, or nothing",
        ),
        ("write T --body x --confidence high", "Invalid value for '--confidence'"),
        ("list --scope bob", "scope 'bob' is not accepted: give owner:NAME, or global"),
        ("list --scope owner", "give owner:NAME, or global"),
        ("list --scope owner:", "give 1 to 256 bytes"),
        ("list --scope global:x", "give owner:NAME, or global"),
        ("list --db mysql://h/db", "give a path"),
        ("list --db :memory:", "name a file"),
        ("write T --body x --db nowhere/notes.db", "there is no directory"),
        ("demo --db setup.cfg", "the demo needs a file of its own"),
    ],
)
def test_a_wrong_call_exits_2(
    arguments: str, sentence: str, tea: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "setup.cfg").touch()

    assert sentence in told(tea(*arguments.split()), 2)


def test_a_scope_has_no_default(run: Run, tmp_path: Path) -> None:
    assert "whose notes?" in told(run("list", "--db", str(tmp_path / "notes.db")), 2)


def test_a_setting_that_cannot_be_read_exits_2(tea: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMLOG_LOCK_TIMEOUT_S", "soon")

    assert "MEMLOG_LOCK_TIMEOUT_S 'soon' is not accepted" in told(tea("list"), 2)


def test_settings_come_from_the_environment(tea: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMLOG_MAX_BODY_BYTES", "3")

    assert "at most 3 are kept" in told(tea("write", "T", "--body", "four"), 1)


def test_what_is_no_store_exits_2_and_stays_as_it_is(alice: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.db").write_text("dear diary")

    assert "is not a memlog store" in told(alice("write", "T", "--body", "x"), 2)
    assert "is not a memlog store" in told(alice("list"), 2)
    assert (tmp_path / "notes.db").read_text() == "dear diary"


def test_a_held_lock_exits_3(tea: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMLOG_LOCK_TIMEOUT_S", "0.01")
    with (tmp_path / "notes.db-lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        assert "try again" in told(tea("write", "T", "--body", "x"), 3)


def test_damage_exits_4(tea: Run, tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "notes.db")
    connection.execute("DROP TRIGGER stored_events_append_only_update")
    connection.execute("UPDATE stored_events SET state = X'7B7D'")
    connection.commit()
    connection.close()

    assert "the event at position 1 is damaged" in told(tea("log"), 4)
    assert "the event at position 1" in told(tea("rebuild"), 4)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.StaleWriteError("tea", 1, 2), 1),
        (errors.ReadOnlyError("notes.db"), 2),
        (errors.NewerFormatError("notes.db", 2, 1), 2),
        (errors.StoreFullError("notes.db", "full"), 3),
        (errors.RebuildTakenOverError("notes.db"), 3),
        (errors.CorruptStoreError("notes.db", "torn page"), 4),
        (errors.DriftError("notes", "one row"), 4),
    ],
)
def test_an_error_gives_the_code_of_its_branch(error: errors.MemlogError, code: int) -> None:
    assert exits.exit_code(error) == code


def test_a_fault_of_our_own_is_one_sentence_too(tea: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError(quoted)

    quoted = "what a note says"

    monkeypatch.setattr(output, "body", broken)

    assert told(tea("read", "tea"), 70) == (
        "unexpected KeyError: a fault of memlog's; MEMLOG_TRACEBACK=1 shows where"
    )
    monkeypatch.setenv("MEMLOG_TRACEBACK", "1")
    with pytest.raises(KeyError):
        tea("read", "tea")


def test_a_command_without_a_name_shows_help_and_exits_2(run: Run) -> None:
    ended = run()

    assert (ended.code, ended.out) == (2, b"")
    assert ended.err.startswith("Usage: ")


def test_what_an_argument_holds_cannot_steer_the_terminal(tea: Run) -> None:
    for arguments in (["\x1b[31m"], ["list", "--\x1b[31m"], ["read", "\x1b[31m\u202e"]):
        ended = tea(*arguments, terminal=True)
        assert "\x1b" not in ended.err
        assert "\\x1b[31m" in ended.err


def test_where_a_new_log_lies_cannot_steer_the_terminal(alice: Run, tmp_path: Path) -> None:
    path = str(tmp_path / "\x1b[31m.db")

    assert alice("write", "T", "--body", "x", "--db", path, terminal=True).err == (
        f"a new log: {tmp_path}/\\x1b[31m.db\n"
    )


def test_an_interrupt_exits_130_without_words(tea: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(output, "body", interrupted)

    assert tea("read", "tea") == (130, b"", "")


# --- Streams that end early


@pytest.mark.usefixtures("tea")
def test_a_reader_that_goes_away_is_no_error() -> None:
    command = [sys.executable, "-m", "memlog", "read", "tea"]
    ours, theirs = os.pipe()
    os.close(ours)
    done = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, check=False)
    os.close(theirs)

    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.usefixtures("tea")
def test_a_full_disk_behind_the_output_is_told() -> None:
    command = [sys.executable, "-m", "memlog", "read", "tea"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)

    assert (done.returncode, done.stderr) == (2, b"memlog: No space left on device\n")


def test_closed_streams_are_no_error(tea: Run) -> None:
    script = f"{sys.executable} -m memlog write T --body x >&- 2>&- && exit 7"

    assert subprocess.run(["/bin/sh", "-c", script], check=False).returncode == 7
    assert [line.split("\t")[0] for line in tea("list").lines] == ["t", "tea"]


def test_bytes_go_out_as_utf_8_in_every_locale(tea: Run) -> None:
    tea("write", "部署", "--body", "密钥", "--slug", "d")
    environ = {**os.environ, "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0", "LC_ALL": "C"}
    for arguments, expected in ((["read", "d"], "密钥"), (["list", "--limit", "1"], "部署\n")):
        command = [sys.executable, "-m", "memlog", *arguments]
        done = subprocess.run(command, env=environ, capture_output=True, check=True)
        assert done.stdout.decode().endswith(expected)
