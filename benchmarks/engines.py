"""Both engines side by side: write, read, section and search, with 1 and 8 clients.

    python -m benchmarks.engines --postgres postgresql://… [--notes 2000] [--calls 200]

The same notes go into an SQLite file and into an empty schema of a PostgreSQL server. A client is a
thread with a handle of its own, so eight of them are what eight processes on one machine would be,
but for Python's own lock, which they share: throughput with 8 clients is a lower bound. Each
contender does one task at a time; the engines alternate.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from threading import Barrier
from typing import NamedTuple

import msgspec

import memlog
from benchmarks import common
from benchmarks.common import NoteText, Spread
from memlog.memory import Memory
from memlog.settings import Settings

TASKS = ("write", "read", "section", "search")
CLIENTS = (1, 8)
_PATIENT_S = 60.0
_BATCH_NOTES = 200


class Contender(NamedTuple):
    """A store on one engine."""

    engine: str
    target: str
    settings: Settings


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One task on one engine with some clients.

    Attributes:
        engine: `sqlite` or `postgres`.
        task: what each call did.
        clients: how many called at the same time.
        latency: of one call.
        calls_per_s: of all clients together.
    """

    engine: str
    task: str
    clients: int
    latency: Spread
    calls_per_s: float


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--postgres", required=True, help="URL of an empty schema")
    parser.add_argument("--notes", type=int, default=2_000, help="in the scope at the beginning")
    parser.add_argument("--calls", type=int, default=200, help="of each task, by each client")
    asked = common.arguments(parser, given)
    with common.work_directory(asked.dir) as name:
        directory = Path(name)
        targets = {"sqlite": str(directory / "notes.db"), "postgres": asked.postgres}
        rows = list(measure(targets, directory, asked.notes, asked.calls, seed=asked.seed))
    if asked.json:
        common.print_json(rows)
        return
    print(shown(rows))


def measure(
    targets: dict[str, str], directory: Path, notes: int, calls: int, *, seed: int
) -> Iterator[Row]:
    """Fill the stores, then yield each row."""
    texts = common.DATA_SETS["plain"](seed)
    filling = list(islice(texts, notes))
    for engine, target in targets.items():
        common.progress(f"{engine}: {notes} notes")
        with memlog.open(target, settings=_settings(directory, engine)) as log:
            for batch in common.batches(filling, _BATCH_NOTES):
                log.scope("global").write_many([_item(text) for text in batch])
    for clients in CLIENTS:
        for task in TASKS:
            fresh = {engine: list(islice(texts, clients * calls)) for engine in targets}
            for engine, target in targets.items():
                common.progress(f"{engine}: {task}, {clients} clients")
                contender = Contender(engine, target, _settings(directory, engine))
                yield _measured(contender, task, clients, fresh[engine], filling)


def _settings(directory: Path, engine: str) -> Settings:
    return Settings(index_dir=str(directory / f"index-{engine}"), lock_timeout_s=_PATIENT_S)


def _item(text: NoteText) -> dict[str, object]:
    return {"title": text.title, "body": text.body, "topics": list(text.topics)}


def _measured(
    contender: Contender,
    task: str,
    clients: int,
    fresh: Sequence[NoteText],
    filling: Sequence[NoteText],
) -> Row:
    calls = len(fresh) // clients
    start_together = Barrier(clients)

    def client(number: int) -> list[tuple[int, int]]:
        with memlog.open(contender.target, settings=contender.settings) as log:
            memory = log.scope("global")
            mine = fresh[number * calls : (number + 1) * calls]
            call = _call(task, memory, mine, filling)
            if task != "write":
                call(0)  # Connections, caches and the index are there by then.
            start_together.wait()
            return [_timed(call, index) for index in range(calls)]

    with ThreadPoolExecutor(clients) as pool:
        timed = [pair for times in pool.map(client, range(clients)) for pair in times]
    wall_ns = max(end for _, end in timed) - min(start for start, _ in timed)
    return Row(
        engine=contender.engine,
        task=task,
        clients=clients,
        latency=Spread.of([end - start for start, end in timed]),
        calls_per_s=len(timed) / wall_ns * 1e9,
    )


def _timed(call: Callable[[int], object], index: int) -> tuple[int, int]:
    start = time.perf_counter_ns()
    call(index)
    return start, time.perf_counter_ns()


def _call(
    task: str, memory: Memory, fresh: Sequence[NoteText], filling: Sequence[NoteText]
) -> Callable[[int], object]:
    slugs = [note.slug for note in memory.notes(limit=len(filling))]
    calls: dict[str, Callable[[int], object]] = {
        "write": lambda index: memory.write(
            title=fresh[index].title, body=fresh[index].body, topics=list(fresh[index].topics)
        ),
        "read": lambda index: memory.read(slugs[index % len(slugs)]),
        "section": lambda _: memory.section(),
        "search": lambda index: memory.search(filling[index % len(filling)].title),
    }
    return calls[task]


def shown(rows: Sequence[Row]) -> str:
    """Return the table: a line for each task and number of clients, the engines side by side."""
    found = {(row.engine, row.task, row.clients): row for row in rows}
    lines = []
    for clients in CLIENTS:
        for task in TASKS:
            pair = [found[engine, task, clients] for engine in ("sqlite", "postgres")]
            cells = [cell for row in pair for cell in (str(row.latency), f"{row.calls_per_s:,.0f}")]
            lines.append((task, str(clients), *cells))
    header = ("task", "clients", "sqlite ms", "calls/s", "postgres ms", "calls/s")
    return common.table("p50 / p95 of one call, and calls a second of all clients", header, lines)


if __name__ == "__main__":
    main()
