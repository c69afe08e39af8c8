"""Clocks, ids and salts that a test knows beforehand, and a log that is opened with them.

Two logs that are opened with equal ones and asked the same hold the same bytes.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import memlog.log
from memlog.log import Log
from memlog.settings import Settings
from memlog.text import utc_text

LOG_ID = "00000000-0000-4000-8000-000000000000"
START = datetime(2026, 11, 30, 19, 15, tzinfo=UTC)

_FORWARD = timedelta(seconds=1)
_BACK = timedelta(hours=1)


class FixedClock:
    """A clock that stands still until it is told to move.

    Attributes:
        now: what it shows, aware UTC.
    """

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """Return what the clock shows."""
        return self.now

    def advance(self, seconds: float = 1.0) -> datetime:
        """Move the clock, back when `seconds` is negative, and return what it shows then."""
        self.now += timedelta(seconds=seconds)
        return self.now


class StumblingClock:
    """A clock that goes on a second each time it is read, and every third time back an hour."""

    def __init__(self, now: datetime = START) -> None:
        self._now, self._readings = now, 0

    def __call__(self) -> datetime:
        """Return the next time."""
        self._readings += 1
        self._now += -_BACK if self._readings % 3 == 0 else _FORWARD
        return self._now


class CountingIds:
    """Event ids and salts made from a counter each: valid, all different, the same every time."""

    def __init__(self, seed: int = 0) -> None:
        """Start counting; two seeds share no id and no salt."""
        self._seed, self._ids, self._salts = seed, 0, 0

    def new_id(self) -> str:
        """Return the next id, a UUID of version 4 as text."""
        self._ids += 1
        return str(uuid.UUID(bytes=self._bytes("id", self._ids)[:16], version=4))

    def new_salt(self) -> bytes:
        """Return the next salt of 32 bytes."""
        self._salts += 1
        return self._bytes("salt", self._salts)

    def _bytes(self, kind: str, count: int) -> bytes:
        return hashlib.sha256(f"{kind}/{self._seed}/{count}".encode()).digest()


def open_log(
    target: str | os.PathLike[str] = ":memory:",
    *,
    clock: Callable[[], datetime] | None = None,
    ids: CountingIds | None = None,
    settings: Settings | None = None,
    log_id: str = LOG_ID,
) -> Log:
    """Open a log whose bytes depend on nothing but what it is asked.

    Args:
        target: as for `memlog.open`.
        clock: a `FixedClock` at `START` when None.
        ids: where event ids and salts come from; a fresh `CountingIds` when None. A reopened log
            needs the one that it had before, or another seed.
        settings: the defaults when None.
        log_id: the id that a new log gets.
    """
    ids = ids or CountingIds()
    log = memlog.log.open(
        target,
        settings=settings,
        clock=clock or FixedClock(),
        new_id=ids.new_id,
        new_salt=ids.new_salt,
    )
    if log.position() == 0:
        _name(log, log_id)
    return log


def _name(log: Log, log_id: str) -> None:
    """Take the randomness of its creation from an empty log; its events will carry this id."""
    store = log._store  # noqa: SLF001  # the id of a log is random on purpose
    with store.transaction() as transaction:
        transaction.cursor.execute(
            "UPDATE log SET log_id = ?, created_at = ?, secret = ?",
            (log_id, utc_text(START), bytes(32)),
        )
    store.log_id, store.secret, log.log_id = log_id, bytes(32), log_id
