"""The benchmark of both engines runs, and says what it promises."""

import json
from pathlib import Path

import pytest

from benchmarks import engines
from benchmarks.common import Spread


def test_a_small_run_measures_every_task_on_both_engines(
    postgres_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = ["--notes", "8", "--calls", "2", "--dir", str(tmp_path), "--json"]
    engines.main(["--postgres", postgres_url, *small])

    rows = json.loads(capsys.readouterr().out)
    assert {(row["engine"], row["task"], row["clients"]) for row in rows} == {
        (engine, task, clients)
        for engine in ("sqlite", "postgres")
        for task in engines.TASKS
        for clients in engines.CLIENTS
    }
    assert all(row["calls_per_s"] > 0 for row in rows)


def test_its_table_fits_a_terminal() -> None:
    spread = Spread(9_999.0, 9_999.0)
    rows = [
        engines.Row(engine=engine, task=task, clients=clients, latency=spread, calls_per_s=99_999)
        for engine in ("sqlite", "postgres")
        for task in engines.TASKS
        for clients in engines.CLIENTS
    ]

    assert max(map(len, engines.shown(rows).splitlines())) <= 80
