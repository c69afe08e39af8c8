"""Follow a log: its events as they commit, each once, in order, for as long as somebody asks.

There is one loop for all engines and moments: read what lies above the position handed out last, at
most a buffer full; hand it out; where there is nothing, wait for a hint or a moment, and look
again. What is handed out follows the position before it, or the log is not what it was. A follower
that is slow is waited for: nothing is read before the buffer is empty, and no transaction is open
while it works.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import closing

from memlog.errors import ClosedError, CorruptStoreError, InvalidRequestError, RetryError
from memlog.events import Event
from memlog.store.protocol import Store
from memlog.store.rows import StoredRow, decoded

logger = logging.getLogger(__name__)

BUFFER_EVENTS = 200
POLL_S = 0.25

_PAUSE_MIN_S, _PAUSE_MAX_S = 0.05, 2.0


def follow(
    store: Store, *, after: int, poll_s: float = POLL_S, timeout_s: float | None = None
) -> Iterator[Event]:
    """Yield events as they commit; see `Log.follow`.

    Raises:
        InvalidRequestError: the log ends before `after`.
        DamageError: an event cannot be read, or the log lost events that were handed out.
    """
    head = _head(store)
    if after > head:
        raise InvalidRequestError("after", after, f"the log ends at position {head}")
    return _followed(store, after, poll_s, timeout_s)


def _followed(store: Store, after: int, poll_s: float, timeout_s: float | None) -> Iterator[Event]:
    with closing(store.hint()) as hint:
        last, since = after, time.monotonic()
        pause_s = _PAUSE_MIN_S
        while True:
            try:
                buffer = list(store.rows(after=last, up_to=last + BUFFER_EVENTS))
                if not buffer:
                    _check_not_shorter(store, last)
            except ClosedError:
                return
            except RetryError as error:
                _log_once(store, error, pause_s)
                if _is_over(since, timeout_s):
                    return
                time.sleep(pause_s)
                pause_s = min(2 * pause_s, _PAUSE_MAX_S)
                continue
            pause_s = _PAUSE_MIN_S
            for row in buffer:
                yield _next(store, row, last)
                last, since = row.position, time.monotonic()
            if not buffer:
                if _is_over(since, timeout_s):
                    return
                hint.wait(_wait_s(since, poll_s, timeout_s))


def _next(store: Store, row: StoredRow, last: int) -> Event:
    if row.position != last + 1:
        raise CorruptStoreError(store.target, f"position {row.position} follows {last}")
    store.counters.add("events_followed")
    return decoded(row)


def _head(store: Store) -> int:
    with store.reading() as cursor:
        head: int = cursor.execute("SELECT position FROM log").fetchone()[0]
        return head


def _check_not_shorter(store: Store, last: int) -> None:
    """Notice that an older copy took the log's place: what was handed out is in no log any more."""
    head = _head(store)
    if head < last:
        detail = f"it ends at position {head}, but {last} was handed out; an older copy is back"
        raise CorruptStoreError(store.target, detail)


def _is_over(since: float, timeout_s: float | None) -> bool:
    return timeout_s is not None and time.monotonic() - since >= timeout_s


def _wait_s(since: float, poll_s: float, timeout_s: float | None) -> float:
    if timeout_s is None:
        return poll_s
    return max(min(poll_s, since + timeout_s - time.monotonic()), 0.0)


def _log_once(store: Store, error: RetryError, pause_s: float) -> None:
    if pause_s == _PAUSE_MIN_S:
        logger.warning(
            "following waits: %s", error, extra={"log_id": store.log_id, "target": store.target}
        )
