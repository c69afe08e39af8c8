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
from contextlib import suppress
from pathlib import Path
from weakref import WeakSet

from memlog.errors import NotAStoreError
from memlog.store.files import file_errors

_SUSPECT = b"suspect"
_FIRST_WAIT_S = 0.0001
_LONGEST_WAIT_S = 0.005
_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
_CLOSED = -1

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
        with suppress(OSError):  # It was not locked.
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

    def _leave_to_parent() -> None:
        """Close the files in a forked child: open there, they would hold a killed parent's lock."""
        for lock in list(_open_locks):
            lock.close()

    os.register_at_fork(after_in_child=_leave_to_parent)


class LockFile:
    """An exclusive lock between processes, and the mark that a store is suspect.

    One thread at a time may use it.
    """

    def __init__(self, path: Path) -> None:
        """Open the lock file, and make it when there is none.

        Raises:
            NotAStoreError: something else has its name.
            ReadOnlyError: it cannot be written.
        """
        self._path, self._file = path, _CLOSED
        self._file = self._opened()
        _open_locks.add(self)

    def _opened(self) -> int:
        with file_errors(self._path):
            file = os.open(self._path, _FLAGS, 0o600)
        if _SUSPECT.startswith(os.read(file, len(_SUSPECT) + 1)):
            return file
        os.close(file)
        raise NotAStoreError(str(self._path), "the lock file of a store must have this name")

    def lock(self, timeout_s: float) -> bool:
        """Take the lock, waiting with growing pauses of at most 5 ms; False when others kept it."""
        deadline, pause = None, _FIRST_WAIT_S
        while not (_try_lock(self._file) and self._in_place()):
            now = time.monotonic()
            deadline = deadline or now + timeout_s
            if now >= deadline:
                return False
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_WAIT_S)
        return True

    def unlock(self) -> None:
        """Give the lock up, whether it is held or not."""
        if self._file != _CLOSED:
            _unlock(self._file)

    def _in_place(self) -> bool:
        """Tell whether others would lock this very file; open the one they would if it is gone."""
        if os.fstat(self._file).st_nlink:
            return True
        gone, self._file = self._file, self._opened()
        os.close(gone)
        return False

    @property
    def suspect(self) -> bool:
        """Whether an error was seen after which the store must be checked."""
        return os.fstat(self._file).st_size > 0

    def mark_suspect(self) -> None:
        """Leave the mark, as far as the disk still takes it; any thread may call this."""
        with suppress(OSError):  # By name: another thread may just be closing the handle's file.
            file = os.open(self._path, os.O_WRONLY)
            try:
                os.write(file, _SUSPECT)
                os.fsync(file)
            finally:
                os.close(file)

    def clear(self) -> None:
        """Take the mark away: the store was checked."""
        os.ftruncate(self._file, 0)

    def close(self) -> None:
        """Close the file; a held lock goes with it. A second call does nothing."""
        file, self._file = self._file, _CLOSED
        if file != _CLOSED:
            os.close(file)

    def __del__(self) -> None:
        self.close()


_open_locks: WeakSet[LockFile] = WeakSet()
