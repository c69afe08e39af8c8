"""How one who follows a log learns that there may be something new: by looking again."""

from __future__ import annotations

import time
from typing import Protocol


class Hint(Protocol):
    """Waits until something may have been appended. Never more than a hint."""

    def wait(self, timeout_s: float) -> None:
        """Return after so many seconds at the latest."""

    def close(self) -> None:
        """Let go of what it holds."""


class Polling:
    """No hint at all: SQLite tells nobody."""

    def wait(self, timeout_s: float) -> None:
        """Sleep."""
        time.sleep(timeout_s)

    def close(self) -> None:
        """Hold nothing."""
