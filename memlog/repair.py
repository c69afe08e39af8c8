"""Make the Merkle tree and the stored sections anew from the log, and tell what was otherwise.

Both are changed in place, a page of events or all sections at a time: a hash of the tree never
changes once it is right, and a section that is gone is rendered when it is next asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from memlog import codec
from memlog.proof import leaf_hash
from memlog.rebuild import Progress, Rebuilt
from memlog.store.protocol import Executor, Store
from projections import tree
from projections.digest import tables as digest_tables
from projections.digest.again import text_again
from projections.digest.render import hash_text
from projections.notes.reader import counters, live_set

if TYPE_CHECKING:
    from memlog.store.rows import StoredRow

_PAGE_EVENTS = 500
_NAMED_MAX = 10


def rebuild_tree(store: Store, *, progress: Progress | None = None) -> Rebuilt:
    """Make every hash of the tree anew; see `Log.rebuild`.

    Raises:
        DamageError: an event's envelope cannot be read; the hashes before it are right by then.
    """
    stack: list[bytes] = []
    wrong: list[str] = []
    size = count = 0
    while True:
        with store.transaction() as transaction:
            page = list(islice(transaction.rows(after=size), _PAGE_EVENTS))
            found = _replace(transaction.cursor, stack, page, size=size)
            size += len(page)
            if size >= transaction.head:
                found += _cut(transaction.cursor, size=size)
        wrong += found[: _NAMED_MAX - len(wrong)]
        count += len(found)
        if progress is not None:
            progress(size, max(size, transaction.head))
        if size >= transaction.head or not page:
            differences = (
                *wrong,
                *((f"{count - len(wrong):,} more",) if count > len(wrong) else ()),
            )
            return Rebuilt(projection="tree", events=size, differences=differences)


def _replace(
    cursor: Executor, stack: list[bytes], page: list[StoredRow], *, size: int
) -> list[str]:
    """Store the right hashes of some leaves; return what was otherwise, a sentence each."""
    first = tree.stored_count(size)
    due: dict[int, bytes] = {}
    positions: dict[int, int] = {}
    for index, row in enumerate(page, start=size):
        envelope = codec.split(row.state, position=row.position).envelope
        start = first + len(due)
        hashes = tree.push_leaf(stack, leaf_hash(envelope), index=index)
        due.update(enumerate(hashes, start=start))
        positions.update(dict.fromkeys(range(start, start + len(hashes)), row.position))
    statement = f"SELECT id, hash FROM {tree.TABLE} WHERE id >= ? AND id < ?"
    held = dict(cursor.execute(statement, (first, first + len(due))).fetchall())
    wrong = [id_ for id_, hash_ in due.items() if held.get(id_) != hash_]
    cursor.executemany(f"DELETE FROM {tree.TABLE} WHERE id = ?", [(id_,) for id_ in wrong])
    statement = f"INSERT INTO {tree.TABLE} (id, hash) VALUES (?, ?)"
    cursor.executemany(statement, [(id_, due[id_]) for id_ in wrong])
    return [_told(id_, positions[id_], held.get(id_)) for id_ in wrong]


def _told(id_: int, position: int, held: bytes | None) -> str:
    what = "was missing" if held is None else "was another"
    return f"tree: the hash with id {id_}, of position {position}, {what}"


def _cut(cursor: Executor, *, size: int) -> list[str]:
    """Take away what no event of the log gives."""
    where = f"FROM {tree.TABLE} WHERE id < 0 OR id >= ?"
    (count,) = cursor.execute(f"SELECT count(*) {where}", (tree.stored_count(size),)).fetchone()
    cursor.execute(f"DELETE {where}", (tree.stored_count(size),))
    return [f"tree: {count} hashes belonged to no event"] if count else []


def rebuild_sections(store: Store) -> Rebuilt:
    """Drop every stored section after comparing it with the notes; see `Log.rebuild`."""
    with store.transaction() as transaction:
        differences = tuple(_section_differences(transaction.cursor))
        digest_tables.forget(transaction.cursor)
        return Rebuilt(projection="section", events=transaction.head, differences=differences)


def _section_differences(cursor: Executor) -> Iterator[str]:
    names = live_set(cursor)
    statement = "SELECT stream, settings, fingerprint, text, hash FROM digests ORDER BY stream"
    for stream, settings, fingerprint, text, hash_ in cursor.execute(statement).fetchall():
        scope = counters(cursor, names, stream)
        if fingerprint != scope.fingerprint:
            continue  # Of earlier notes: no longer served, and not to be made again.
        due = text_again(cursor, names, scope, settings)
        if due is not None and (due, hash_text(due)) != (text, hash_):
            yield f"section: that of {stream} was not what its notes say"
