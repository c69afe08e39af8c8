"""The section changes with a touched note of its own scope, and with nothing else."""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from memlog.errors import RequestError
from memlog.events import CompactionHarvested
from memlog.log import Log
from memlog.memory import Memory
from memlog.requests import AnyRequest
from memlog.testing import START, FixedClock, open_log, record, strategies
from tests.section.asking import STREAMS, ask, forget, renders, scope_of, touches

WORLDS_END = 3_650 * 86_400.0

Act = Callable[[Log, Memory], object]


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def log(clock: FixedClock) -> Iterator[Log]:
    with open_log(clock=clock) as log:
        memory = log.scope("owner", "alice")
        memory.write(title="Tea", body="green", topics=["hot"], pinned=True, request_id="r-1")
        memory.write(title="Oolong", body="blue", slug="oolong")
        memory.write(title="Old tea", body="grey", slug="old")
        memory.write(title="Web", body="read there", source={"url": "https://example.org"})
        memory.link("tea", "old", "supersedes")
        memory.link("tea", "oolong", "related")
        yield log


@for_all(st.lists(st.tuples(st.sampled_from(STREAMS), strategies.requests()), max_size=20))
def test_it_changes_only_if_a_note_of_the_scope_was_touched(
    asked: list[tuple[str, AnyRequest]],
) -> None:
    clock = FixedClock()
    with open_log(clock=clock) as log:
        for stream, request in asked:
            before = {each: scope_of(log, each).section() for each in STREAMS}
            position = log.position()
            ask(scope_of(log, stream), request)
            clock.advance(86_400.0)
            touched = {event.stream for event in log.events(after=position) if touches(event)}
            for each in STREAMS:
                with renders() as rendered:
                    after = scope_of(log, each).section()
                assert len(rendered) == int(each in touched)
                assert each in touched or after == before[each]


def _refused(act: Callable[[Memory], object]) -> Act:
    def refuse(_: Log, memory: Memory) -> None:
        with pytest.raises(RequestError):
            act(memory)

    return refuse


def _repeat_the_write(_: Log, memory: Memory) -> None:
    written = memory.write(title="Tea", body="green", topics=["hot"], pinned=True)
    assert not written.changed


def _repeat_the_request(_: Log, memory: Memory) -> None:
    again = memory.write(title="Tea", body="green", topics=["hot"], pinned=True, request_id="r-1")
    assert again.replayed


def _write_elsewhere(log: Log, _: Memory) -> None:
    for other in (log.scope("global"), log.scope("owner", "Alice"), log.scope("owner", "bob")):
        other.write(title="Tea", body="poured elsewhere", pinned=True)
        other.section()


def _read_all(log: Log, memory: Memory) -> None:
    memory.get("tea")
    memory.read("tea")
    memory.notes()
    memory.similar("Tea")
    memory.history("tea")
    memory.fingerprint()
    memory.section_text("0" * 16)
    assert len(list(memory.events())) == len(list(log.events()))


def _search(log: Log, memory: Memory) -> None:
    assert memory.search("tea")
    memory.search("")
    memory.search("tea", include_superseded=True, now=START + timedelta(days=900))
    log.rebuild("search")


def _harvest(_: Log, memory: Memory) -> None:
    harvest = CompactionHarvested(
        key="k", entries_sha256="0" * 64, model="fast", slugs=("tea",), kept=1
    )
    record(memory, [harvest])


ACTS: dict[str, Act] = {
    "a repeated identical write": _repeat_the_write,
    "a repeated request": _repeat_the_request,
    "pinning what is pinned": lambda _, memory: memory.pin("tea"),
    "unpinning what is not": lambda _, memory: memory.unpin("oolong"),
    "an existing supersession": lambda _, memory: memory.link("tea", "old", "supersedes"),
    "a related link": lambda _, memory: memory.link("oolong", "tea", "related"),
    "a derivation": lambda _, memory: memory.link("oolong", "tea", "derived_from"),
    "taking a related link away": lambda _, memory: memory.unlink("tea", "oolong", "related"),
    "a bad title": _refused(lambda memory: memory.write(title=" ", body="b")),
    "a stale write": _refused(lambda m: m.write(title="T", body="b", slug="tea", if_seq=0)),
    "rewriting history": _refused(lambda m: m.write(title="T", body="b", slug="old")),
    "pinning what came from the web": _refused(lambda memory: memory.pin("web")),
    "pinning history": _refused(lambda memory: memory.pin("old")),
    "a cycle": _refused(lambda memory: memory.link("old", "tea", "supersedes")),
    "a link to nothing": _refused(lambda memory: memory.link("tea", "no-such", "related")),
    "a broken batch": _refused(
        lambda m: m.write_many([{"title": "New", "body": "b"}, {"title": "", "body": "b"}])
    ),
    "writes in other scopes": _write_elsewhere,
    "reads": _read_all,
    "searches": _search,
    "a harvest": _harvest,
    "nothing at all": lambda _log, _memory: None,
}


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_nothing_that_touches_no_note_changes_it_even_years_later(
    log: Log, clock: FixedClock, act: Act
) -> None:
    memory = log.scope("owner", "alice")
    before = memory.section()

    act(log, memory)
    clock.advance(WORLDS_END)

    with renders() as rendered:
        assert memory.section() == before
    assert rendered == []
    forget(log)
    assert memory.section() == before


def test_a_touch_that_shows_nowhere_gives_the_same_hash_and_back_again(log: Log) -> None:
    memory = log.scope("owner", "alice")
    before = memory.section()

    memory.unpin("tea")
    between = memory.section()
    memory.pin("tea")

    assert between.hash != before.hash
    assert memory.section() == before
    memory.link("oolong", "web", "supersedes")
    memory.unlink("oolong", "web", "supersedes")
    assert memory.section() == before


def test_a_superseded_pinned_note_leaves_and_comes_back(log: Log) -> None:
    memory = log.scope("owner", "alice")
    before = memory.section()
    assert "<MEMORY[tea]" in before.text

    linked = memory.link("oolong", "tea", "supersedes")

    assert linked.left_section
    assert "tea" not in memory.section().text.casefold()
    memory.unlink("oolong", "tea", "supersedes")
    assert memory.section() == before
