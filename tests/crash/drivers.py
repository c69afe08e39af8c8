"""What the crash tests run in an interpreter of its own, whose forked children may be killed.

`python drivers.py NAME ARGUMENT...` prints a JSON report. No child has a handle from before its
fork, and no driver a thread.
"""

import json
import multiprocessing
import os
import random
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import memlog.log
from memlog.errors import SupersedeCycleError
from memlog.memory import Memory
from memlog.settings import Settings
from memlog.store.lockfile import LockFile
from tests.crash.comparison import check_store

FORK = multiprocessing.get_context("fork")
PATIENT = Settings(lock_timeout_s=120)  # A test machine may stop a process for seconds.
STUCK_S = 300


def main() -> None:
    name, *arguments = sys.argv[1:]
    drivers: dict[str, Callable[..., dict[str, Any]]] = {
        "crowd": crowd,
        "kill": kill,
        "cycle": cycle,
        "rebuild": rebuild,
    }
    report = drivers[name](*arguments)
    print(json.dumps(report))  # noqa: T201  # the report


def run_all(works: list[Callable[[], object]]) -> None:
    """Run each in a process of its own; all must end well."""
    processes = [FORK.Process(target=work) for work in works]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * len(processes)


def lines(path: Path) -> list[list[str]]:
    """Return the whole lines of a file, split."""
    text = path.read_text() if path.exists() else ""
    return [line.split() for line in text.splitlines(keepends=True) if line.endswith("\n")]


@contextmanager
def journal(path: Path) -> Iterator[Callable[..., None]]:
    """Give a function that adds a line at once, so that a killed process loses none."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def add(*words: object) -> None:
        os.write(file, (" ".join(map(str, words)) + "\n").encode())

    try:
        yield add
    finally:
        os.close(file)


# --- Many writers


def crowd(directory: str, scopes: str, writers: str, writes: str) -> dict[str, Any]:
    """Let processes write while one makes checkpoints and one reads from outside."""
    root, path = Path(directory), Path(directory) / "notes.db"
    memlog.open(path).close()
    done = root / "done"
    beside = [FORK.Process(target=work, args=(path, done)) for work in (checkpoints, outsider)]
    for process in beside:
        process.start()
    run_all(
        [
            lambda number=number: crowd_writer(  # type: ignore[misc]
                path, number, stream=number % int(scopes), writes=int(writes)
            )
            for number in range(int(writers))
        ]
    )
    done.touch()
    for process in beside:
        process.join()
    assert [process.exitcode for process in beside] == [0, 0]
    stored = check_store(path)
    acknowledged = {
        request_id: int(position)
        for number in range(int(writers))
        for request_id, position in lines(root / f"acknowledged-{number}")
    }
    assert acknowledged == stored
    beside_lines = [len(lines(root / name)) for name in ("checkpoints", "outsider")]
    return {"acknowledged": len(acknowledged), "beside": beside_lines}


def crowd_writer(path: Path, number: int, *, stream: int, writes: int) -> None:
    with (
        memlog.open(path, settings=PATIENT) as log,
        journal(path.parent / f"acknowledged-{number}") as acknowledge,
    ):
        memory = log.scope("owner", f"agent-{stream}")
        for index in range(writes):
            request_id = f"{number}-{index}"
            written = memory.write(
                title=f"Note {index} of {number}",
                body=f"body {number} {index}\n" * (index % 40 + 1),
                request_id=request_id,
            )
            acknowledge(request_id, written.position)


def checkpoints(path: Path, done: Path) -> None:
    """Empty the -wal again and again, under the lock file, as its rules ask."""
    lock = LockFile(path.with_name(f"{path.name}-lock"))
    with (
        closing(sqlite3.connect(path, isolation_level=None, timeout=120)) as connection,
        journal(path.parent / "checkpoints") as note,
    ):
        for kind in ("PASSIVE", "FULL", "RESTART", "TRUNCATE") * 10**6:
            if done.exists():
                return
            assert lock.lock(120)
            try:
                note(kind, *connection.execute(f"PRAGMA wal_checkpoint({kind})").fetchone())
            finally:
                lock.unlock()
            time.sleep(0.005)  # Let the writers have the lock.


def outsider(path: Path, done: Path) -> None:
    """Read as a plain client: what it sees is always a whole number of writes."""
    with (
        closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=120)) as connection,
        journal(path.parent / "outsider") as note,
    ):
        while not done.exists():
            head, count, highest, notes = connection.execute(
                "SELECT position, (SELECT count(*) FROM stored_events), "
                "(SELECT coalesce(max(rowid), 0) FROM stored_events), "
                "(SELECT count(*) FROM notes_a) FROM log"
            ).fetchone()
            assert head == count == highest == notes
            note(head)
            time.sleep(0.005)


# --- Killed writers


def kill(directory: str, rounds: str, seed: str) -> dict[str, Any]:
    """Kill two writers at random moments, round after round, in one growing store."""
    root, path, random_ = Path(directory), Path(directory) / "notes.db", random.Random(seed)
    attempted, acknowledged, hit = set[str](), dict[str, int](), 0
    for round_ in range(int(rounds)):
        kill_round(path, round_, random_)
        tries = [words for who in range(2) for words in lines(root / f"try-{round_}-{who}")]
        acks = [words for who in range(2) for words in lines(root / f"ack-{round_}-{who}")]
        attempted.update(request_id for words in tries for request_id in words)
        acknowledged.update({name: int(position) for name, position in acks})
        hit += sum(map(len, tries)) > len(acks)
        memlog.open(path).close()  # The first kill may come before the store has a table.
        stored = check_store(path)
        assert set(stored) <= attempted
        assert {name: stored.get(name) for name in acknowledged} == acknowledged
        for words in tries:
            assert len({name in stored for name in words}) == 1, "all of a write_many, or none"
    return {"acknowledged": len(acknowledged), "attempted": len(attempted), "hit": hit}


def kill_round(path: Path, round_: int, random_: random.Random) -> None:
    seeds = [random_.random() for _ in range(2)]
    processes = [
        FORK.Process(target=killed_writer, args=(path, round_, who, seeds[who])) for who in range(2)
    ]
    for process in processes:
        process.start()
    # The first rounds are killed while they open or make the store.
    enough = random_.randrange(60) if round_ else 0
    deadline = time.monotonic() + STUCK_S
    while len(lines(path.parent / f"try-{round_}-0")) < enough:
        assert all(process.is_alive() for process in processes)
        assert time.monotonic() < deadline, "a writer is stuck"
        time.sleep(0.001)
    for process in random_.sample(processes, 2):
        until = time.perf_counter() + random_.uniform(0, 0.004)
        while time.perf_counter() < until:
            pass
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        assert process.exitcode == -signal.SIGKILL


def killed_writer(path: Path, round_: int, who: int, seed: float) -> None:
    random_ = random.Random(seed)
    with (
        memlog.open(path, settings=PATIENT) as log,
        journal(path.parent / f"try-{round_}-{who}") as attempt,
        journal(path.parent / f"ack-{round_}-{who}") as acknowledge,
    ):
        memory = log.scope("owner", f"agent-{random_.randrange(2)}")
        for index in range(10**6):
            names = [f"{round_}-{who}-{index}-{item}" for item in range(random_.choice([1, 1, 3]))]
            attempt(*names)
            for name, position in zip(names, one_request(memory, names, random_), strict=True):
                acknowledge(name, position)


def one_request(memory: Memory, names: list[str], random_: random.Random) -> list[int]:
    """Write anew, rewrite with a pin or link; return the position of each name's last event."""
    if len(names) > 1:
        written = memory.write_many(
            [{"title": name, "body": name * 200, "request_id": name} for name in names]
        )
        return [each.position for each in written]
    name = names[0]
    slugs = [note.slug for note in memory.notes(limit=20, live_only=True)]
    if len(slugs) < 2 or random_.random() < 0.5:
        return [memory.write(title=name, body=name * 99, request_id=name).position]
    newer, older = random_.sample(slugs, 2)
    if random_.random() < 0.5:
        rewritten = memory.write(title=name, body=name, slug=newer, pinned=True, request_id=name)
        return [rewritten.position]
    return [memory.link(newer, older, "related", label=name, request_id=name).position]


# --- Cycles


def cycle(directory: str, rounds: str) -> dict[str, Any]:
    """Let four processes close a ring of `supersedes` at once, each with one link of it."""
    root, path, count = Path(directory), Path(directory) / "notes.db", int(rounds)
    with memlog.open(path) as log:
        memory = log.scope("owner", "alice")
        for round_ in range(count):
            memory.write_many(
                [{"title": "Tea", "body": "b", "slug": f"tea.{round_}.{who}"} for who in range(4)]
            )
    barrier = FORK.Barrier(4)
    run_all(
        [
            lambda who=who: ring_linker(path, who, count, barrier)  # type: ignore[misc]
            for who in range(4)
        ]
    )
    outcomes = [lines(root / f"links-{who}") for who in range(4)]
    refused = [[words[round_][0] for words in outcomes].count("no") for round_ in range(count)]
    check_store(path)
    with memlog.open(path) as log:
        edges = [
            (note.superseded_by is not None)
            for note in log.scope("owner", "alice").notes(limit=10**6)
        ]
    losers = {[words[round_][0] for words in outcomes].index("no") for round_ in range(count)}
    return {"refused": refused, "edges": sum(edges), "losers": len(losers)}


def ring_linker(path: Path, who: int, rounds: int, barrier: Any) -> None:  # noqa: ANN401
    with (
        memlog.open(path, settings=PATIENT) as log,
        journal(path.parent / f"links-{who}") as note,
    ):
        memory = log.scope("owner", "alice")
        for round_ in range(rounds):
            barrier.wait()
            try:
                memory.link(f"tea.{round_}.{who}", f"tea.{round_}.{(who + 1) % 4}", "supersedes")
            except SupersedeCycleError:
                note("no")
            else:
                note("yes")


# --- A killed rebuild


def rebuild(directory: str) -> dict[str, Any]:
    """Kill a rebuild after each of its batches and inside its last transaction."""
    path = Path(directory) / "notes.db"
    with memlog.open(path) as log:
        memory = log.scope("owner", "alice")
        for start in range(0, 1_100, 100):
            memory.write_many(
                [{"title": f"Note {start + index}", "body": "b"} for index in range(100)]
            )
    killed = 0
    for moment in ("first batch", "second batch", "third batch", "comparison"):
        process = FORK.Process(target=killed_rebuild, args=(path, moment))
        process.start()
        process.join()
        killed += process.exitcode == -signal.SIGKILL
        check_store(path)
        with memlog.open(path) as log:
            log.scope("owner", "alice").write(title=f"After the {moment}", body="b")
    with memlog.open(path) as log:
        rebuilt = log.rebuild()
    check_store(path)
    return {"killed": killed, "differences": rebuilt.differences, "events": rebuilt.events}


def killed_rebuild(path: Path, moment: str) -> None:
    from projections.notes import comparison

    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def differences(*_: object, **__: object) -> tuple[str, ...]:
        die()
        return ()

    batches = iter(("first batch", "second batch", "third batch"))

    def progress(*_: object) -> None:
        if next(batches) == moment:
            die()

    if moment == "comparison":
        vars(comparison)["differences"] = differences
    with memlog.open(path) as log:
        log.rebuild(progress=progress)


if __name__ == "__main__":
    main()
