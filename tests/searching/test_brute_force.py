"""What `Memory.search` finds is what brute force over the scope's listed notes finds."""

from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

import pytest
from hypothesis import given as for_all
from hypothesis import settings as profile
from hypothesis import strategies as st

from memlog.log import Log
from memlog.memory import Memory
from memlog.requests import AnyRequest
from memlog.settings import Settings
from memlog.testing import START, CountingIds, FixedClock, open_log, strategies
from tests.searching.listed import brute_force, comparable, numbers
from tests.section.asking import STREAMS, ask, scope_of

WORDS = (
    "tea", "Oolong", "green", "hot", "drinks", "black", "cut off", "Blätter", "茶の湯", "茶",
    "心得", "चाय", "té", "memory", "y" * 80, "a b c", "the", "!!!", " ", "\ud800", "x\0",
)  # fmt: skip
QUERIES = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join) | st.text(max_size=12)
STEPS = st.one_of(
    st.tuples(st.sampled_from(STREAMS), strategies.requests()),
    st.sampled_from(["reopen", "rebuild notes", "rebuild search", "wait"]),
)
SETTINGS = st.builds(
    Settings,
    recency_weight=st.sampled_from([0.0, 0.2, 3.0]),
    half_life_days=st.sampled_from([0.5, 30.0]),
    pinned_bonus=st.sampled_from([0.0, 0.2, 3.0]),
)


class Reopened:
    """A log in a file that is closed and opened in between."""

    def __init__(self, directory: str, settings: Settings) -> None:
        self._clock, self._ids, self._settings = FixedClock(), CountingIds(), settings
        self._path = Path(directory, "notes.db")
        self.log = self._open()

    def _open(self) -> Log:
        return open_log(self._path, clock=self._clock, ids=self._ids, settings=self._settings)

    def do(self, step: tuple[str, AnyRequest] | str) -> None:
        match step:
            case "reopen":
                self.log.close()
                self.log = self._open()
            case "rebuild notes":
                self.log.rebuild("notes")
            case "rebuild search":
                self.log.rebuild("search")
            case "wait":
                self._clock.advance(86_400.0)
            case (stream, request):
                ask(scope_of(self.log, stream), request)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.log.close()


def compare(memory: Memory, query: str, asked: dict[str, object], settings: Settings) -> None:
    days, limit, topic, everything = (asked[key] for key in ("days", "limit", "topic", "all"))
    assert isinstance(days, float)
    assert isinstance(limit, int)
    assert topic is None or isinstance(topic, str)
    now = START + timedelta(days=days)
    found = memory.search(
        query, now=now, limit=limit, topic=topic, include_superseded=bool(everything)
    )
    expected = brute_force(
        memory,
        query,
        now=now,
        limit=limit,
        topic=topic,
        include_superseded=bool(everything),
        settings=settings,
    )
    assert comparable(found) == comparable(expected)
    assert numbers(found) == pytest.approx(numbers(expected), rel=1e-6)


@profile(max_examples=40)
@for_all(
    steps=st.lists(STEPS, max_size=20),
    settings=SETTINGS,
    queries=st.lists(QUERIES, min_size=2, max_size=2),
    asked=st.fixed_dictionaries(
        {
            "days": st.floats(-5, 90),
            "limit": st.sampled_from([1, 3, 50]),
            "topic": st.sampled_from([None, None, "hot", "hot-drinks", "Hot", ""]),
            "all": st.booleans(),
        }
    ),
)
def test_after_any_history_it_finds_what_brute_force_finds(
    steps: list[tuple[str, AnyRequest] | str],
    settings: Settings,
    queries: list[str],
    asked: dict[str, object],
) -> None:
    with TemporaryDirectory() as directory, Reopened(directory, settings) as opened:
        for number, step in enumerate(steps):
            opened.do(step)
            if number % 4 == 3:
                compare(scope_of(opened.log, STREAMS[0]), queries[0], asked, settings)
        for stream in STREAMS:
            for query in queries:
                compare(scope_of(opened.log, stream), query, asked, settings)
