"""A second process that looks at the tables and the pages while this one reads the events.

Python runs on one core; on two, a large file takes a little more than half of the time. The second
process opens the file by itself, for reading, and answers with sums, not rows. It decides nothing:
where its sums are not those that the events give, where it finds anything wrong, and where it
cannot run, this process looks at every row itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from memlog.verify.second import Found, Task

EVENTS_MIN = 20_000
"""How many events a log must have: in the time that a process takes to start, 2,000 are read."""

_CORES_MIN = 2


class Second:
    """A second process at work."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def found(self) -> Found | None:
        """Wait for its answer, once; None when it could not do its work."""
        assert self._process.stdout is not None
        answer = self._process.stdout.read()
        if self._process.wait() != 0:
            return None
        try:
            return msgspec.json.decode(answer, type=Found)
        except msgspec.DecodeError:
            return None


@contextmanager
def begun(task: Task, *, events: int) -> Iterator[Second | None]:
    """A second process that does a task, killed at the end; None where there is to be none.

    Args:
        task: what it is to do.
        events: how many there are in the log; of few it is not worth its start.
    """
    process = _started() if events >= EVENTS_MIN and _cores() >= _CORES_MIN else None
    if process is None:
        yield None
        return
    try:
        _tell(process, task)
        yield Second(process)
    finally:
        process.kill()
        process.communicate()


def _cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _started() -> subprocess.Popen[bytes] | None:
    command = _command()
    if command is None:
        return None
    try:
        return subprocess.Popen(  # noqa: S603  # no word of it is from outside
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError:
        return None


def _command() -> list[str] | None:
    """Return what starts Python anew; None where this is another program with Python inside."""
    if getattr(sys, "frozen", False) or not Path(sys.executable or "").stem.startswith("python"):
        return None
    isolated = "-I" if sys.flags.isolated else "-P"  # Neither imports from the current directory.
    return [sys.executable, isolated, "-m", "memlog.verify.second"]


def _tell(process: subprocess.Popen[bytes], task: Task) -> None:
    """Send the task; the pipe stays open, for its end tells the other process of ours."""
    assert process.stdin is not None
    try:
        process.stdin.write(msgspec.json.encode(task) + b"\n")
        process.stdin.flush()
    except BrokenPipeError:  # It has ended already; its exit code will tell.
        pass
