"""The examples run as they stand, in an interpreter of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import memlog

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_it_runs(example: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", str(example), str(tmp_path / "notes.db")]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}

    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


def test_the_agent_loop_leaves_what_it_says(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    command = [sys.executable, str(ROOT / "examples" / "agent_loop.py"), str(path)]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}

    subprocess.run(command, env=environ, capture_output=True, check=True)

    with memlog.open(path, read_only=True) as log:
        notes = log.scope("owner", "alice").notes()
        assert {note.slug: note.provenance for note in notes} == {
            "deploys-need-the-vpn": "agent",
            "wei-is-away-in-december": "compaction",
        }
        assert [event.conversation_id for event in log.events()] == ["c-1"] * 3
