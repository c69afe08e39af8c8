"""Audit: what the Merkle tree costs a write, how long a proof takes, how fast a log verifies.

    python -m benchmarks.audit [--events 100000] [--calls 300] [--json]

The log is that of the replay benchmark: mixed events of three scopes. The tree's share of a write
is measured inside the write, as the time spent in `projections.tree.append` and the hashing of the
envelopes against the rest. A verification runs in a process of its own, so that its memory can be
told; it is given as a ratio to a bare SELECT of all events, since machines differ.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from unittest import mock

import msgspec

import memlog
from benchmarks import common, replay
from benchmarks.common import Spread, plain_notes, progress, table
from memlog import step
from memlog.proof import leaf_hash
from memlog.signing import SigningKey
from memlog.verify.opening import verify_file
from memlog.verify.run import Asked
from projections import tree

_KIB = 1024


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """One verification in a process of its own.

    Attributes:
        skipped: the checks that were left out.
        events_s: events a second.
        of_select: its speed as a share of the bare SELECT's.
        memory_mb: how much the process grew, at most, beyond what its imports took; and the most
            that the second process held, in all.
    """

    skipped: tuple[str, ...]
    events_s: float
    of_select: float
    memory_mb: float


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """All that one run measured.

    Attributes:
        tree_share: time of the tree as a share of the rest of a write, the median.
        tree: time that the tree takes of a write.
        write: time of a whole write.
        proof: time of `log.prove`, opening left out.
        consistency: time of `log.prove_consistency`.
    """

    events: int
    calls: int
    tree_share: float
    tree: Spread
    write: Spread
    proof: Spread
    consistency: Spread
    select_events_s: float
    verified: list[Verified]


def measure_writes(path: Path, *, calls: int, seed: int) -> tuple[list[int], list[int]]:
    """Return nanoseconds of each write, and those that the tree took of it."""
    writes: list[int] = []
    trees: list[int] = []

    def timed(*given: object) -> None:
        transaction, events, salts = given
        size = transaction.head  # type: ignore[attr-defined]
        envelopes = transaction.append(events, salts)  # type: ignore[attr-defined]
        start = time.perf_counter_ns()
        tree.append(
            transaction.cursor,  # type: ignore[attr-defined]
            [leaf_hash(each) for each in envelopes],
            size=size,
        )
        trees.append(time.perf_counter_ns() - start)

    texts = plain_notes(seed + 1)
    with memlog.open(path) as log, mock.patch.object(step, "append", timed):
        memory = log.scope("owner", "alice")
        for _ in range(calls):
            text = next(texts)
            start = time.perf_counter_ns()
            memory.write(title=text.title, body=text.body, topics=text.topics)
            writes.append(time.perf_counter_ns() - start)
    return writes, trees


def measure_proofs(path: Path, *, calls: int) -> tuple[list[int], list[int]]:
    """Return nanoseconds of each inclusion proof, and of each consistency proof."""
    key_file = path.with_name("key")
    SigningKey.generate("bench").save(key_file)
    with memlog.open(path) as log:
        old = log.checkpoint(key_file)
        log.scope("owner", "alice").write(title="One more", body="x")
        log.checkpoint(key_file)
        size = log.position()
        positions = [1 + number * (size - 1) // calls for number in range(calls)]
        proofs = [_ns(lambda position=position: log.prove(position)) for position in positions]  # type: ignore[misc]
        return proofs, [_ns(lambda: log.prove_consistency(old)) for _ in range(calls)]


def _ns(call: Callable[[], object]) -> int:
    start = time.perf_counter_ns()
    call()
    return time.perf_counter_ns() - start


def select_rate(path: Path) -> float:
    """Return the events a second of a bare SELECT, the median of three."""
    with closing(sqlite3.connect(path)) as db:
        count: int = db.execute("SELECT count(*) FROM stored_events").fetchone()[0]
    return statistics.median(count * 1e9 / _ns(lambda: replay.select(path)) for _ in range(3))


def verify_here(path: Path, skipped: Sequence[str]) -> dict[str, float]:
    """Verify in this process; return the time and what memory it took."""
    before = _memory_mb()
    start = time.perf_counter_ns()
    asked = Asked(target=str(path), skip=tuple(skipped))
    found = verify_file(path, settings=memlog.Settings(), asked=asked)
    elapsed = time.perf_counter_ns() - start
    assert found.ok, found.first
    second_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / _KIB
    memory_mb = _memory_mb() - before + second_mb
    return {"events_s": found.events * 1e9 / elapsed, "memory_mb": memory_mb}


def _memory_mb() -> float:
    """Return the most memory that this process has held; `getrusage` counts its parent's too."""
    status = Path("/proc/self/status").read_text("ascii")
    (kilobytes,) = re.findall(r"^VmHWM:\s*(\d+) kB$", status, re.MULTILINE)
    return int(kilobytes) / _KIB


def verify_alone(path: Path, skipped: Sequence[str], *, select_events_s: float) -> Verified:
    """Verify in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.audit", "--verify", str(path), *skipped]
    done = subprocess.run(command, cwd=common.ROOT, capture_output=True, check=True)
    measured = json.loads(done.stdout)
    return Verified(
        skipped=tuple(skipped),
        events_s=measured["events_s"],
        of_select=measured["events_s"] / select_events_s,
        memory_mb=measured["memory_mb"],
    )


def run(path: Path, *, events: int, calls: int, seed: int) -> Result:
    """Make a log and measure everything."""
    replay.build(path, events=events, seed=seed)
    writes, trees = measure_writes(path, calls=calls, seed=seed)
    progress("audit: writes measured")
    proofs, consistencies = measure_proofs(path, calls=calls)
    progress("audit: proofs measured")
    select_events_s = select_rate(path)
    verified = [
        verify_alone(path, skipped, select_events_s=select_events_s)
        for skipped in (("index",), ("index", "pages", "words"))
    ]
    with memlog.open(path, read_only=True) as log:
        count = log.position()
    shares = [part / (whole - part) for whole, part in zip(writes, trees, strict=True)]
    return Result(
        events=count,
        calls=calls,
        tree_share=statistics.median(shares),
        tree=Spread.of(trees),
        write=Spread.of(writes),
        proof=Spread.of(proofs),
        consistency=Spread.of(consistencies),
        select_events_s=select_events_s,
        verified=verified,
    )


def report(result: Result) -> str:
    """Return the run's tables."""
    times = table(
        f"Audit of {result.events:,} events, ms: p50 / p95 of {result.calls} calls",
        ("what", "time"),
        [
            ("write", str(result.write)),
            ("of it the tree", str(result.tree)),
            ("the tree, of the rest of a write", f"{result.tree_share:.1%}"),
            ("inclusion proof, in a bundle", str(result.proof)),
            ("consistency proof", str(result.consistency)),
        ],
    )
    rates = table(
        "Verification, in a process of its own",
        ("left out", "events/s", "of SELECT", "memory, MB"),
        [
            (
                ", ".join(each.skipped),
                f"{each.events_s:,.0f}",
                f"{each.of_select:.3f}",
                f"{each.memory_mb:.0f}",
            )
            for each in result.verified
        ],
    )
    return f"{times}\n\n{rates}\n\nbare SELECT: {result.select_events_s:,.0f} events/s"


def main(given: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audit", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--verify", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("skipped", nargs="*", help=argparse.SUPPRESS)
    chosen = common.arguments(parser, given)
    if chosen.verify is not None:
        print(json.dumps(verify_here(chosen.verify, chosen.skipped)))
        return
    with common.work_directory(chosen.dir) as directory:
        path = Path(directory) / "log.db"
        result = run(path, events=chosen.events, calls=chosen.calls, seed=chosen.seed)
    if chosen.json:
        common.print_json(result)
    else:
        print(report(result))


if __name__ == "__main__":
    main()
