"""All notes of one scope, ready to be ranked.

A note that changed is simply added again; its older document is retired and counts nowhere. So a
rewrite, a pin and a supersedes link are one and the same thing here.
"""

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from projections.search.columns import ROW, Columns, row_of
from projections.search.fields import decoded, encoded, indexed
from projections.search.parts import Block, Lists, Tail, Terms, look_up
from projections.search.postings import Pool, Postings
from projections.search.protocol import Document

TAIL_BATCH_MAX = 64
"""A batch of more notes than this becomes a block at once."""

POOL_POSTINGS_MAX = 4_000_000
"""Where a rebuild starts a new block, so that its peak memory does not grow with the scope."""


class ScopeNotes:
    """All notes of one scope. Not safe for threads; whoever uses it holds the scope's lock."""

    def __init__(self) -> None:
        self.columns = Columns()
        self.parts: list[Block | Tail] = []

    @property
    def tail_count(self) -> int:
        """How many documents lie in tails."""
        return sum(len(part.notes) for part in self.parts if isinstance(part, Tail))

    def add_block(
        self, postings: Postings, rows: NDArray[np.void], notes: Sequence[bytes],
        *, segment: str | None = None,
    ) -> None:  # fmt: skip
        """Add documents that are inverted already. Retires nothing."""
        self.parts.append(Block(self.columns.size, postings, notes, segment))
        self.columns.append(rows)

    def put(self, documents: Sequence[Document]) -> None:
        """Take the newest state of notes, each slug at most once. About 0.3 ms a note."""
        self._retire([document.slug for document in documents])
        if len(documents) > TAIL_BATCH_MAX:
            self.extend(documents)
            return
        for document in documents:
            note = indexed(document)
            self._open_tail().add(note)
            self.columns.add(row_of(note))

    def _open_tail(self) -> Tail:
        if not self.parts or isinstance(self.parts[-1], Block):
            self.rotate()
        tail = self.parts[-1]
        assert isinstance(tail, Tail)
        return tail

    def rotate(self) -> None:
        """Start a new tail; the parts so far do not change any more."""
        self.parts.append(Tail(self.columns.size))

    def extend(self, documents: Iterable[Document]) -> None:
        """Add notes of which no older state is here, in blocks."""
        pool, rows, notes = Pool(), [], []
        for document in documents:
            note = indexed(document)
            pool.add(note)
            rows.append(row_of(note))
            notes.append(encoded(document))
            if pool.postings >= POOL_POSTINGS_MAX:
                self.add_block(pool.inverted(), np.array(rows, dtype=ROW), notes)
                pool, rows, notes = Pool(), [], []
        if notes:
            self.add_block(pool.inverted(), np.array(rows, dtype=ROW), notes)

    def _retire(self, slugs: Sequence[str]) -> None:
        held = [part.with_slug(slug) for slug in slugs for part in self.parts]
        documents = [*chain.from_iterable(held)]
        if documents:
            self.columns.retire(np.array(documents))

    def look_up(self, terms: Terms) -> Lists:
        """Find the inverted lists of some (field, term) pairs, in the order of their documents."""
        return look_up(self.parts, terms)

    def note(self, number: int) -> bytes:
        """Return the stored bytes of one document."""
        part = next(part for part in reversed(self.parts) if part.base <= number)
        return part.notes[number - part.base]

    def documents_from(self, base: int) -> list[Document]:
        """Return the current documents with this number or a higher one."""
        current = np.flatnonzero(self.columns.current[base:]) + base
        return [decoded(self.note(number)) for number in current.tolist()]
