"""An SQLite file, the engine that reads it, and the directory around it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

from memlog.doctor.symptom import Symptom, sized
from memlog.store import files
from memlog.store.location import check_location, file_system
from memlog.store.protocol import Executor

# Before it, a commit that races another process's checkpoint can be lost
# (sqlite.org/wal.html, "the WAL-reset bug").
_WAL_RESET_MENDED = (3, 51, 3)
_WAL_LARGE_BYTES = 64_000_000
_FREE_MIN_BYTES = 100_000_000
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OTHERS_READ = stat.S_IRGRP | stat.S_IROTH


def place_symptoms(path: Path) -> Iterator[Symptom]:
    """Yield what the engine and the place of a file are like.

    Raises:
        UnsafeLocationError: it cannot hold a store.
        StoreNotFoundError, NotAStoreError: there is none.
    """
    with files.file_errors(path):
        check_location(path)
    yield engine(sqlite3.sqlite_version_info[:3])
    yield Symptom("file system", "well", file_system(path.parent) or "its type is not known here")
    if not path.exists():
        return
    yield space(shutil.disk_usage(path.parent).free, path.stat().st_size)
    yield _permissions(path)
    yield write_ahead(_size(path.with_name(f"{path.name}-wal")))
    yield _mark(path)


def engine(version: tuple[int, ...]) -> Symptom:
    """Tell what a version of SQLite is known for."""
    name = ".".join(map(str, version))
    if version >= _WAL_RESET_MENDED:
        return Symptom("sqlite", "well", name)
    mended = ".".join(map(str, _WAL_RESET_MENDED))
    detail = (
        f"{name} has the WAL-reset bug, mended in {mended}; memlog's lock file keeps its own "
        "processes from it, so let no other program write or checkpoint the file"
    )
    return Symptom("sqlite", "known", detail)


def space(free: int, size: int) -> Symptom:
    """Tell whether the disk has room for the store to grow, and for a backup of it."""
    detail = f"{sized(free)} free, the store has {sized(size)}"
    if free < _FREE_MIN_BYTES:
        return Symptom("disk", "bad", f"{detail}; writes will soon be refused: make room")
    if free < 2 * size:
        return Symptom("disk", "known", f"{detail}; a backup or a VACUUM needs as much again")
    return Symptom("disk", "well", detail)


def write_ahead(size: int) -> Symptom:
    """Tell whether the write-ahead log is emptied as it should be."""
    if size < _WAL_LARGE_BYTES:
        return Symptom("wal", "well", f"the -wal file has {sized(size)}")
    detail = f"the -wal file has {sized(size)}: a reader keeps it from being emptied; end it"
    return Symptom("wal", "known", detail)


def _permissions(path: Path) -> Symptom:
    modes = {each: each.stat().st_mode for each in (path, path.parent)}
    if modes[path] & _OTHERS_WRITE:
        detail = f"others may write the file; chmod go-w {str(path)!r}"
        return Symptom("permissions", "bad", detail)
    if modes[path.parent] & _OTHERS_WRITE and not modes[path.parent] & stat.S_ISVTX:
        detail = f"others may replace the file; chmod go-w {str(path.parent)!r}"
        return Symptom("permissions", "bad", detail)
    if modes[path] & _OTHERS_READ:
        return Symptom("permissions", "known", "others may read the file, and so the notes")
    return Symptom("permissions", "well", "only its owner may read and write the file")


def _mark(path: Path) -> Symptom:
    """Tell whether an I/O error was seen; the lock file's only content is that mark."""
    if _size(path.with_name(f"{path.name}-lock")):
        detail = "an I/O error was seen; the next writer checks the whole store before it begins"
        return Symptom("mark", "bad", detail)
    return Symptom("mark", "well", "no I/O error was seen since the last check")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def file_symptoms(cursor: Executor, *, path: Path) -> Iterator[Symptom]:
    """Yield what an open file says of itself."""
    (mode,) = cursor.execute("PRAGMA journal_mode").fetchone()
    if mode == "wal":
        yield Symptom("journal", "well", "wal; memlog commits with synchronous=FULL")
    elif not os.access(path.parent, os.W_OK):  # The engine then opens it without its -wal.
        yield Symptom("journal", "known", "none: nothing can be written here, only read")
    else:
        yield Symptom("journal", "bad", f"{mode}, not wal: another program changed it")
    (page_bytes,) = cursor.execute("PRAGMA page_size").fetchone()
    (unused,) = cursor.execute("PRAGMA freelist_count").fetchone()
    yield Symptom("pages", "well", f"{sized(unused * page_bytes)} unused inside the file")
