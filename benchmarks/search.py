"""Search latency, freshness, build, cold start, memory and disk, engine by engine in turn.

    python -m benchmarks.search [--sizes 1000,10000,100000] [--queries 200] [--stock-max 10000]

Each query goes to every engine before the next one does, so that all meet the same weather. Answers
are ten hits with title and body; memlog's carry a snippet as well. `fts5` ranks and joins in one
statement, `fts5 tuned` ranks rowids first. An engine that is not installed is left out and named.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

import msgspec

from benchmarks import common
from benchmarks.common import DATA_SETS, ROOT, NoteText, Spread, progress, table
from benchmarks.search_engines import ENGINES, Engine, Memlog, Stored

_CHILD = "import sys; from benchmarks.search import answer_alone; answer_alone(*sys.argv[1:])"


SLOW_WRITES = {"tantivy", "bm25s", "whoosh"}  # 10 to 400 ms a commit: 20 of them, at 1,000 notes
_NEEDS = {"tantivy": "tantivy", "bm25s": "bm25s"}


class Row(msgspec.Struct):
    """What one engine did at one size; None where it was not asked."""

    engine: str
    notes: int
    build_per_s: float
    words: Spread
    common_word: Spread
    after_write: Spread | None
    write: Spread | None
    cold_ms: float
    memory_mb: float
    disk_mb: float


def answer_alone(name: str, path: str, query: str) -> None:
    """Answer in a process of its own, and print what the first answer and a hundred more cost."""
    started = time.perf_counter_ns()
    engine: Engine
    engine = Memlog(Path(path), Stored) if name == "memlog" else ENGINES[name](Path(path))
    found = engine.search(query)
    cold_ms = (time.perf_counter_ns() - started) / 1e6
    for word in query.split() * 25:
        engine.search(f"{word} {query}")
    print(json.dumps({"found": found, "cold_ms": cold_ms, "memory_mb": _peak_mb()}))


def _peak_mb() -> float:
    """Return this process's greatest resident size. getrusage would tell that of its parent."""
    status = Path("/proc/self/status").read_text("ascii")
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1024


def _alone(name: str, path: Path, query: str) -> dict[str, float]:
    command = [sys.executable, "-c", _CHILD, name, str(path), query]
    runs = [
        json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)
        for _ in range(3)
    ]
    assert all(run["found"] for run in runs), name
    return {key: min(run[key] for run in runs) for key in runs[0]}


def _timed(act: Callable[[], object]) -> int:
    start = time.perf_counter_ns()
    act()
    return time.perf_counter_ns() - start


def _spreads(engines: dict[str, Engine], queries: Sequence[str]) -> dict[str, Spread]:
    times: dict[str, list[int]] = {name: [] for name in engines}
    for query in queries:
        for name, engine in engines.items():
            times[name].append(_timed(partial(engine.search, query)))
    return {name: Spread.of(each) for name, each in times.items()}


def _queries(notes: Sequence[NoteText], count: int, seed: int) -> tuple[list[str], list[str]]:
    """Return queries of 2 to 5 words of one note each, and the commonest single words."""
    rng = random.Random(seed)
    frequency: dict[str, int] = {}
    for note in notes:
        for word in set(re.findall(r"\w+", note.body.lower())):
            frequency[word] = frequency.get(word, 0) + 1
    chosen = [re.findall(r"\w+", rng.choice(notes).body) for _ in range(count)]
    several = [" ".join(rng.sample(words, rng.randint(2, 5))) for words in chosen]
    return several, sorted(frequency, key=frequency.__getitem__, reverse=True)[:30]


def _fresh(
    engine: Engine, notes: Sequence[NoteText], queries: Sequence[str]
) -> tuple[Spread, Spread]:
    """Return what a search right after a write costs, and what that write does."""
    after, writes = [], []
    for note, query in zip(notes, queries, strict=False):
        writes.append(_timed(partial(engine.write, note)))
        after.append(_timed(partial(engine.search, query)))
    return Spread.of(after), Spread.of(writes)


def measure(names: Sequence[str], options: argparse.Namespace, size: int) -> list[Row]:
    """Measure the engines at one size."""
    supply = DATA_SETS["plain"](options.seed)
    notes = list(islice(supply, size))
    extra = list(islice(supply, options.queries))
    several, single = _queries(notes, options.queries, options.seed)
    with common.work_directory(options.dir) as directory:
        paths = {name: Path(directory) / name.replace(" ", "-") for name in names}
        engines, builds = {}, {}
        for name, path in paths.items():
            path.mkdir()
            engines[name] = ENGINES[name](path)
            progress(f"{size} notes: {name} builds")
            builds[name] = size / (_timed(partial(engines[name].build, notes)) / 1e9)
        for query in several[:10]:
            for engine in engines.values():
                engine.search(query)
        progress(f"{size} notes: searching")
        words, common_word = _spreads(engines, several), _spreads(engines, single * 3)
        alone = {name: _alone(name, path, several[0]) for name, path in paths.items()}
        disk = {name: _disk_mb(path) for name, path in paths.items()}
        rows = []
        for name, engine in engines.items():
            after, write = None, None
            if name not in SLOW_WRITES or size <= 1_000:
                few = several[: 20 if name in SLOW_WRITES else None]
                after, write = _fresh(engine, extra, few)
            rows.append(
                Row(
                    name,
                    size,
                    builds[name],
                    words[name],
                    common_word[name],
                    after,
                    write,
                    alone[name]["cold_ms"],
                    alone[name]["memory_mb"],
                    disk[name],
                )
            )
            engine.close()
        return rows


def _disk_mb(path: Path) -> float:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) / 1e6


SEARCH = ("ms, p50 / p95", "2-5 words", "common word", "after a write", "a write")
REST = ("", "build/s", "cold ms", "memory MB", "disk MB")


def _search_cells(row: Row) -> list[str]:
    spreads = (row.words, row.common_word, row.after_write, row.write)
    return [row.engine, *(str(spread or "-") for spread in spreads)]


def _rest_cells(row: Row) -> list[str]:
    numbers = (row.cold_ms, row.memory_mb, row.disk_mb)
    return [row.engine, f"{row.build_per_s:,.0f}", *(f"{number:,.0f}" for number in numbers)]


def main(given: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Compare search engines over the same notes.")
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--stock-max", type=int, default=10_000, help="largest size for whoosh")
    parser.add_argument("--engines", default=",".join(ENGINES))
    options = common.arguments(parser, given)
    rows: list[Row] = []
    for size in map(int, options.sizes.split(",")):
        names = [
            name
            for name in options.engines.split(",")
            if (name not in _NEEDS or importlib.util.find_spec(_NEEDS[name]))
            and (name != "whoosh" or size <= options.stock_max)
        ]
        for name in set(options.engines.split(",")) - set(names):
            progress(f"{size} notes: without {name}")
        of_size = measure(names, options, size)
        rows += of_size
        if not options.json:
            print(table(f"{size:,} notes", SEARCH, map(_search_cells, of_size)), end="\n\n")
            print(table(f"{size:,} notes", REST, map(_rest_cells, of_size)), end="\n\n")
    if options.json:
        common.print_json(rows)


if __name__ == "__main__":
    main()
