"""A second process makes a verification quicker, and decides nothing."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import memlog
from memlog.events import Event
from memlog.settings import Settings
from memlog.store.protocol import Executor
from memlog.testing import open_log, strategies
from memlog.testing.tampering import by_hand
from memlog.verify import beside, run, second, structure, sums
from memlog.verify.cells import Cells
from memlog.verify.events import EventChecks
from memlog.verify.expected import Expected, NoteCell
from memlog.verify.nodes import TreeCheck
from memlog.verify.opening import verify_file
from memlog.verify.report import Findings, Verification
from memlog.verify.run import Asked
from memlog.verify.words import WordSums
from projections.notes.tables import Names
from tests.verify.stores import copied
from tests.verify.test_histories import replayed

Verify = Callable[[Path], Verification]


def of_the_file(path: Path) -> Verification:
    return verify_file(path, settings=Settings(), asked=Asked(target=str(path)))


def of_the_log(path: Path) -> Verification:
    with memlog.open(path, read_only=True) as log:
        return log.verify()


@pytest.fixture
def store(signed_store: Path, tmp_path: Path) -> Path:
    return copied(signed_store, tmp_path / "a copy, größer")


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[second.Found | None]]:
    """Let a second process be started for any log; and what came of each."""
    found: list[second.Found | None] = []
    ask = beside.Second.found

    def asked(self: beside.Second) -> second.Found | None:
        found.append(ask(self))
        return found[-1]

    monkeypatch.setattr(beside, "EVENTS_MIN", 0)
    monkeypatch.setattr(beside, "_cores", lambda: 2)
    monkeypatch.setattr(beside.Second, "found", asked)
    return iter([found])


def row_by_row(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Note each time that this process looks at the tables itself."""
    looked: list[object] = []
    look = run._Run._tables_row_by_row  # noqa: SLF001  # what a second process saves

    def looks(self: run._Run, names: Names) -> None:
        looked.append(names)
        look(self, names)

    monkeypatch.setattr(run._Run, "_tables_row_by_row", looks)  # noqa: SLF001  # as above
    return looked


@pytest.mark.parametrize("verify", [of_the_file, of_the_log])
def test_what_it_finds_in_order_is_not_looked_at_again(
    verify: Verify, store: Path, answers: Iterator[list[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (found,) = answers
    monkeypatch.setattr(beside, "EVENTS_MIN", 10**6)
    alone = verify(store)
    assert not found
    monkeypatch.setattr(beside, "EVENTS_MIN", 0)
    looked = row_by_row(monkeypatch)

    assert verify(store) == alone

    assert alone.ok
    assert [type(each) for each in found] == [second.Found]
    assert not looked


def test_what_it_finds_wrong_is_looked_at_here(
    store: Path, answers: Iterator[list[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (found,) = answers
    looked = row_by_row(monkeypatch)
    with by_hand(store) as db:
        (live,) = db.execute("SELECT live FROM notes_pointer").fetchone()
        db.execute(f"UPDATE notes_{live} SET body = 'Forged.' WHERE slug = 'last-of-all'")

    first = of_the_file(store).first

    assert first is not None
    assert (first.check, first.detail) == ("notes", "'last-of-all': content")
    assert [type(each) for each in found] == [second.Found]
    assert len(looked) == 1


WAYS_TO_FAIL = {
    "ends at once": "raise SystemExit(1)",
    "is killed": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "answers nothing": "input()",
    "answers nonsense": "input(); print('{}')",
    "answers and fails": "input(); print('{}'); raise SystemExit(3)",
}


@pytest.mark.parametrize("code", WAYS_TO_FAIL.values(), ids=WAYS_TO_FAIL.keys())
def test_one_that_fails_is_done_without(
    code: str, store: Path, answers: Iterator[list[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (found,) = answers
    looked = row_by_row(monkeypatch)
    monkeypatch.setattr(beside, "_command", lambda: [sys.executable, "-c", code])

    assert of_the_file(store).ok

    assert found == [None]
    assert len(looked) == 1


NO_PYTHON = {"frozen": True, "executable": "/usr/bin/host"}


@pytest.mark.parametrize(("name", "value"), NO_PYTHON.items())
def test_a_program_that_is_no_python_is_not_started(
    name: str,
    value: object,
    store: Path,
    answers: Iterator[list[object]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (found,) = answers
    monkeypatch.setattr(sys, name, value, raising=False)
    monkeypatch.setattr(subprocess, "Popen", None)

    assert of_the_file(store).ok
    assert not found


def test_one_that_cannot_be_started_is_done_without(
    store: Path, answers: Iterator[list[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (found,) = answers
    monkeypatch.setattr(beside, "_command", lambda: [str(store / "nothing")])

    assert of_the_file(store).ok
    assert not found


def test_an_interrupted_verification_leaves_no_process(
    store: Path, answers: Iterator[list[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []
    start = beside._started  # noqa: SLF001  # the one place where it is made

    def starts() -> subprocess.Popen[bytes] | None:
        process = start()
        assert process is not None
        started.append(process)
        return process

    def interrupt(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(beside, "_started", starts)
    next(answers)
    asked = Asked(target="x", progress=interrupt)

    with pytest.raises(KeyboardInterrupt):
        verify_file(store, settings=Settings(), asked=asked)

    assert [process.returncode is not None for process in started] == [True]


def test_it_ends_with_the_process_that_started_it() -> None:
    code = (
        "from memlog.verify import second; second.end_with_the_other(); import time; time.sleep(99)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as process:
        assert process.poll() is None
        assert process.stdin is not None
        process.stdin.close()

        assert process.wait() == 1


# --- Sums

HISTORIES = strategies.histories(streams=["owner/alice", "global/"])


def added_up(cursor: Executor) -> Expected:
    expected, findings = Expected(), Findings()
    checks = EventChecks(findings, expected, TreeCheck(None, findings), log_id=None)
    checks.run(run.stored_pages(cursor), total=0)
    assert findings.first is None
    return expected


@given(HISTORIES)
def test_tables_have_the_sums_that_the_events_give(history: tuple[Event, ...]) -> None:
    with open_log() as log:
        replayed(log, history)
        with log._store.reading() as cursor:  # noqa: SLF001  # there is no public way to SQL
            expected = added_up(cursor)
            names = structure.live_set(cursor)
            assert names is not None
            words = WordSums()
            held = sums.of_tables(cursor, names, expected.secret, words)

    assert held == sums.of_events(expected)
    assert words.notes == sum(note.live for _, note in expected.notes.all())


@given(HISTORIES.filter(len), st.data())
def test_one_value_that_is_not_due_gives_other_sums(
    history: tuple[Event, ...], data: st.DataObject
) -> None:
    with open_log() as log:
        replayed(log, history)
        with log._store.reading() as cursor:  # noqa: SLF001  # as above
            expected = added_up(cursor)
    before = sums.of_events(expected)
    tables: list[Cells[Any]] = [
        expected.scopes,
        expected.notes,
        expected.links,
        expected.requests,
    ]
    cells: Cells[Any] = data.draw(st.sampled_from([each for each in tables if each.count]))
    key, cell = data.draw(st.sampled_from([*cells.all()]))
    fields = [name for name in cell.__struct_fields__ if (type(cell), name) not in NOT_IN_A_ROW]
    if data.draw(st.booleans()):
        cells.remove(key)
    else:
        field = data.draw(st.sampled_from(fields))
        value = getattr(cell, field)
        cell = msgspec.structs.replace(cell, **{field: another(value)})
        cells.put(key, cell)

    assert sums.of_events(expected) != before


# For the report, and for the rules.
NOT_IN_A_ROW = {(NoteCell, "position"), (NoteCell, "untrusted")}


def another(value: object) -> object:
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case str():
            return f"{value}x"
        case bytes():
            return value[::-1] + b"x"
        case _:
            return "x"
