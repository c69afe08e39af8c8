"""The Merkle tree over the log: its hashes in a table, kept inline, and the proofs made from them.

The leaves are the hashes of the envelopes (`memlog.proof.leaf_hash`) by position - 1, the tree is
that of RFC 9162, 2.1. What is stored are the roots of all perfect subtrees, leaves included, each
right after the last leaf below it, as in golang.org/x/mod/sumdb/tlog:

    leaves 0 1   2 3       4 5        table tree_nodes (id, hash):
    id     0 1 2 3 4 5 6   7 8 9      2 = H(0 1), 5 = H(2 3), 6 = H(leaves 0 to 3), 9 = H(4 5)

n leaves store 2n - popcount(n) hashes, none of which ever changes, so that appending only adds rows
at the end, and the root and the proofs of every earlier size can still be made. Each operation
works out which hashes it needs, reads them in one statement, and then computes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice
from typing import Any, Protocol

from memlog.errors import DriftError
from memlog.proof import EMPTY_ROOT, HASH_BYTES, ShapeError, node_hash

TABLE = "tree_nodes"

HashReader = Callable[[Sequence[int]], Sequence[bytes]]
"""Returns the stored hashes with these ids, in this order. Called at most once an operation."""


class Rows(Protocol):
    """What a statement gives back."""

    def fetchall(self) -> list[Any]:
        """Return all rows."""


class Executor(Protocol):
    """Runs SQL on one connection."""

    def execute(self, sql: str, parameters: Sequence[Any] = ..., /) -> Rows:
        """Run one statement."""

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> object:
        """Run one statement for each row."""


# --- In the database


def ddl() -> tuple[str, ...]:
    """Return the statements that make the table."""
    return (
        f"""
        CREATE TABLE {TABLE} (
            id INTEGER PRIMARY KEY,
            hash BLOB NOT NULL CHECK (length(hash) = {HASH_BYTES})
        )
        """,
    )


def append(cursor: Executor, leaf_hashes: Sequence[bytes], *, size: int) -> None:
    """Add leaves, in the transaction that appends their events; one read and one write.

    Args:
        cursor: on that transaction.
        leaf_hashes: in the order of their positions.
        size: number of leaves before, which is the log's head before these events.

    Raises:
        DriftError: the table ends elsewhere than after `size` leaves.
    """
    if not leaf_hashes:
        return
    first = stored_count(size)
    # As in an addition, the subtrees below the highest bit that changes are merged, no others.
    level = (size ^ (size + len(leaf_hashes))).bit_length() - 1
    merged = stored_ids(start=size >> level << level, end=size)
    # Something is read even where nothing is merged: the last hash, so that no gap can come about.
    stack = _read(cursor, merged or [first - 1] * bool(size), absent=first)
    hashes = chain.from_iterable(
        push_leaf(stack, leaf, index=index) for index, leaf in enumerate(leaf_hashes, size)
    )
    cursor.executemany(f"INSERT INTO {TABLE} (id, hash) VALUES (?, ?)", enumerate(hashes, first))


def root(cursor: Executor, *, size: int) -> bytes:
    """Return the root of the first `size` leaves.

    Raises:
        DriftError: a hash that this takes is missing.
    """
    return make_root(_reader(cursor), size=size)


def stack(cursor: Executor, *, size: int) -> list[bytes]:
    """Return the compact range of the first `size` leaves, which `push_leaf` goes on from.

    Raises:
        DriftError: a hash that this takes is missing.
    """
    return _read(cursor, stored_ids(start=0, end=size))


def inclusion(cursor: Executor, *, index: int, size: int) -> list[bytes]:
    """Return the proof that the tree of the first `size` leaves holds the leaf at this index.

    Raises:
        ShapeError: there is no such leaf.
        DriftError: a hash that this takes is missing.
    """
    return prove_inclusion(_reader(cursor), index=index, size=size)


def consistency(cursor: Executor, *, old_size: int, size: int) -> list[bytes]:
    """Return the proof that the first `old_size` leaves are a prefix of the first `size`.

    Raises:
        ShapeError: the older tree is the larger one.
        DriftError: a hash that this takes is missing.
    """
    return prove_consistency(_reader(cursor), old_size=old_size, size=size)


def _reader(cursor: Executor) -> HashReader:
    return lambda ids: _read(cursor, ids)


def _read(cursor: Executor, ids: Sequence[int], *, absent: int | None = None) -> list[bytes]:
    """Return the hashes with these ids; one more id is looked for, which must not be there."""
    wanted = [*ids] if absent is None else [*ids, absent]
    if not wanted:
        return []
    marks = ", ".join("?" * len(wanted))
    statement = f"SELECT id, hash FROM {TABLE} WHERE id IN ({marks})"
    found = dict(cursor.execute(statement, wanted).fetchall())
    if absent in found:
        raise DriftError("tree", f"it holds a hash with id {absent}, beyond the log's head")
    for id_ in ids:
        hash_ = found.get(id_)
        if not isinstance(hash_, bytes) or len(hash_) != HASH_BYTES:
            raise DriftError("tree", f"it holds no hash with id {id_}")
    return [found[id_] for id_ in ids]


# --- Ids


def stored_count(size: int) -> int:
    """Return the number of hashes that a tree of this size stores."""
    return 2 * size - size.bit_count()


def stored_id(*, level: int, n: int) -> int:
    """Return the id of the root of the n-th perfect subtree of 2**level leaves, n from 0."""
    last_leaf = ((n + 1) << level) - 1
    return stored_count(last_leaf) + level


def stored_ids(*, start: int, end: int) -> list[int]:
    """Return the ids of the perfect subtrees that make up leaves [start, end), largest first.

    `start` must be a multiple of each of their sizes. It is for the whole tree and for every range
    of a proof, since they are cut at the largest power of two.
    """
    ids = []
    for level in _levels(end - start):
        ids.append(stored_id(level=level, n=start >> level))
        start += 1 << level
    return ids


def _levels(size: int) -> list[int]:
    """Return the levels of the perfect subtrees that make up a tree, largest first."""
    return [level for level in reversed(range(size.bit_length())) if size >> level & 1]


# --- Hashes


def push_leaf(stack: list[bytes], leaf: bytes, *, index: int) -> list[bytes]:
    """Add a leaf to a compact range: the roots of a tree's perfect subtrees, largest first.

    Args:
        stack: the range; changed. Its first ones may be left out if no leaf merges with them.
        leaf: the leaf's hash.
        index: the leaf's index, which is the tree's size before.

    Returns:
        The hashes to store for this leaf, in the order of their ids.
    """
    stack.append(leaf)
    stored = [leaf]
    while index & 1:
        right = stack.pop()
        stack[-1] = node_hash(stack[-1], right)
        stored.append(stack[-1])
        index >>= 1
    return stored


def fold(stack: Sequence[bytes]) -> bytes:
    """Return the root of the tree that a compact range makes up."""
    if not stack:
        return EMPTY_ROOT
    *lefts, found = stack
    for left in reversed(lefts):
        found = node_hash(left, found)
    return found


def root_of(leaf_hashes: Iterable[bytes]) -> bytes:
    """Return the root over these leaves (RFC 9162, 2.1.1); keeps no more than log2(n) hashes."""
    stack: list[bytes] = []
    for index, leaf in enumerate(leaf_hashes):
        push_leaf(stack, leaf, index=index)
    return fold(stack)


def make_root(read: HashReader, *, size: int) -> bytes:
    """Return the root of the first `size` leaves (RFC 9162, 2.1.1)."""
    return _roots(read, [(0, size)])[0]


def prove_inclusion(read: HashReader, *, index: int, size: int) -> list[bytes]:
    """Return PATH(index, D[size]), leaf to root (RFC 9162, 2.1.3.1).

    Raises:
        ShapeError: there is no such leaf.
    """
    if not 0 <= index < size:
        raise ShapeError(index, size)
    ranges = []
    start, end = 0, size
    while end - start > 1:
        middle = start + _split(end - start)
        if index < middle:
            ranges.append((middle, end))
            end = middle
        else:
            ranges.append((start, middle))
            start = middle
    return _roots(read, ranges[::-1])


def prove_consistency(read: HashReader, *, old_size: int, size: int) -> list[bytes]:
    """Return PROOF(old_size, D[size]); empty for an older size of 0 (RFC 9162, 2.1.4.1).

    Raises:
        ShapeError: the older tree is the larger one.
    """
    if not 0 <= old_size <= size:
        raise ShapeError(old_size, size)
    ranges = []
    start, end = 0, size
    while 0 < old_size < end:
        middle = start + _split(end - start)
        if old_size <= middle:
            ranges.append((middle, end))
            end = middle
        else:
            ranges.append((start, middle))
            start = middle
    if start:  # SUBPROOF's b: else this is the older tree itself, and the verifier has its root.
        ranges.append((start, end))
    return _roots(read, ranges[::-1])


def _split(length: int) -> int:
    """Return the largest power of two below the length, which is 2 or more."""
    return 1 << ((length - 1).bit_length() - 1)


def _roots(read: HashReader, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
    """Return the root of each range of leaves."""
    ids = [stored_ids(start=start, end=end) for start, end in ranges]
    hashes = iter(read([*chain.from_iterable(ids)]))
    return [fold(list(islice(hashes, len(each)))) for each in ids]
