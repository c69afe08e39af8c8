"""The search side of an open log: its backend, made when it is first used.

`Settings.search` names the backend (`whoosh`), or is one: any object with the methods of
`projections.search.SearchBackend`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from memlog.errors import InvalidRequestError
from memlog.feed import ScopeFeed
from memlog.settings import Settings
from projections.notes.words import Executor
from projections.search.protocol import Hit, SearchBackend, Weights

if TYPE_CHECKING:
    from memlog.store.protocol import Store


class Searcher:
    """Searches the scopes of one log.

    Attributes:
        clock: gives the time that ages are counted from.
        index_dir: where the stored indexes lie; None when there are none.
    """

    def __init__(
        self,
        store: Store,
        *,
        settings: Settings,
        clock: Callable[[], datetime],
        new_backend: Callable[[], SearchBackend] | None = None,
    ) -> None:
        """Prepare to search; nothing is opened yet.

        Args:
            store: the log.
            settings: which backend, where it keeps its indexes, and the weights.
            clock: gives the time, aware.
            new_backend: makes the backend; the one that the settings name when None.
        """
        self._store, self.clock = store, clock
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._opened: SearchBackend | None = None
        directory = self.index_dir = index_dir(settings, store.index_dir)
        self._make_backend = new_backend or partial(chosen_backend, settings.search, directory)
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
        moment = self.clock() if now is None else now
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
                self._opened = self._make_backend()
            return self._opened


def chosen_backend(chosen: SearchBackend | str, directory: Path | None) -> SearchBackend:
    """Return the backend that the settings choose, with its indexes in a directory or in memory."""
    if not isinstance(chosen, str):
        return chosen
    if chosen != "whoosh":
        raise InvalidRequestError("search", chosen, "use 'whoosh', or give a backend")
    from projections.search import WhooshBackend

    return WhooshBackend(directory)


def index_dir(settings: Settings, default: Path | None) -> Path | None:
    """Return where a log's search indexes lie: where its store says, unless the settings do.

    None for a log in memory, whatever the settings: its notes are private, and gone with it.
    """
    if default is None or settings.index_dir is None:
        return default
    return Path(settings.index_dir).absolute()  # The same place after a change of directory.
