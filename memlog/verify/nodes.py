"""The stored Merkle tree held against the envelopes, a page of leaves at a time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from memlog.proof import leaf_hash
from memlog.store.protocol import Executor
from memlog.verify.report import Findings, counted
from projections import tree

_UNKNOWN = bytes(32)

Leaf = tuple[int, bytes | None]
"""An event's position, and its envelope; None when that cannot be read."""


class TreeCheck:
    """Follows the tree while the log is read; keeps log2(n) hashes.

    Attributes:
        roots: the root at each size that was asked for, as far as the log was read.
    """

    def __init__(
        self,
        cursor: Executor | None,
        findings: Findings,
        *,
        start: int = 0,
        sizes: Collection[int] = (),
    ) -> None:
        """Begin after `start` leaves, of which the stored tree must have the right hashes.

        Args:
            cursor: reads the table; None when the store has none, and only the root is wanted.
            findings: where damage goes.
            start: number of leaves that are not looked at again.
            sizes: at which the root is wanted.
        """
        self._cursor, self._findings, self._sizes = cursor, findings, sizes
        self._index = start
        self._stack = [] if cursor is None else tree.stack(cursor, size=start)
        self._whole = True
        self.roots: dict[int, bytes] = {}
        self._note_root()

    @property
    def root(self) -> bytes | None:
        """The root of what was read; None when an envelope could not be."""
        return tree.fold(self._stack) if self._whole else None

    def add(self, leaves: Sequence[Leaf]) -> None:
        """Compare what is stored for the next leaves, and for the nodes that end with them."""
        start = self._index
        first, end = tree.stored_count(start), tree.stored_count(start + len(leaves))
        held = {} if self._cursor is None else _held(self._cursor, first, end)
        due: list[bytes] = []
        for _, envelope in leaves:
            if envelope is None:
                self._whole = False
                leaf = held.get(first + len(due), _UNKNOWN)
            else:
                leaf = leaf_hash(envelope)
            due += tree.push_leaf(self._stack, leaf, index=self._index)
            self._index += 1
            if self._index in self._sizes:
                self._note_root()
        if self._cursor is not None and held != dict(enumerate(due, first)):
            self._compare(leaves, held, due, start=start)

    def _compare(
        self, leaves: Sequence[Leaf], held: Mapping[int, bytes], due: Sequence[bytes], *, start: int
    ) -> None:
        first = tree.stored_count(start)
        for index, (position, _) in enumerate(leaves, start):
            for level, id_ in enumerate(range(*map(tree.stored_count, (index, index + 1)))):
                if held.get(id_) != due[id_ - first]:
                    self._found(position, level, held.get(id_))

    def _found(self, position: int, level: int, held: bytes | None) -> None:
        what = "the leaf" if level == 0 else f"the node of level {level} that ends there"
        wrong = "is missing" if held is None else "has another hash"
        self._findings.add("tree", position, f"{what} {wrong}")

    def _note_root(self) -> None:
        if self._index in self._sizes and self._whole:
            self.roots[self._index] = tree.fold(self._stack)

    def finish(self) -> None:
        """Look for hashes that belong to no leaf."""
        if self._cursor is None:
            self._findings.looked_at("tree", "there is none", outcome="absent")
            return
        count = tree.stored_count(self._index)
        statement = f"SELECT count(*) FROM {tree.TABLE} WHERE id < 0 OR id >= ?"
        (surplus,) = self._cursor.execute(statement, (count,)).fetchone()
        if surplus:
            detail = f"hashes that belong to no event of the log: {surplus:,}"
            self._findings.add("tree", self._index + 1, detail)
        self._findings.looked_at("tree", f"{count:,} hashes over {counted(self._index, 'event')}")


def _held(cursor: Executor, first: int, end: int) -> dict[int, bytes]:
    statement = f"SELECT id, hash FROM {tree.TABLE} WHERE id >= ? AND id < ?"
    return dict(cursor.execute(statement, (first, end)).fetchall())
