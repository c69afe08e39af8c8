"""Durable write latency: a bare SQLite commit, an FTS5 notebook and memlog, call by call in turn.

    python -m benchmarks.write [--sizes 1000,10000,100000] [--calls 500] [--json]

All three keep the same notes in files of the same page size, in WAL mode with `synchronous=FULL`,
and each call returns after its commit. `benchmarks/README.md` says why that is fair.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from itertools import islice
from pathlib import Path
from typing import Protocol

import msgspec

import memlog
from benchmarks import common
from benchmarks.common import DATA_SETS, ROOT, NoteText, Spread, progress, table
from memlog.store.location import file_system

_LOAD_BATCH_NOTES = 1_000
_PAGES_CALLS = 50
_WAL_HEADER_BYTES, _FRAME_HEADER_BYTES = 32, 24  # sqlite.org/fileformat2.html, 4.1 and 4.2
_CHILD = "import sys; from benchmarks.write import write_alone; write_alone(*sys.argv[1:])"


class Contender(Protocol):
    """A durable store of notes under test."""

    def load(self, notes: Sequence[NoteText]) -> None:
        """Store many notes in one transaction."""

    def write(self, note: NoteText) -> None:
        """Store one note durably."""

    def count(self) -> int:
        """Return how many notes it keeps."""

    def close(self) -> None:
        """Close the store."""


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=FULL")
    return db


def _count(db: sqlite3.Connection) -> int:
    count: int = db.execute("SELECT count(*) FROM notes").fetchone()[0]
    return count


class Bare:
    """The floor: one row in one table, and a commit."""

    def __init__(self, path: Path) -> None:
        self._db = _connect(path)
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, title, body, topics)"
        )

    def load(self, notes: Sequence[NoteText]) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        for note in notes:
            self._insert(note)
        self._db.execute("COMMIT")

    def write(self, note: NoteText) -> None:
        self.load((note,))

    def _insert(self, note: NoteText) -> None:
        self._db.execute(
            "INSERT INTO notes (title, body, topics) VALUES (?, ?, ?)",
            (note.title, note.body, " ".join(note.topics)),
        )

    def count(self) -> int:
        return _count(self._db)

    def close(self) -> None:
        self._db.close()


class FTS5:
    """What a good engineer would write in 50 lines: unique slugs, porter stems, no text twice."""

    def __init__(self, path: Path) -> None:
        self._db = _connect(path)
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, slug TEXT NOT NULL UNIQUE, "
            "title TEXT NOT NULL, body TEXT NOT NULL, topics TEXT NOT NULL, "
            "written_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP)"
        )
        self._db.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS notes_fts USING fts5 "
            "(title, body, topics, content='notes', content_rowid='id', tokenize='porter')"
        )

    def load(self, notes: Sequence[NoteText]) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        for note in notes:
            self._insert(note)
        self._db.execute("COMMIT")

    def write(self, note: NoteText) -> None:
        self.load((note,))

    def _insert(self, note: NoteText) -> None:
        text = (note.title, note.body, " ".join(note.topics))
        stem = "-".join(re.findall(r"[a-z0-9]+", note.title.lower()))
        slug, number = stem, 1
        while self._db.execute("SELECT 1 FROM notes WHERE slug = ?", (slug,)).fetchone():
            number += 1
            slug = f"{stem}-{number}"
        row_id = self._db.execute(
            "INSERT INTO notes (slug, title, body, topics) VALUES (?, ?, ?, ?)", (slug, *text)
        ).lastrowid
        self._db.execute(
            "INSERT INTO notes_fts (rowid, title, body, topics) VALUES (?, ?, ?, ?)",
            (row_id, *text),
        )

    def count(self) -> int:
        return _count(self._db)

    def search(self, query: str) -> list[str]:
        """Return the slugs of matching notes, in the order of their writing."""
        found = self._db.execute(
            "SELECT slug FROM notes WHERE id IN (SELECT rowid FROM notes_fts WHERE notes_fts "
            "MATCH ?) ORDER BY id",
            (query,),
        )
        return [slug for (slug,) in found]

    def close(self) -> None:
        self._db.close()


class Memlog:
    """The log itself, through its public face."""

    def __init__(self, path: Path) -> None:
        self._log = memlog.open(path)
        self._memory = self._log.scope("owner", "bench")

    def load(self, notes: Sequence[NoteText]) -> None:
        self._memory.write_many([note._asdict() for note in notes])

    def write(self, note: NoteText) -> None:
        self._memory.write(title=note.title, body=note.body, topics=note.topics)

    def count(self) -> int:
        return sum(each.notes for each in self._log.scopes())

    def close(self) -> None:
        self._log.close()


CONTENDERS: dict[str, type[Bare | FTS5 | Memlog]] = {"bare": Bare, "fts5": FTS5, "memlog": Memlog}


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One data set at one size.

    Attributes:
        data: name of the data set.
        notes: how many notes were there before.
        times: by contender.
        cpu_ms: median processor time a write, by contender; disturbed less by other work.
        pages: pages written to the write-ahead log a commit, by contender.
        fsyncs: calls of fsync and fdatasync a write, checkpoints included; None without strace.
    """

    data: str
    notes: int
    times: dict[str, Spread]
    cpu_ms: dict[str, float]
    pages: dict[str, float]
    fsyncs: dict[str, float | None]

    @property
    def to_fts5(self) -> Spread:
        """memlog in units of the FTS5 notebook."""
        return self.times["memlog"].ratio_to(self.times["fts5"])

    @property
    def to_bare(self) -> Spread:
        """memlog in units of the bare commit."""
        return self.times["memlog"].ratio_to(self.times["bare"])


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """All that one run measured."""

    calls: int
    seed: int
    file_system: str | None
    sqlite: str
    measured: list[Measured]
    growth: dict[str, dict[str, float]]
    ratio_to_fts5: dict[str, dict[int, Spread]]


# --- Measuring


def alternate(
    contenders: Mapping[str, Contender], notes: Iterator[NoteText], *, calls: int
) -> tuple[dict[str, Spread], dict[str, float]]:
    """Give each note to every contender in turn, another one first each time.

    Returns:
        The spread of the times and the median of the processor times, by contender.
    """
    wall_ns: dict[str, list[int]] = {name: [] for name in contenders}
    cpu_ns: dict[str, list[int]] = {name: [] for name in contenders}
    order = list(contenders)
    for note in islice(notes, calls):
        for name in order:
            write = contenders[name].write
            cpu, wall = time.process_time_ns(), time.perf_counter_ns()
            write(note)
            wall_ns[name].append(time.perf_counter_ns() - wall)
            cpu_ns[name].append(time.process_time_ns() - cpu)
        order = [*order[1:], order[0]]
    spreads = {name: Spread.of(times) for name, times in wall_ns.items()}
    return spreads, {name: statistics.median(times) / 1e6 for name, times in cpu_ns.items()}


def pages_a_commit(path: Path, contender: Contender, notes: Iterator[NoteText]) -> float:
    """Return how many pages one write adds to the write-ahead log.

    A reader that stays keeps SQLite from starting the file over, so its growth is what was written.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page_bytes,) = reader.execute("PRAGMA page_size").fetchone()
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM sqlite_master").fetchone()
        for note in islice(notes, _PAGES_CALLS):
            contender.write(note)
        wal_bytes = path.with_name(path.name + "-wal").stat().st_size
    frames: float = (wal_bytes - _WAL_HEADER_BYTES) / (_FRAME_HEADER_BYTES + page_bytes)
    return frames / _PAGES_CALLS


def fsyncs_a_write(path: Path, name: str, data: str, *, calls: int, seed: int) -> float | None:
    """Return how many fsync and fdatasync calls one write makes; None where nothing can count.

    Two children under strace write few and many notes: what they do beside it cancels out.
    """
    few = _syncs(path, name, data, calls=1, seed=seed)
    many = _syncs(path, name, data, calls=1 + calls, seed=seed + 1)
    return None if few is None or many is None else (many - few) / calls


def _syncs(path: Path, name: str, data: str, *, calls: int, seed: int) -> int | None:
    strace = shutil.which("strace")
    if strace is None:
        return None
    trace = path.with_suffix(".strace")
    child = [sys.executable, "-c", _CHILD, name, str(path), data, str(seed), str(calls)]
    command = [strace, "-f", "-qq", "-e", "trace=fsync,fdatasync", "-o", str(trace), *child]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if ended.returncode != 0:  # Tracing is often forbidden in a container.
        return None
    return trace.read_text().count("sync(")


def write_alone(name: str, path: str, data: str, seed: str, calls: str) -> None:
    """Write notes into a store that is there; what the traced child does."""
    with closing(CONTENDERS[name](Path(path))) as contender:
        for note in islice(DATA_SETS[data](int(seed)), int(calls)):
            contender.write(note)


def measure(
    data: str, sizes: Sequence[int], directory: Path, *, calls: int, seed: int
) -> list[Measured]:
    """Grow one store of each contender, and measure them at each size."""
    notes = DATA_SETS[data](seed)
    paths = {name: directory / f"{data}-{name}.db" for name in CONTENDERS}
    measured, stored = [], 0
    for size in sorted(sizes):
        with ExitStack() as stack:
            open_now: dict[str, Contender] = {
                name: stack.enter_context(closing(made(paths[name])))
                for name, made in CONTENDERS.items()
            }
            stored += _load(open_now, islice(notes, max(0, size - stored)), data, stored)
            for path in paths.values():
                _checkpoint(path)
            alternate(open_now, notes, calls=max(2, calls // 10))  # Warm caches, unmeasured.
            times, cpu_ms = alternate(open_now, notes, calls=calls)
            texts = list(islice(notes, _PAGES_CALLS))
            pages = {
                name: pages_a_commit(paths[name], each, iter(texts))
                for name, each in open_now.items()
            }
        stored += max(2, calls // 10) + calls + _PAGES_CALLS
        fsyncs = {
            name: fsyncs_a_write(paths[name], name, data, calls=calls, seed=seed + size)
            for name in CONTENDERS
        }
        each = Measured(
            data=data, notes=size, times=times, cpu_ms=cpu_ms, pages=pages, fsyncs=fsyncs
        )
        progress(f"{data} {size:,}: memlog {each.times['memlog']} ms, {each.to_fts5} x fts5")
        measured.append(each)
    return measured


def _load(
    contenders: Mapping[str, Contender], notes: Iterator[NoteText], data: str, stored: int
) -> int:
    loaded = 0
    for batch in common.batches(notes, _LOAD_BATCH_NOTES):
        for contender in contenders.values():
            contender.load(batch)
        loaded += len(batch)
        if loaded % 10_000 == 0:
            progress(f"{data}: {stored + loaded:,} notes loaded")
    return loaded


def _checkpoint(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


# --- Reporting


def _growth(measured: Sequence[Measured]) -> dict[str, float]:
    first, last = measured[0], measured[-1]
    return {name: last.times[name].p50_ms / first.times[name].p50_ms for name in CONTENDERS}


def report(result: Result) -> str:
    """Return the run's tables."""
    latency = table(
        f"Durable write, ms: p50 / p95 of {result.calls:,} calls each, alternating",
        ("data", "notes", "bare", "fts5", "memlog", "x fts5", "x bare"),
        [
            (
                each.data,
                f"{each.notes:,}",
                *(str(each.times[name]) for name in CONTENDERS),
                str(each.to_fts5),
                str(each.to_bare),
            )
            for each in result.measured
        ],
    )
    work = table(
        "What a write costs: ms of processor time / pages written / fsyncs",
        ("data", "notes", *CONTENDERS),
        [
            (
                each.data,
                f"{each.notes:,}",
                *(_cost(each, name) for name in CONTENDERS),
            )
            for each in result.measured
        ],
    )
    growth = table(
        "Growth of the median from the smallest size to the largest",
        ("data", *CONTENDERS),
        [
            (data, *(f"{ratios[name]:.2f}" for name in CONTENDERS))
            for data, ratios in result.growth.items()
        ],
    )
    notes = "fsyncs: counted by strace, checkpoints included; - where it may not trace."
    return f"{latency}\n\n{work}\n\n{growth}\n\n{notes}"


def _cost(measured: Measured, name: str) -> str:
    fsyncs = measured.fsyncs[name]
    counted = "-" if fsyncs is None else f"{fsyncs:.2f}"
    return f"{measured.cpu_ms[name]:.2f} / {measured.pages[name]:.1f} / {counted}"


def run(
    data: Sequence[str], sizes: Sequence[int], directory: Path, *, calls: int, seed: int
) -> Result:
    """Measure all data sets at all sizes."""
    measured = {name: measure(name, sizes, directory, calls=calls, seed=seed) for name in data}
    return Result(
        calls=calls,
        seed=seed,
        file_system=file_system(directory),
        sqlite=sqlite3.sqlite_version,
        measured=[each for per_data in measured.values() for each in per_data],
        growth={name: _growth(each) for name, each in measured.items()},
        ratio_to_fts5={
            name: {each.notes: each.to_fts5 for each in per_data}
            for name, per_data in measured.items()
        },
    )


def main(given: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.write", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--sizes", type=_numbers, default=[1_000, 10_000, 100_000])
    parser.add_argument("--calls", type=int, default=500, help="measured at each size")
    parser.add_argument("--data", type=_names, default=list(DATA_SETS), help="plain,alike")
    chosen = common.arguments(parser, given)
    with common.work_directory(chosen.dir) as directory:
        result = run(
            chosen.data, chosen.sizes, Path(directory), calls=chosen.calls, seed=chosen.seed
        )
    if chosen.json:
        common.print_json(result)
    else:
        print(report(result))


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _names(text: str) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in DATA_SETS:
            raise argparse.ArgumentTypeError(name)
    return names


if __name__ == "__main__":
    main()
