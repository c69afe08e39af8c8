"""Search on Whoosh, the default backend: one index per scope, opened when it is first searched."""

import threading
import time
from collections import OrderedDict
from datetime import datetime
from pathlib import Path

from projections.search.directory import private_path
from projections.search.protocol import Feed, Hit, Weights
from projections.search.scope import ScopeIndex
from projections.search.stored import Identity

IDLE_S = 2.0
"""So long nobody must have searched before an index is stored."""

SCOPES_MAX = 32
"""How many indexes stay open; the one that was not searched for longest is stored and let go."""

_TAIL_MAX = 256  # every search looks at each fresh note: store them even if nobody pauses


class WhooshBackend:
    """The `SearchBackend` that keeps its indexes on disk. Safe for threads and processes.

    Args:
        index_dir: Where the indexes lie; made when it is needed. None keeps them in memory.
        idle_s: How long nobody must have searched before indexes are stored in the background.
        scopes_max: How many indexes stay open.
    """

    def __init__(
        self, index_dir: Path | None, *, idle_s: float = IDLE_S, scopes_max: int = SCOPES_MAX
    ) -> None:
        self._index_dir = index_dir
        self._idle_s = idle_s
        self._scopes_max = scopes_max
        self._scopes: OrderedDict[tuple[str, str], ScopeIndex] = OrderedDict()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()
        self._searched_at = 0.0
        self._closed = False

    def search(
        self, feed: Feed, query: str, *, now: datetime, limit: int = 10, topic: str | None = None,
        include_superseded: bool = False, weights: Weights,
    ) -> list[Hit]:  # fmt: skip
        """See `SearchBackend.search`."""
        scope = self._scope(feed)
        hits = scope.search(
            feed, query, limit=limit, topic=topic, include_superseded=include_superseded,
            now=now, weights=weights,
        )  # fmt: skip
        self._searched_at = time.monotonic()
        if scope.fresh:
            self._store_later(soon=scope.tail_count >= _TAIL_MAX)
        return hits

    def commit(self, feed: Feed) -> None:
        """See `SearchBackend.commit`."""
        scope = self._scope(feed)
        scope.catch_up(feed)
        scope.store()

    def rebuild(self, feed: Feed) -> None:
        """See `SearchBackend.rebuild`."""
        scope = self._scope(feed)
        scope.rebuild(feed)
        scope.store()

    def private(self) -> "WhooshBackend":
        """See `SearchBackend.private`."""
        return WhooshBackend(None, idle_s=0.0, scopes_max=self._scopes_max)

    def close(self) -> None:
        """See `SearchBackend.close`."""
        with self._lock:
            self._closed = True
            thread = self._thread
            scopes = list(self._scopes.values())
            self._scopes.clear()
            self._wake.set()
        if thread is not None:
            thread.join()
        self._wake.clear()
        for scope in scopes:
            scope.store()

    def _scope(self, feed: Feed) -> ScopeIndex:
        key = (feed.log_id, feed.stream)
        leaving: list[ScopeIndex] = []
        with self._lock:
            self._closed = False
            scope = self._scopes.get(key)
            if scope is None:
                scope = self._scopes[key] = self._new_scope(feed)
                while len(self._scopes) > self._scopes_max:
                    leaving.append(self._scopes.popitem(last=False)[1])
            self._scopes.move_to_end(key)
        for each in leaving:
            each.store()
        return scope

    def _new_scope(self, feed: Feed) -> ScopeIndex:
        path = None
        if self._index_dir is not None:
            path = private_path(self._index_dir, log_id=feed.log_id, stream=feed.stream)
        return ScopeIndex(path, Identity(feed.log_id, feed.stream, feed.hmac_key))

    def _store_later(self, *, soon: bool) -> None:
        if soon:
            self._wake.set()
        with self._lock:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(
                    target=self._store_when_idle, name="memlog-search", daemon=True
                )
                self._thread.start()

    def _store_when_idle(self) -> None:
        """Wait for a pause and store what is fresh, until nothing is: one thread a burst."""
        while True:
            while not self._wake.wait(self._idle_s):
                if time.monotonic() - self._searched_at >= self._idle_s:
                    break
            with self._lock:
                scopes = [] if self._closed else list(self._scopes.values())
            for scope in scopes:
                scope.store()
            with self._lock:
                if self._closed or not any(scope.fresh for scope in self._scopes.values()):
                    self._thread = None
                    return
                self._wake.clear()
