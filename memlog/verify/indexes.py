"""The search indexes: each note in them is as it was at the index's cursor."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from memlog.errors import DamageError
from memlog.feed import ScopeFeed
from memlog.shown import shown
from memlog.store.protocol import Executor
from memlog.verify.expected import Expected, ScopeCell
from memlog.verify.report import Findings, counted
from memlog.verify.structure import Head
from memlog.verify.tables import position_of
from projections.notes.reader import Reader, live_set

if TYPE_CHECKING:
    from projections.search.protocol import Document
    from projections.search.reading import StoredIndex


_UNREADABLE = ("cannot be read", "can be written by others", "was replaced again and again")

Later = Callable[[], AbstractContextManager[Executor]]


def check_indexes(
    cursor: Executor,
    expected: Expected,
    head: Head,
    index_dir: Path | None,
    findings: Findings,
    *,
    later: Later | None = None,
) -> None:
    """Check the stored index of each scope, one after the other; one scope is in memory at once.

    Args:
        cursor: inside the transaction in which all else was checked.
        expected: what the events add up to.
        head: the log's row.
        index_dir: where the indexes lie; None when they are not on disk.
        findings: where damage goes.
        later: opens a view of the store as it is by then, for an index that somebody wrote since.
    """
    if index_dir is None or not index_dir.exists():
        findings.looked_at("index", "there is none", outcome="absent")
        return
    check = _IndexCheck(cursor, head, index_dir, findings, later)
    for (stream, *_), scope in expected.scopes.all():
        check.scope(str(stream), scope)
    if check.unreadable:
        findings.looked_at("index", check.unreadable, outcome="unreadable")
    elif not check.indexes:
        findings.looked_at("index", "there is none", outcome="absent")
    else:
        looked_at = f"{counted(check.documents, 'note')} in {check.indexes:,} of the scopes"
        findings.looked_at("index", looked_at)


class _IndexCheck:
    def __init__(
        self,
        cursor: Executor,
        head: Head,
        index_dir: Path,
        findings: Findings,
        later: Later | None,
    ) -> None:
        self._cursor, self._head, self._dir, self._findings = cursor, head, index_dir, findings
        self._later = later
        self.indexes = self.documents = 0
        self.unreadable = ""

    def scope(self, stream: str, scope: ScopeCell) -> None:
        """Check the index of one scope, if there is one."""
        from projections.search.directory import StoredIndexError
        from projections.search.reading import read_index

        key = self._feed(self._cursor, stream).hmac_key
        log_id = self._head.log_id
        try:
            index = read_index(self._dir, log_id=log_id, stream=stream, hmac_key=key)
        except StoredIndexError as error:
            if error.reason.startswith(_UNREADABLE):
                self.unreadable = f"that of {shown(stream)} {error.reason}"
            else:
                self._found(stream, scope.last_seq, f"{error.what} {error.reason}")
            return
        if index is not None:
            self.indexes += 1
            self.documents += len(index.documents)
            self._held_against_notes(stream, scope, index)

    def _feed(self, cursor: Executor, stream: str) -> ScopeFeed:
        return ScopeFeed(cursor, log_id=self._head.log_id, secret=self._head.secret, stream=stream)

    def _held_against_notes(self, stream: str, scope: ScopeCell, index: StoredIndex) -> None:
        """Compare an index with the notes; with those of now, when it is of a later moment."""
        if index.cursor.seq > scope.last_seq and self._later is not None:
            with self._later() as cursor:
                self._compare(cursor, stream, scope, index)
        else:
            self._compare(self._cursor, stream, scope, index)

    def _compare(self, cursor: Executor, stream: str, scope: ScopeCell, index: StoredIndex) -> None:
        feed, seq = self._feed(cursor, stream), index.cursor.seq
        try:
            feed.head()
            if feed.event_id(seq) != index.cursor.event_id:
                why = "ahead of the log" if seq > scope.last_seq else "of another history"
                self._found(stream, min(seq, scope.last_seq), f"it is {why} (seq {seq})")
                return
            held = {each.slug: each for each in index.documents}
            for due in feed.all(up_to=seq):
                if (found := held.pop(due.slug, None)) != due:
                    what = "is missing" if found is None else f"has another {_first(found, due)}"
                    self._found(stream, due.updated_seq, f"{shown(due.slug)} {what}")
            for slug, document in held.items():
                if _is_surplus(cursor, stream, slug, seq):
                    self._found(stream, document.updated_seq, f"{shown(slug)} is no such note")
        except (DamageError, ValueError, TypeError):
            return  # Damaged rows are the business of their own checks.

    def _found(self, stream: str, seq: int, detail: str) -> None:
        position = position_of(self._cursor, stream, seq)
        self._findings.add("index", position, f"the index of {shown(stream)}: {detail}")


def _is_surplus(cursor: Executor, stream: str, slug: str, seq: int) -> bool:
    """Tell whether a note that is not as it was at the cursor is none that changed since."""
    note = Reader(cursor, live_set(cursor), stream).note(slug)
    return note is None or note.updated_seq <= seq


def _first(found: Document, due: Document) -> str:
    """Return the name of the first field that differs."""
    return next(
        name for name in due.__struct_fields__ if getattr(found, name) != getattr(due, name)
    )
