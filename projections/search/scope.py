"""The search index of one scope: caught up from the feed, searched in memory, stored when idle."""

import logging
import threading
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from projections.search import compaction, ranking, stored
from projections.search.directory import Cursor, StoredIndexError, make_private
from projections.search.fields import decoded
from projections.search.memory import ScopeNotes
from projections.search.protocol import Document, Feed, Hit, Weights
from projections.search.snippet import needles, snippet

logger = logging.getLogger("memlog.search")

_STORE_ATTEMPTS_MAX = 3


class ScopeIndex:
    """One scope. Safe for threads; a bad, missing or unwritable index on disk costs time only.

    Args:
        path: The scope's private directory; None keeps the index in memory.
        identity: Whose index it is.
    """

    def __init__(self, path: Path | None, identity: stored.Identity) -> None:
        self._path = path
        self._identity = identity
        self._lock = threading.Lock()
        self._storing = threading.Lock()  # taken before _lock, never after it
        self._notes = ScopeNotes()
        self._cursor = Cursor()
        self._stored = stored.Stored()
        self._unproven: Cursor | None = None
        self._opened = path is None
        self._anew = False  # what lies on disk is of no use, and is to be replaced
        self._fresh = False
        self._complaint = ""

    @property
    def fresh(self) -> bool:
        """Whether notes have come since the last attempt to store the index."""
        return self._fresh

    @property
    def tail_count(self) -> int:
        """How many notes lie in the costly form of fresh ones."""
        return self._notes.tail_count

    def search(
        self, feed: Feed, query: str, *, limit: int, topic: str | None,
        include_superseded: bool, now: datetime, weights: Weights,
    ) -> list[Hit]:  # fmt: skip
        """Answer as `SearchBackend.search` says."""
        with self._lock:
            self._catch_up(feed)
            found = ranking.best(
                self._notes, query, limit=limit, topic=topic,
                include_superseded=include_superseded, now=now, weights=weights,
            )  # fmt: skip
            documents = [decoded(self._notes.note(each.document)) for each in found]
        return _hits(documents, found, query)

    def catch_up(self, feed: Feed) -> None:
        """Take in what the feed has and the index has not."""
        with self._lock:
            self._catch_up(feed)

    def rebuild(self, feed: Feed) -> None:
        """Index every note anew; what lies on disk is replaced by the next `store`."""
        with self._lock:
            self._opened = True
            self._index_all(feed, Cursor(*feed.head()))
            self._anew = True

    def _catch_up(self, feed: Feed) -> None:
        head = Cursor(*feed.head())
        if not self._opened:
            self._open()
        if self._cursor == head and self._unproven is None:
            return
        if not self._is_of(feed, head):
            self._complain(f"its last event is not in the log (seq {self._cursor.seq}); rebuilt")
            self._index_all(feed, head)
            self._anew = True
        elif self._cursor.seq == 0:
            self._index_all(feed, head)
        else:
            self._take(feed.touched(after_seq=self._cursor.seq, up_to=head.seq))
            self._cursor = head

    def _is_of(self, feed: Feed, head: Cursor) -> bool:
        """Tell whether the index has seen a beginning of the feed's history, and nothing else."""
        seen = {self._cursor, self._unproven or self._cursor} - {Cursor()}
        self._unproven = None
        return all(
            head == cursor
            or (cursor.seq <= head.seq and feed.event_id(cursor.seq) == cursor.event_id)
            for cursor in seen
        )

    def _take(self, documents: Sequence[Document]) -> None:
        if documents:
            self._notes.put(documents)
            self._fresh = True

    def _index_all(self, feed: Feed, head: Cursor) -> None:
        notes = ScopeNotes()
        notes.extend(feed.all(up_to=head.seq))
        self._notes, self._cursor, self._fresh = notes, head, notes.columns.size > 0
        self._stored = stored.Stored()

    def _open(self) -> None:
        assert self._path is not None
        self._opened = True
        try:
            loaded = stored.load(self._path, self._identity)
        except StoredIndexError as error:
            self._complain(f"{error}; rebuilt")
            self._anew = True
            return
        if loaded is not None:
            self._adopt(loaded)

    def _adopt(self, loaded: stored.Loaded) -> None:
        """Take a stored index, and add what this process knows beyond it."""
        after = loaded.stored.cursor.seq
        newer = [doc for doc in self._notes.documents_from(0) if doc.updated_seq > after]
        self._notes, self._stored = loaded.notes, loaded.stored
        self._unproven = loaded.stored.cursor
        self._cursor = max(self._cursor, loaded.stored.cursor, key=lambda cursor: cursor.seq)
        self._fresh = False
        self._take(newer)

    def store(self) -> None:
        """Bring the index on disk, or without a directory in memory, into its lasting form.

        Searches go on meanwhile. A directory that cannot be written costs one warning.
        """
        with self._storing:
            self._fresh, fresh = False, self._fresh
            if not fresh:
                return
            try:
                if self._path is None or not self._store(self._path):
                    self._compact()
            except OSError as error:
                self._complain(f"it cannot be stored ({error}); kept in memory")
                self._compact()

    def _store(self, path: Path) -> bool:
        make_private(path)
        for _ in range(_STORE_ATTEMPTS_MAX):
            seen = self._look(path)
            with self._lock:
                notes, cursor, before = self._notes, self._cursor, self._stored
                anew = self._anew or seen is None
                size, parts = notes.columns.size, compaction.snapshot(notes)
            plan = compaction.plan_to_store(parts, anew=anew)
            if not plan.groups:
                return True
            new = [compaction.merge(group) for group in plan.groups]
            after = stored.store(
                path, self._identity, before, seen=seen, cursor=cursor, plan=plan, new=new
            )
            if after is None:
                continue
            names = list(after.segments)[-len(new) :]
            if self._swap(notes, compaction.assembled(plan, new, names), size):
                self._stored, self._anew = after, False
            return True
        return False

    def _look(self, path: Path) -> bytes | None:
        """Return the manifest on disk, after adopting what another process has stored."""
        seen = stored.manifest_in(path)
        if not self._anew and seen not in (None, self._stored.manifest):
            try:
                loaded = stored.load(path, self._identity)
            except StoredIndexError as error:
                self._complain(f"{error}; replaced")
                self._anew = True
            else:
                if loaded is not None:
                    with self._lock:
                        self._adopt(loaded)
                    return loaded.stored.manifest
        return seen

    def _compact(self) -> None:
        with self._lock:
            notes = self._notes
            size, parts = notes.columns.size, compaction.snapshot(notes)
        plan = compaction.plan_in_memory(parts)
        new = [compaction.merge(group) for group in plan.groups]
        self._swap(notes, compaction.assembled(plan, new, [None] * len(new)), size)

    def _swap(self, before: ScopeNotes, after: ScopeNotes, size: int) -> bool:
        """Put compacted notes in place, unless others are there by now.

        `size` is the number of documents that were compacted; later ones are added again.
        """
        with self._lock:
            if self._notes is not before:
                return False
            later = before.documents_from(size)
            self._notes = after
            self._take(later)
            return True

    def _complain(self, reason: str) -> None:
        if reason != self._complaint:
            self._complaint = reason
            logger.warning("search index of %s: %s", self._identity.stream, reason)


def _hits(documents: Sequence[Document], found: Sequence[ranking.Ranked], query: str) -> list[Hit]:
    words = needles(query)
    return [
        Hit(
            slug=document.slug,
            title=document.title,
            snippet=snippet(document.body, words),
            topics=document.topics,
            provenance=document.provenance,
            confidence=document.confidence,
            pinned=document.pinned,
            written_at=document.written_at,
            score=each.score,
            superseded_by=document.superseded_by,
            relevance=each.relevance,
            recency=each.recency,
            pin=each.pin,
        )
        for document, each in zip(documents, found, strict=True)
    ]
