"""`memory.at`: at every moment exactly what a store says that never heard of the later events."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given as for_all
from hypothesis import settings as examples
from hypothesis import strategies as st

import memlog
from memlog.errors import CorruptEventError, InvalidRequestError
from memlog.events import Event, NotePinned
from memlog.log import Log
from memlog.memory import Memory
from memlog.note import Scope
from memlog.testing import START, FixedClock, open_log, record, strategies
from tests.audit.reads import STREAMS, add, everything, recorded
from tests.search.reference import ReferenceBackend

HISTORIES = strategies.histories(streams=STREAMS, max_requests=14)
NOW = START + timedelta(days=9)


def tour(log: Log, clock: FixedClock) -> Memory:
    """Write six events of one scope, a minute apart, the fourth of another scope."""
    memory = log.scope("owner", "alice")
    memory.write(title="Tea", body="green", topics=["hot"])
    clock.advance(60)
    memory.write(title="Tea, again", body="black", slug="tea", topics=["hot"])
    clock.advance(60)
    memory.write(title="Oolong", body="half", slug="oolong")
    clock.advance(60)
    log.scope("global").write(title="Elsewhere", body="x")
    clock.advance(60)
    memory.link("oolong", "tea", "supersedes")
    clock.advance(60)
    memory.pin("oolong")
    return memory


@for_all(HISTORIES)
@examples(max_examples=10)
def test_each_moment_is_what_a_store_says_that_only_ever_had_that_prefix(
    history: tuple[Event, ...],
) -> None:
    clock = FixedClock()
    with recorded(history) as whole, open_log(clock=clock) as growing:
        for count in range(len(history) + 1):
            add(growing, history[count - 1 : count] if count else (), clock=clock)
            for stream in {*STREAMS[: len(history) + 1]}:
                _compare(whole, growing, Scope.of_stream(stream), position=count)


def _compare(whole: Log, growing: Log, scope: Scope, *, position: int) -> None:
    past, fresh = whole.scope(scope).at(position=position), growing.scope(scope)
    seqs = [event.seq for event in fresh.events()]
    assert past.seq == len(seqs)
    assert everything(past, now=NOW) == everything(fresh, now=NOW)
    assert past.section() == whole.scope(scope).at(seq=len(seqs)).section()


@for_all(HISTORIES)
@examples(max_examples=12)
def test_now_is_the_moment_at_the_head(history: tuple[Event, ...]) -> None:
    with recorded(history) as log:
        for stream in STREAMS:
            memory = log.scope(Scope.of_stream(stream))
            head = sum(event.stream == stream for event in history)
            live = everything(memory, now=NOW)
            moments = (
                memory.at(seq=head),
                memory.at(position=len(history)),
                memory.at(time=memory._searcher.clock()),  # noqa: SLF001  # the log's clock
            )
            for past in moments:
                assert everything(past, now=NOW) == live


@for_all(HISTORIES, st.integers(0, 60))
def test_a_time_includes_all_that_was_recorded_by_then(
    history: tuple[Event, ...], seconds: int
) -> None:
    time = START + timedelta(seconds=seconds)
    with recorded(history) as log:
        last = max((event.recorded_at for event in log.events()), default=START)
        memory = log.scope("owner", "alice")
        if time > last:
            with pytest.raises(InvalidRequestError):
                memory.at(time=time)
            return
        past = memory.at(time=time)
        expected = [event for event in memory.events() if event.recorded_at <= time]
        assert list(past.events()) == expected
        assert (past.seq, past.moment.time) == (len(expected), time)
        assert past.moment.position == (expected[-1].position if expected else 0)


@pytest.mark.parametrize("common", [10, 90, 240])
def test_similar_notes_are_the_same_where_the_words_are_common(common: int) -> None:
    """Which of very many notes are looked at depends on the order in which they came."""
    items = [{"title": f"Daily summary {n}", "body": "x", "topics": ["log"]} for n in range(common)]
    with open_log() as whole, open_log() as prefix:
        for log in (whole, prefix):
            memory = log.scope("owner", "alice")
            memory.write_many(items)
            for n in range(0, common, 7):
                memory.write(title=f"Weekly summary {n}", body="y", slug=f"daily-summary-{n}")
        seq = common + len(range(0, common, 7))
        whole.scope("owner", "alice").write(title="Daily summary", body="z", topics=["log"])
        past, fresh = whole.scope("owner", "alice").at(seq=seq), prefix.scope("owner", "alice")
        for title in ("Daily summary", "summary", "weekly log summary 7"):
            assert past.similar(title) == fresh.similar(title)
        assert past.similar("Daily summary")


def test_a_past_search_counts_ages_from_its_moment() -> None:
    clock = FixedClock()
    with open_log(clock=clock) as log:
        memory = tour(log, clock)
        written = memory.at(seq=1).search("tea")
        clock.advance(86_400 * 300)
        assert memory.at(seq=1).search("tea") == written
        assert memory.at(time=clock.now).search("oolong")[0].recency < 0.001
        assert written[0].recency == 0.2


@pytest.mark.parametrize(
    ("selector", "seq"),
    [
        ({"seq": 0}, 0),
        ({"seq": 5}, 5),
        ({"position": 0}, 0),
        ({"position": 3}, 3),
        ({"position": 4}, 3),
        ({"position": 5}, 4),
        ({"time": START - timedelta(days=1)}, 0),
        ({"time": START}, 1),
        ({"time": START + timedelta(seconds=59)}, 1),
        ({"time": (START + timedelta(minutes=1)).astimezone()}, 2),
        ({"time": START + timedelta(minutes=5)}, 5),
    ],
)
def test_a_moment_is_a_seq_a_time_or_a_position(selector: dict[str, object], seq: int) -> None:
    clock = FixedClock()
    with open_log(clock=clock) as log:
        past = tour(log, clock).at(**selector)  # type: ignore[arg-type]  # one of the three

        assert past.seq == seq
        assert [event.seq for event in past.events()] == list(range(1, seq + 1))


@pytest.mark.parametrize(
    "selector",
    [
        {},
        {"seq": 1, "position": 1},
        {"seq": None},
        {"seq": 6},
        {"seq": -1},
        {"seq": "1"},
        {"seq": True},
        {"position": 7},
        {"position": 1.0},
        {"time": START + timedelta(minutes=5, microseconds=1)},
        {"time": START.replace(tzinfo=None)},
        {"time": "2026-11-30T19:15:00Z"},
        {"time": datetime.min.replace(tzinfo=UTC).astimezone(UTC).replace(year=9999), "seq": 1},
    ],
)
def test_what_is_no_moment_or_beyond_the_head_is_refused(selector: dict[str, object]) -> None:
    clock = FixedClock()
    with open_log(clock=clock) as log:
        memory = tour(log, clock)

        with pytest.raises(InvalidRequestError):
            memory.at(**selector)  # type: ignore[arg-type]  # that is the point


def test_a_time_whose_utc_is_in_no_year_is_refused() -> None:
    far = datetime.max.replace(tzinfo=timezone(timedelta(hours=-1)))
    with open_log() as log, pytest.raises(InvalidRequestError, match="in the years 1 to 9999"):
        log.scope("global").at(time=far)


def test_a_time_after_the_last_event_and_before_now_is_fine() -> None:
    clock = FixedClock()
    with open_log(clock=clock) as log:
        memory = tour(log, clock)
        clock.advance(86_400)

        assert memory.at(time=clock.now - timedelta(hours=1)).seq == 5


def test_the_past_of_a_log_without_events_is_empty() -> None:
    with open_log() as log:
        past = log.scope("owner", "nobody").at(seq=0)

        assert (past.notes(), past.search("tea"), past.fingerprint()) == ([], [], "0:0")
        assert past.section() == log.scope("owner", "nobody").section()


def test_a_past_stays_as_it_is_while_the_log_goes_on() -> None:
    with open_log() as log:
        memory = log.scope("owner", "alice")
        memory.write(title="Tea", body="green")
        late, early = memory.at(seq=1), memory.at(seq=1)
        before = everything(early, now=NOW)

        memory.write(title="Tea", body="black", slug="tea", pinned=True)

        assert everything(early, now=NOW) == everything(late, now=NOW) == before


def test_a_section_of_the_past_is_never_recorded_but_what_was_handed_out_by_then_is_known() -> None:
    with open_log() as log:
        memory = log.scope("owner", "alice")
        memory.write(title="Tea", body="green")
        handed_out = memory.section()
        memory.write(title="Oolong", body="half")
        now = memory.section()
        memory.write(title="Sencha", body="steamed")

        unseen = memory.at(seq=3).section()

        assert memory.section_text(unseen.hash) is None
        assert memory.at(seq=2).section_text(handed_out.hash) == handed_out.text
        assert memory.at(seq=1).section_text(handed_out.hash) == handed_out.text
        assert memory.at(seq=1).section_text(now.hash) is None


def test_a_backend_of_ones_own_is_asked_for_a_private_one() -> None:
    settings = memlog.Settings(search=ReferenceBackend())
    with open_log(settings=settings) as log:
        memory = log.scope("owner", "alice")
        memory.write(title="Tea", body="green")
        memory.write(title="Tea", body="black")

        assert [hit.slug for hit in memory.at(seq=1).search("tea", now=NOW)] == ["tea"]
        assert len(memory.search("tea", now=NOW)) == 2


def test_an_event_that_breaks_a_rule_is_damage_that_names_its_position() -> None:
    with open_log() as log:
        memory = log.scope("owner", "alice")
        web = {"url": "https://example.org"}
        memory.write(title="Tea", body="green", source=web)
        record(memory, [NotePinned(slug="tea")])
        memory.write(title="Oolong", body="half")

        assert memory.at(seq=1).get("tea")
        with pytest.raises(CorruptEventError, match=r"position 2 .* pinned though"):
            memory.at(seq=3).notes()


def test_a_past_can_be_read_by_many_threads_at_once(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with memlog.open(tmp_path / "notes.db") as log:
        memory = log.scope("owner", "alice")
        memory.write_many([{"title": f"Tea {n}", "body": "green"} for n in range(30)])
        past = memory.at(seq=20)
        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(lambda _: everything(past, now=NOW), range(16)))

        assert all(each == found[0] for each in found)
        assert len(found[0]["notes"]) == 20
