"""The stored tree is that of the RFC at every size, whatever the batches, and reads little."""

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memlog.errors import DriftError
from memlog.proof import ShapeError, check_consistency, check_inclusion
from projections import tree
from tests.proof import rfc

LEAVES = [hashlib.sha256(b"leaf %d" % index).digest() for index in range(300)]
PROVEN_MAX = 40


class Counted:
    """A cursor that counts statements, and the rows that came and went."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.cursor = connection.cursor()
        self.reads = self.rows_read = self.writes = self.rows_written = 0

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> "Counted":
        assert sql.startswith("SELECT")
        self.reads += 1
        self.cursor.execute(sql, parameters)
        return self

    def fetchall(self) -> list[Any]:
        rows = self.cursor.fetchall()
        self.rows_read += len(rows)
        return rows

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> None:
        rows = list(parameters)
        self.writes += 1
        self.rows_written += len(rows)
        self.cursor.executemany(sql, rows)

    def reset(self) -> None:
        self.reads = self.rows_read = self.writes = self.rows_written = 0


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with _store() as made:
        yield made
    made.close()


def _store() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    for statement in tree.ddl():
        connection.execute(statement)
    return connection


def _filled(connection: sqlite3.Connection, size: int = len(LEAVES)) -> Counted:
    cursor = Counted(connection)
    tree.append(cursor, LEAVES[:size], size=0)
    cursor.reset()
    return cursor


def _table(connection: sqlite3.Connection) -> list[tuple[int, bytes]]:
    return connection.execute("SELECT id, hash FROM tree_nodes ORDER BY id").fetchall()


# --- What is stored


def test_the_table_holds_the_perfect_subtrees_each_after_its_last_leaf(
    connection: sqlite3.Connection,
) -> None:
    _filled(connection, 6)
    a, b, c, d, e, f = LEAVES[:6]
    ab, cd, ef = rfc.node_hash(a, b), rfc.node_hash(c, d), rfc.node_hash(e, f)

    assert _table(connection) == list(
        enumerate([a, b, ab, c, d, cd, rfc.node_hash(ab, cd), e, f, ef])
    )


def test_each_perfect_subtree_has_the_id_of_its_place(connection: sqlite3.Connection) -> None:
    _filled(connection)
    stored = dict(_table(connection))

    for level in range(9):
        for n in range(len(LEAVES) >> level):
            leaves = LEAVES[n << level : (n + 1) << level]
            assert stored.pop(tree.stored_id(level=level, n=n)) == rfc.mth(leaves)
    assert stored == {}


def test_the_root_is_mth_at_every_size_while_the_log_grows(connection: sqlite3.Connection) -> None:
    cursor = connection.cursor()

    for size in range(len(LEAVES)):
        assert tree.root(cursor, size=size) == rfc.mth(LEAVES[:size])
        assert len(_table(connection)) == tree.stored_count(size)
        tree.append(cursor, LEAVES[size : size + 1], size=size)


def test_the_root_of_every_earlier_size_stays(connection: sqlite3.Connection) -> None:
    cursor = _filled(connection)

    for size in range(len(LEAVES) + 1):
        assert tree.root(cursor, size=size) == rfc.mth(LEAVES[:size])


@given(st.lists(st.integers(0, 40), max_size=30))
def test_any_batching_stores_the_same_rows(batches: list[int]) -> None:
    one, many = _store(), _store()
    size = 0
    for batch in batches:
        leaves = LEAVES[size : size + batch]
        tree.append(many.cursor(), leaves, size=size)
        size += len(leaves)
    tree.append(one.cursor(), LEAVES[:size], size=0)

    assert _table(many) == _table(one)
    one.close()
    many.close()


@settings(max_examples=20)
@given(st.integers(0, 300), st.lists(st.integers(0, 300), max_size=4))
def test_a_batch_that_is_rolled_back_leaves_no_trace(size: int, others: list[int]) -> None:
    connection = _store()
    _filled(connection, size)
    connection.commit()
    for other in others:
        tree.append(connection.cursor(), LEAVES[:other], size=size)
        connection.rollback()
    assert len(_table(connection)) == tree.stored_count(size)
    assert tree.root(connection.cursor(), size=size) == rfc.mth(LEAVES[:size])
    connection.close()


# --- Proofs


def test_proofs_from_the_table_are_those_from_the_leaves(connection: sqlite3.Connection) -> None:
    cursor = _filled(connection)

    for size in [*range(1, PROVEN_MAX), 127, 128, 129, 255, 256, 257, 300]:
        step = 1 if size < PROVEN_MAX else 37
        for index in range(0, size, step):
            assert tree.inclusion(cursor, index=index, size=size) == rfc.path(index, LEAVES[:size])
        for old_size in range(1, size + 1, step):
            assert tree.consistency(cursor, old_size=old_size, size=size) == rfc.proof(
                old_size, LEAVES[:size]
            )


def test_a_proof_at_an_earlier_size_still_checks_against_its_root(
    connection: sqlite3.Connection,
) -> None:
    cursor = _filled(connection)
    old_root, root = tree.root(cursor, size=200), tree.root(cursor, size=300)

    check_inclusion(
        LEAVES[123],
        index=123,
        size=200,
        proof=tree.inclusion(cursor, index=123, size=200),
        root=old_root,
    )
    check_consistency(
        old_size=200,
        old_root=old_root,
        size=300,
        root=root,
        proof=tree.consistency(cursor, old_size=200, size=300),
    )


def test_what_is_not_in_the_tree_is_not_proven(connection: sqlite3.Connection) -> None:
    cursor = _filled(connection, 5)

    with pytest.raises(ShapeError):
        tree.inclusion(cursor, index=5, size=5)
    with pytest.raises(ShapeError):
        tree.consistency(cursor, old_size=5, size=4)
    with pytest.raises(DriftError):
        tree.inclusion(cursor, index=0, size=6)
    with pytest.raises(DriftError):
        tree.root(cursor, size=6)


# --- What an operation costs, counted


def test_an_append_is_one_read_and_one_write_of_what_it_merges(
    connection: sqlite3.Connection,
) -> None:
    cursor = Counted(connection)
    for size, leaf in enumerate(LEAVES):
        cursor.reset()
        tree.append(cursor, [leaf], size=size)

        merges = (~size & (size + 1)).bit_length() - 1  # Trailing ones of the size.
        assert (cursor.reads, cursor.writes) == (1, 1)
        assert cursor.rows_read == max(merges, min(size, 1))
        assert cursor.rows_written == 1 + merges


def test_a_batch_is_one_read_and_one_write_too(connection: sqlite3.Connection) -> None:
    cursor = _filled(connection, 100)

    tree.append(cursor, LEAVES[100:], size=100)

    assert (cursor.reads, cursor.writes) == (1, 1)
    assert cursor.rows_read == 3  # 100 = 64 + 32 + 4, and all of them merge on the way to 300.
    assert cursor.rows_written == tree.stored_count(300) - tree.stored_count(100)


def test_a_root_and_a_proof_are_one_read_of_a_few_rows(connection: sqlite3.Connection) -> None:
    cursor = _filled(connection)

    for size in range(1, len(LEAVES)):
        for operation in (
            lambda: tree.root(cursor, size=size),  # noqa: B023  # called at once
            lambda: tree.inclusion(cursor, index=size // 3, size=size),  # noqa: B023  # as above
            lambda: tree.consistency(cursor, old_size=size // 3 + 1, size=size),  # noqa: B023
        ):
            cursor.reset()
            operation()
            assert cursor.reads <= 1
            assert cursor.rows_read <= 2 * size.bit_length()


def test_what_needs_no_hash_reads_nothing(connection: sqlite3.Connection) -> None:
    cursor = _filled(connection, 1)

    assert tree.root(cursor, size=0) == hashlib.sha256().digest()
    assert tree.inclusion(cursor, index=0, size=1) == []
    assert tree.consistency(cursor, old_size=1, size=1) == []
    assert tree.consistency(cursor, old_size=0, size=1) == []
    assert cursor.reads == 0


# --- Drift


@pytest.mark.parametrize(
    ("size", "claimed"),
    [
        (size, size + wrong)
        for size in (0, 1, 2, 3, 4, 5, 7, 8, 9, 64, 100)
        for wrong in (-8, -3, -2, -1, 1, 2, 3, 8)
        if size + wrong >= 0
    ],
)
def test_leaves_are_never_added_at_another_size_than_the_tree_has(
    connection: sqlite3.Connection, size: int, claimed: int
) -> None:
    cursor = _filled(connection, size)
    before = _table(connection)

    for count in (1, 2, 5):
        with pytest.raises(DriftError):
            tree.append(cursor, LEAVES[:count], size=claimed)

    assert _table(connection) == before


@pytest.mark.parametrize("damage", ["NULL", "'text'", "5", "x'00'", "zeroblob(33)"])
def test_a_damaged_or_missing_hash_is_drift_and_not_a_proof(
    connection: sqlite3.Connection, damage: str
) -> None:
    cursor = _filled(connection, 8)
    needed = tree.stored_id(level=2, n=1)
    if damage == "NULL":
        connection.execute("DELETE FROM tree_nodes WHERE id = ?", (needed,))
    else:
        connection.execute("PRAGMA ignore_check_constraints = 1")
        connection.execute(f"UPDATE tree_nodes SET hash = {damage} WHERE id = ?", (needed,))

    with pytest.raises(DriftError, match=f"no hash with id {needed}") as caught:
        tree.inclusion(cursor, index=0, size=8)

    assert caught.value.projection == "tree"
    assert tree.inclusion(cursor, index=4, size=7) == rfc.path(4, LEAVES[:7])


def test_the_table_takes_no_hash_that_is_not_32_bytes(connection: sqlite3.Connection) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        tree.append(connection.cursor(), [b"short"], size=0)
