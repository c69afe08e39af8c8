"""Whoosh and brute force give the same hits, in the same order, with the same scores."""

import shutil
import tempfile
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from projections.search import Hit, Weights, WhooshBackend
from tests.search.notebook import START, Notebook
from tests.search.reference import ReferenceBackend

WORDS = st.sampled_from(
    [
        "tea", "teas", "Tea", "cup", "cups", "kettle", "the", "of", "not", "running", "runner", "x",
        "user_id", "getUserName", "C++", "C#", "CLAUDE.md", "v1.2.3", "東京", "東京都", "京都",
        "ありがとう", "ภาษาไทย", "हिन्दी", "Straße", "café", "CAFE", "الكتاب", "서울",
    ]
)  # fmt: skip
TEXTS = st.lists(WORDS, max_size=12).map(" ".join) | st.text(max_size=30)
SLUGS = st.sampled_from([f"n-{number}" for number in range(12)])
TOPICS = st.lists(st.sampled_from(["home", "work"]), unique=True, max_size=2).map(tuple)
WEIGHTS = st.builds(
    Weights,
    recency_weight=st.sampled_from([0.0, 0.2, 3.0]),
    half_life_days=st.sampled_from([0.5, 30.0]),
    pinned_bonus=st.sampled_from([0.0, 0.2, 3.0]),
)


def _comparable(hits: list[Hit]) -> list[tuple[object, ...]]:
    return [(hit.slug, hit.title, hit.snippet, hit.superseded_by, hit.pinned) for hit in hits]


class SameAsBruteForce(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.path = Path(tempfile.mkdtemp())
        self.notes = Notebook()
        self.reference = ReferenceBackend()
        self.backend = self._opened()

    def _opened(self) -> WhooshBackend:
        return WhooshBackend(self.path / "index", idle_s=3_600.0)

    @initialize(count=st.integers(0, 90), words=st.lists(WORDS, min_size=3, max_size=3))
    def many(self, count: int, words: list[str]) -> None:
        for number in range(count):
            self.notes.write(f"many-{number}", body=" ".join(words[: number % 4] * (number % 3)))

    @rule(
        slug=SLUGS,
        title=TEXTS,
        body=TEXTS,
        topics=TOPICS,
        pinned=st.booleans(),
        days=st.floats(0, 90),
    )
    def write(
        self,
        *,
        slug: str,
        title: str,
        body: str,
        topics: tuple[str, ...],
        pinned: bool,
        days: float,
    ) -> None:
        self.notes.write(slug, title, body, topics=topics, pinned=pinned, days=days)

    @rule(newer=SLUGS, older=SLUGS)
    def supersede(self, newer: str, older: str) -> None:
        if older in self.notes.notes:
            self.notes.supersede(newer, older)

    @rule(older=SLUGS)
    def unlink(self, older: str) -> None:
        if older in self.notes.notes:
            self.notes.unlink(older)

    @rule(slug=SLUGS, pinned=st.booleans())
    def pin(self, *, slug: str, pinned: bool) -> None:
        if slug in self.notes.notes:
            self.notes.touch(slug, pinned=pinned)

    @rule()
    def commit(self) -> None:
        self.backend.commit(self.notes)

    @rule()
    def rebuild(self) -> None:
        self.backend.rebuild(self.notes)

    @rule()
    def reopen(self) -> None:
        self.backend.close()
        self.backend = self._opened()

    @rule(
        query=TEXTS, limit=st.integers(1, 30), weights=WEIGHTS, days=st.floats(0, 90),
        topic=st.none() | st.just("home"), everything=st.booleans(),
    )  # fmt: skip
    def search(
        self, *, query: str, limit: int, weights: Weights, days: float, topic: str | None,
        everything: bool,
    ) -> None:  # fmt: skip
        found, expected = (
            backend.search(
                self.notes, query, now=START + timedelta(days=days), limit=limit, topic=topic,
                include_superseded=everything, weights=weights,
            )
            for backend in (self.backend, self.reference)
        )  # fmt: skip
        assert _comparable(found) == _comparable(expected)
        for name in ("score", "relevance", "recency", "pin"):
            assert [getattr(hit, name) for hit in found] == pytest.approx(
                [getattr(hit, name) for hit in expected], rel=1e-6
            )

    def teardown(self) -> None:
        self.backend.close()
        shutil.rmtree(self.path)


SameAsBruteForce.TestCase.settings = settings(stateful_step_count=30)
TestSameAsBruteForce = SameAsBruteForce.TestCase
