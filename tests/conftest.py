"""Hypothesis profiles: `quick` by default, `soak` for `make soak`.

Chosen by MEMLOG_HYPOTHESIS or by `--hypothesis-profile`, which wins.
"""

import os
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase

_ROOT = Path(__file__).resolve().parent.parent
_DATABASE = DirectoryBasedExampleDatabase(_ROOT / ".hypothesis" / "examples")

# Every field is given: with CI=true in the environment Hypothesis starts from a profile of its own
# that derandomizes and keeps no failing example.
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
settings.load_profile(os.environ.get("MEMLOG_HYPOTHESIS", "quick"))
