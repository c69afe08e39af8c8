"""Several nodes at once, on shared and separate scopes, while connections are killed at random."""

import json
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

import memlog.log
from memlog.decide import violations
from memlog.events import NoteWritten
from memlog.log import Log
from memlog.settings import Settings
from memlog.testing import tables_equal_fold
from projections.notes.fold import Fold

ROOT = Path(__file__).resolve().parent.parent.parent
NODES, THREADS, WRITES = (4, 4, 200) if os.environ.get("MEMLOG_HYPOTHESIS") == "soak" else (3, 2, 8)


@contextmanager
def killing(url: str, *, after_s: float) -> Iterator[list[int]]:
    """Kill backends of the nodes at random while the block runs; gives how many, in a list."""
    stop, killed = threading.Event(), [0]
    statement = (
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
        "WHERE application_name = 'node' AND random() < 0.25"
    )

    def kill() -> None:
        chance = random.Random(0)
        with closing(psycopg.connect(url, autocommit=True)) as connection:
            while not stop.wait(after_s * chance.uniform(0.2, 1.0)):
                row = connection.execute(statement).fetchone()
                killed[0] += row[0] if row else 0

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        stop.set()
        thread.join()


def run_nodes(url: str, directory: Path) -> list[list[Any]]:
    """Run all nodes to their end; return what they were told."""
    node_url = f"{url}&application_name=node"
    nodes = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "tests.postgres.node", node_url),
                *(str(directory / f"index{node}"), str(node), str(THREADS), str(WRITES)),
            ],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        for node in range(NODES)
    ]
    outputs = [node.communicate()[0] for node in nodes]
    assert [node.returncode for node in nodes] == [0] * NODES
    return [json.loads(line) for output in outputs for line in output.splitlines()]


@pytest.mark.parametrize("killed", [False, True])
def test_every_outcome_is_exact(postgres_url: str, tmp_path: Path, *, killed: bool) -> None:
    memlog.log.open(postgres_url).close()
    if killed:
        with killing(postgres_url, after_s=0.15) as count:
            told = run_nodes(postgres_url, tmp_path)
        assert count[0] > 0
    else:
        told = run_nodes(postgres_url, tmp_path)
        assert {kind for kind, *_ in told} == {"acked"}

    assert [line for line in told if line[0] == "amiss"] == []
    acked = {(scope, title): position for kind, scope, title, position in told if kind == "acked"}
    assert len(acked) == NODES * THREADS * WRITES
    with memlog.log.open(postgres_url) as log:
        stored = check_log(log)
        assert {place: stored[place] for place in acked} == acked
        refused = {(scope, title) for kind, scope, title, _ in told if kind == "refused"}
        assert refused & set(stored) == set()
        unknown = {(scope, title) for kind, scope, title, _ in told if kind == "unknown"}
        assert set(stored) == set(acked) | (unknown & set(stored))
    check_searches(postgres_url, tmp_path, list(acked))


def check_log(log: Log) -> dict[tuple[str, str], int]:
    """Check that the log is whole and legal; return where each title of each scope was written."""
    folds: dict[str, Fold] = {}
    stored: dict[tuple[str, str], int] = {}
    for position, event in enumerate(log.events(), start=1):
        fold = folds.setdefault(event.stream, Fold())
        assert (event.position, event.seq) == (position, fold.last_seq + 1)
        assert violations(fold, event.payload) == ()
        fold.add(event)
        if isinstance(event.payload, NoteWritten):
            assert (event.stream, event.payload.title) not in stored
            stored[event.stream, event.payload.title] = position
    assert tables_equal_fold(log)
    assert log.rebuild().differences == ()
    return stored


def check_searches(url: str, directory: Path, written: Sequence[tuple[str, str]]) -> None:
    """Check that each node's own index, caught up once, finds what the others wrote."""
    for node in range(NODES):
        settings = Settings(index_dir=str(directory / f"index{node}"))
        with memlog.log.open(url, settings=settings) as log:
            for scope, title in written[:: max(len(written) // 20, 1)]:
                memory = log.scope("owner", scope.partition("/")[2])
                found = memory.search(title, limit=1, include_superseded=True)
                assert [hit.title for hit in found] == [title]


def test_a_rebuild_goes_on_beside_writers_and_readers(postgres_url: str) -> None:
    with memlog.log.open(postgres_url) as log, memlog.log.open(postgres_url) as other:
        stop = threading.Event()

        def write() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                other.scope("global").write(title=f"note {number}", body="b")
                assert len(other.scope("global").notes(limit=1_000)) == number

        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(write)
            differences = [log.rebuild().differences for _ in range(4)]
            stop.set()
            writing.result()

        assert differences == [()] * 4
        assert tables_equal_fold(log)


def test_nodes_that_are_killed_leave_no_lock_behind(postgres_url: str) -> None:
    """A killed node's transaction ends with its connection."""
    memlog.log.open(postgres_url).close()
    code = (
        "import sys, memlog\n"
        "log = memlog.open(sys.argv[1])\n"
        "with log._store.transaction():\n"
        "    print('locked', flush=True); sys.stdin.read()\n"
    )
    node = subprocess.Popen(
        [sys.executable, "-c", code, postgres_url],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert node.stdout is not None
    assert node.stdout.readline() == b"locked\n"
    node.kill()
    node.communicate()

    with memlog.log.open(postgres_url, settings=Settings(lock_timeout_s=20)) as log:
        assert log.scope("global").write(title="Tea", body="b").position == 1
