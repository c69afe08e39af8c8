"""What the arguments of `Memory.search` mean, and what one scope shows of another: nothing."""

import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memlog.errors import ClosedError, InvalidRequestError
from memlog.log import Log
from memlog.memory import Memory
from memlog.settings import Settings
from memlog.testing import START, FixedClock, open_log
from projections.search.protocol import Feed, Hit, Weights
from tests.section.asking import STREAMS, scope_of

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def log(clock: FixedClock) -> Iterator[Log]:
    with open_log(clock=clock) as log:
        yield log


@pytest.fixture
def memory(log: Log) -> Memory:
    return log.scope("owner", "alice")


def slugs(hits: list[Hit]) -> list[str]:
    return [hit.slug for hit in hits]


# --- Arguments


def test_a_topic_is_exact_and_comes_before_the_limit(memory: Memory) -> None:
    memory.write(title="Tea", body="tea " * 9, topics=["hot drinks", "daily"])
    for number in range(5):
        memory.write(title=f"Tea {number + 10}", body="tea", topics=["hot"])

    assert slugs(memory.search("tea", topic="hot-drinks", limit=1)) == ["tea"]
    assert slugs(memory.search("tea", topic="daily")) == ["tea"]
    assert len(memory.search("tea", topic="hot")) == 5
    for unknown in ("Hot", "hot drinks", "ho", "", "\ud800"):
        assert memory.search("tea", topic=unknown) == []


def test_at_most_limit_hits_come_and_they_are_the_best(memory: Memory) -> None:
    memory.write_many([{"title": f"Cup {n}", "body": "tea " * (n + 1)} for n in range(12)])

    hits = memory.search("tea", limit=12)

    assert len(memory.search("tea")) == 10
    assert [memory.search("tea", limit=n) for n in (1, 5)] == [hits[:1], hits[:5]]
    assert memory.search("tea", limit=10_000) == hits


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused(memory: Memory, limit: int) -> None:
    with pytest.raises(InvalidRequestError, match=f"limit .*{limit}"):
        memory.search("tea", limit=limit)


@pytest.mark.parametrize("query", ["", " \n\t", "\u3000"])
def test_a_blank_query_lists_the_most_recently_written(memory: Memory, query: str) -> None:
    for title in ("One", "Two", "Three"):
        memory.write(title=title, body="b", topics=["t"] if title != "Two" else [])
    memory.write(title="One", body="rewritten", topics=["t"], slug="one")
    memory.pin("two")  # Touches, but does not write.
    memory.link("three", "two", "supersedes")

    assert slugs(memory.search(query)) == ["one", "three"]
    assert slugs(memory.search(query, include_superseded=True)) == ["one", "three", "two"]
    assert slugs(memory.search(query, topic="t", limit=1)) == ["one"]
    assert {hit.score for hit in memory.search(query)} == {0.0}


def test_age_is_counted_from_now_and_now_is_the_clock_unless_given(
    memory: Memory, clock: FixedClock
) -> None:
    memory.write(title="Tea", body="green")
    (hit,) = memory.search("green")
    assert hit.recency == pytest.approx(0.2)

    clock.advance(30 * 86_400.0)

    (by_clock,) = memory.search("green")
    assert by_clock.recency == pytest.approx(0.1)
    (past,) = memory.search("green", now=START)
    assert past == hit
    (before,) = memory.search("green", now=START - timedelta(days=1))
    assert before.recency == pytest.approx(0.2)
    (later,) = memory.search("green", now=START + timedelta(days=60))
    assert later.recency == pytest.approx(0.05)
    assert later.score == pytest.approx(later.relevance * 1.05)


def test_a_naive_now_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidRequestError, match=r"^now "):
        memory.search("tea", now=datetime(2026, 11, 30))  # noqa: DTZ001  # that is the point


def test_history_is_found_only_when_asked_for(memory: Memory) -> None:
    memory.write(title="Old", body="tea")
    memory.write(title="New", body="tea")
    memory.link("new", "old", "supersedes")

    assert slugs(memory.search("tea")) == ["new"]
    both = memory.search("tea", include_superseded=True)
    assert {hit.slug: hit.superseded_by for hit in both} == {"new": None, "old": "new"}


def test_a_megabyte_is_a_query(memory: Memory) -> None:
    memory.write(title="Tea", body="green")
    assert slugs(memory.search("tea " * 2**18)) == ["tea"]


@pytest.mark.parametrize("query", ["x" * 2**20, "x" * 2**20 + "#", "a." * 2**19, "c+" * 2**19])
def test_a_megabyte_without_a_space_is_a_query(memory: Memory, query: str) -> None:
    memory.write(title="Tea", body="green")
    assert slugs(memory.search(query)) == []


def test_a_body_of_one_long_word_is_indexed(memory: Memory) -> None:
    memory.write(title="Long", body="x" * 31_990 + "#")
    assert slugs(memory.search("long")) == ["long"]


def test_a_closed_log_is_not_searched(memory: Memory, log: Log) -> None:
    memory.write(title="Tea", body="green")
    memory.search("tea")
    log.close()
    with pytest.raises(ClosedError):
        memory.search("tea")


# --- Scopes


def test_no_hit_and_no_number_of_one_scope_depends_on_another() -> None:
    def answers(log: Log) -> list[list[Hit]]:
        memory = scope_of(log, STREAMS[0])
        return [memory.search(q, now=START) for q in ("tea", "kettle cup", "", "steam")]

    def fill(memory: Memory, words: list[str]) -> None:
        memory.write_many([{"title": w, "body": f"{w} tea"} for w in words])

    with open_log() as alone, open_log() as shared:
        for principal in ("alicf", "Alice", "bob"):
            fill(shared.scope("owner", principal), ["steam", "kettle", "kettle cup", "cup"] * 3)
        fill(shared.scope("global"), ["steam kettle"] * 5)
        shared.scope("owner", "bob").search("tea")
        for log in (alone, shared):
            fill(log.scope("owner", "alice"), ["kettle", "cup", "saucer"])
        expected = answers(alone)

        assert answers(shared) == expected
        shared.rebuild("search")
        assert answers(shared) == expected
        assert slugs(expected[0]) != []
        assert expected[3] == []


def test_an_unknown_scope_finds_nothing(log: Log, memory: Memory) -> None:
    memory.write(title="Tea", body="green")
    assert log.scope("owner", "nobody").search("tea") == []
    assert log.scope("global").search("") == []


# --- Rebuild


def test_a_rebuild_changes_no_answer_and_says_how_far_it_is(log: Log, memory: Memory) -> None:
    memory.write_many([{"title": f"Cup {n}", "body": "tea " * (n % 4 + 1)} for n in range(40)])
    memory.link("cup-1", "cup-2", "supersedes")
    log.scope("global").write(title="Elsewhere", body="tea")
    before = [memory.search(q, limit=50, now=START) for q in ("tea", "cup 7", "")]
    told: list[tuple[int, int]] = []

    rebuilt = log.rebuild("search", progress=lambda done, all_: told.append((done, all_)))

    assert [memory.search(q, limit=50, now=START) for q in ("tea", "cup 7", "")] == before
    assert (rebuilt.projection, rebuilt.events, rebuilt.differences) == ("search", 42, ())
    assert told == [(1, 2), (2, 2)]


# --- Backends


class Parrot:
    """A backend that remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.seen: list[tuple[str, tuple[int, str], list[str]]] = []
        self.rebuilt: list[str] = []
        self.closed = 0

    def search(self, feed: Feed, query: str, **options: Any) -> list[Hit]:  # noqa: ANN401
        self.asked.append((query, options))
        head = feed.head()
        touched = feed.touched(after_seq=0, up_to=head[0])
        assert touched == list(feed.all(up_to=head[0]))
        assert feed.event_id(head[0]) == (head[1] or None)
        assert feed.event_id(head[0] + 1) is None
        self.seen.append((feed.stream, head, sorted(each.slug for each in touched)))
        return []

    def commit(self, feed: Feed) -> None:
        raise NotImplementedError(feed)

    def rebuild(self, feed: Feed) -> None:
        feed.head()
        self.rebuilt.append(feed.stream)

    def close(self) -> None:
        self.closed += 1


def test_a_backend_of_the_callers_own_is_asked_with_all_that_it_needs() -> None:
    parrot = Parrot()
    chosen = Settings(search=parrot, recency_weight=0.5, half_life_days=7.0, pinned_bonus=0.1)
    with open_log(settings=chosen) as log:
        memory = log.scope("owner", "alice")
        assert memory.search("nothing yet") == []
        memory.write(title="Tea", body="green")
        memory.write(title="Cup", body="blue")
        memory.link("cup", "tea", "supersedes")
        memory.search("a:b*", limit=3, topic="t", include_superseded=True, now=START)
        log.rebuild("search")
        last = list(memory.events())[-1]

    assert parrot.asked[0][1]["now"] == START
    assert parrot.asked[1] == (
        "a:b*",
        {
            "now": START,
            "limit": 3,
            "topic": "t",
            "include_superseded": True,
            "weights": Weights(recency_weight=0.5, half_life_days=7.0, pinned_bonus=0.1),
        },
    )
    assert parrot.seen == [
        ("owner/alice", (0, ""), []),
        ("owner/alice", (3, last.event_id), ["cup", "tea"]),
    ]
    assert parrot.rebuilt == ["owner/alice"]
    assert parrot.closed == 1


def test_an_unknown_backend_is_refused_by_the_search_and_by_nothing_else() -> None:
    with open_log(settings=Settings(search="lucene")) as log:
        memory = log.scope("owner", "alice")
        memory.write(title="Tea", body="green")
        with pytest.raises(InvalidRequestError, match="lucene"):
            memory.search("tea")
        assert memory.get("tea") is not None


CHILD = """
import sys, memlog
late = {"whoosh", "numpy"}
with memlog.open(sys.argv[1]) as log:
    memory = log.scope("owner", "alice")
    memory.write(title="Tea", body="green", pinned=True)
    memory.section(), memory.read("tea"), memory.similar("tea"), memory.notes(), log.rebuild()
    assert not late & set(sys.modules), late & set(sys.modules)
    assert memory.search("tea")[0].slug == "tea"
    assert late <= set(sys.modules)
"""


def test_whoosh_and_numpy_are_imported_by_the_first_search(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", CHILD, str(tmp_path / "notes.db")],
        cwd=ROOT,
        check=False,
    )

    assert done.returncode == 0
