"""A pytest plugin that runs tests written for any store on PostgreSQL: each store is a schema.

    MEMLOG_HYPOTHESIS=postgres pytest -p tests.postgres.on_postgres tests/section ...

A target in memory becomes a schema of its own; a path becomes the same schema each time it is
opened. What a test asks is otherwise unchanged, and few examples are tried.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import memlog.log
from memlog.store.protocol import Store
from tests import postgres_server

settings.register_profile(  # As "quick" and "ci", which are not there yet for a plugin.
    "postgres",
    max_examples=int(os.environ.get("MEMLOG_TEST_POSTGRES_EXAMPLES", "3")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
    database=None,
    print_blob=True,
)


class Schemas:
    """One schema for each place that a test opened."""

    def __init__(self, stack: ExitStack, open_store: Callable[..., Store], cache: Path) -> None:
        self._stack, self._open_store, self._cache = stack, open_store, cache
        self._urls: dict[str, str] = {}

    def open(self, target: str | os.PathLike[str], **how: Any) -> Store:  # noqa: ANN401  # as it came
        name = os.fspath(target)
        if name.startswith("postgres"):
            return self._open_store(name, **how)
        url = self._urls.get(name) or self._stack.enter_context(postgres_server.schema())
        if name != ":memory:":
            self._urls[name] = url
        store = self._open_store(url, **how)
        # Logs with the same id and the same event ids are told apart by nothing else.
        store.index_dir = self._cache / url[-14:]
        self._stack.callback(store.close)  # A test may leave that to the garbage collector.
        return store


@pytest.fixture(autouse=True)
def _on_postgres(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    cache: Path = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    with ExitStack() as stack:
        schemas = Schemas(stack, memlog.log.open_store, cache)
        monkeypatch.setattr(memlog.log, "open_store", schemas.open)
        yield
