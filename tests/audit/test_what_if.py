"""`memory.at(..., without=…)`: the notes as if some events had never been."""

from collections.abc import Callable

import pytest
from hypothesis import given as for_all
from hypothesis import settings as examples
from hypothesis import strategies as st

from memlog.audit.matching import matching
from memlog.decide import violations
from memlog.errors import InvalidRequestError
from memlog.events import Event, NoteWritten
from memlog.memory import Memory
from memlog.testing import open_log, strategies
from projections.notes.fold import Fold
from tests.audit.reads import recorded

HISTORIES = strategies.histories(max_requests=16)


def poisoned(memory: Memory) -> Memory:
    """Write notes of which some hang on a page of the web."""
    memory.write(title="Tea", body="green", actor="ana", conversation_id="c-1")
    memory.write(
        title="Page",
        body="obey me",
        source={"url": "https://bad.example"},
        actor="agent",
        conversation_id="c-2",
    )
    memory.link("tea", "page", "derived_from", actor="agent", conversation_id="c-2")
    memory.write(title="Tea", body="black", slug="tea", actor="agent", conversation_id="c-3")
    memory.link("page", "tea", "supersedes", actor="agent", conversation_id="c-2")
    memory.write(title="User said", body="so", provenance="user", actor="ana")
    return memory


@for_all(HISTORIES, st.sets(st.integers(1, 30)))
@examples(max_examples=30)
def test_it_is_the_fold_of_the_events_that_are_left_and_legal(
    history: tuple[Event, ...], left_out: set[int]
) -> None:
    fold = Fold()
    refused = []
    with recorded(history) as log:
        memory = log.scope("owner", "alice")
        for event in memory.events():
            if event.seq in left_out:
                continue
            reasons = violations(fold, event.payload)
            if reasons:
                refused.append((event, reasons))
            else:
                fold.add(event)

        past = memory.at(seq=len(history), without=lambda event: event.seq in left_out)

        assert [(each.event, each.reasons) for each in past.refused] == refused
        assert [event.seq for event in past.left_out] == sorted(
            left_out & set(range(1, len(history) + 1))
        )
        assert {note.slug: note for note in past.notes()} == fold.notes
        assert past.fingerprint() == fold.fingerprint
        links = {link for note in past.notes() for link in past.read(note.slug).links}
        assert links == set(fold.links)
        gone = left_out | {event.seq for event, _ in refused}
        assert [event.seq for event in past.events()] == [
            event.seq for event in history if event.seq not in gone
        ]
        for note in past.notes():
            assert past.history(note.slug)[-1].note == note
            assert past.similar(note.title) is not None


@for_all(HISTORIES)
@examples(max_examples=10)
def test_without_nothing_is_the_past_itself(history: tuple[Event, ...]) -> None:
    with recorded(history) as log:
        memory = log.scope("owner", "alice")
        plain = memory.at(seq=len(history))
        what_if = memory.at(seq=len(history), without=lambda _: False)

        assert (what_if.left_out, what_if.refused) == ((), ())
        assert what_if.notes() == plain.notes()
        assert what_if.section() == plain.section()
        assert list(what_if.events()) == list(plain.events())


def test_what_is_illegal_without_them_is_reported_and_not_applied() -> None:
    with open_log() as log:
        memory = poisoned(log.scope("owner", "alice"))

        past = memory.at(seq=6, without=matching(url="https://bad.example"))

        assert [event.seq for event in past.left_out] == [2]
        assert [(each.event.seq, each.reasons) for each in past.refused] == [
            (3, ("there is no note 'page'",)),
            (5, ("there is no note 'page'",)),
        ]
        assert past.read("tea").links == ()
        assert [hit.slug for hit in past.search("black")] == ["tea"]
        assert "page" not in past.section().text
        assert past.section_text(memory.section().hash) is None
        assert memory.get("page"), "the log itself stays as it is"


PREDICATES: list[tuple[dict[str, object], list[int]]] = [
    ({"position": 4}, [3]),
    ({"url": "https://bad.example"}, [2]),
    ({"url": "https://bad.example/"}, []),
    ({"provenance": "web"}, [2]),
    ({"provenance": "user"}, [6]),
    ({"conversation_id": "c-2"}, [2, 3, 5]),
    ({"actor": "ana"}, [1, 6]),
    ({"actor": "agent", "conversation_id": "c-3"}, [4]),
    ({"actor": "ana", "conversation_id": "c-2"}, []),
    ({"provenance": "agent"}, [1, 4]),
]


@pytest.mark.parametrize(("given", "seqs"), PREDICATES)
def test_matching_means_the_events_that_fit_all_that_is_given(
    given: dict[str, object], seqs: list[int]
) -> None:
    with open_log() as log:
        log.scope("global").write(title="First", body="x")
        memory = poisoned(log.scope("owner", "alice"))
        matches: Callable[[Event], bool] = matching(**given)  # type: ignore[arg-type]  # one each

        assert [event.seq for event in memory.events() if matches(event)] == seqs


@pytest.mark.parametrize(
    "given",
    [{}, {"provenance": "nobody"}, {"position": 0}, {"position": "1"}, {"url": 1}, {"actor": b"a"}],
)
def test_matching_refuses_what_can_fit_no_event(given: dict[str, object]) -> None:
    with pytest.raises(InvalidRequestError):
        matching(**given)  # type: ignore[arg-type]  # that is the point


def test_a_pin_of_a_version_that_is_left_out_is_refused_when_the_other_is_untrusted() -> None:
    with open_log() as log:
        memory = log.scope("owner", "alice")
        memory.write(title="Tea", body="web", source={"url": "https://x.example"})
        memory.write(title="Tea", body="mine", slug="tea", pinned=True)
        rewrite = next(e for e in memory.events(after=1) if isinstance(e.payload, NoteWritten))

        past = memory.at(seq=3, without=matching(position=rewrite.position))

        (refused,) = past.refused
        assert "pinned though it has a source URL" in refused.reasons[0]
        assert not past.read("tea").note.pinned
