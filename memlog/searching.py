"""The search side of an open log: its backend, made when it is first used.

`Settings.search` names the backend (`whoosh`), or is one: any object with the methods of
`projections.search.SearchBackend`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memlog.errors import InvalidRequestError
from memlog.feed import ScopeFeed
from memlog.settings import Settings
from projections.notes.words import Executor
from projections.search.protocol import Hit, SearchBackend, Weights

if TYPE_CHECKING:
    from memlog.store.sqlite import SQLiteStore


class Searcher:
    """Searches the scopes of one log."""

    def __init__(
        self, store: SQLiteStore, *, settings: Settings, clock: Callable[[], datetime]
    ) -> None:
        self._store, self._settings, self._clock = store, settings, clock
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._opened: SearchBackend | None = None
        self._index_dir = index_dir(settings, store.path)
        self._weights = Weights(
            recency_weight=settings.recency_weight,
            half_life_days=settings.half_life_days,
            pinned_bonus=settings.pinned_bonus,
        )

    def search(
        self,
        stream: str,
        query: str,
        *,
        limit: int,
        topic: str | None,
        include_superseded: bool,
        now: datetime | None,
    ) -> list[Hit]:
        """Return the best hits of a scope; see `Memory.search`."""
        moment = self._clock() if now is None else now
        if moment.utcoffset() is None:
            raise InvalidRequestError("now", moment, "give an aware datetime")
        with self._store.reading() as cursor:
            return self._backend().search(
                self._feed(cursor, stream),
                query,
                now=moment,
                limit=limit,
                topic=topic,
                include_superseded=include_superseded,
                weights=self._weights,
            )

    def rebuild(self, stream: str) -> None:
        """Index a scope anew and store it."""
        with self._store.reading() as cursor:
            self._backend().rebuild(self._feed(cursor, stream))

    def close(self) -> None:
        """Store what the backend has not stored yet. In a forked child it leaves all alone."""
        if self._opened is not None and os.getpid() == self._pid:
            self._opened.close()

    def _feed(self, cursor: Executor, stream: str) -> ScopeFeed:
        return ScopeFeed(
            cursor, log_id=self._store.log_id, secret=self._store.secret, stream=stream
        )

    def _backend(self) -> SearchBackend:
        with self._lock:
            if self._opened is None:
                self._opened = _new_backend(self._settings.search, self._index_dir)
            return self._opened


def _new_backend(chosen: SearchBackend | str, directory: Path | None) -> SearchBackend:
    if not isinstance(chosen, str):
        return chosen
    if chosen != "whoosh":
        raise InvalidRequestError("search", chosen, "use 'whoosh', or give a backend")
    from projections.search import WhooshBackend

    return WhooshBackend(directory)


def index_dir(settings: Settings, path: Path | None) -> Path | None:
    """Return where a log's search indexes lie: beside its file, unless the settings say where.

    None for a log in memory, whatever the settings: its notes are private, and gone with it.
    """
    if path is None:
        return None
    if settings.index_dir is not None:
        return Path(settings.index_dir).absolute()  # The same place after a change of directory.
    return path.with_name(f"{path.name}-index")
