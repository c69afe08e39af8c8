"""What ranking needs of each document, as arrays that grow: 42 bytes a document."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projections.search.fields import IndexedNote, microseconds

ROW = np.dtype(
    [
        ("written_at", "<i8"),  # microseconds since 1970
        ("written_seq", "<i8"),
        ("updated_seq", "<i8"),
        ("length", "<u4"),  # main tokens
        ("pinned", "u1"),
        ("superseded", "u1"),
    ]
)
"""One document's row as it is stored, 30 bytes."""


class Row(NamedTuple):
    """One document's row, as of `ROW`."""

    written_at: int
    written_seq: int
    updated_seq: int
    length: int
    pinned: bool
    superseded: bool


def row_of(note: IndexedNote) -> Row:
    """Return the row of one note."""
    document = note.document
    return Row(
        written_at=microseconds(document.written_at),
        written_seq=document.written_seq,
        updated_seq=document.updated_seq,
        length=note.length,
        pinned=document.pinned,
        superseded=document.superseded_by is not None,
    )


class Columns:
    """The rows of all documents of a scope, by document number, and which of them count.

    A document is `current` until a newer state of the same note takes its place; it is `live`
    while it is current and not superseded. `live_count` and `live_length` belong to live ones.
    """

    def __init__(self) -> None:
        self.size = 0
        self.live_count = 0
        self.live_length = 0
        self._rows = np.empty(0, dtype=ROW)
        self._current = np.empty(0, dtype=bool)
        self._live = np.empty(0, dtype=bool)
        self._norms = np.empty(0)

    @property
    def rows(self) -> NDArray[np.void]:
        """All rows, of dtype `ROW`."""
        return self._rows[: self.size]

    @property
    def current(self) -> NDArray[np.bool_]:
        """Which documents show their note as it is."""
        return self._current[: self.size]

    @property
    def live(self) -> NDArray[np.bool_]:
        """Which documents are current and not superseded."""
        return self._live[: self.size]

    @property
    def norms(self) -> NDArray[np.float64]:
        """1.5 · (length + 50) of each document, the part of K that no other note changes."""
        return self._norms[: self.size]

    def add(self, row: Row) -> None:
        """Add one document, which is current: a tenth of the time that `append` takes for one."""
        at, self.size = self.size, self.size + 1
        self._grow()
        self._rows[at] = row
        self._current[at] = True
        self._live[at] = not row.superseded
        self._norms[at] = 1.5 * (row.length + 50.0)
        if not row.superseded:
            self.live_count += 1
            self.live_length += row.length

    def append(self, new: NDArray[np.void]) -> None:
        """Add documents, all of them current."""
        first, self.size = self.size, self.size + len(new)
        self._grow()
        added = slice(first, self.size)
        self._rows[added] = new
        self._current[added] = True
        self._live[added] = live = new["superseded"] == 0
        self._norms[added] = 1.5 * (new["length"] + 50.0)
        self.live_count += int(live.sum())
        self.live_length += int(new["length"][live].sum())

    def retire(self, documents: NDArray[np.int64]) -> None:
        """Mark documents whose note has a newer state. Doing so twice changes nothing."""
        lost = documents[self._live[documents]]
        self.live_count -= len(lost)
        self.live_length -= int(self._rows["length"][lost].sum())
        self._live[documents] = False
        self._current[documents] = False

    def _grow(self) -> None:
        if self.size <= len(self._rows):
            return
        capacity = self.size + self.size // 2 + 64
        for name in ("_rows", "_current", "_live", "_norms"):
            old = getattr(self, name)
            new = np.zeros(capacity, dtype=old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)
