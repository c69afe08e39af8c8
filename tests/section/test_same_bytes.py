"""The same notes give the same bytes: from tables and fold, rebuilt, replayed, in any batches."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import cycle, groupby

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from memlog import sections as sections_module
from memlog.events import Event
from memlog.log import Log
from memlog.sections import Section
from memlog.settings import Settings
from memlog.testing import START, FixedClock, open_log, record, strategies
from projections.digest import tables
from projections.digest.render import hash_text
from tests.digest.section_parser import parse
from tests.section.asking import STREAMS, count, forget, pure, scope_of

HISTORIES = strategies.histories(streams=STREAMS, max_requests=20)
SETTINGS = st.builds(
    Settings,
    index_token_budget=st.sampled_from([0, 200, 260, 350, 2_000, 100_000]),
    pinned_body_bytes=st.sampled_from([1, 5, 2_000]),
)
CUTS = st.lists(st.integers(1, 6), min_size=1, max_size=5)


def batched(history: Sequence[Event], cuts: Sequence[int]) -> Iterator[list[Event]]:
    """Yield the events in runs of one scope each, as long as the cuts say at most."""
    sizes = cycle(cuts)
    for _, run in groupby(history, key=lambda event: event.stream):
        events = list(run)
        while events:
            size = next(sizes)
            yield events[:size]
            events = events[size:]


def recorded(batches: Sequence[Sequence[Event]], settings: Settings, *, at_once: bool) -> Log:
    """Return a log of these events; those of a batch have one time, eleven hours after the last."""
    clock = FixedClock()
    log = open_log(clock=clock, settings=settings)
    for number, batch in enumerate(batches):
        clock.now = START + timedelta(hours=11) * number
        payloads = [event.payload for event in batch]
        for each in [payloads] if at_once else [[payload] for payload in payloads]:
            record(scope_of(log, batch[0].stream), each)
    return log


def sections(log: Log) -> list[Section]:
    return [scope_of(log, stream).section() for stream in STREAMS]


@for_all(HISTORIES, SETTINGS)
def test_at_any_moment_the_section_is_the_one_rendered_from_the_events(
    history: tuple[Event, ...], settings: Settings
) -> None:
    with open_log(settings=settings) as log:
        for event in history:
            record(scope_of(log, event.stream), [event.payload])
            for stream in STREAMS:
                text, hash_ = scope_of(log, stream).section()
                assert text == pure(log, stream)
                assert hash_ == hash_text(text)


@for_all(HISTORIES)
def test_it_shows_every_live_note_once_and_no_other(history: tuple[Event, ...]) -> None:
    with open_log(settings=Settings(index_token_budget=100_000)) as log:
        for event in history:
            record(scope_of(log, event.stream), [event.payload])
        for stream in STREAMS:
            memory = scope_of(log, stream)
            section = parse(memory.section().text)
            live = memory.notes(live_only=True)
            assert sorted(each.slug for each in section.wrapped) == sorted(
                note.slug for note in live if note.pinned
            )
            assert sorted(each.slug for each in section.listed) == sorted(
                note.slug for note in live if not note.pinned
            )
            assert section.accounted == section.shown == section.live == len(live)


@for_all(HISTORIES, SETTINGS)
def test_in_any_budget_every_live_note_is_accounted_for(
    history: tuple[Event, ...], settings: Settings
) -> None:
    with open_log(settings=settings) as log:
        for event in history:
            record(scope_of(log, event.stream), [event.payload])
        for stream in STREAMS:
            memory = scope_of(log, stream)
            text = memory.section().text
            section = parse(text)
            assert section.accounted == section.live == len(memory.notes(live_only=True))
            assert len(text.encode()) <= 4 * max(200, settings.index_token_budget)


@for_all(HISTORIES, SETTINGS, CUTS)
def test_batches_rebuilds_and_replays_give_the_same_bytes(
    history: tuple[Event, ...], settings: Settings, cuts: list[int]
) -> None:
    batches = list(batched(history, cuts))
    with (
        recorded(batches, settings, at_once=True) as one,
        recorded(batches, settings, at_once=False) as other,
    ):
        expected = sections(one)
        assert sections(other) == expected
        one.rebuild()
        assert sections(one) == expected
        forget(one)
        assert sections(one) == expected


@for_all(HISTORIES, st.lists(SETTINGS, min_size=2, max_size=4), CUTS)
def test_settings_never_share_a_stored_section(
    history: tuple[Event, ...], settings: list[Settings], cuts: list[int]
) -> None:
    with open_log() as log:
        for batch in batched(history, cuts):
            record(scope_of(log, batch[0].stream), [event.payload for event in batch])
            for each in (*settings, *settings):
                log.settings = each
                for stream in STREAMS:
                    assert scope_of(log, stream).section().text == pure(log, stream)


def test_a_release_that_renders_otherwise_takes_no_section_of_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with open_log() as log:
        memory = log.scope("owner", "alice")
        memory.write(title="Tea", body="green")
        with monkeypatch.context() as older:
            older.setattr(tables, "RENDER_VERSION", "0/older")
            older.setattr(sections_module, "render", lambda *_: "what an older release showed")
            assert memory.section().text == "what an older release showed"

        assert memory.section().text == pure(log)
        assert count(log, "digests") == 2
