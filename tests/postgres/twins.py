"""Hold two logs against each other: everything that is stored and everything that is answered."""

from datetime import timedelta
from typing import Any

from memlog.log import Log
from memlog.memory import Memory
from memlog.reads import Reads
from memlog.store.protocol import Store
from memlog.testing import START
from projections import tree

NOW = START + timedelta(days=40)
QUERIES = ("tea", "green tea 茶", "", "body of the note")


def store_of(log: Log) -> Store:
    """Return the store of a log, which it keeps to itself."""
    return log._store  # noqa: SLF001  # these tests are about what is below a log


def inside(
    log: Log, *statements: str, error: type[BaseException] | None = None
) -> tuple[Any, ...] | None:
    """Run statements in one write and return the first row of the last; or raise before its end."""
    with store_of(log).transaction() as transaction:
        rows: list[tuple[Any, ...] | None] = [
            transaction.cursor.execute(each).fetchone() for each in statements
        ]
        if error is not None:
            raise error
        return rows[-1]


def assert_same(log: Log, other: Log) -> None:
    """Compare stored bytes, the tree's root, and every read of every scope."""
    assert stored(log) == stored(other)
    assert root(log) == root(other)
    assert log.scopes() == other.scopes()
    for each in log.scopes():
        memory, twin = log.scope(each.scope), other.scope(each.scope)
        assert answers(memory) == answers(twin)
        assert memory.section() == twin.section()
        assert found(memory) == found(twin)


def assert_same_at_each_moment(log: Log, other: Log) -> None:
    """Compare every read of every scope as of each of its seqs."""
    for each in log.scopes():
        for seq in range(each.last_seq + 1):
            past, twin = log.scope(each.scope).at(seq=seq), other.scope(each.scope).at(seq=seq)
            assert answers(past) == answers(twin)
            assert past.section() == twin.section()


def stored(log: Log) -> list[Any]:
    """Return every stored row; its bytes are in it."""
    return list(store_of(log).rows())


def root(log: Log) -> bytes:
    """Return the root of the Merkle tree over the whole log."""
    with store_of(log).reading() as cursor:
        (size,) = cursor.execute("SELECT position FROM log").fetchone()
        return tree.root(cursor, size=size)


def answers(memory: Reads) -> tuple[Any, ...]:
    """Return notes, edges and counters of a scope."""
    notes = memory.notes()
    return (
        memory.fingerprint(),
        notes,
        [memory.read(note.slug) for note in notes],
        memory.similar("green tea", topics=["hot"]),
    )


def found(memory: Memory) -> list[Any]:
    """Return what some searches find."""
    return [memory.search(query, now=NOW, include_superseded=True) for query in QUERIES]
