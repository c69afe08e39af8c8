"""One scope of the log, at one moment, as a search engine reads it (`projections.search.Feed`)."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from memlog import codec
from memlog.store.rows import EVENTS_TABLE
from projections.notes.reader import counters, live_set
from projections.notes.rows import topics_of
from projections.notes.words import Executor
from projections.search.protocol import Document

_COLUMNS = (
    "slug, title, body, topics, provenance, confidence, pinned, written_at, written_seq, "
    "updated_seq, superseded_by"
)
_KEY_PURPOSE = b"memlog search index manifest"


class ScopeFeed:
    """The notes of one scope on a cursor inside a read transaction of the caller.

    The transaction sees the moment of its first statement, which is that of `head`.
    """

    def __init__(self, cursor: Executor, *, log_id: str, secret: bytes, stream: str) -> None:
        self.log_id, self.stream = log_id, stream
        self.hmac_key = hmac.digest(secret, _KEY_PURPOSE, hashlib.sha256)
        self._cursor = cursor
        self._scope_id = 0

    def head(self) -> tuple[int, str]:
        """Return the seq and the event id of the scope's last event; (0, "") when it has none."""
        self._names = live_set(self._cursor)
        scope = counters(self._cursor, self._names, self.stream)
        self._scope_id = scope.scope_id
        return scope.last_seq, self.event_id(scope.last_seq) or ""

    def event_id(self, seq: int) -> str | None:
        """Return the id of the scope's event with this seq; None if there is none yet."""
        row = self._cursor.execute(
            f"SELECT state FROM {EVENTS_TABLE} WHERE originator_id = ? AND originator_version = ?",
            (self.stream, seq),
        ).fetchone()
        return None if row is None else codec.decode_envelope(row[0]).event_id

    def touched(self, *, after_seq: int, up_to: int) -> list[Document]:
        """Return each note that an event in (after_seq, up_to] touched, as it is at `up_to`."""
        found = self._cursor.execute(
            f"SELECT {_COLUMNS} FROM {self._names.notes} "
            "WHERE scope = ? AND updated_seq > ? AND updated_seq <= ?",
            (self._scope_id, after_seq, up_to),
        )
        return [_document(row) for row in found]

    def all(self, *, up_to: int) -> Iterator[Document]:
        """Yield every note of the scope as it is at `up_to`, superseded ones too."""
        found = self._cursor.execute(
            f"SELECT {_COLUMNS} FROM {self._names.notes} WHERE scope = ? AND updated_seq <= ?",
            (self._scope_id, up_to),
        )
        return (_document(row) for row in found)


def _document(row: Sequence[Any]) -> Document:
    return Document(
        slug=row[0],
        title=row[1],
        body=row[2],
        topics=topics_of(row[3]),
        provenance=row[4],
        confidence=row[5],
        pinned=bool(row[6]),
        written_at=datetime.fromisoformat(row[7]),
        written_seq=row[8],
        updated_seq=row[9],
        superseded_by=row[10],
    )
