"""The section: a warm call and a cold rendering, against a dict look-up and an SQLite point read.

    python -m benchmarks.section [--notes 5000] [--calls 1000] [--renders 15] [--json]

All four hand out the same text, call by call in turn; all but the dict read it from the same file.
Warm is `Memory.section()` while no note was touched. Cold is the same call with the stored text
dropped before it, so it reads the notes, renders, stores and records: one durable commit.
"""

from __future__ import annotations

import argparse
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path

import msgspec

import memlog
from benchmarks import common
from benchmarks.common import DATA_SETS, Spread, progress, table
from memlog.memory import Memory
from memlog.store.location import file_system
from projections.digest import tables
from projections.digest.render import render
from projections.notes.reader import counters, live_set

_LOAD_BATCH_NOTES = 1_000
_PINNED_EVERY = 250

Call = Callable[[], object]


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """All that one run measured.

    Attributes:
        notes: how many notes the scope holds.
        text_bytes: size of the section.
        warm: a dict look-up, a point read, and the call.
        cold: the whole call, reading the notes and rendering alone, and rendering alone.
        cold_cpu_ms: median processor time of each of those; disturbed less by other work.
        warm_to_point_read: the warm call in units of the point read.
    """

    notes: int
    seed: int
    calls: int
    renders: int
    file_system: str | None
    sqlite: str
    text_bytes: int
    warm: dict[str, Spread]
    cold: dict[str, Spread]
    cold_cpu_ms: dict[str, float]
    warm_to_point_read: Spread


# --- Measuring


def alternate(
    contenders: Mapping[str, Call], *, calls: int, before: Call = lambda: None
) -> tuple[dict[str, Spread], dict[str, float]]:
    """Call each contender in turn, another one first each time; `before` is not measured.

    Returns:
        The spread of the times and the median of the processor times, by contender.
    """
    wall_ns: dict[str, list[int]] = {name: [] for name in contenders}
    cpu_ns: dict[str, list[int]] = {name: [] for name in contenders}
    order = list(contenders)
    for _ in range(calls):
        for name in order:
            call = contenders[name]
            before()
            cpu, wall = time.process_time_ns(), time.perf_counter_ns()
            call()
            wall_ns[name].append(time.perf_counter_ns() - wall)
            cpu_ns[name].append(time.process_time_ns() - cpu)
        order = [*order[1:], order[0]]
    spreads = {name: Spread.of(times) for name, times in wall_ns.items()}
    return spreads, {name: Spread.of(times).p50_ms for name, times in cpu_ns.items()}


def fill(memory: Memory, *, notes: int, seed: int) -> None:
    """Write the notes, one of 250 pinned."""
    texts = islice(DATA_SETS["plain"](seed), notes)
    items = [
        {**text._asdict(), "pinned": number % _PINNED_EVERY == 0}
        for number, text in enumerate(texts)
    ]
    for batch in common.batches(items, _LOAD_BATCH_NOTES):
        memory.write_many(batch)


def warm_calls(memory: Memory, db: sqlite3.Connection) -> dict[str, Call]:
    """Return the warm call and its peers, which give the same text.

    The peer's table is keyed by one text; `WITHOUT ROWID` would be no faster for a text this long.
    """
    text, _ = memory.section()
    by_stream = {"owner/bench": text}
    statement = "SELECT text FROM peer WHERE stream = ?"
    db.execute("CREATE TABLE peer (stream TEXT PRIMARY KEY, text TEXT NOT NULL)")
    db.execute("INSERT INTO peer VALUES (?, ?)", ("owner/bench", text))
    calls: dict[str, Call] = {
        "dict": lambda: by_stream["owner/bench"],
        "point read": lambda: db.execute(statement, ("owner/bench",)).fetchone()[0],
        "section": lambda: memory.section().text,
    }
    assert {call() for call in calls.values()} == {text}
    return calls


def cold_calls(log: memlog.Log, memory: Memory) -> dict[str, Call]:
    """Return the cold call and its parts; the first needs the stored text dropped before it."""
    store, stream = log._store, memory.scope.stream  # noqa: SLF001  # the parts have no public way
    budget_tokens = log.settings.index_token_budget
    body_bytes = log.settings.pinned_body_bytes

    def read_and_render() -> str:
        with store.reading() as cursor:
            names = live_set(cursor)
            scope = counters(cursor, names, stream)
            headlines, pinned = tables.newest_notes(cursor, names, scope)
            return render(headlines, pinned, scope.live, budget_tokens, body_bytes)

    with store.reading() as cursor:
        names = live_set(cursor)
        scope = counters(cursor, names, stream)
        headlines, pinned = tables.newest_notes(cursor, names, scope)
    calls: dict[str, Call] = {
        "section": lambda: memory.section().text,
        "read + render": read_and_render,
        "render": lambda: render(headlines, pinned, scope.live, budget_tokens, body_bytes),
    }
    assert len({call() for call in calls.values()}) == 1
    return calls


def run(directory: Path, *, notes: int, calls: int, renders: int, seed: int) -> Result:
    """Fill one store, and measure warm and cold calls."""
    path = directory / "notes.db"
    with memlog.open(path) as log, closing(sqlite3.connect(directory / "peer.db")) as db:
        db.execute("PRAGMA journal_mode=WAL")
        memory = log.scope("owner", "bench")
        fill(memory, notes=notes, seed=seed)
        progress(f"{notes:,} notes written")

        def forget() -> None:
            with log._store.transaction() as transaction:  # noqa: SLF001  # as in `cold_calls`
                transaction.cursor.execute("DELETE FROM digests")

        cold_peers = cold_calls(log, memory)
        alternate(cold_peers, calls=2, before=forget)  # Warm the page cache, unmeasured.
        cold, cold_cpu_ms = alternate(cold_peers, calls=renders, before=forget)
        warm_peers = warm_calls(memory, db)
        alternate(warm_peers, calls=max(2, calls // 10))
        warm, _ = alternate(warm_peers, calls=calls)
        return Result(
            notes=notes,
            seed=seed,
            calls=calls,
            renders=renders,
            file_system=file_system(directory),
            sqlite=sqlite3.sqlite_version,
            text_bytes=len(memory.section().text.encode()),
            warm=warm,
            cold=cold,
            cold_cpu_ms=cold_cpu_ms,
            warm_to_point_read=warm["section"].ratio_to(warm["point read"]),
        )


# --- Reporting


def report(result: Result) -> str:
    """Return the run's tables."""
    warm = table(
        f"Warm, µs: p50 / p95 of {result.calls:,} calls each, alternating",
        ("", "p50 / p95", "x point read"),
        [
            (name, _micro(spread), str(spread.ratio_to(result.warm["point read"])))
            for name, spread in result.warm.items()
        ],
    )
    cold = table(
        f"Cold at {result.notes:,} notes, ms: p50 / p95 of {result.renders:,} calls each",
        ("", "p50 / p95", "processor time"),
        [
            (name, str(spread), f"{result.cold_cpu_ms[name]:.1f}")
            for name, spread in result.cold.items()
        ],
    )
    return f"{warm}\n\n{cold}\n\nThe section has {result.text_bytes:,} bytes."


def _micro(spread: Spread) -> str:
    return f"{spread.p50_ms * 1e3:.2f} / {spread.p95_ms * 1e3:.2f}"


def main(given: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.section", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--notes", type=int, default=5_000, help="in the scope")
    parser.add_argument("--calls", type=int, default=1_000, help="of the warm paths, each")
    parser.add_argument("--renders", type=int, default=15, help="of the cold paths, each")
    chosen = common.arguments(parser, given)
    with common.work_directory(chosen.dir) as directory:
        result = run(
            Path(directory),
            notes=chosen.notes,
            calls=chosen.calls,
            renders=chosen.renders,
            seed=chosen.seed,
        )
    if chosen.json:
        common.print_json(result)
    else:
        print(report(result))


if __name__ == "__main__":
    main()
