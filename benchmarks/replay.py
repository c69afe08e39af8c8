"""Replay: how many events a second come out of a log, from a bare SELECT to a full rebuild.

    python -m benchmarks.replay [--events 100000] [--rounds 3] [--json]

Each step does all that the one above it does and one thing more, except the rebuild, which also
writes the tables, compares them with the live ones and swaps. The steps run in turn, and the median
of the rounds counts.
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import msgspec

import memlog
from benchmarks import common
from benchmarks.common import NoteText, plain_notes, progress, table
from memlog import codec
from memlog.log import utc_now
from memlog.store.sqlite import SQLiteStore
from projections import notes

_BATCH_NOTES = 200
_SCOPES = (("owner", "alice"), ("owner", "bob"), ("global", ""))
# Shares of the log in percent: one batch of new notes and rewrites, then these one by one.
_REWRITES_A_BATCH = 40
_PINS_A_BATCH = 12
_UNPINS_A_BATCH = 8
_LINKS_A_BATCH = 24
_SUPERSEDES_A_BATCH = 6

_SELECT = "SELECT rowid, originator_id, originator_version, topic, state FROM stored_events"

Step = Callable[[Path], int]


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """One step's speed.

    Attributes:
        step: its name.
        events_s: events a second, the median of the rounds.
        event_us: microseconds an event.
        event_cpu_us: microseconds of processor time an event, which other work on the machine
            disturbs less.
        of_select: its speed as a share of the bare SELECT's.
    """

    step: str
    events_s: float
    event_us: float
    event_cpu_us: float
    of_select: float


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """All that one run measured."""

    events: int
    by_type: dict[str, int]
    state_bytes_mean: float
    rounds: int
    seed: int
    sqlite: str
    rates: list[Rate]


# --- The log


def build(path: Path, *, events: int, seed: int) -> None:
    """Make a log of at least so many events of mixed types in three scopes."""
    prose, texts = common.Prose(seed), plain_notes(seed)
    with memlog.open(path) as log:
        memories = [log.scope(kind, principal) for kind, principal in _SCOPES]  # type: ignore[arg-type]  # both literals
        writers = [_Writer(memory, prose) for memory in memories]
        told = 0
        while (done := log.position()) < events:
            writer = prose.random.choice(writers)
            writer.write([next(texts) for _ in range(min(_BATCH_NOTES, events - done))])
            if done < events - 2 * _BATCH_NOTES:
                writer.change()
            if done // 10_000 > told:
                told = done // 10_000
                progress(f"replay: {done:,} events written")


class _Writer:
    """Writes notes of one scope and changes them; remembers which are live."""

    def __init__(self, memory: memlog.Memory, prose: common.Prose) -> None:
        self._memory, self._prose = memory, prose
        self._live: list[str] = []
        self._calls = 0

    def write(self, texts: Sequence[NoteText]) -> None:
        new = len(texts) - min(_REWRITES_A_BATCH, len(self._live), len(texts) // 2)
        slugs = [None] * new + self._prose.random.sample(self._live, len(texts) - new)
        self._calls += 1
        items = [
            {
                **text._asdict(),
                "slug": slug,
                "confidence": round(self._prose.random.uniform(0.5, 1), 2),
                "request_id": f"r-{self._calls}-{index}" if index % 2 else None,
            }
            for index, (text, slug) in enumerate(zip(texts, slugs, strict=True))
        ]
        written = self._memory.write_many(
            items, actor="agent:bench", conversation_id=f"c-{self._calls}"
        )
        self._live += [each.note.slug for each in written[:new]]

    def change(self) -> None:
        """Pin, unpin, link and supersede some of the live notes."""
        choose = self._prose.random.sample
        pinned = choose(self._live, min(_PINS_A_BATCH, len(self._live)))
        for slug in pinned:
            self._memory.pin(slug)
        for slug in pinned[:_UNPINS_A_BATCH]:
            self._memory.unpin(slug)
        for number in range(_LINKS_A_BATCH):
            start, end = choose(self._live, 2)
            self._memory.link(start, end, "derived_from" if number % 3 == 0 else "related")
        for number in range(_SUPERSEDES_A_BATCH):
            newer, older = choose(self._live, 2)
            self._memory.link(newer, older, "supersedes", actor="agent:bench")
            if number == 0:
                self._memory.unlink(newer, older, "supersedes")
            else:
                self._live.remove(older)


# --- The steps


def select(path: Path) -> int:
    """Fetch every row, and nothing else."""
    with closing(sqlite3.connect(path)) as db:
        return sum(1 for _ in db.execute(f"{_SELECT} ORDER BY rowid"))


def _store(path: Path) -> SQLiteStore:
    return SQLiteStore(
        path, clock=utc_now, lock_timeout_s=5, tables=(), read_only=True, create=False
    )


def rows(path: Path) -> int:
    """Read every row as the store gives it: in pages, each a short view of its own."""
    with closing(_store(path)) as store:
        return sum(1 for _ in store.rows())


def decode(path: Path) -> int:
    """Decode each event as a replay does: types and fields are checked."""
    done = 0
    with closing(_store(path)) as store:
        for row in store.rows():
            codec.replayed(row.type, row.state, position=row.position)
            done += 1
    return done


def decode_commitments(path: Path) -> int:
    """Decode each event and check that its payload is the one it commits to."""
    done = 0
    with closing(_store(path)) as store:
        for row in store.rows():
            record = codec.replayed(row.type, row.state, position=row.position)
            parts = codec.split(row.state, position=row.position)
            codec.check_commitment(parts, record.envelope, position=row.position)
            done += 1
    return done


def decode_canonical(path: Path) -> int:
    """Decode each event as `log.events()` does: its bytes are encoded again and compared."""
    done = 0
    with closing(_store(path)) as store:
        for row in store.rows():
            codec.decode(row.state, position=row.position)
            done += 1
    return done


def fold(path: Path) -> int:
    """Decode and fold every event into the notes and links of its scope."""
    with closing(_store(path)) as store:
        folds = notes.replay(store.rows())
    return sum(each.last_seq for each in folds.values())


def rebuild(path: Path) -> int:
    """Rebuild the tables beside the live ones, compare, swap; nothing may differ."""
    with memlog.open(path) as log:
        rebuilt = log.rebuild()
    assert rebuilt.differences == ()
    return rebuilt.events


STEPS: dict[str, Step] = {
    "bare SELECT": select,
    "store rows": rows,
    "decode": decode,
    "decode, commitments": decode_commitments,
    "decode, canonical": decode_canonical,
    "fold": fold,
    "full rebuild": rebuild,
}


# --- Measuring and reporting


class Timed(msgspec.Struct, frozen=True):
    """Seconds an event of one pass of one step."""

    wall_s: float
    cpu_s: float


def measure(path: Path, *, rounds: int) -> dict[str, Timed]:
    """Return the seconds an event of each step, the median of the rounds."""
    timed: dict[str, list[Timed]] = {name: [] for name in STEPS}
    for number in range(rounds):
        for name, step in STEPS.items():
            timed[name].append(_timed(step, path))
            progress(f"round {number + 1}: {name} {1 / timed[name][-1].wall_s:,.0f} events/s")
    return {
        name: Timed(
            statistics.median(each.wall_s for each in passes),
            statistics.median(each.cpu_s for each in passes),
        )
        for name, passes in timed.items()
    }


def _timed(step: Step, path: Path) -> Timed:
    wall, cpu = time.perf_counter(), time.process_time()
    events = step(path)
    return Timed((time.perf_counter() - wall) / events, (time.process_time() - cpu) / events)


def run(path: Path, *, events: int, rounds: int, seed: int) -> Result:
    """Make a log and measure every step."""
    build(path, events=events, seed=seed)
    with closing(sqlite3.connect(path)) as db:
        by_type = dict(
            db.execute("SELECT topic, count(*) FROM stored_events GROUP BY 1 ORDER BY 1")
        )
        (bytes_mean,) = db.execute("SELECT avg(length(state)) FROM stored_events").fetchone()
    timed = measure(path, rounds=rounds)
    to_rate = partial(_rate, select_s=timed["bare SELECT"].wall_s)
    return Result(
        events=sum(by_type.values()),
        by_type=by_type,
        state_bytes_mean=bytes_mean,
        rounds=rounds,
        seed=seed,
        sqlite=sqlite3.sqlite_version,
        rates=[to_rate(name, each) for name, each in timed.items()],
    )


def _rate(step: str, timed: Timed, *, select_s: float) -> Rate:
    return Rate(
        step=step,
        events_s=1 / timed.wall_s,
        event_us=1e6 * timed.wall_s,
        event_cpu_us=1e6 * timed.cpu_s,
        of_select=select_s / timed.wall_s,
    )


def report(result: Result) -> str:
    """Return the run's tables."""
    rates = table(
        f"Replay of {result.events:,} events, {result.state_bytes_mean:,.0f} bytes on average, "
        f"median of {result.rounds}",
        ("step", "events/s", "us an event", "cpu us", "of SELECT"),
        [
            (
                each.step,
                f"{each.events_s:,.0f}",
                f"{each.event_us:.2f}",
                f"{each.event_cpu_us:.2f}",
                f"{each.of_select:.2f}",
            )
            for each in result.rates
        ],
    )
    types = table(
        "What the log holds",
        ("type", "events"),
        [(type_, f"{count:,}") for type_, count in result.by_type.items()],
    )
    return f"{rates}\n\n{types}"


def main(given: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.replay", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = common.arguments(parser, given)
    with common.work_directory(chosen.dir) as directory:
        result = run(
            Path(directory) / "log.db",
            events=chosen.events,
            rounds=chosen.rounds,
            seed=chosen.seed,
        )
    if chosen.json:
        common.print_json(result)
    else:
        print(report(result))


if __name__ == "__main__":
    main()
