"""A scope of a log as search sees it: events in a list, notes derived from them."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from projections.search.protocol import Document

START = datetime(2026, 1, 1, tzinfo=UTC)
LOG_ID = "6f7a3c9e-1b2d-4e5f-8a9b-0c1d2e3f4a5b"
KEY = bytes(range(32))


class Notebook:
    """Writes notes, links and pins; implements `Feed` for the moment of the last event."""

    def __init__(
        self, stream: str = "owner/alice", *, log_id: str = LOG_ID, key: bytes = KEY
    ) -> None:
        self.stream = stream
        self.log_id = log_id
        self.hmac_key = key
        self.notes: dict[str, Document] = {}
        self.history: list[tuple[str, str | None]] = []  # event id, touched slug
        self.calls: list[str] = []

    def _event(self, slug: str | None, *, fork: str = "") -> int:
        seq = len(self.history) + 1
        self.history.append((f"event-{fork}{seq}", slug))
        return seq

    def write(
        self,
        slug: str,
        title: str = "",
        body: str = "",
        *,
        topics: tuple[str, ...] = (),
        pinned: bool = False,
        days: float = 0.0,
        fork: str = "",
    ) -> None:
        seq = self._event(slug, fork=fork)
        self.notes[slug] = Document(
            slug=slug,
            title=title or slug,
            body=body,
            topics=topics,
            provenance="agent",
            confidence=1.0,
            pinned=pinned,
            written_at=START + timedelta(days=days),
            written_seq=seq,
            updated_seq=seq,
        )

    def touch(self, slug: str, *, pinned: bool | None = None) -> None:
        note, seq = self.notes[slug], self._event(slug)
        pin = note.pinned if pinned is None else pinned
        self.notes[slug] = replace(note, pinned=pin, updated_seq=seq)

    def supersede(self, newer: str, older: str) -> None:
        seq = self._event(older)
        self.notes[older] = replace(self.notes[older], superseded_by=newer, updated_seq=seq)

    def unlink(self, older: str) -> None:
        seq = self._event(older)
        self.notes[older] = replace(self.notes[older], superseded_by=None, updated_seq=seq)

    def other_event(self) -> None:
        self._event(None)

    def head(self) -> tuple[int, str]:
        self.calls.append("head")
        return (len(self.history), self.history[-1][0]) if self.history else (0, "")

    def event_id(self, seq: int) -> str | None:
        self.calls.append("event_id")
        return self.history[seq - 1][0] if 1 <= seq <= len(self.history) else None

    def touched(self, *, after_seq: int, up_to: int) -> list[Document]:
        self.calls.append("touched")
        slugs = dict.fromkeys(slug for _, slug in self.history[after_seq:up_to] if slug)
        return [self.notes[slug] for slug in slugs]

    def all(self, *, up_to: int) -> Iterator[Document]:
        self.calls.append("all")
        assert up_to == len(self.history)
        yield from self.notes.values()
