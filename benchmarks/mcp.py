"""The MCP server over standard input and output: from the start of its process to its answers.

    python -m benchmarks.mcp [--notes 10000] [--starts 10] [--json]

Each start is a process of its own, as a client makes it. `initialize` is its first answer; the
search is asked after it, and opens the store. Beside it the floors: a Python that does nothing, and
one that only imports the SDK's low-level server.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

import memlog
from benchmarks import common
from benchmarks.common import DATA_SETS, Spread, progress, table

_LOAD_BATCH_NOTES = 1_000
_SCOPE = "owner:bench"
_PROTOCOL = "2025-06-18"
_SDK = "import mcp.server.lowlevel, mcp.server.stdio"


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """All that one run measured.

    Attributes:
        notes: how many notes the scope holds.
        times: from the start of a process, by what it was waited for.
    """

    notes: int
    starts: int
    times: dict[str, Spread]


def _request(number: int, method: str, params: dict[str, Any]) -> bytes:
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return json.dumps(message).encode() + b"\n"


_INITIALIZE = _request(
    1,
    "initialize",
    {
        "protocolVersion": _PROTOCOL,
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
)
_INITIALIZED = b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n'


def start(path: Path, query: str) -> tuple[int, int]:
    """Start a server; return the ns until it answered `initialize`, and then a search."""
    command = [sys.executable, "-m", "memlog", "mcp", "--db", str(path), "--scope", _SCOPE]
    began = time.perf_counter_ns()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(_INITIALIZE)
        process.stdin.flush()
        first = json.loads(process.stdout.readline())
        initialized = time.perf_counter_ns() - began
        assert first["result"]["serverInfo"]["name"] == "memlog"
        call = {"name": "memory_search", "arguments": {"query": query}}
        process.stdin.write(_INITIALIZED + _request(2, "tools/call", call))
        process.stdin.flush()
        found = json.loads(process.stdout.readline())
        searched = time.perf_counter_ns() - began
        assert found["result"]["structuredContent"]["notes"]
    return initialized, searched


def run_python(code: str) -> int:
    """Run a Python that does one thing; return how many ns it took."""
    began = time.perf_counter_ns()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter_ns() - began


def run(directory: Path, *, notes: int, starts: int, seed: int) -> Result:
    """Fill one store, and start servers on it, in turn with their floors."""
    path = directory / "notes.db"
    texts = [text._asdict() for text in islice(DATA_SETS["plain"](seed), notes)]
    with memlog.open(path) as log:
        memory = log.scope("owner", "bench")
        for batch in common.batches(texts, _LOAD_BATCH_NOTES):
            memory.write_many(batch)
        memory.search(texts[0]["title"])
    progress(f"{notes:,} notes written")
    times: dict[str, list[int]] = {"python": [], "sdk": [], "initialize": [], "search": []}
    for _ in range(starts):
        times["python"].append(run_python("pass"))
        times["sdk"].append(run_python(_SDK))
        initialized, searched = start(path, texts[0]["title"])
        times["initialize"].append(initialized)
        times["search"].append(searched)
    spreads = {name: Spread.of(each) for name, each in times.items()}
    return Result(notes=notes, starts=starts, times=spreads)


_ROWS = {
    "python": "Python that does nothing",
    "sdk": "Python that imports the SDK's server",
    "initialize": "memlog mcp: initialize",
    "search": "memlog mcp: initialize, then a search",
}


def report(result: Result) -> str:
    """Return the run's table."""
    return table(
        f"Process start to answer at {result.notes:,} notes, ms: p50 / p95 of {result.starts}",
        ("", "p50 / p95"),
        [(words, str(result.times[name])) for name, words in _ROWS.items()],
    )


def main(given: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mcp", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--notes", type=int, default=10_000, help="in the scope")
    parser.add_argument("--starts", type=int, default=10, help="of the server, at least 2")
    chosen = common.arguments(parser, given)
    with common.work_directory(chosen.dir) as directory:
        result = run(Path(directory), notes=chosen.notes, starts=chosen.starts, seed=chosen.seed)
    if chosen.json:
        common.print_json(result)
    else:
        print(report(result))


if __name__ == "__main__":
    main()
