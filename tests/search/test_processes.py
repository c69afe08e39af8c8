"""Several processes and threads use one index at once, and die in the middle of a commit."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from projections.search import Weights, WhooshBackend
from projections.search.directory import private_path
from projections.search.segments import write_lock
from tests.search.notebook import START, Notebook
from tests.search.reference import ReferenceBackend

ROOT = Path(__file__).resolve().parent.parent.parent

CHILD = """
import sys
from pathlib import Path
from projections.search import Weights, WhooshBackend
from tests.search.notebook import START, Notebook
backend = WhooshBackend(Path(sys.argv[1]), idle_s=3600.0)
notes = Notebook()
for number in range(int(sys.argv[2])):
    notes.write(f"n-{number}", body=f"tea number {number} " + "kettle " * (number % 5))
    if number % 20 == 19:
        backend.commit(notes)
        hits = backend.search(notes, f"tea {number}", now=START, limit=5, weights=Weights())
        assert hits[0].slug == f"n-{number}", hits
        print(number, flush=True)
backend.close()
"""


def numbered(count: int) -> Notebook:
    notes = Notebook()
    for number in range(count):
        notes.write(f"n-{number}", body=f"tea number {number} " + "kettle " * (number % 5))
    return notes


def start(index_dir: Path, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", CHILD, str(index_dir), str(count)],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def check(index_dir: Path, count: int) -> None:
    notes = numbered(count)
    backend = WhooshBackend(index_dir, idle_s=3_600.0)
    for query in ("tea kettle 17", "number"):
        found, expected = (
            [hit.slug for hit in each.search(notes, query, now=START, limit=50, weights=Weights())]
            for each in (backend, ReferenceBackend())
        )
        assert found == expected
    backend.close()


def test_two_processes_index_one_scope_at_once(tmp_path: Path) -> None:
    children = [start(tmp_path / "index", count) for count in (200, 160, 200)]
    for child in children:
        _, errors = child.communicate(timeout=120)
        assert child.returncode == 0, errors

    check(tmp_path / "index", 200)


@pytest.mark.parametrize("after", [1, 2, 3, 4, 5])
def test_a_process_killed_while_it_commits_leaves_a_usable_index(
    tmp_path: Path, after: int
) -> None:
    child = start(tmp_path / "index", 10_000)
    assert child.stdout is not None
    for _ in range(after):
        child.stdout.readline()
    child.send_signal(signal.SIGKILL)
    child.communicate(timeout=60)

    check(tmp_path / "index", 120)


STEPS = [
    "projections.search.segments._Writer._commit_toc",
    "projections.search.segments._DirectoryStorage.rename_file",
    "projections.search.stored.signed",
    "projections.search.stored.install",
    "projections.search.stored.sweep",
]


@pytest.mark.parametrize("step", STEPS)
def test_death_before_any_step_of_a_commit_leaves_the_last_one_readable(
    tmp_path: Path, step: str, caplog: pytest.LogCaptureFixture
) -> None:
    index_dir = tmp_path / "index"
    notes = numbered(80)
    backend = WhooshBackend(index_dir, idle_s=3_600.0)
    backend.commit(notes)
    notes.write("new", body="kettle 17")
    child = os.fork()
    if child == 0:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(step, lambda *_args, **_kwargs: os._exit(7))
            backend.commit(notes)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7

    again = WhooshBackend(index_dir, idle_s=3_600.0)
    notes.calls.clear()
    hits = again.search(notes, "tea kettle 17", now=START, weights=Weights())
    assert "new" in [hit.slug for hit in hits]
    assert "all" not in notes.calls
    assert not caplog.records
    again.close()
    backend.close()


def test_a_process_that_cannot_have_the_lock_still_answers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    notes = numbered(80)
    first = WhooshBackend(tmp_path / "index", idle_s=3_600.0)
    first.commit(notes)
    path = private_path(tmp_path / "index", log_id=notes.log_id, stream=notes.stream)
    with write_lock(path) as held:
        assert held
        second = WhooshBackend(tmp_path / "index", idle_s=3_600.0)
        notes.write("new", body="kettle 17")
        second.commit(notes)
        hits = second.search(notes, "tea kettle 17", now=START, weights=Weights())
        assert "new" in [hit.slug for hit in hits]
        second.close()
    assert not caplog.records
    first.close()


def test_a_process_takes_over_what_another_has_stored(tmp_path: Path) -> None:
    notes = numbered(80)
    slow, fast = (WhooshBackend(tmp_path / "index", idle_s=3_600.0) for _ in range(2))
    slow.commit(notes)
    for number in range(5):
        notes.write(f"a-{number}", body="tea kettle 17")
        fast.commit(notes)
        notes.write(f"b-{number}", body="tea kettle 17")
        slow.commit(notes)
        for backend in (slow, fast):
            found = backend.search(notes, "kettle 17", now=START, limit=99, weights=Weights())
            expected = ReferenceBackend().search(
                notes, "kettle 17", now=START, limit=99, weights=Weights()
            )
            assert [hit.slug for hit in found] == [hit.slug for hit in expected]
    slow.close()
    fast.close()


def test_threads_search_one_scope_while_it_is_written_and_stored(tmp_path: Path) -> None:
    notes, failures = numbered(300), list[BaseException]()
    backend = WhooshBackend(tmp_path / "index", idle_s=0.0)

    def search(turn: int) -> None:
        try:
            for number in range(40):
                with lock:
                    notes.write(f"t-{turn}-{number}", body=f"tea of {'abcd'[turn] * 6} {number}")
                    hits = backend.search(
                        notes, "abcd"[turn] * 6, now=START, limit=99, weights=Weights()
                    )
                assert len(hits) == number + 1
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    lock = threading.Lock()
    threads = [threading.Thread(target=search, args=(turn,)) for turn in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    backend.close()
    assert not failures

    again = WhooshBackend(tmp_path / "index", idle_s=3_600.0)
    hits = again.search(notes, "cccccc", now=START, limit=99, weights=Weights())
    assert len(hits) == 40
    again.close()


def test_more_scopes_than_may_stay_open_are_all_searched(tmp_path: Path) -> None:
    backend = WhooshBackend(tmp_path / "index", idle_s=3_600.0, scopes_max=3)
    scopes = [Notebook(f"owner/{number}") for number in range(8)]
    for number, notes in enumerate(scopes):
        notes.write("only", body=f"tea of {number}")
    for _ in range(2):
        for notes in scopes:
            assert len(backend.search(notes, "tea", now=START, weights=Weights())) == 1
    for notes in scopes[:5]:
        notes.calls.clear()
    assert len(backend.search(scopes[0], "tea", now=START, weights=Weights())) == 1
    assert scopes[0].calls == ["head", "event_id"] or "all" not in scopes[0].calls
    backend.close()
