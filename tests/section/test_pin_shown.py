"""`pin_shown` says of each pinned note what the next section shows."""

from collections.abc import Iterator

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from memlog.log import Log
from memlog.memory import Memory
from memlog.note import Pinned, Written
from memlog.requests import AnyRequest
from memlog.settings import Settings
from memlog.testing import open_log, strategies
from tests.digest.section_parser import parse
from tests.section.asking import ask, pure

SMALLEST = Settings(index_token_budget=200)  # 398 bytes for the pinned part.


def wrapped(memory: Memory) -> set[str]:
    return {each.slug for each in parse(memory.section().text).wrapped}


@for_all(
    st.lists(strategies.requests(), max_size=25),
    st.sampled_from([0, 220, 260, 320, 2_000]),
    st.sampled_from([1, 2_000]),
)
def test_it_is_true_exactly_when_the_next_section_wraps_the_note(
    asked: list[AnyRequest], budget_tokens: int, pinned_body_bytes: int
) -> None:
    settings = Settings(index_token_budget=budget_tokens, pinned_body_bytes=pinned_body_bytes)
    with open_log(settings=settings) as log:
        memory = log.scope("owner", "alice")
        for request in asked:
            outcome = ask(memory, request)
            if isinstance(outcome, Written | Pinned):
                shown = outcome.note.slug in wrapped(memory) if outcome.note.pinned else None
                assert outcome.pin_shown is shown


def test_an_unpinned_note_has_none() -> None:
    with open_log() as log:
        memory = log.scope("owner", "alice")
        assert memory.write(title="Tea", body="green").pin_shown is None
        assert memory.pin("tea").pin_shown is True
        assert memory.unpin("tea").pin_shown is None
        assert memory.write(title="Tea", body="b", slug="tea", pinned=True).pin_shown is True
        assert memory.write(title="Tea", body="c", slug="tea").pin_shown is None


def test_a_body_that_does_not_fit_is_told_so_and_so_is_what_it_pushes_out() -> None:
    with open_log(settings=SMALLEST) as log:
        memory = log.scope("owner", "alice")
        assert memory.write(title="First", body="x" * 200, pinned=True).pin_shown is True
        assert memory.write(title="Second", body="y" * 200, pinned=True).pin_shown is True
        assert memory.pin("first").pin_shown is False
        assert wrapped(memory) == {"second"}
        assert memory.write(title="Huge", body="z" * 1_999, pinned=True).pin_shown is False
        assert memory.pin("second").pin_shown is False  # A newer one is never passed over.
        assert wrapped(memory) == set()
        memory.unpin("huge")
        memory.unpin("second")
        assert memory.pin("first").pin_shown is True


def test_a_repeated_request_answers_as_of_now() -> None:
    with open_log(settings=SMALLEST) as log:
        memory = log.scope("owner", "alice")
        first = memory.write(title="First", body="x" * 200, pinned=True, request_id="r-1")
        pinned = memory.pin("first", request_id="r-2")
        memory.write(title="Second", body="y" * 200, pinned=True)

        again = memory.write(title="First", body="x" * 200, pinned=True, request_id="r-1")

        assert (first.pin_shown, pinned.pin_shown) == (True, True)
        assert again.replayed
        assert again.pin_shown is False


def test_a_superseded_pinned_note_is_not_shown() -> None:
    with open_log() as log:
        memory = log.scope("owner", "alice")
        memory.write(title="Old", body="grey", pinned=True, request_id="r-1")
        memory.write(title="New", body="white")
        memory.link("new", "old", "supersedes")

        again = memory.write(title="Old", body="grey", pinned=True, request_id="r-1")

        assert again.note.pinned
        assert again.pin_shown is False


def test_another_scope_takes_no_room() -> None:
    with open_log(settings=SMALLEST) as log:
        for principal in ("alice", "bob", "Alice"):
            memory = log.scope("owner", principal)
            assert memory.write(title="Rule", body="x" * 250, pinned=True).pin_shown is True


# --- More than 5,000 live notes


@pytest.fixture(scope="module")
def large() -> Iterator[Log]:
    """A log of 5,001 live notes and one superseded one between them."""
    with open_log() as log:
        memory = log.scope("owner", "alice")
        items = [{"title": f"Note {n}", "body": "b", "topics": ["t"]} for n in range(5_002)]
        memory.write_many(items)
        memory.link("note-5001", "note-2500", "supersedes")
        yield log


def test_the_oldest_of_5001_live_notes_is_not_shown_until_one_of_the_newer_leaves(
    large: Log,
) -> None:
    memory = large.scope("owner", "alice")
    assert memory.fingerprint().startswith("5001:")
    assert memory.pin("note-0").pin_shown is False
    assert memory.pin("note-1").pin_shown is True
    section = parse(memory.section().text)
    assert [each.slug for each in section.wrapped] == ["note-1"]
    assert (section.accounted, section.live) == (5_000, 5_001)
    assert memory.section().text == pure(large)

    memory.link("note-5001", "note-3000", "supersedes")

    assert memory.pin("note-0").pin_shown is True
    assert wrapped(memory) == {"note-0", "note-1"}
    assert memory.section().text == pure(large)

    assert memory.write(title="One more", body="b", pinned=True).pin_shown is True
    assert memory.pin("note-0").pin_shown is False
    assert wrapped(memory) == {"one-more", "note-1"}
    rewritten = memory.write(title="Note 0", body="newer", slug="note-0", pinned=True)
    assert rewritten.pin_shown is True
    assert memory.pin("note-1").pin_shown is False
    assert memory.section().text == pure(large)
