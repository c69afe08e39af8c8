"""One scope as of a moment, behind what the reads ask of a store.

The notes are folded from the log when they are first asked for and put into tables of a private
database in memory, the same tables that the live reads read. Nothing is written anywhere else.
"""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memlog.audit.replay import Replayed, events_of, replayed
from memlog.errors import ReadOnlyError
from memlog.store.hints import Polling
from memlog.store.rows import EVENTS_TABLE
from projections.digest import tables as digest_tables
from projections.notes import snapshot, tables
from projections.notes.reader import live_set
from projections.notes.writer import Writer

if TYPE_CHECKING:
    from memlog.audit.matching import Predicate
    from memlog.store.protocol import Store
    from memlog.store.rows import StoredRow

_NO_LIMIT = 2**62
_EVENTS_DDL = (
    f"CREATE TABLE {EVENTS_TABLE} (rowid INTEGER PRIMARY KEY, originator_id TEXT NOT NULL, "
    "originator_version INTEGER NOT NULL, topic TEXT NOT NULL, state BLOB NOT NULL)"
)


class PastStore:
    """The first events of one scope of a store, with some of them left out. Safe for threads.

    Attributes:
        target: that of the store.
        path: None: it is in no file.
        log_id: that of the store.
        secret: that of the store.
        read_only: True.
        counters: those of the store, whose reads these are.
        index_dir: None: it lies in memory only.
    """

    def __init__(
        self, source: Store, stream: str, *, seq: int, without: Predicate | None = None
    ) -> None:
        self.target, self.log_id, self.secret = source.target, source.log_id, source.secret
        self.read_only = True
        self.counters = source.counters
        self.path: Path | None = None
        self.index_dir: Path | None = None
        self._source, self._stream, self._seq, self._without = source, stream, seq, without
        self._lock = threading.RLock()
        self._replayed: Replayed | None = None
        self._connection: sqlite3.Connection | None = None
        self._has_words = False

    def replayed(self) -> Replayed:
        """Return what the events add up to; replayed once."""
        with self._lock:
            if self._replayed is None:
                rows = self._source.stream_rows(self._stream, up_to=self._seq)
                self._replayed = replayed(rows, without=self._without)
            return self._replayed

    def file_words(self) -> None:
        """File the notes under their words, which only `similar` needs: event by event, once."""
        with self._lock:
            if self._has_words:
                return
            cursor = self._opened().cursor()
            names = tables.other(live_set(cursor))
            writer = Writer(cursor, names, self._stream)
            for _, event in events_of(self._source.stream_rows(self._stream, up_to=self._seq)):
                if event.seq not in self.replayed().absent:
                    writer.apply(event)
            writer.flush()
            cursor.execute("UPDATE notes_pointer SET live = ?", (names.set,))
            self._has_words = True

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            connection = sqlite3.connect(
                ":memory:", check_same_thread=False, isolation_level=None, cached_statements=256
            )
            weakref.finalize(self, connection.close)
            with connection:
                connection.execute("BEGIN")
                self._fill(connection.cursor())
            self._connection = connection
        return self._connection

    def _fill(self, cursor: sqlite3.Cursor) -> None:
        for statement in (*tables.ddl(), *digest_tables.ddl(), _EVENTS_DDL):
            cursor.execute(statement)
        found = self.replayed()
        snapshot.fill(cursor, live_set(cursor), self._stream, found.fold)
        if found.last is not None:  # A search feed tells by it which history the notes are of.
            statement = f"INSERT INTO {EVENTS_TABLE} VALUES (?, ?, ?, ?, ?)"  # noqa: S608  # our own name
            cursor.execute(statement, found.last)

    # --- What the reads ask

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Cursor]:
        """Give a cursor on the tables."""
        with self._lock:
            yield self._opened().cursor()

    def rows(self, *, after: int = 0, up_to: int = _NO_LIMIT) -> Iterator[StoredRow]:
        """Yield the events that were applied and have positions in (after, up_to], in order."""
        rows = self.stream_rows(self._stream)
        return (row for row in rows if after < row.position <= up_to)

    def stream_rows(
        self, stream: str, *, after: int = 0, up_to: int = _NO_LIMIT, containing: bytes = b""
    ) -> Iterator[StoredRow]:
        """Yield the events that were applied and have seqs in (after, up_to], in order."""
        rows = self._source.stream_rows(
            stream, after=after, up_to=min(up_to, self._seq), containing=containing
        )
        if self._without is None:
            return rows
        absent = self.replayed().absent
        return (row for row in rows if row.seq not in absent)

    def transaction(self, *, wait_s: float | None = None) -> AbstractContextManager[Any]:  # noqa: ARG002  # as every store has it
        """Refuse to write.

        Raises:
            ReadOnlyError: always.
        """
        raise ReadOnlyError(self.target)

    def hint(self) -> Polling:
        """Return what waits for the next append; there is none in the past."""
        return Polling()

    def close(self) -> None:
        """Do nothing: the database goes with the last reference to this."""
