"""Several requests of one scope in one transaction, for memlog's own edges: all of them, or none.

`Memory` makes one transaction a call. An importer that writes notes and their links, or an adapter
that moves a folder, needs more in one, decided on what the same transaction reads.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256

from memlog import decide
from memlog.memory import Memory
from memlog.note import Link, Note
from memlog.requests import AnyRequest, Origin, Write
from memlog.step import Step
from projections.notes.fold import Remembered
from projections.notes.reader import Reader

_KEYED_CHARACTERS = 32


class Together:
    """One open transaction on a scope's notes."""

    def __init__(self, step: Step) -> None:
        self._step = step

    @property
    def head(self) -> int:
        """Seq of the scope's last event by now."""
        return self._step.tables.counters.last_seq

    def note(self, slug: str) -> Note | None:
        """Return the note as it is by now, or None."""
        return self._step.tables.note(slug)

    def links(self, note: Note) -> tuple[Link, ...]:
        """Return the edges that leave a note."""
        return self._step.tables.reading(note).links

    def write(self, request: Write, origin: Origin) -> str:
        """Do a write and return the note's slug.

        Raises:
            RequestError: the rules forbid it; nothing of it was appended.
        """
        known = self._step.known(request, origin)
        if known is not None:
            return known.slug
        slug, _ = decide.target(self._step.tables, request)
        self._step.run(request, origin)
        return slug

    def ask(self, request: AnyRequest, origin: Origin) -> bool:
        """Do a request; return whether it appended anything.

        Raises:
            RequestError: the rules forbid it; nothing of it was appended.
        """
        if self._step.known(request, origin) is not None:
            return False
        return bool(self._step.run(request, origin))

    def remembered_under(self, prefix: str) -> tuple[Remembered, str, int] | None:
        """Return the latest request whose id starts so, its id, and how many there are, or None.

        Costs a range of the primary key; ids that start alike are few.
        """
        ids = ids_under(self._step.tables, prefix)
        if not ids:
            return None
        found = self._step.tables.remembered(ids[-1])
        assert found is not None, "it was read in this very transaction"
        return found, ids[-1], len(ids)


def ids_under(tables: Reader, prefix: str) -> list[str]:
    """Return the request ids of a scope that start so, in the order in which they came."""
    rows = tables.cursor.execute(
        f"SELECT request_id FROM {tables.names.requests} "  # noqa: S608  # a table of ours
        "WHERE scope = ? AND request_id >= ? AND request_id < ? ORDER BY position",
        (tables.scope_id, prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1)),
    )
    return [row[0] for row in rows.fetchall()]


@contextmanager
def together(memory: Memory) -> Iterator[Together]:
    """Open one transaction on a scope: what it did is committed when the block ends.

    Nothing stays when the block raises. A caller that refuses one request and goes on must have
    asked first, since a refused request leaves nothing behind.

    Raises:
        RetryError, DamageError, ReadOnlyError: as for `Memory.write`.
    """
    store, ids, guard = memory._store, memory._ids, memory._guard  # noqa: SLF001  # an edge of ours
    with store.transaction() as transaction:
        step = Step(transaction, memory.scope.stream, ids, guard)
        yield Together(step)
        step.finish()


def keyed_hash(memory: Memory, *parts: str) -> str:
    """Return an HMAC-SHA-256 of strings under the store's secret, 32 hex digits.

    Of one scope: the same strings give another value in another scope and in another store, so that
    nobody can tell from it what they were.
    """
    secret: bytes = memory._store.secret  # noqa: SLF001  # it must not get a public name
    mac = hmac.new(secret, digestmod=sha256)
    for part in (memory.scope.stream, *parts):
        encoded = part.encode()
        mac.update(len(encoded).to_bytes(8, "big") + encoded)
    return mac.hexdigest()[:_KEYED_CHARACTERS]
