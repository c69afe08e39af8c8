"""The checkpoints that were signed for a log: a record, not a projection.

    checkpoints (id, vkey, size, note)    in the order of their signing

`note` is the bytes of the C2SP signed note, `size` what it says, `vkey` whose signature it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

TABLE = "checkpoints"


class Rows(Protocol):
    """What a statement gives back."""

    def fetchall(self) -> list[Any]:
        """Return all rows."""


class Executor(Protocol):
    """Runs SQL on one connection."""

    def execute(self, sql: str, parameters: Sequence[Any] = ..., /) -> Rows:
        """Run one statement."""


class Kept(msgspec.Struct, frozen=True):
    """One checkpoint as it is kept; nothing of what it says is checked.

    Attributes:
        id: place in the order of signing.
        vkey: the public key of who signed.
        size: the log's size.
        note: the signed note.
    """

    id: int
    vkey: str
    size: int
    note: bytes


def ddl() -> tuple[str, ...]:
    """Return the statements that make the table."""
    return (
        f"""
        CREATE TABLE {TABLE} (
            id INTEGER PRIMARY KEY,
            vkey TEXT NOT NULL,
            size INTEGER NOT NULL,
            note BLOB NOT NULL
        )
        """,
    )


def kept(cursor: Executor) -> list[Kept]:
    """Return every checkpoint, in the order of their signing."""
    found = cursor.execute(f"SELECT id, vkey, size, note FROM {TABLE} ORDER BY id")
    return [Kept(*row) for row in found.fetchall()]


def last(cursor: Executor, *, vkey: str | None = None, size_min: int = 0) -> Kept | None:
    """Return the checkpoint that was signed last, or None.

    Args:
        cursor: reads the table.
        vkey: only of this key.
        size_min: only of at least this size.
    """
    found = cursor.execute(
        f"SELECT id, vkey, size, note FROM {TABLE} "
        "WHERE vkey = coalesce(?, vkey) AND size >= ? ORDER BY id DESC LIMIT 1",
        (vkey, size_min),
    ).fetchall()
    return Kept(*found[0]) if found else None


def add(cursor: Executor, *, vkey: str, size: int, note: bytes) -> None:
    """Keep a checkpoint as the last one."""
    cursor.execute(
        f"INSERT INTO {TABLE} (id, vkey, size, note) "
        f"VALUES ((SELECT coalesce(max(id), 0) + 1 FROM {TABLE}), ?, ?, ?)",
        (vkey, size, note),
    )
