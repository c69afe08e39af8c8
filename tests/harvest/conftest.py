"""A log that harvests, with a clock that a test can move, and an endpoint."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import memlog
from memlog import Log, Scope
from memlog.harvest import enqueue
from tests.harvest import endpoint as endpoints
from tests.harvest.endpoint import Endpoint

ALICE = Scope("owner", "alice")


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 30, 19, 15, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, *, seconds: float = 0, days: float = 0) -> None:
        self.now += timedelta(seconds=seconds, days=days)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with endpoints.running() as running:
        yield running


Open = Callable[..., Log]


@pytest.fixture
def open_log(tmp_path: Path, clock: Clock) -> Iterator[Open]:
    """Open the one log of a test, as often as it likes, with the settings that it gives."""
    logs = []

    def open_log(**settings: Any) -> Log:  # noqa: ANN401  # whatever a caller may give
        path = tmp_path / "notes.db"
        log = memlog.open(path, settings=memlog.Settings(**settings), clock=clock)
        logs.append(log)
        return log

    yield open_log
    for log in logs:
        log.close()


@pytest.fixture
def log(open_log: Open, endpoint: Endpoint) -> Log:
    """A log whose harvest asks the endpoint."""
    return open_log(harvest_llm=endpoint.url, harvest_model="small", harvest_api_key="key-1")


def queue(log: Log, key: str = "c-1", *entries: object) -> None:
    entries = entries or ({"role": "user", "content": "We moved the deploy to Mondays."},)
    assert enqueue(log, ALICE, key=key, entries=entries, conversation_id="c-17") == "queued"
