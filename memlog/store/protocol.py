"""What every store offers, so that nothing above asks which engine it is on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from memlog.store.counters import Counters
from memlog.store.hints import Hint
from memlog.store.rows import StoredRow

if TYPE_CHECKING:
    from memlog.store.transaction import Transaction

NO_LIMIT = 2**62


class Rows(Protocol):
    """What a statement gives back."""

    def fetchone(self) -> Any:  # noqa: ANN401  # a row's columns have the types of its table
        """Return the next row as a tuple, or None."""

    def fetchall(self) -> list[Any]:
        """Return all rows that are left."""

    def __iter__(self) -> Iterator[Any]:
        """Yield the rows that are left."""


class Executor(Protocol):
    """Runs SQL on one connection, inside a transaction of the caller.

    Statements keep to what both engines read; parameters are written `?`.
    """

    def execute(self, sql: str, parameters: Sequence[Any] = ..., /) -> Rows:
        """Run one statement."""

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> object:
        """Run one statement for each row."""


class Store(Protocol):
    """An open log. Safe to share between threads; not across a fork.

    Attributes:
        target: what to call it in an error or a log line; no password is in it.
        path: its file; None when it is in none.
        log_id: the log's random UUID.
        secret: 32 bytes that lie in the database only.
        read_only: whether it was opened for reading.
        counters: what it has done so far.
        index_dir: where its search indexes lie by default; None when they are in memory only.
    """

    target: str
    path: Path | None
    log_id: str
    secret: bytes
    read_only: bool
    index_dir: Path | None
    counters: Counters

    def transaction(self, *, wait_s: float | None = None) -> AbstractContextManager[Transaction]:
        """One write: commits when the block ends, leaves nothing when it raises."""

    def reading(self) -> AbstractContextManager[Executor]:
        """One consistent view of the store, as of the block's first statement."""

    def rows(self, *, after: int = 0, up_to: int = NO_LIMIT) -> Iterator[StoredRow]:
        """Yield stored events with positions in (after, up_to], in order."""

    def stream_rows(
        self, stream: str, *, after: int = 0, up_to: int = NO_LIMIT, containing: bytes = b""
    ) -> Iterator[StoredRow]:
        """Yield a stream's stored events with seqs in (after, up_to], in order."""

    def hint(self) -> Hint:
        """Return what waits for the next append; close it."""

    def close(self) -> None:
        """Close the store; a second call does nothing."""
