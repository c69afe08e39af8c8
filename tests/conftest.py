"""Hypothesis profiles: `quick` by default, `soak` for `make soak`, `ci` where CI is set.

Chosen by MEMLOG_HYPOTHESIS or by `--hypothesis-profile`, which wins. `ci` is `quick` with the same
examples in each run, so that a change is not judged by luck; new ones are looked for by everybody's
`make test` and by `make soak`.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase

_ROOT = Path(__file__).resolve().parent.parent
_DATABASE = DirectoryBasedExampleDatabase(_ROOT / ".hypothesis" / "examples")

# Every field is given: with CI=true in the environment Hypothesis starts from a profile of its own.
settings.register_profile(
    "quick",
    max_examples=50,
    deadline=None,  # an example that fsyncs is as slow as the disk of a shared machine
    suppress_health_check=[HealthCheck.too_slow],  # as deadline
    derandomize=False,
    database=_DATABASE,
    print_blob=True,
)
settings.register_profile("soak", settings.get_profile("quick"), max_examples=2_000)
settings.register_profile("ci", settings.get_profile("quick"), derandomize=True, database=None)
_DEFAULT = "ci" if os.environ.get("CI") else "quick"
settings.load_profile(os.environ.get("MEMLOG_HYPOTHESIS", _DEFAULT))


@pytest.fixture
def postgres_url() -> Iterator[str]:
    """A URL of an empty PostgreSQL schema, which is dropped after the test."""
    from tests import postgres_server

    with postgres_server.schema() as url:
        yield url


def pytest_sessionfinish() -> None:
    server = sys.modules.get("tests.postgres_server")
    if server is not None:
        server.stop()
