"""A dictionary that is larger than memory: recent values in it, the others in a temporary file.

The file is SQLite's own private database without a name, in the system's temporary directory; it is
made when it is first needed and gone when it is closed. Each time memory is full, what was changed
goes into it as one more sorted run (O'Neil et al., "The Log-Structured Merge-Tree", 1996), for a
table that is written in order takes a third of the time. Keys go in as keyed hashes, so that nobody
who names notes can make two of them meet.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from heapq import merge
from operator import itemgetter
from typing import Generic, TypeVar

import msgspec

from memlog.errors import StoreFullError

Key = tuple[str | None, ...]
Cell = TypeVar("Cell")

KEPT_MAX = 100_000
"""How many values stay in memory, at about 500 bytes each."""

RUNS_MAX = 255
"""How many runs there are at most, before they are made one; the number of one is a byte."""

_SLOTS = 2**24
_AS_THE_FIRST = bytes([0]) + bytes([1]) * RUNS_MAX

_Row = tuple[int, bytes | None]
"""The hash of a key, and what was written under it; None for a value that was taken away."""


class Cells(Generic[Cell]):
    """Values by key.

    Every method may raise `StoreFullError`: there is no room for the file.

    Attributes:
        count: number of keys that have a value.
        get: returns the value of a key, or None. While there is no file it is the dictionary's own.
    """

    def __init__(
        self, cell_type: type[Cell], *, kept_max: int = KEPT_MAX, runs_max: int = RUNS_MAX
    ) -> None:
        self.count = 0
        self._kept_max, self._runs_max = kept_max, runs_max
        self._kept: dict[Key, Cell | None] = {}
        self.get: Callable[[Key], Cell | None] = self._kept.get
        self._changed: dict[Key, Cell | None] = {}  # In order, so that the file is made quickly.
        self._file: sqlite3.Connection | None = None
        self._runs = 0  # Numbered from 1, the oldest.
        self._newest = bytearray()  # The last run that has a key of such a hash, 0 for none.
        self._secret = os.urandom(16).hex()
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(tuple[Key, cell_type]).decode  # type: ignore[valid-type]

    def _read(self, key: Key) -> Cell | None:
        if key not in self._kept:
            self.load([key])
        return self._kept.get(key)

    def put(self, key: Key, cell: Cell) -> None:
        """Give a key a value."""
        if self.get(key) is None:
            self.count += 1
        self._kept[key] = cell
        self.touch(key)

    def touch(self, key: Key) -> None:
        """Say that the value of a key, which `get` or `put` has just seen, was changed in place."""
        if self._file is not None:  # What the file does not hold yet is all changed.
            self._changed[key] = self._kept[key]

    def remove(self, key: Key) -> None:
        """Take a key's value away, if it has one."""
        self.count -= self.get(key) is not None
        self._kept[key] = None
        self.touch(key)

    @property
    def spilled(self) -> bool:
        """Whether there is a file, so that `load` saves time."""
        return self._file is not None

    def load(self, keys: Iterable[Key]) -> None:
        """Read the values of many keys at once; with none in the file it costs nothing."""
        if self._file is None:
            return
        kept = self._kept
        wanted = [key for key in dict.fromkeys(keys) if key not in kept]
        with _room():
            for key in wanted:
                kept[key] = None
                stored = self._stored(self._file, self._hash(key))
                if stored is not None:
                    there, kept[there] = self._decode(stored)

    def _stored(self, file: sqlite3.Connection, id_: int) -> bytes | None:
        """Return the last value that was written under a hash; None when there is none."""
        for run in range(self._newest[id_ % _SLOTS], 0, -1):  # Nearly always none, or the first.
            row = file.execute(f"SELECT cell FROM run_{run} WHERE id = ?", (id_,)).fetchone()
            if row is not None:
                return row[0]  # type: ignore[no-any-return]  # as it was written
        return None

    def make_room(self) -> None:
        """Move everything to the file, if there is too much in memory."""
        if len(self._kept) > self._kept_max:
            self._spill()

    def all(self) -> Iterator[tuple[Key, Cell]]:
        """Yield every key and value; nothing may be changed meanwhile."""
        if self._file is None:
            yield from ((key, cell) for key, cell in self._kept.items() if cell is not None)
            return
        self._spill()
        with _room():
            for _, cell in self._merged(self._file):
                yield self._decode(cell)

    def close(self) -> None:
        """Drop everything."""
        self._kept.clear()
        if self._file is not None:
            self._file.close()

    def _spill(self) -> None:
        cells = self._kept if self._file is None else self._changed
        rows = [
            (self._hash(key), None if cell is None else self._encode((key, cell)))
            for key, cell in cells.items()
        ]
        rows.sort(key=itemgetter(0))
        with _room():
            self._file = self._file or _temporary()
            if self._runs == self._runs_max:
                self._make_one(self._file)
            run = self._runs = self._runs + 1
            _write(self._file, f"run_{run}", rows)
        self.get = self._read
        self._newest = self._newest or bytearray(_SLOTS)
        for id_, _ in rows:
            self._newest[id_ % _SLOTS] = run
        self._kept.clear()
        self._changed.clear()

    def _make_one(self, file: sqlite3.Connection) -> None:
        """Merge all runs into the first."""
        _write(file, "merged", self._merged(file))
        for run in range(1, self._runs + 1):
            file.execute(f"DROP TABLE run_{run}")
        file.execute("ALTER TABLE merged RENAME TO run_1")
        self._newest = self._newest.translate(_AS_THE_FIRST)
        self._runs = 1

    def _merged(self, file: sqlite3.Connection) -> Iterator[tuple[int, bytes]]:
        """Yield each hash and its last value, smallest hash first."""

        def rows(run: int) -> Iterator[tuple[int, int, bytes | None]]:
            for id_, cell in file.execute(f"SELECT id, cell FROM run_{run} ORDER BY id"):
                yield id_, -run, cell

        last = None
        for id_, _, cell in merge(*map(rows, range(1, self._runs + 1))):
            if id_ != last and cell is not None:
                yield id_, cell
            last = id_

    def _hash(self, key: Key) -> int:
        return hash(f"{self._secret}{key}")  # SipHash, which a secret beginning keys anew.


@contextmanager
def _room() -> Iterator[None]:
    """Tell what is wrong with the temporary file as such: it is no damage of a store."""
    try:
        yield
    except sqlite3.Error as error:
        what, detail = "a temporary file", f"{error}; SQLITE_TMPDIR can name a directory with more"
        raise StoreFullError(what, detail) from error


def _write(file: sqlite3.Connection, table: str, rows: Iterable[_Row]) -> None:
    """Make a table of rows that come smallest hash first."""
    file.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, cell BLOB)")
    file.executemany(f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", rows)


def _temporary() -> sqlite3.Connection:
    """Return a private database in a temporary file, of which 16 MB stay in memory."""
    connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    for statement in (
        "PRAGMA journal_mode=OFF",
        "PRAGMA synchronous=OFF",
        "PRAGMA cache_size=-16384",
        "BEGIN",  # For good: nothing of it is to outlive the connection.
    ):
        connection.execute(statement)
    return connection
