"""Many processes at once, and processes that die: nothing acknowledged is ever lost."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import memlog

ROOT = Path(memlog.__file__).resolve().parent.parent
SOAK = os.environ.get("MEMLOG_HYPOTHESIS") == "soak"
KILL_ROUNDS = 20 if SOAK else 8
CYCLE_ROUNDS = 300 if SOAK else 60
SEED = os.environ.get("MEMLOG_CRASH_SEED", os.urandom(4).hex())


def driver(*arguments: object) -> dict[str, Any]:
    command = [sys.executable, "-W", "error", "-m", "tests.crash.drivers", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{arguments}\n{done.stdout}\n{done.stderr}"
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@pytest.mark.parametrize("scopes", [1, 8])
def test_eight_processes_write_while_others_read_and_make_checkpoints(
    tmp_path: Path, scopes: int
) -> None:
    report = driver("crowd", tmp_path, scopes, 8, 200)

    assert report["acknowledged"] == 1_600
    assert min(report["beside"]) > 5, "the canary: checkpoints and reads went on beside them"


def test_sigkill_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    report = driver("kill", tmp_path, KILL_ROUNDS, SEED)

    assert report["hit"] > 0, f"the canary: some kill falls into a write (seed {SEED})"
    assert 0 < report["acknowledged"] <= report["attempted"]


def test_four_processes_cannot_make_a_cycle_together(tmp_path: Path) -> None:
    report = driver("cycle", tmp_path, CYCLE_ROUNDS)

    assert report["refused"] == [1] * CYCLE_ROUNDS, "three links of each ring, and never the fourth"
    assert report["edges"] == 3 * CYCLE_ROUNDS
    assert report["losers"] > 1, "the canary: they do race"


def test_a_rebuild_that_dies_leaves_the_live_tables(tmp_path: Path) -> None:
    report = driver("rebuild", tmp_path)

    assert report == {"killed": 4, "differences": [], "events": 1_104}
