"""The tests that are written for any store, run on PostgreSQL: section, past, histories."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import postgres_server

ROOT = Path(__file__).resolve().parent.parent.parent
SUITES = (
    "tests/section/test_stable.py",
    "tests/section/test_handed_out.py",
    "tests/section/test_pin_shown.py",
    "tests/audit/test_at.py",
    "tests/stateful/test_histories.py",
)
LEFT_OUT = (
    "the_record_holds_what_the_design_says",  # It reads the file.
    "5001",  # A size, which is no matter of the engine.
    "240",
)


@pytest.mark.parametrize("suite", SUITES)
def test_it_holds_on_postgresql(suite: str) -> None:
    soak = os.environ.get("MEMLOG_HYPOTHESIS") == "soak"
    environment = {
        **os.environ,
        "MEMLOG_HYPOTHESIS": "postgres",
        "MEMLOG_TEST_POSTGRES": postgres_server.url(),
        "MEMLOG_TEST_POSTGRES_EXAMPLES": "100" if soak else "2",
    }
    for name in [name for name in environment if name.startswith(("PYTEST_", "COV_"))]:
        del environment[name]  # The other run is one of its own.
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-p", "tests.postgres.on_postgres"),
        *("-p", "no:cacheprovider", "-k", " and ".join(f"not {name}" for name in LEFT_OUT)),
        suite,
    ]

    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-1_000:]
    assert " passed" in done.stdout
