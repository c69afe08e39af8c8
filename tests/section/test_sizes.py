"""Scopes of no note to 5,000 of them: all accounted for, and what is left out is the oldest."""

from collections.abc import Iterator
from typing import Any

import pytest

from memlog.log import Log
from memlog.note import Note
from memlog.settings import Settings
from memlog.testing import FixedClock, open_log
from tests.digest.examples import team_memory
from tests.digest.section_parser import Section, parse
from tests.section.asking import forget, pure

BY_CODE = {"user", "compaction", "import"}
BATCH = 250


def arguments(note: Note) -> dict[str, Any]:
    """Return how a note is written."""
    return {
        "slug": note.slug,
        "title": note.title,
        "body": note.body,
        "topics": list(note.topics),
        "pinned": note.pinned,
        "confidence": note.confidence,
        "provenance": note.provenance if note.provenance in BY_CODE else None,
        "source": {"url": "https://example.org"} if note.provenance == "web" else None,
    }


def filled(log: Log, clock: FixedClock, notes: list[Note]) -> None:
    memory = log.scope("owner", "alice")
    for start in range(0, len(notes), BATCH):
        memory.write_many([arguments(note) for note in notes[start : start + BATCH]])
        clock.advance(86_400.0)


@pytest.fixture(params=[0, 1, 30, 500, 5_000], scope="module")
def sized(request: pytest.FixtureRequest) -> Iterator[tuple[Log, list[Note]]]:
    clock, notes = FixedClock(), team_memory(request.param)
    with open_log(clock=clock) as log:
        filled(log, clock, notes)
        yield log, notes


def read_again(log: Log) -> Section:
    forget(log)
    return parse(log.scope("owner", "alice").section().text)


def test_it_is_the_one_rendered_from_the_events(sized: tuple[Log, list[Note]]) -> None:
    log, notes = sized

    text = log.scope("owner", "alice").section().text
    section = read_again(log)

    assert text == pure(log)
    assert len(text.encode()) <= 8_000
    assert section.live == len(notes)
    assert section.accounted == len(notes)
    assert {each.slug for each in section.wrapped} == {note.slug for note in notes if note.pinned}


def test_what_is_shown_is_the_newest(sized: tuple[Log, list[Note]]) -> None:
    log, notes = sized

    section = read_again(log)

    titles = [note.slug for note in reversed(notes) if not note.pinned]
    shown = {each.slug for each in section.listed}
    assert shown == set(titles[: len(shown)])
    assert len(shown) >= min(len(titles), 25)


def test_with_room_for_all_every_note_is_shown(sized: tuple[Log, list[Note]]) -> None:
    log, notes = sized
    log.settings = Settings(index_token_budget=1_000_000)

    section = read_again(log)

    assert section.shown == len(notes)
    assert sorted(each.slug for each in section.listed) == sorted(
        note.slug for note in notes if not note.pinned
    )
    by_slug = {note.slug: note for note in notes}
    for each in section.listed:
        note = by_slug[each.slug]
        assert each.topic == (note.topics[0] if note.topics else "")
        named = note.provenance if note.provenance in {"web", "compaction", "import"} else None
        assert each.origin == named


def test_a_rebuild_changes_nothing(sized: tuple[Log, list[Note]]) -> None:
    log, _ = sized
    log.settings = Settings()
    before = log.scope("owner", "alice").section()

    assert log.rebuild().differences == ()

    assert log.scope("owner", "alice").section() == before
    forget(log)
    assert log.scope("owner", "alice").section() == before
