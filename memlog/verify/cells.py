"""A dictionary that is larger than memory: recent values in it, the others in a temporary file.

The file is SQLite's own private database without a name, in the system's temporary directory; it is
made when it is first needed and gone when it is closed. Keys go in as keyed hashes, so that nobody
who names notes can make two of them meet.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

import msgspec

Key = tuple[str | None, ...]
Cell = TypeVar("Cell")

KEPT_MAX = 100_000
"""How many values stay in memory, at about 500 bytes each."""

_LOADED_AT_ONCE = 5_000


class Cells(Generic[Cell]):
    """Values by key.

    Attributes:
        count: number of keys that have a value.
        get: returns the value of a key, or None. While there is no file it is the dictionary's own.
    """

    def __init__(self, cell_type: type[Cell], *, kept_max: int = KEPT_MAX) -> None:
        self.count = 0
        self._kept_max = kept_max
        self._kept: dict[Key, Cell | None] = {}
        self.get: Callable[[Key], Cell | None] = self._kept.get
        self._changed: set[Key] = set()
        self._file: sqlite3.Connection | None = None
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
            self._changed.add(key)

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
        wanted = [key for key in dict.fromkeys(keys) if key not in self._kept]
        self._kept.update(dict.fromkeys(wanted))
        hashes = sorted(map(self._hash, wanted))
        for start in range(0, len(hashes), _LOADED_AT_ONCE):
            chunk = hashes[start : start + _LOADED_AT_ONCE]
            statement = f"SELECT cell FROM cells WHERE id IN ({','.join('?' * len(chunk))})"
            self._kept.update(self._decode(row[0]) for row in self._file.execute(statement, chunk))

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
        for (cell,) in self._file.execute("SELECT cell FROM cells"):
            yield self._decode(cell)

    def close(self) -> None:
        """Drop everything."""
        self._kept.clear()
        if self._file is not None:
            self._file.close()

    def _spill(self) -> None:
        cells = self._kept
        if self._file is not None:
            cells = {key: self._kept[key] for key in self._changed}
        file = self._file = self._file or _temporary()
        self.get = self._read
        file.executemany(
            "INSERT OR REPLACE INTO cells VALUES (?, ?)",
            sorted(
                (self._hash(key), self._encode((key, cell)))
                for key, cell in cells.items()
                if cell is not None
            ),
        )
        gone = ((self._hash(key),) for key, cell in cells.items() if cell is None)
        file.executemany("DELETE FROM cells WHERE id = ?", gone)
        self._kept.clear()
        self._changed.clear()

    def _hash(self, key: Key) -> int:
        return hash(f"{self._secret}{key}")  # SipHash, which a secret beginning keys anew.


def _temporary() -> sqlite3.Connection:
    """Return a private database in a temporary file, of which 16 MB stay in memory."""
    connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    for statement in (
        "PRAGMA journal_mode=OFF",
        "PRAGMA synchronous=OFF",
        "PRAGMA cache_size=-16384",
        "CREATE TABLE cells (id INTEGER PRIMARY KEY, cell BLOB NOT NULL)",
        "BEGIN",  # For good: nothing of it is to outlive the connection.
    ):
        connection.execute(statement)
    return connection
