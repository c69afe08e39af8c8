"""The log behind a server: opened at the first request that needs it, so that a start is quick."""

from __future__ import annotations

import os
import threading

import memlog
from memlog.log import Log
from memlog.memory import Memory
from memlog.note import Scope
from memlog.settings import Settings


class Notes:
    """The notes of one scope of a log that may not be open yet. Safe to share between threads."""

    def __init__(
        self,
        target: str | os.PathLike[str] | None,
        scope: Scope,
        *,
        settings: Settings,
        read_only: bool = False,
    ) -> None:
        """Say where they are; nothing is opened.

        Args:
            target: as for `memlog.open`; a log is made there by the first request, if none is.
            scope: whose notes.
            settings: of the log.
            read_only: never write and never make a log.
        """
        self._target, self._scope, self._settings = target, scope, settings
        self.read_only = read_only
        self._lock = threading.Lock()
        self._log: Log | None = None

    def memory(self) -> Memory:
        """Return the notes, from an open log.

        Raises:
            MemlogError: it cannot be opened.
        """
        with self._lock:
            if self._log is None:
                self._log = memlog.open(
                    self._target,
                    settings=self._settings,
                    read_only=self.read_only,
                    create=not self.read_only,
                )
            return self._log.scope(self._scope)

    def close(self) -> None:
        """Close the log if it is open, once the writes that have begun are done."""
        with self._lock:
            log, self._log = self._log, None
        if log is not None:
            log.close()
