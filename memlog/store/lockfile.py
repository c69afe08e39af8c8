"""One lock file beside the database: writers and their checkpoints exclude each other.

SQLite before 3.51.3 can lose a commit that races the checkpoint of another process
(sqlite.org/wal.html, "the WAL-reset bug"), so a write transaction, together with the checkpoint
that its commit may start, runs under this lock. The lock belongs to the open file description, so
two handles in one process exclude each other as well.

The file's only content is a mark that an I/O or corruption error was seen: the next opening checks
the whole store before it trusts it.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memlog.errors import BusyError

_SUSPECT = b"suspect"
_FIRST_WAIT_S = 0.0001
_LONGEST_WAIT_S = 0.005

if sys.platform == "win32":
    import msvcrt

    def _try_lock(file: int) -> bool:
        os.lseek(file, 1024, os.SEEK_SET)  # Beyond the mark, which stays readable.
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(file: int) -> None:
        os.lseek(file, 1024, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)


class LockFile:
    """An exclusive lock between processes, and the mark that a store is suspect."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)

    @contextmanager
    def held(self, timeout_s: float) -> Iterator[None]:
        """Hold the lock; waits with growing pauses of at most 5 ms.

        Raises:
            BusyError: another writer held it for `timeout_s`.
        """
        if not _try_lock(self._file):
            self._wait(timeout_s)
        try:
            yield
        finally:
            _unlock(self._file)

    def _wait(self, timeout_s: float) -> None:
        deadline, pause = time.monotonic() + timeout_s, _FIRST_WAIT_S
        while not _try_lock(self._file):
            if time.monotonic() >= deadline:
                raise BusyError(str(self._path), timeout_s)
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_WAIT_S)

    @property
    def suspect(self) -> bool:
        """Whether an error was seen after which the store must be checked."""
        os.lseek(self._file, 0, os.SEEK_SET)
        return os.read(self._file, len(_SUSPECT)) == _SUSPECT

    def mark_suspect(self) -> None:
        """Leave the mark, as far as the disk still takes it."""
        with suppress(OSError):
            os.lseek(self._file, 0, os.SEEK_SET)
            os.write(self._file, _SUSPECT)

    def clear(self) -> None:
        """Take the mark away: the store was checked."""
        os.ftruncate(self._file, 0)

    def close(self) -> None:
        """Close the file; a held lock goes with it."""
        os.close(self._file)
