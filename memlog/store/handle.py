"""What an open log is on either engine: whose it is, its clock, one writer at a time, its pages."""

from __future__ import annotations

import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime
from pathlib import Path

from memlog import text
from memlog.errors import BusyError, ClosedError, ForkedError, InvalidRequestError
from memlog.store import pages
from memlog.store.counters import Counters
from memlog.store.protocol import NO_LIMIT, Executor
from memlog.store.rows import StoredRow

CLOSED = "close() was called"

Clock = Callable[[], datetime]


class Handle(ABC):
    """The half of `memlog.store.protocol.Store` that does not ask which engine it is on."""

    path: Path | None = None
    log_id: str
    secret: bytes
    _page_events: int
    """How many events are read at once."""

    def __init__(
        self,
        target: str,
        *,
        index_dir: Path | None,
        clock: Clock,
        lock_timeout_s: float,
        read_only: bool,
    ) -> None:
        self.target, self.index_dir, self.read_only = target, index_dir, read_only
        self.counters = Counters()
        self._clock, self._timeout_s = clock, lock_timeout_s
        self._pid = os.getpid()
        self._writer = threading.Lock()
        self._closed_because: str | None = None

    def _now(self) -> str:
        moment: object = self._clock()  # Injected: its type is only promised.
        if not isinstance(moment, datetime) or moment.utcoffset() is None:
            raise InvalidRequestError("clock", moment, "it must give an aware datetime")
        return text.utc_text(moment)

    def _check_usable(self) -> None:
        if self._closed_because is not None:
            raise ClosedError(self.target, self._closed_because)
        pid = os.getpid()
        if pid != self._pid:
            raise ForkedError(self.target, self._pid, pid)

    # --- Excluding the other writers

    @contextmanager
    def _exclusive(self, wait_s: float) -> Iterator[float]:
        """Exclude the other threads, and what `_exclude_processes` does; gives the seconds left."""
        start = time.monotonic()
        acquired: list[bool] = []
        try:
            # One call in C: no interrupt can come between taking the lock and knowing it.
            longest_s = min(wait_s, threading.TIMEOUT_MAX)
            acquired.extend(map(self._writer.acquire, (True,), (longest_s,)))
            if not acquired[0] or not self._exclude_processes(start + wait_s - time.monotonic()):
                self.counters.add("busy")
                raise BusyError(self.target, wait_s)
            waited_s = time.monotonic() - start
            self.counters.add("lock_wait_s", waited_s)
            yield max(wait_s - waited_s, 0.0)
        finally:
            if True in acquired:
                try:
                    self._leave()
                finally:
                    self._writer.release()

    def _exclude_processes(self, wait_s: float) -> bool:
        """Exclude the writers of other processes, where a lock of the engine does not; else True.

        False when they kept the lock for so long.
        """
        del wait_s
        return True

    @abstractmethod
    def _leave(self) -> None:
        """End an exclusive part: after `close`, or after damage, the connections go as well."""

    # --- Reading

    @abstractmethod
    def reading(self) -> AbstractContextManager[Executor]:
        """One consistent view of the store, as of the block's first statement."""

    def rows(self, *, after: int = 0, up_to: int = NO_LIMIT) -> Iterator[StoredRow]:
        """Yield stored events with positions in (after, up_to], in order."""
        return pages.log_rows(self.reading, after=after, up_to=up_to, size=self._page_events)

    def stream_rows(
        self, stream: str, *, after: int = 0, up_to: int = NO_LIMIT, containing: bytes = b""
    ) -> Iterator[StoredRow]:
        """Yield a stream's stored events with seqs in (after, up_to], in order.

        Args:
            stream: name of the stream.
            after: the seq before the first.
            up_to: the last seq.
            containing: bytes that the state of each must hold.
        """
        return pages.stream_rows(
            self.reading,
            stream,
            after=after,
            up_to=up_to,
            size=self._page_events,
            containing=containing,
        )

    # --- Ending

    def close(self) -> None:
        """Close the store; a second call does nothing. In a forked child it leaves all alone."""
        if os.getpid() != self._pid:
            return
        self._closed_because = self._closed_because or CLOSED
        if self._begin_closing():
            with suppress(BusyError), self._exclusive(self._timeout_s):
                pass  # Whoever leaves last takes the connections along; that may be a write.

    @abstractmethod
    def _begin_closing(self) -> bool:
        """Close what no write can be using; tell whether more is to be closed."""
