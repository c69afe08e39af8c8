"""The stored Merkle tree held against the envelopes, a page of leaves at a time."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Collection, Sequence

from memlog.store.protocol import Executor
from memlog.verify.report import Findings, counted
from projections import tree

_UNKNOWN = bytes(32)


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
        self._cursor, self._findings, self._sizes = cursor, findings, sorted({*sizes})
        self._index = start
        self._stack = [] if cursor is None else tree.stack(cursor, size=start)
        self._whole = True
        self.roots: dict[int, bytes] = {}
        if start in self._sizes:
            self._note_root()

    @property
    def root(self) -> bytes | None:
        """The root of what was read; None when an envelope could not be."""
        return tree.fold(self._stack) if self._whole else None

    def add(self, positions: Sequence[int], leaves: Sequence[bytes | None]) -> None:
        """Compare what is stored for the next leaves, and for the nodes that end with them.

        Args:
            positions: of their events.
            leaves: hashes of the envelopes; None for one that cannot be read.
        """
        start, end = self._index, self._index + len(leaves)
        due: list[bytes] = []
        sizes = self._sizes[bisect_right(self._sizes, start) : bisect_right(self._sizes, end)]
        for size in sizes:
            due += self._pushed(leaves[self._index - start : size - start])
            self._note_root()
        due += self._pushed(leaves[self._index - start :])
        if self._cursor is not None and _held(self._cursor, start, end) != due:
            self._compare(self._cursor, positions, due, start=start)

    def _pushed(self, leaves: Sequence[bytes | None]) -> list[bytes]:
        """Return the hashes to store for the next leaves, as `tree.push_leaf` gives them."""
        sha256, stack, due = hashlib.sha256, self._stack, []
        for at, leaf in enumerate(leaves, self._index):
            index, found = at, self._unread(at) if leaf is None else leaf
            due.append(found)
            while index & 1:  # `proof.node_hash`, without a call for each.
                found = sha256(b"\x01" + stack.pop() + found).digest()
                due.append(found)
                index >>= 1
            stack.append(found)
        self._index += len(leaves)
        return due

    def _unread(self, index: int) -> bytes:
        """Return what is stored for a leaf that cannot be made, so that others can be compared."""
        self._whole = False
        if self._cursor is None:
            return _UNKNOWN
        statement = f"SELECT hash FROM {tree.TABLE} WHERE id = ?"
        held = self._cursor.execute(statement, (tree.stored_count(index),)).fetchone()
        return held[0] if held and isinstance(held[0], bytes) else _UNKNOWN

    def _compare(
        self, cursor: Executor, positions: Sequence[int], due: Sequence[bytes], *, start: int
    ) -> None:
        first = tree.stored_count(start)
        statement = f"SELECT id, hash FROM {tree.TABLE} WHERE id >= ? AND id < ?"
        held = dict(cursor.execute(statement, (first, first + len(due))).fetchall())
        for index, position in enumerate(positions, start):
            for level, id_ in enumerate(range(*map(tree.stored_count, (index, index + 1)))):
                if held.get(id_) != due[id_ - first]:
                    self._found(position, level, held.get(id_))

    def _found(self, position: int, level: int, held: bytes | None) -> None:
        what = "the leaf" if level == 0 else f"the node of level {level} that ends there"
        wrong = "is missing" if held is None else "has another hash"
        self._findings.add("tree", position, f"{what} {wrong}")

    def _note_root(self) -> None:
        if self._whole:
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


def _held(cursor: Executor, start: int, end: int) -> list[bytes]:
    """Return what is stored for leaves [start, end), in order; fewer where some are missing."""
    statement = f"SELECT hash FROM {tree.TABLE} WHERE id >= ? AND id < ? ORDER BY id"
    ids = tree.stored_count(start), tree.stored_count(end)
    return [hash_ for (hash_,) in cursor.execute(statement, ids).fetchall()]
