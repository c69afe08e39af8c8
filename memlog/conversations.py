"""The section that a conversation keeps: what it was handed first, until it is compacted.

So an agent's own writes do not change its system prompt, and the provider's prompt cache holds. The
choice lies in the store and is the same for every process. Where it cannot be stored (a busy store,
or one open for reading only), this process remembers it and stores it when it can.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

from memlog import sections
from memlog.errors import ReadOnlyError, RetryError, UnknownOutcomeError
from memlog.memory import Memory
from memlog.sections import Section
from projections.digest import conversations as tables
from projections.digest.tables import Digest
from projections.notes.words import Executor

_KEEP_WAIT_S = 0.05
_RELEASE_WAIT_S = 0.5
_REMEMBERED_MAX = 1_000

_Value = TypeVar("_Value")


class Conversations:
    """What conversations keep. Safe to share between threads.

    What could not be stored is remembered for the 1,000 conversations that asked last.
    """

    def __init__(self) -> None:
        self._unstored: _Remembered[Digest] = _Remembered()
        self._unreleased: _Remembered[str] = _Remembered()

    def section(self, memory: Memory, conversation_id: str) -> Section:
        """Return what a conversation keeps; the current section when it keeps none yet.

        Costs one point read; a commit when it is the conversation's first.
        """
        place = _Place(memory, conversation_id)
        released_by = self._unreleased.get(place.key)
        if released_by is None:
            kept = place.kept()
            if kept is not None:
                self._unstored.drop(place.key)
                return kept
        digest = self._unstored.get(place.key) or place.current()
        try:
            section = place.keep(digest, released_by=released_by)
        except (RetryError, ReadOnlyError, UnknownOutcomeError):
            digest = self._unstored.put_first(place.key, digest)
            return Section(digest.text, digest.hash)
        self._unreleased.drop(place.key)
        self._unstored.drop(place.key)
        return section

    def compacted(self, memory: Memory, conversation_id: str, compaction: str) -> None:
        """Let a conversation get the current section next; the same compaction does so once.

        Waits half a second for other writers at most.

        Args:
            memory: whose notes.
            conversation_id: the conversation.
            compaction: the compaction's key, not empty.
        """
        place = _Place(memory, conversation_id)
        self._unstored.drop(place.key)
        if place.kept() is None:
            return
        try:
            place.release(compaction)
        except (RetryError, ReadOnlyError, UnknownOutcomeError):
            self._unreleased.put_first(place.key, compaction)


class _Place:
    """One conversation in one scope of a store."""

    def __init__(self, memory: Memory, conversation_id: str) -> None:
        self._store = memory._store  # noqa: SLF001  # an edge of ours; others have `Memory.section`
        self._settings = sections.render_settings(memory._settings)  # noqa: SLF001  # as above
        self._stream, self._conversation_id = memory.scope.stream, conversation_id
        self.key = (self._stream, conversation_id)

    def kept(self) -> Section | None:
        with self._store.reading() as cursor:
            found = tables.kept(cursor, self._stream, self._conversation_id)
        return None if found is None else Section(*found)

    def current(self) -> Digest:
        """Return the digest as it is now, and have it stored if it was rendered anew."""
        sections.section(self._store, self._stream, self._settings)
        with self._store.reading() as cursor:
            return sections.current(cursor, self._stream, self._settings)[0]

    def keep(self, digest: Digest, *, released_by: str | None) -> Section:
        """Let the conversation keep a digest, unless another process was first; return which."""
        with self._store.transaction(wait_s=_KEEP_WAIT_S) as write:
            if released_by is not None:
                self._release(write.cursor, released_by)
            found = tables.kept(write.cursor, self._stream, self._conversation_id)
            if found is not None:
                return Section(*found)
            tables.keep(
                write.cursor,
                self._stream,
                self._settings,
                digest,
                conversation_id=self._conversation_id,
                handed_out_at=write.recorded_at,
            )
        return Section(digest.text, digest.hash)

    def release(self, compaction: str) -> None:
        with self._store.transaction(wait_s=_RELEASE_WAIT_S) as write:
            self._release(write.cursor, compaction)

    def _release(self, cursor: Executor, compaction: str) -> None:
        tables.release(cursor, self._stream, self._conversation_id, compaction=compaction)


class _Remembered(Generic[_Value]):
    """A small map that forgets what was put first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: OrderedDict[tuple[str, ...], _Value] = OrderedDict()

    def get(self, key: tuple[str, ...]) -> _Value | None:
        return self._values.get(key)

    def put_first(self, key: tuple[str, ...], value: _Value) -> _Value:
        """Put a value unless there is one; return the one that is there."""
        with self._lock:
            value = self._values.setdefault(key, value)
            while len(self._values) > _REMEMBERED_MAX:
                self._values.popitem(last=False)
        return value

    def drop(self, key: tuple[str, ...]) -> None:
        with self._lock:
            self._values.pop(key, None)
