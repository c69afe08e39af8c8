"""`memory.timeline`, and what `memory.history` says of each change."""

import pytest
from hypothesis import given as for_all
from hypothesis import settings as examples
from hypothesis import strategies as st

from memlog.errors import CorruptEventError, InvalidRequestError
from memlog.events import CompactionHarvested, Event, NotePinned
from memlog.testing import open_log, record, strategies
from projections.notes.fold import Fold
from tests.audit.reads import recorded


@for_all(strategies.histories(max_requests=14), st.integers(1, 20), st.integers(0, 5))
@examples(max_examples=25)
def test_it_is_the_events_around_a_seq_with_the_fingerprint_after_each(
    history: tuple[Event, ...], around: int, beside: int
) -> None:
    with recorded(history) as log:
        memory = log.scope("owner", "alice")
        if around > len(history):
            with pytest.raises(InvalidRequestError):
                memory.timeline(around=around)
            return
        entries = memory.timeline(around=around, before=beside, after=2 * beside)

    seqs = range(max(1, around - beside), min(len(history), around + 2 * beside) + 1)
    assert [entry.event.seq for entry in entries] == list(seqs)
    for entry in entries:
        fold = Fold.of(history[: entry.event.seq])
        assert entry.event.payload == history[entry.event.seq - 1].payload
        assert entry.fingerprint == fold.fingerprint
        note = fold.notes.get(entry.slug)
        assert entry.provenance == (None if note is None else note.provenance)


def test_each_event_says_what_it_changed() -> None:
    with open_log() as log:
        memory = log.scope("owner", "alice")
        memory.write(title="Tea", body="green", actor="ana", conversation_id="c-1")
        memory.write(title="Tea", body="black", slug="tea", source={"url": "https://x"})
        memory.write(title="Cha", body="x", pinned=True)
        memory.link("cha", "tea", "supersedes")
        harvest = CompactionHarvested(key="k", entries_sha256="0" * 64, model="m", slugs=("cha",))
        record(memory, [harvest])

        entries = memory.timeline()

    assert [(entry.slug, entry.changed, entry.provenance) for entry in entries] == [
        ("tea", ("created",), "agent"),
        ("tea", ("body", "provenance", "source"), "web"),
        ("cha", ("created",), "agent"),
        ("cha", ("pinned",), "agent"),
        ("cha", ("supersedes",), "agent"),
        ("", (), None),
    ]
    assert (entries[0].event.actor, entries[0].event.conversation_id) == ("ana", "c-1")


def test_it_ends_at_the_last_event_when_no_other_is_named() -> None:
    with open_log() as log:
        memory = log.scope("owner", "alice")
        assert memory.timeline() == []
        memory.write_many([{"title": f"Tea {n}", "body": "x"} for n in range(20)])

        assert [each.event.seq for each in memory.timeline(before=2)] == [18, 19, 20]
        assert [each.event.seq for each in memory.timeline(around=1, before=2, after=0)] == [1]


@pytest.mark.parametrize("given", [{"around": 0}, {"around": "1"}, {"before": -1}, {"after": -1}])
def test_what_is_no_place_is_refused(given: dict[str, object]) -> None:
    with open_log() as log:
        memory = log.scope("owner", "alice")
        memory.write(title="Tea", body="green")

        with pytest.raises(InvalidRequestError):
            memory.timeline(**given)  # type: ignore[arg-type]  # that is the point


def test_an_event_that_breaks_a_rule_is_damage() -> None:
    with open_log() as log:
        memory = log.scope("owner", "alice")
        memory.write(title="Tea", body="green", source={"url": "https://x"})
        record(memory, [NotePinned(slug="tea")])

        with pytest.raises(CorruptEventError, match="position 2"):
            memory.timeline()


def test_each_change_of_a_note_says_who_where_from_and_what() -> None:
    with open_log() as log:
        memory = log.scope("owner", "alice")
        memory.write(title="Tea", body="green", actor="ana", conversation_id="c-1")
        memory.write(
            title="Tea", body="black", slug="tea", source={"url": "https://x"}, actor="agent"
        )
        memory.pin("tea", allow_pin_untrusted=True, conversation_id="c-2")

        changes = memory.history("tea")

    said = [(each.actor, each.conversation_id, each.provenance, each.changed) for each in changes]
    assert said == [
        ("ana", "c-1", "agent", ("created",)),
        ("agent", None, "web", ("body", "provenance", "source")),
        (None, "c-2", "web", ("pinned",)),
    ]
