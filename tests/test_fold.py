"""The fold: what events add up to, for any random legal history."""

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given as for_all
from hypothesis import strategies

from memlog import codec, requests
from memlog.decide import decide, violations
from memlog.errors import CorruptEventError, RequestError, UnknownEventTypeError
from memlog.events import (
    CompactionHarvested,
    Event,
    NotePinned,
    NotesLinked,
    NotesUnlinked,
    NoteUnpinned,
    NoteWritten,
    Payload,
)
from memlog.note import PROVENANCES, RELS, Link, Note, Source
from memlog.requests import AnyRequest, Content
from projections.notes.fold import Fold, Remembered, replay, subject

WEB = Source(url="https://example.org/tea")
TEA = NoteWritten(slug="tea", title="Tea", body="green")
OOLONG = NoteWritten(slug="oolong", title="Oolong", body="blue")
PIN_TEA = NotePinned(slug="tea")
UNPIN_TEA = NoteUnpinned(slug="tea")
SUPERSEDED = NotesLinked(from_slug="oolong", to_slug="tea", rel="supersedes")
LIVE_AGAIN = NotesUnlinked(from_slug="oolong", to_slug="tea", rel="supersedes")
RELATED = NotesLinked(from_slug="oolong", to_slug="tea", rel="related")
UNRELATED = NotesUnlinked(from_slug="oolong", to_slug="tea", rel="related")
HARVESTED = CompactionHarvested(key="k", entries_sha256="0" * 64, model="m", slugs=("tea",))
LOG_ID = "0f0e0d0c-0b0a-4908-8706-050403020100"


def recorded(seq: int) -> str:
    """Return the time of the event with this seq: one a minute."""
    return f"2026-11-30T{seq // 60:02}:{seq % 60:02}:00.000000Z"


def moment(seq: int) -> datetime:
    return datetime(2026, 11, 30, seq // 60, seq % 60, tzinfo=UTC)


def event(
    payload: Payload, *, seq: int, position: int | None = None, request_id: str | None = None
) -> Event:
    return Event(
        position=seq if position is None else position,
        seq=seq,
        stream="owner/alice",
        type=codec.type_of(payload),
        recorded_at_text=recorded(seq),
        event_id=f"00000000-0000-4000-8000-{seq:012}",
        request_id=request_id,
        payload=payload,
    )


def fold_of(*payloads: Payload) -> Fold:
    return Fold.of(event(payload, seq=seq) for seq, payload in enumerate(payloads, start=1))


# --- Notes


def test_nothing_adds_up_to_nothing() -> None:
    fold = fold_of()

    assert (fold.notes, fold.links, fold.requests) == ({}, {}, {})
    assert (fold.live, fold.last_seq, fold.touched_seq) == (0, 0, 0)
    assert fold.fingerprint == "0:0"


def test_a_note_holds_what_its_first_writing_said() -> None:
    written = NoteWritten(
        slug="tea",
        title="Tea",
        body="green",
        topics=("hot",),
        confidence=0.5,
        provenance="web",
        source=WEB,
        extra={"a": "1"},
    )

    assert fold_of(OOLONG, written).note("tea") == Note(
        slug="tea",
        title="Tea",
        body="green",
        topics=("hot",),
        confidence=0.5,
        provenance="web",
        source=WEB,
        extra={"a": "1"},
        pinned=False,
        created_seq=2,
        written_seq=2,
        updated_seq=2,
        created_at=moment(2),
        written_at=moment(2),
        superseded_by=None,
        ever_untrusted=True,
    )


def test_a_rewriting_replaces_the_content_and_keeps_the_origin() -> None:
    fold = fold_of(
        NoteWritten(slug="tea", title="Tea", body="green", topics=("hot",), extra={"a": "1"}),
        OOLONG,
        NoteWritten(slug="tea", title="TEA", body="black"),
    )

    assert fold.note("tea") == Note(
        slug="tea",
        title="TEA",
        body="black",
        created_seq=1,
        written_seq=3,
        updated_seq=3,
        created_at=moment(1),
        written_at=moment(3),
    )
    assert list(fold.notes) == ["tea", "oolong"]


def test_a_pin_touches_a_note_and_makes_it_no_newer() -> None:
    note = fold_of(TEA, PIN_TEA).notes["tea"]

    assert note.pinned
    assert (note.updated_seq, note.written_seq, note.written_at) == (2, 1, moment(1))


def test_an_unpin_touches_a_note_and_makes_it_no_newer() -> None:
    note = fold_of(TEA, PIN_TEA, UNPIN_TEA).notes["tea"]

    assert not note.pinned
    assert (note.updated_seq, note.written_seq, note.written_at) == (3, 1, moment(1))


def test_a_rewriting_alone_takes_no_pin_away() -> None:
    assert fold_of(TEA, PIN_TEA, TEA).notes["tea"].pinned


def test_superseding_touches_the_older_note_only() -> None:
    fold = fold_of(TEA, PIN_TEA, OOLONG, SUPERSEDED)
    older, newer = fold.notes["tea"], fold.notes["oolong"]

    assert (older.superseded_by, older.updated_seq, older.written_seq) == ("oolong", 4, 1)
    assert older.pinned
    assert not older.live
    assert (newer.superseded_by, newer.updated_seq) == (None, 3)
    assert (fold.superseder("tea"), fold.superseder("oolong")) == ("oolong", None)


def test_taking_the_superseding_link_away_makes_the_note_live_again() -> None:
    fold = fold_of(TEA, OOLONG, SUPERSEDED, LIVE_AGAIN)

    assert fold.notes["tea"].live
    assert fold.notes["tea"].updated_seq == 4
    assert fold.live == 2
    assert fold.links == {}


@pytest.mark.parametrize("rel", ["related", "derived_from"])
def test_other_links_touch_no_note(rel: str) -> None:
    edge = {"from_slug": "oolong", "to_slug": "tea", "rel": rel}
    linked = msgspec.convert(edge, NotesLinked)
    unlinked = msgspec.convert(edge, NotesUnlinked)

    for fold in (fold_of(TEA, OOLONG, linked), fold_of(TEA, OOLONG, linked, unlinked)):
        assert [note.updated_seq for note in fold.notes.values()] == [1, 2]
        assert fold.fingerprint == "2:2"


def test_a_harvest_touches_no_note() -> None:
    fold = fold_of(TEA, HARVESTED)

    assert fold.notes["tea"].updated_seq == 1
    assert (fold.fingerprint, fold.last_seq) == ("1:1", 2)


@pytest.mark.parametrize(
    "payloads",
    [
        [NoteWritten(slug="tea", title="Tea", body="green", source=WEB), TEA],
        [NoteWritten(slug="tea", title="Tea", body="green", provenance="compaction"), TEA, TEA],
        [TEA, NoteWritten(slug="tea", title="Tea", body="green", source=WEB)],
    ],
)
def test_a_note_that_was_untrusted_once_stays_marked(payloads: Sequence[Payload]) -> None:
    assert fold_of(*payloads).notes["tea"].ever_untrusted


def test_a_note_that_never_was_untrusted_is_not_marked() -> None:
    assert not fold_of(TEA, TEA, PIN_TEA).notes["tea"].ever_untrusted


def test_a_note_that_is_not_there_is_none() -> None:
    assert fold_of(TEA).note("oolong") is None
    assert fold_of(TEA).superseder("oolong") is None


# --- Links


def test_an_edge_keeps_the_position_where_it_was_added() -> None:
    fold = Fold()
    payloads: list[Payload] = [TEA, OOLONG, RELATED, RELATED]
    for seq, payload in enumerate(payloads, start=1):
        fold.add(event(payload, seq=seq, position=10 * seq))

    assert fold.links == {Link("oolong", "tea", "related"): 30}


def test_an_edge_that_comes_back_stands_at_its_new_place() -> None:
    fold = fold_of(TEA, OOLONG, RELATED, SUPERSEDED, UNRELATED, RELATED)

    assert fold.links == {
        Link("oolong", "tea", "supersedes"): 4,
        Link("oolong", "tea", "related"): 6,
    }
    assert list(fold.links.values()) == [4, 6]


def test_an_edge_is_all_four_of_its_fields() -> None:
    fold = fold_of(TEA, OOLONG, RELATED)

    assert fold.has_link(Link("oolong", "tea", "related"))
    assert not fold.has_link(Link("oolong", "tea", "related", "why"))
    assert not fold.has_link(Link("tea", "oolong", "related"))
    assert not fold.has_link(Link("oolong", "tea", "derived_from"))


# --- Counters


def test_the_fingerprint_counts_live_notes_and_the_last_touch() -> None:
    undone: list[Payload] = [TEA, OOLONG, RELATED, SUPERSEDED, UNRELATED, PIN_TEA, LIVE_AGAIN]
    payloads = [*undone, TEA, PIN_TEA]

    prints = [fold_of(*payloads[:count]).fingerprint for count in range(len(payloads) + 1)]

    assert prints == ["0:0", "1:1", "2:2", "2:2", "1:4", "1:4", "1:6", "2:7", "2:8", "2:9"]


def test_the_highest_number_of_a_stem_is_kept() -> None:
    slugs = ["tea", "tea-7", "tea-3", "tea-1", "x-2"]
    fold = fold_of(*(NoteWritten(slug=slug, title="Tea", body="green") for slug in slugs))

    stems = ("tea", "tea-1", "x", "tea-7", "oolong")
    assert [fold.highest_number(stem) for stem in stems] == [7, 1, 2, 0, 0]


def test_near_slugs_come_best_first_and_at_most_three() -> None:
    slugs = ["tea", "teas", "teapot", "team", "coffee"]
    fold = fold_of(*(NoteWritten(slug=slug, title="Tea", body="green") for slug in slugs))

    assert list(fold.near("tea")) == ["tea", "teas", "team"]
    assert list(fold.near("zzz")) == []


def test_a_twin_is_the_oldest_live_note_of_the_stems_with_that_content() -> None:
    content = Content(title="Tea", body="green")
    twins = [NoteWritten(slug=slug, title="Tea", body="green") for slug in ("x", "tea-3", "tea-2")]
    fold = fold_of(*twins, OOLONG)

    assert fold.twin(["tea"], content) == fold.notes["tea-3"]
    assert fold.twin(["tea", "x"], content) == fold.notes["x"]
    assert fold.twin(["y"], content) is None
    assert fold.twin(["tea"], Content(title="Tea", body="black")) is None

    fold.add(event(NotesLinked(from_slug="oolong", to_slug="tea-3", rel="supersedes"), seq=5))

    assert fold.twin(["tea"], content) == fold.notes["tea-2"]


# --- Requests


def test_a_request_is_remembered_with_its_first_and_its_last_event() -> None:
    fold = Fold()
    payloads: list[Payload] = [TEA, PIN_TEA]
    for seq, payload in enumerate(payloads, start=1):
        fold.add(event(payload, seq=seq, position=10 * seq, request_id="r-1"))

    assert fold.requests == {
        "r-1": Remembered(slug="tea", created=True, first_position=10, seq=2, position=20)
    }


def test_a_request_that_rewrote_a_pinned_note_created_nothing() -> None:
    fold = fold_of(TEA, PIN_TEA)
    payloads: list[Payload] = [UNPIN_TEA, TEA]
    for seq, payload in enumerate(payloads, start=3):
        fold.add(event(payload, seq=seq, request_id="r-1"))

    assert fold.requests["r-1"] == Remembered(
        slug="tea", created=False, first_position=3, seq=4, position=4
    )


def test_a_request_that_rewrote_a_note_created_nothing() -> None:
    fold = fold_of(TEA)
    fold.add(event(TEA, seq=2, request_id="r-1"))

    assert not fold.requests["r-1"].created


@pytest.mark.parametrize("payload", [PIN_TEA, RELATED, HARVESTED])
def test_a_request_that_wrote_no_note_created_nothing(payload: Payload) -> None:
    fold = fold_of(TEA, OOLONG)
    fold.add(event(payload, seq=3, request_id="r-1"))

    assert not fold.requests["r-1"].created


def test_an_event_without_a_request_id_is_not_remembered() -> None:
    assert fold_of(TEA, PIN_TEA).requests == {}


@pytest.mark.parametrize(
    ("payload", "slug"),
    [
        (TEA, "tea"),
        (PIN_TEA, "tea"),
        (UNPIN_TEA, "tea"),
        (RELATED, "oolong"),
        (LIVE_AGAIN, "oolong"),
        (HARVESTED, ""),
    ],
)
def test_an_event_is_about_its_note_or_the_newer_one_of_its_link(
    payload: Payload, slug: str
) -> None:
    assert subject(payload) == slug


# --- Replay of stored bytes


def test_replaying_stored_bytes_gives_the_fold_of_each_scope() -> None:
    payloads: list[Payload] = [TEA, OOLONG, RELATED, SUPERSEDED, PIN_TEA]
    events = [
        event(payload, seq=seq, request_id=f"r-{seq}")
        for seq, payload in enumerate(payloads, start=1)
    ]
    rows = []
    for each in events:
        state = codec.encode(each, log_id=LOG_ID, salt=bytes(32))
        rows += [
            (each.position, stream, each.seq, each.type, state) for stream in ("owner/a", "global/")
        ]

    folds = replay(rows)

    assert list(folds) == ["owner/a", "global/"]
    for fold in folds.values():
        assert vars(fold) == vars(Fold.of(events))


def test_replaying_an_unknown_type_is_refused_with_its_position() -> None:
    with pytest.raises(UnknownEventTypeError) as caught:
        replay([(7, "owner/a", 1, "note_eaten/1", b"{}")])

    assert (caught.value.position, caught.value.type) == (7, "note_eaten/1")


def test_replaying_damaged_bytes_is_refused_with_their_position() -> None:
    with pytest.raises(CorruptEventError) as caught:
        replay([(7, "owner/a", 1, "note_written/1", b"{}")])

    assert caught.value.position == 7


def test_an_event_filed_under_another_type_of_the_same_shape_is_refused() -> None:
    state = codec.encode(event(RELATED, seq=1), log_id=LOG_ID, salt=bytes(32))

    with pytest.raises(CorruptEventError, match="filed as notes_unlinked/1"):
        replay([(1, "owner/a", 1, "notes_unlinked/1", state)])


# --- Any random legal history

SLUGS = strategies.sampled_from(["tea", "tea-2", "oolong"])
EDGES = strategies.tuples(
    strategies.permutations(["tea", "tea-2", "oolong"]), strategies.sampled_from(RELS)
)
REQUESTS: strategies.SearchStrategy[AnyRequest] = strategies.one_of(
    strategies.builds(
        requests.write,
        title=strategies.sampled_from(["Tea", "Oolong", "tea 2"]),
        body=strategies.sampled_from(["green", "black"]),
        slug=strategies.none() | SLUGS,
        pinned=strategies.booleans(),
        source=strategies.sampled_from([None, WEB]),
        provenance=strategies.sampled_from([None, *PROVENANCES[2:]]),
        allow_pin_untrusted=strategies.booleans(),
        max_body_bytes=strategies.just(100),
    ),
    strategies.builds(requests.pin, SLUGS, allow_pin_untrusted=strategies.booleans()),
    strategies.builds(requests.unpin, SLUGS),
    EDGES.map(lambda edge: requests.add_link(edge[0][0], edge[0][1], edge[1])),
    EDGES.map(lambda edge: requests.remove_link(edge[0][0], edge[0][1], edge[1])),
)


def history_of(asked: Sequence[AnyRequest]) -> list[Payload]:
    """Return what the requests that are allowed append, in order."""
    fold = Fold()
    history: list[Payload] = []
    for request in asked:
        try:
            payloads = decide(fold, request)
        except RequestError:
            continue
        for payload in payloads:
            history.append(payload)
            fold.add(event(payload, seq=len(history)))
    return history


HISTORIES = strategies.lists(REQUESTS, max_size=30).map(history_of)


@for_all(HISTORIES)
def test_every_prefix_of_a_history_is_legal(history: list[Payload]) -> None:
    fold = Fold()
    for seq, payload in enumerate(history, start=1):
        assert violations(fold, payload) == ()
        fold.add(event(payload, seq=seq))


@for_all(HISTORIES)
def test_no_prefix_shows_untrusted_text_under_a_pin_that_was_not_made_for_it(
    history: list[Payload],
) -> None:
    allowed: dict[str, bool] = {}  # The override of each present pin.
    text_since_pin: dict[str, int] = {}
    fold = Fold()
    for seq, payload in enumerate(history, start=1):
        fold.add(event(payload, seq=seq))
        match payload:
            case NotePinned():
                allowed[payload.slug] = payload.untrusted_allowed
                text_since_pin[payload.slug] = 0
            case NoteWritten():
                text_since_pin[payload.slug] = text_since_pin.get(payload.slug, 0) + 1
            case _:
                pass
        for note in fold.notes.values():
            if note.pinned and note.untrusted:
                assert allowed[note.slug]
                assert text_since_pin[note.slug] == 0


@for_all(HISTORIES)
def test_the_counters_are_what_counting_gives(history: list[Payload]) -> None:
    fold, before = Fold(), (0, 0)
    for seq, payload in enumerate(history, start=1):
        fold.add(event(payload, seq=seq))
        notes = fold.notes.values()

        assert fold.last_seq == seq
        assert fold.live == sum(note.superseded_by is None for note in notes)
        assert fold.touched_seq == max((note.updated_seq for note in notes), default=0)
        assert fold.touched_seq >= before[1]
        assert {note.slug for note in notes if not note.live} == {
            link.to_slug for link in fold.links if link.rel == "supersedes"
        }
        before = (fold.live, fold.touched_seq)


@for_all(HISTORIES)
def test_nobody_supersedes_himself_through_others(history: list[Payload]) -> None:
    fold = Fold()
    for seq, payload in enumerate(history, start=1):
        fold.add(event(payload, seq=seq))
    for slug in fold.notes:
        end: str | None = slug
        for _ in range(len(fold.notes)):
            end = None if end is None else fold.superseder(end)
        assert end is None


@for_all(HISTORIES)
def test_stored_and_replayed_a_history_gives_the_same_fold(history: list[Payload]) -> None:
    events = [event(payload, seq=seq) for seq, payload in enumerate(history, start=1)]
    states = [codec.encode(each, log_id=LOG_ID, salt=bytes(32)) for each in events]
    rows = [
        (each.position, each.stream, each.seq, each.type, state)
        for each, state in zip(events, states, strict=True)
    ]

    folds = replay(rows)

    assert vars(folds.get("owner/alice", Fold())) == vars(Fold.of(events))
