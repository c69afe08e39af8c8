"""Read a stored index without keeping it, using it, or changing a byte of it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from projections.search.directory import Cursor, StoredIndexError, private_path
from projections.search.protocol import Document
from projections.search.stored import Identity, load


class StoredIndex(msgspec.Struct, frozen=True):
    """What lies on disk for one scope.

    Attributes:
        cursor: the last event that it has seen.
        documents: every note in it, in no order.
    """

    cursor: Cursor
    documents: list[Document]


def read_index(index_dir: Path, *, log_id: str, stream: str, hmac_key: bytes) -> StoredIndex | None:
    """Return the stored index of a scope; None when there is none. Its notes fit into memory.

    Raises:
        StoredIndexError: there is one, but it is damaged, foreign, or open to others.
    """
    path = private_path(index_dir, log_id=log_id, stream=stream)
    try:
        loaded = load(path, Identity(log_id, stream, hmac_key))
        if loaded is None:
            return None
        return StoredIndex(loaded.stored.cursor, loaded.notes.documents_from(0))
    except (msgspec.MsgspecError, ValueError, KeyError, IndexError) as error:
        raise StoredIndexError(path, f"is damaged: {error}") from error
