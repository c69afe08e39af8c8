"""The notes that a scope lists, as a feed for the brute force of `tests/search/reference.py`."""

from collections.abc import Iterator
from datetime import datetime

from memlog.memory import Memory
from memlog.note import Note
from memlog.settings import Settings
from projections.search.protocol import Document, Hit, Weights
from tests.search.reference import ReferenceBackend


def document(note: Note) -> Document:
    return Document(
        slug=note.slug,
        title=note.title,
        body=note.body,
        topics=note.topics,
        provenance=note.provenance,
        confidence=note.confidence,
        pinned=note.pinned,
        written_at=note.written_at,
        written_seq=note.written_seq,
        updated_seq=note.updated_seq,
        superseded_by=note.superseded_by,
    )


class ListedFeed:
    """One scope, read through the public face; implements `Feed` as far as brute force asks."""

    log_id, hmac_key = "", b""

    def __init__(self, memory: Memory) -> None:
        self.stream = memory.scope.stream
        self._documents = [document(note) for note in memory.notes(limit=10_000)]

    def head(self) -> tuple[int, str]:
        return 0, ""

    def event_id(self, seq: int) -> str | None:
        raise NotImplementedError(seq)

    def touched(self, *, after_seq: int, up_to: int) -> list[Document]:
        raise NotImplementedError(after_seq, up_to)

    def all(self, *, up_to: int) -> Iterator[Document]:
        assert up_to == 0
        yield from self._documents


def brute_force(
    memory: Memory,
    query: str,
    *,
    now: datetime,
    settings: Settings | None = None,
    limit: int = 10,
    topic: str | None = None,
    include_superseded: bool = False,
) -> list[Hit]:
    """Return what a search must find."""
    chosen = settings or Settings()
    return ReferenceBackend().search(
        ListedFeed(memory),
        query,
        now=now,
        limit=limit,
        topic=topic,
        include_superseded=include_superseded,
        weights=Weights(
            recency_weight=chosen.recency_weight,
            half_life_days=chosen.half_life_days,
            pinned_bonus=chosen.pinned_bonus,
        ),
    )


def comparable(hits: list[Hit]) -> list[tuple[object, ...]]:
    """Return hits without what floating point rounds."""
    return [
        (
            hit.slug,
            hit.title,
            hit.snippet,
            hit.topics,
            hit.provenance,
            hit.confidence,
            hit.pinned,
            hit.written_at,
            hit.superseded_by,
        )
        for hit in hits
    ]


def numbers(hits: list[Hit]) -> list[float]:
    """Return all that is rounded, hit by hit."""
    return [number for hit in hits for number in (hit.score, hit.relevance, hit.recency, hit.pin)]
