"""The next search sees every write before it: of this handle, of another, of another process."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from memlog.memory import Memory
from memlog.testing import CountingIds, FixedClock, open_log
from tests.section import children

ANSWER = """
import json, sys, memlog
from memlog.testing import START
with memlog.open(sys.argv[1]) as log:
    memory = log.scope("owner", "alice")
    for line in sys.stdin:
        hits = memory.search(json.loads(line), now=START)
        print(json.dumps([[hit.slug, hit.score] for hit in hits]), flush=True)
"""
WRITE = """
import sys, memlog
with memlog.open(sys.argv[1]) as log:
    memory = log.scope("owner", "alice")
    for number in range(int(sys.argv[3])):
        memory.write(title=f"A {sys.argv[2]}", body=f"piece {number}")
        hits = memory.search(sys.argv[2], limit=99)
        assert len(hits) == number + 1, (number, hits)
"""

STONES = ("quartz", "felsite", "obsidian")  # Without a common trigram.

Search = Callable[[str], list[tuple[str, float]]]


def searching(memory: Memory) -> Search:
    return lambda query: [(hit.slug, hit.score) for hit in memory.search(query)]


@pytest.fixture(params=["the same handle", "another handle", "another process", "in memory"])
def ends(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Memory, Search]]:
    """Give where a test writes and how it searches; the searcher has been asked once before."""
    path, clock = tmp_path / "notes.db", FixedClock()
    with ExitStack() as stack:
        target = ":memory:" if request.param == "in memory" else path
        log = stack.enter_context(open_log(target, clock=clock))
        memory = log.scope("owner", "alice")
        search = searching(memory)
        if request.param == "another handle":
            other = stack.enter_context(open_log(path, clock=clock, ids=CountingIds(1)))
            search = searching(other.scope("owner", "alice"))
        if request.param == "another process":
            search = stack.enter_context(children.asked_by_line(ANSWER, path))
        assert search("tea") == []
        yield memory, search


def test_every_change_is_in_the_next_search(ends: tuple[Memory, Search]) -> None:
    memory, search = ends
    memory.write(title="Tea", body="green leaves", topics=["drinks"])

    def score_of_tea() -> float:
        ((slug, score),) = search("leaves")
        assert slug == "tea"
        return score

    score = score_of_tea()
    assert [slug for slug, _ in search("drinks")] == ["tea"]

    memory.write(title="Tea", body="black twigs", slug="tea")
    assert search("leaves") == search("drinks") == []
    assert [slug for slug, _ in search("twigs")] == ["tea"]

    memory.write(title="Tea", body="green leaves", topics=["drinks"], slug="tea")
    assert score_of_tea() == pytest.approx(score)
    memory.pin("tea")
    assert score_of_tea() == pytest.approx(score / 1.2 * 1.4)
    memory.unpin("tea")
    assert score_of_tea() == pytest.approx(score)

    memory.write_many([{"title": f"Cup {n}", "body": "of leaves"} for n in range(3)])
    assert len(search("leaves")) == 4
    memory.link("cup-0", "tea", "supersedes")
    assert {slug for slug, _ in search("leaves")} == {"cup-0", "cup-1", "cup-2"}
    memory.unlink("cup-0", "tea", "supersedes")
    assert "tea" in {slug for slug, _ in search("leaves")}
    memory.link("cup-0", "tea", "related")
    assert len(search("leaves")) == 4
    assert search("")[0][0] == "cup-2"


def test_processes_that_write_and_search_at_once_each_read_their_writes(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    open_log(path).close()

    started = [children.start(WRITE, path, word, 12) for word in STONES]

    for child in started:
        children.ended(child)
    with open_log(path, ids=CountingIds(9)) as log:
        memory = log.scope("owner", "alice")
        assert [len(memory.search(word, limit=99)) for word in STONES] == [12] * 3
