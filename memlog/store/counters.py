"""What an open log has done so far, in numbers that an embedding program can read."""

from __future__ import annotations

import threading
from typing import Literal

import msgspec

Name = Literal[
    "commits",
    "refusals",
    "events_appended",
    "busy",
    "views",
    "connections",
    "reconnections",
    "outcomes_looked_up",
    "events_followed",
    "lock_wait_s",
]


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """What one handle has done since it was opened; all but the last are numbers of times.

    Attributes:
        commits: writes that were stored, those without events included.
        refusals: writes that left nothing, because a rule, a lock, the disk or the server refused.
        events_appended: events in the stored writes.
        busy: writes that gave up waiting for the others.
        views: reads, each of one moment.
        connections: connections opened (PostgreSQL).
        reconnections: times that a broken connection was replaced (PostgreSQL).
        outcomes_looked_up: commits whose answer was lost, so that the log was asked (PostgreSQL).
        events_followed: events handed out by `Log.follow`.
        lock_wait_s: seconds that writes waited for the others, in all.
    """

    commits: int = 0
    refusals: int = 0
    events_appended: int = 0
    busy: int = 0
    views: int = 0
    connections: int = 0
    reconnections: int = 0
    outcomes_looked_up: int = 0
    events_followed: int = 0
    lock_wait_s: float = 0.0


class Counters:
    """Counts, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[Name, float] = {}

    def add(self, name: Name, amount: float = 1) -> None:
        """Add to one of the counts."""
        with self._lock:
            self._counts[name] = self._counts.get(name, 0) + amount

    def counts(self) -> Counts:
        """Return all counts of this moment."""
        with self._lock:
            return msgspec.convert(self._counts, Counts)
