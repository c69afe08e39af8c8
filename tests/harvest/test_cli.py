"""`memlog harvest`."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import memlog
from memlog.cli import main
from memlog.harvest import Worker
from tests.harvest.conftest import ALICE, Clock, Open, queue
from tests.harvest.endpoint import Endpoint, Reply, answer
from tests.harvest.test_worker import KEY_ROTATES


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, endpoint: Endpoint) -> None:
    for name in [name for name in os.environ if name.startswith("MEMLOG_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MEMLOG_DB", str(tmp_path / "notes.db"))
    monkeypatch.setenv("MEMLOG_HARVEST_LLM", endpoint.url)
    monkeypatch.setenv("MEMLOG_HARVEST_MODEL", "small")
    monkeypatch.setattr(sys, "stdin", None)


@pytest.fixture
def queued(tmp_path: Path) -> None:
    """A store of the real time, in which two compactions wait."""
    settings = memlog.Settings(harvest_model="small")
    with memlog.open(tmp_path / "notes.db", settings=settings) as log:
        queue(log, "c-1")
        queue(log, "c-\u202e2")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str], str]:
    code = main(["harvest", *arguments])
    printed = capsys.readouterr()
    return code, printed.out.splitlines(), printed.err


@pytest.mark.usefixtures("queued")
def test_run_does_what_is_due_and_says_how_it_ended(
    endpoint: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    endpoint.replies = [Reply(answer(KEY_ROTATES, 5)), Reply(answer(KEY_ROTATES))]

    code, lines, _ = run(capsys, "run")

    assert (code, lines) == (
        0,
        [
            "c-1 of owner:alice: kept 1 fact, dropped 1 (invalid 1)",
            "  deploy-key-rotates",
            "c-\\u202e2 of owner:alice: kept 0 facts, dropped 1 (known_note 1)",
        ],
    )
    assert run(capsys, "run") == (0, ["nothing is due"], "")


@pytest.mark.usefixtures("queued")
def test_failures_are_listed_and_retried(
    endpoint: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    endpoint.replies = [Reply(status=500)]

    code, lines, said = run(capsys, "run", "--json")

    assert code == 0
    assert [json.loads(line)["outcome"] for line in lines] == ["failed", "failed"]
    assert "a harvest failed (attempt 1 of 5): the endpoint answered 500" in said
    _, lines, _ = run(capsys, "list")
    state, tries, _, scope, key = lines[0].split("\t")
    assert (state, tries, scope) == ("queued", "1", "owner:alice")
    assert key == "c-1: the endpoint answered 500"
    assert run(capsys, "retry")[1] == ["queued 0 jobs anew"]
    assert run(capsys, "list", "--scope", "global")[1] == []
    _, lines, _ = run(capsys, "list", "--json")
    assert "\u202e" in json.loads(lines[1])["key"]


def test_dead_jobs_are_queued_anew(
    open_log: Open, clock: Clock, endpoint: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    endpoint.replies = [Reply(status=500)]
    log = open_log(harvest_llm=endpoint.url)
    queue(log)
    for _ in range(5):
        Worker(log).run()
        clock.move(seconds=4_000)

    assert run(capsys, "retry", "c-2")[1] == ["queued 0 jobs anew"]
    assert run(capsys, "retry", "c-1")[1] == ["queued 1 job anew"]
    assert json.loads(run(capsys, "retry", "--json")[1][0]) == {"queued": 0}


def test_without_a_model_run_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    memlog.open(tmp_path / "notes.db").close()
    monkeypatch.delenv("MEMLOG_HARVEST_LLM")

    code, _, said = run(capsys, "run")

    assert (code, said.count("\n")) == (1, 1)
    assert "MEMLOG_HARVEST_LLM" in said


def test_without_a_store_none_is_made(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for command in ("run", "list", "retry"):
        assert run(capsys, command)[0] == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("queued")
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_watch_ends_cleanly_when_it_is_told_to(endpoint: Endpoint, ending: signal.Signals) -> None:
    endpoint.replies = [Reply(answer(KEY_ROTATES))]
    command = [sys.executable, "-m", "memlog", "harvest", "run", "--watch"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        process.send_signal(ending)
        process.communicate(timeout=60)

    assert first == b"c-1 of owner:alice: kept 1 fact\n"
    assert process.returncode == 0


def test_scopes_are_kept_apart(
    open_log: Open, endpoint: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    queue(open_log(harvest_llm=endpoint.url))

    assert run(capsys, "run", "--scope", "owner:bob")[1] == ["nothing is due"]
    assert ALICE.stream == "owner/alice"
