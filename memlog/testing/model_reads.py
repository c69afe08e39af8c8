"""What the reference model reads: the notes of a scope as plain dicts, and queries over them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from memlog.errors import NoteNotFoundError
from memlog.testing import model_text

SIMILAR_MAX = 5

Plain = dict[str, Any]
Edge = tuple[str, str, str, str | None]


class ScopeReads:
    """The reading half of `ScopeModel`.

    Attributes:
        notes: what a `memlog.Note` has, as a dict, by slug, in the order of their creation; without
            `superseded_by`, which the links tell.
        links: the edges, in the order they were made.
    """

    def __init__(self, stream: str, *, threshold: float) -> None:
        self._stream, self._threshold = stream, threshold
        self.notes: dict[str, Plain] = {}
        self.links: list[Edge] = []

    def _chain(self, slug: str) -> Iterator[str]:
        superseder = self.superseded_by(slug)
        while superseder is not None:
            yield superseder
            superseder = self.superseded_by(superseder)

    def living_end(self, slug: str) -> str:
        """Return the live note at the end of a chain of superseders."""
        return [slug, *self._chain(slug)][-1]

    def superseded_by(self, slug: str) -> str | None:
        """Return who supersedes a note, or None while it is live."""
        newer = [edge[0] for edge in self.links if edge[1:3] == (slug, "supersedes")]
        assert len(newer) <= 1
        return newer[0] if newer else None

    def live(self) -> list[str]:
        """Return the slugs of the notes that nobody supersedes."""
        return [slug for slug in self.notes if self.superseded_by(slug) is None]

    def get(self, slug: str) -> Plain | None:
        """Return a note as a dict, or None."""
        note = self.notes.get(slug)
        return None if note is None else {**note, "superseded_by": self.superseded_by(slug)}

    def read(self, slug: str) -> Plain:
        """Return note, links, backlinks and superseded_by."""
        self._found(slug)
        return {
            "note": self.get(slug),
            "links": [edge for edge in self.links if edge[0] == slug],
            "backlinks": [edge for edge in self.links if edge[1] == slug],
            "superseded_by": self.superseded_by(slug),
        }

    def page(
        self, *, limit: int = 1_000, before: int | None = None, live_only: bool = False
    ) -> list[str]:
        """Return the slugs that `Memory.notes` must list, in its order."""
        slugs = sorted(self.notes, key=lambda slug: -self.notes[slug]["written_seq"])
        shown = [
            slug
            for slug in slugs
            if (before is None or self.notes[slug]["written_seq"] < before)
            and not (live_only and self.superseded_by(slug))
        ]
        return shown[:limit]

    def fingerprint(self) -> str:
        """Return live notes and the highest updated_seq of all notes."""
        highest = max((note["updated_seq"] for note in self.notes.values()), default=0)
        return f"{len(self.live())}:{highest}"

    def similar(
        self, title: str, *, topics: Sequence[str] = (), but: str | None = None
    ) -> list[tuple[str, str, float]]:
        """Return (slug, title, score) of the live notes that resemble a title and topics.

        Exact over all notes, as the library is while no word is carried by more than 200.
        """
        words = model_text.words(title, model_text.topics(topics))
        found = []
        for slug in self.live():
            note = self.notes[slug]
            others = model_text.words(note["title"], note["topics"])
            either = len(words | others)
            score = len(words & others) / either if either else 0.0
            if slug != but and score >= self._threshold:
                found.append((-score, -note["updated_seq"], slug, note["title"]))
        return [(slug, known, -score) for score, _, slug, known in sorted(found)[:SIMILAR_MAX]]

    def _found(self, slug: str) -> Plain:
        if slug not in self.notes:
            raise NoteNotFoundError(slug)
        return self.notes[slug]
