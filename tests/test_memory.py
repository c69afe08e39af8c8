"""The public face: what each call does and answers. The stateful tests vary what these explain."""

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

import memlog
from memlog import (
    AlreadySupersededError,
    ClosedError,
    InvalidRequestError,
    Link,
    Log,
    Memory,
    NoteNotFoundError,
    RequestConflictError,
    RequestError,
    Scope,
    ScopeInfo,
    SelfLinkError,
    Settings,
    Similar,
    Source,
    StaleWriteError,
    SupersedeCycleError,
    SupersededNoteError,
    UntrustedPinError,
)
from memlog.testing import START, CountingIds, FixedClock, open_log, tables_equal_fold

TEA: dict[str, Any] = {"title": "Tea", "body": "green"}


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


def types(memory: Memory) -> list[str]:
    return [event.type for event in memory.events()]


# --- Write


def test_a_write_answers_with_the_note_and_its_place(memory: Memory, clock: FixedClock) -> None:
    written = memory.write(
        title="Deploy key rotates",
        body="On the first.\n",
        topics=["Deploy", "ops"],
        confidence=0.91249,
        source={"artifact": "ticket 7", "created_at": "2026-01-01T00:00:00+01:00"},
        extra={"b": "2", "a": "1"},
        actor="agent:a",
        conversation_id="c-17",
    )

    assert (written.created, written.changed, written.replayed) == (True, True, False)
    assert (written.seq, written.position, written.unpinned) == (1, 1, False)
    assert written.note == memlog.Note(
        slug="deploy-key-rotates",
        title="Deploy key rotates",
        body="On the first.\n",
        topics=("deploy", "ops"),
        confidence=0.912,
        provenance="agent",
        source=Source(artifact="ticket 7", created_at="2025-12-31T23:00:00.000000Z"),
        extra={"a": "1", "b": "2"},
        created_seq=1,
        written_seq=1,
        updated_seq=1,
        created_at=clock.now,
        written_at=clock.now,
    )
    assert memory.get("deploy-key-rotates") == written.note
    (event,) = memory.events()
    assert (event.actor, event.conversation_id, event.request_id) == ("agent:a", "c-17", None)
    assert event.scope == Scope("owner", "alice")


def test_a_derived_slug_never_names_another_note(memory: Memory) -> None:
    slugs = [memory.write(title="Tea", body=body).note.slug for body in ("a", "b", "c")]
    memory.write(title="x", body="x", slug="tea-9")

    assert slugs == ["tea", "tea-2", "tea-3"]
    assert memory.write(title="TEA!", body="d").note.slug == "tea-10"


def test_a_stem_whose_numbers_are_used_up_goes_on_under_another(memory: Memory) -> None:
    memory.write(**TEA)
    memory.write(title="x", body="x", slug="tea-999999999999999")

    slug = memory.write(title="Tea", body="black").note.slug

    assert slug.startswith("n-")
    assert slug.endswith("-2")


@pytest.mark.parametrize("title", ["y" * 80, "y" * 80 + " and more", "y" * 200])
def test_a_long_stem_is_cut_so_that_its_number_fits(memory: Memory, title: str) -> None:
    slugs = [memory.write(title=title, body=str(n)).note.slug for n in range(11)]

    assert slugs[0] == "y" * 80
    assert slugs[1] == "y" * 78 + "-2"
    assert slugs[-1] == "y" * 77 + "-11"


def test_an_explicit_slug_rewrites_and_keeps_the_origin(memory: Memory, clock: FixedClock) -> None:
    memory.write(**TEA, topics=["hot"], confidence=0.5)
    later = clock.advance(60)

    written = memory.write(title="All tea", body="black", slug="tea")

    note = written.note
    assert (written.created, written.changed, written.seq) == (False, True, 2)
    assert (note.title, note.body, note.topics, note.confidence) == ("All tea", "black", (), 1.0)
    assert (note.created_seq, note.written_seq, note.updated_seq) == (1, 2, 2)
    assert (note.created_at, note.written_at) == (START, later)


def test_equal_content_and_pin_append_nothing(memory: Memory) -> None:
    memory.write(**TEA, slug="tea", topics=["Hot"])

    written = memory.write(**TEA, slug="tea", topics=["hot"])

    assert (written.created, written.changed, written.seq, written.position) == (False, False, 1, 1)
    assert types(memory) == ["note_written/1"]


def test_equal_content_with_another_pin_appends_only_the_pin(memory: Memory) -> None:
    memory.write(**TEA)

    pinned = memory.write(**TEA, slug="tea", pinned=True)
    unpinned = memory.write(**TEA, slug="tea")

    assert (pinned.changed, pinned.seq, pinned.unpinned, pinned.note.pinned) == (
        True,
        2,
        False,
        True,
    )
    assert (unpinned.changed, unpinned.unpinned, unpinned.note.written_seq) == (True, True, 1)
    assert types(memory) == ["note_written/1", "note_pinned/1", "note_unpinned/1"]


def test_a_write_without_slug_of_what_a_live_note_says_makes_no_twin(memory: Memory) -> None:
    memory.write(**TEA)
    memory.write(title="Tea", body="black")

    again = memory.write(title="Tea", body="black")

    assert (again.note.slug, again.created, again.changed, again.seq) == ("tea-2", False, False, 2)


def test_a_numbered_note_is_a_twin_also_while_its_stem_is_free(memory: Memory) -> None:
    memory.write(**TEA, slug="tea-7")

    assert memory.write(**TEA).note.slug == "tea-7"
    assert memory.write(title="Tea", body="black").note.slug == "tea"


def test_a_note_of_another_stem_with_equal_content_is_no_twin(memory: Memory) -> None:
    memory.write(**TEA)
    memory.write(title="Tea", body="black", slug="oolong")

    assert memory.write(title="Tea", body="black").note.slug == "tea-2"


def test_a_superseded_note_is_no_twin(memory: Memory) -> None:
    memory.write(**TEA)
    memory.write(title="Oolong", body="blue")
    memory.link("oolong", "tea", "supersedes")

    assert memory.write(**TEA).note.slug == "tea-2"


def test_a_rewrite_takes_the_pin_away_before_the_text_changes(memory: Memory) -> None:
    memory.write(**TEA, pinned=True)

    written = memory.write(title="Tea", body="black", slug="tea")

    assert (written.unpinned, written.note.pinned) == (True, False)
    assert types(memory)[2:] == ["note_unpinned/1", "note_written/1"]


def test_a_rewrite_that_asks_for_the_pin_keeps_it(memory: Memory) -> None:
    memory.write(**TEA, pinned=True)

    written = memory.write(title="Tea", body="black", slug="tea", pinned=True)

    assert (written.unpinned, written.note.pinned) == (False, True)
    assert types(memory)[2:] == ["note_written/1"]


def test_untrusted_text_is_pinned_anew_and_only_when_allowed(memory: Memory) -> None:
    memory.write(**TEA, pinned=True)
    web: dict[str, Any] = {
        "title": "Tea",
        "body": "black",
        "slug": "tea",
        "source": {"url": "https://a.example"},
    }

    with pytest.raises(UntrustedPinError) as caught:
        memory.write(**web, pinned=True)
    written = memory.write(**web, pinned=True, allow_pin_untrusted=True)

    assert caught.value.slug == "tea"
    assert (written.note.provenance, written.note.ever_untrusted) == ("web", True)
    assert (written.unpinned, written.note.pinned, written.seq) == (False, True, 5)
    assert types(memory)[2:] == ["note_unpinned/1", "note_written/1", "note_pinned/1"]


@pytest.mark.parametrize(
    "origin", [{"source": {"url": "https://a.example"}}, {"provenance": "compaction"}]
)
def test_a_note_that_was_untrusted_once_stays_marked(
    memory: Memory, origin: dict[str, Any]
) -> None:
    memory.write(**TEA, **origin)
    memory.write(title="Tea", body="my own words", slug="tea", pinned=True)

    note = memory.read("tea").note

    assert (note.provenance, note.pinned, note.ever_untrusted) == ("agent", True, True)
    assert memory.history("tea")[-1].note == note


def test_a_stale_write_is_refused_and_says_what_is_there(memory: Memory) -> None:
    memory.write(**TEA)
    memory.pin("tea")

    with pytest.raises(StaleWriteError) as caught:
        memory.write(title="Tea", body="black", slug="tea", if_seq=1)

    assert (caught.value.slug, caught.value.if_seq, caught.value.updated_seq) == ("tea", 1, 2)
    assert memory.write(title="Tea", body="black", slug="tea", if_seq=2).changed


def test_if_seq_zero_means_that_the_note_must_not_exist(memory: Memory) -> None:
    assert memory.write(**TEA, slug="tea", if_seq=0).created
    with pytest.raises(StaleWriteError):
        memory.write(title="Tea", body="black", slug="tea", if_seq=0)
    assert memory.write(title="Tea", body="black", if_seq=0).note.slug == "tea-2"


def test_rewriting_history_is_refused_and_names_the_living_end(memory: Memory) -> None:
    for title in ("Tea", "Oolong", "Matcha"):
        memory.write(title=title, body="x")
    memory.link("oolong", "tea", "supersedes")
    memory.link("matcha", "oolong", "supersedes")

    for call in (
        lambda: memory.write(title="Tea", body="black", slug="tea"),
        lambda: memory.pin("tea"),
    ):
        with pytest.raises(SupersededNoteError) as caught:
            call()
        assert (caught.value.slug, caught.value.living) == ("tea", "matcha")


# --- Many at once


def test_write_many_writes_in_order_in_one_transaction(memory: Memory, log: Log) -> None:
    written = memory.write_many(
        [TEA, {**TEA, "body": "black", "actor": "b"}, {**TEA, "slug": "tea", "pinned": True}],
        actor="a",
        conversation_id="c",
    )

    assert [each.note.slug for each in written] == ["tea", "tea-2", "tea"]
    assert [(each.seq, each.position) for each in written] == [(1, 1), (2, 2), (3, 3)]
    assert written[0].note.pinned is False
    events = list(log.events())
    assert [event.actor for event in events] == ["a", "b", "a"]
    assert {event.conversation_id for event in events} == {"c"}
    assert len({event.recorded_at for event in events}) == 1


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        ({"title": "x", "body": ""}, InvalidRequestError),
        ({"title": "x"}, InvalidRequestError),
        ({**TEA, "colour": "red"}, InvalidRequestError),
        ("tea", InvalidRequestError),
        ({**TEA, "slug": "tea", "if_seq": 7}, StaleWriteError),
        ({**TEA, "pinned": True, "provenance": "compaction"}, UntrustedPinError),
    ],
)
def test_write_many_writes_nothing_when_one_is_refused(
    memory: Memory,
    log: Log,
    bad: Any,  # noqa: ANN401  # whatever a caller may send
    error: type[Exception],
) -> None:
    memory.write(title="Before", body="x")

    with pytest.raises(error):
        memory.write_many([TEA, bad, {**TEA, "body": "black"}])

    assert log.position() == 1
    assert memory.get("tea") is None
    assert tables_equal_fold(log)


def test_write_many_of_nothing_writes_nothing(memory: Memory, log: Log) -> None:
    assert memory.write_many([]) == []
    assert log.position() == 0


def test_one_request_id_twice_in_write_many_is_done_once(memory: Memory) -> None:
    first, second = memory.write_many([{**TEA, "request_id": "r"}, {**TEA, "request_id": "r"}])

    assert (first.replayed, second.replayed) == (False, True)
    assert (second.seq, second.note) == (first.seq, first.note)


# --- Request ids


def test_a_repeated_write_answers_what_it_did_and_the_note_as_it_is_now(memory: Memory) -> None:
    memory.write(title="Other", body="x")
    first = memory.write(**TEA, pinned=True, request_id="r-1", actor="a")
    memory.write(title="Tea", body="black", slug="tea")

    again = memory.write(**TEA, pinned=True, request_id="r-1", actor="b", conversation_id="c")

    assert (first.seq, first.position) == (3, 3)
    assert again.replayed
    assert (again.created, again.changed, again.seq, again.position) == (True, True, 3, 3)
    assert (again.note.slug, again.note.body, again.note.pinned) == ("tea", "black", False)
    assert len(types(memory)) == 5


def test_a_repeated_rewrite_did_not_create(memory: Memory) -> None:
    memory.write(**TEA, pinned=True)
    memory.write(title="Tea", body="black", slug="tea", request_id="r-1")

    again = memory.write(title="Tea", body="black", slug="tea", request_id="r-1")

    assert (again.created, again.changed, again.replayed, again.seq) == (False, True, True, 4)


def test_a_repeated_write_does_not_take_the_next_number(memory: Memory) -> None:
    memory.write(**TEA)
    slugs = {memory.write(title="Tea", body="b", request_id="r").note.slug for _ in range(3)}

    assert slugs == {"tea-2"}


def test_repeated_pins_and_links_answer_what_they_did(memory: Memory) -> None:
    memory.write_many([TEA, {**TEA, "body": "black"}])
    first = [
        memory.pin("tea", request_id="p"),
        memory.unpin("tea", request_id="u"),
        memory.link("tea-2", "tea", "supersedes", request_id="l"),
        memory.unlink("tea-2", "tea", "supersedes", request_id="n"),
    ]

    again = [
        memory.pin("tea", request_id="p"),
        memory.unpin("tea", request_id="u"),
        memory.link("tea-2", "tea", "supersedes", request_id="l"),
        memory.unlink("tea-2", "tea", "supersedes", request_id="n"),
    ]

    assert [each.replayed for each in first + again] == [False] * 4 + [True] * 4
    assert [(each.seq, each.position, each.changed) for each in again] == [
        (seq, seq, True) for seq in (3, 4, 5, 6)
    ]
    assert len(types(memory)) == 6


CHANGES: list[dict[str, Any]] = [
    {"title": "Tea!"},
    {"body": "black"},
    {"topics": ["b"]},
    {"pinned": True},
    {"confidence": 0.5},
    {"source": {"note": "other"}},
    {"slug": "tea"},
    {"extra": {"k": "w"}},
    {"if_seq": 0},
    {"provenance": "user"},
    {"allow_pin_untrusted": True},
]


@pytest.mark.parametrize("change", CHANGES)
def test_every_argument_is_part_of_what_a_request_id_stands_for(
    memory: Memory, change: dict[str, Any]
) -> None:
    arguments = {**TEA, "topics": ["a"], "source": {"note": "n"}, "extra": {"k": "v"}}
    memory.write(**arguments, request_id="r")

    with pytest.raises(RequestConflictError) as caught:
        memory.write(**{**arguments, **change}, request_id="r")

    assert (caught.value.request_id, caught.value.position) == ("r", 1)
    assert len(types(memory)) == 1


def test_the_method_and_each_argument_of_a_link_are_part_of_it_too(memory: Memory) -> None:
    memory.write_many([TEA, {**TEA, "body": "b"}, {**TEA, "body": "c"}])
    memory.link("tea", "tea-2", "related", label="x", request_id="r")

    for call in (
        lambda: memory.link("tea", "tea-2", "related", request_id="r"),
        lambda: memory.link("tea", "tea-2", "derived_from", label="x", request_id="r"),
        lambda: memory.link("tea-2", "tea", "related", label="x", request_id="r"),
        lambda: memory.unlink("tea", "tea-2", "related", label="x", request_id="r"),
        lambda: memory.pin("tea", request_id="r"),
        lambda: memory.unpin("tea", request_id="r"),
        lambda: memory.write(**TEA, request_id="r"),
    ):
        with pytest.raises(RequestConflictError):
            call()


def test_what_changed_nothing_or_was_refused_is_not_remembered(memory: Memory) -> None:
    memory.write(**TEA)
    assert not memory.write(**TEA, request_id="r").changed
    with pytest.raises(NoteNotFoundError):
        memory.pin("oolong", request_id="r")

    assert memory.write(title="Tea", body="black", request_id="r").note.slug == "tea-2"


def test_request_ids_are_compared_inside_one_scope(log: Log) -> None:
    for scope in (log.scope("owner", "alice"), log.scope("owner", "bob"), log.scope("global")):
        assert not scope.write(**TEA, request_id="r").replayed
    assert log.position() == 3


def test_a_request_id_is_known_after_reopening_and_rebuilding(tmp_path: Path) -> None:
    ids = CountingIds()
    with open_log(tmp_path / "notes.db", ids=ids) as log:
        log.scope("global").write(**TEA, request_id="r")
        log.rebuild()
    with open_log(tmp_path / "notes.db", ids=ids) as log:
        assert log.scope("global").write(**TEA, request_id="r").replayed


@pytest.mark.parametrize(
    ("name", "gives"),
    [
        ("new_id", "tea"),
        ("new_id", "0A0B0C0D-0000-4000-8000-000000000000"),
        ("new_id", None),
        ("new_salt", b"short"),
        ("new_salt", "s" * 32),
    ],
)
def test_an_id_or_salt_of_another_form_never_reaches_the_log(name: str, gives: object) -> None:
    with memlog.open(":memory:", **{name: lambda: gives}) as log:  # type: ignore[arg-type]
        with pytest.raises(InvalidRequestError, match=f"{name} .* must give"):
            log.scope("global").write(**TEA)
        assert log.position() == 0


# --- Pins


def test_pinning_and_unpinning_twice_changes_once(memory: Memory) -> None:
    memory.write(**TEA)

    outcomes = [memory.pin("tea"), memory.pin("tea"), memory.unpin("tea"), memory.unpin("tea")]

    assert [each.changed for each in outcomes] == [True, False, True, False]
    assert [(each.seq, each.position) for each in outcomes] == [(2, 2), (2, 2), (3, 3), (3, 3)]
    assert [each.note.pinned for each in outcomes] == [True, True, False, False]


@pytest.mark.parametrize(
    "origin", [{"source": {"url": "https://a.example"}}, {"provenance": "compaction"}]
)
def test_an_untrusted_note_is_pinned_only_when_allowed(
    memory: Memory, origin: dict[str, Any]
) -> None:
    memory.write(**TEA, **origin)

    with pytest.raises(UntrustedPinError):
        memory.pin("tea")

    assert memory.pin("tea", allow_pin_untrusted=True).note.pinned


@pytest.mark.parametrize("provenance", ["user", "import"])
def test_code_may_name_these_provenances_and_pin_them(memory: Memory, provenance: str) -> None:
    note = memory.write(**TEA, provenance=provenance, pinned=True).note

    assert (note.provenance, note.pinned, note.ever_untrusted) == (provenance, True, False)


def test_a_superseded_note_can_be_unpinned(memory: Memory) -> None:
    memory.write_many([{**TEA, "pinned": True}, {**TEA, "body": "black"}])
    memory.link("tea-2", "tea", "supersedes")

    assert not memory.unpin("tea").note.pinned


# --- Links


def test_a_link_answers_with_both_notes_and_its_place(memory: Memory) -> None:
    memory.write_many([TEA, {**TEA, "body": "black"}])

    linked = memory.link("tea-2", "tea", "related", label="why")

    assert (linked.from_note.slug, linked.to_note.slug) == ("tea-2", "tea")
    assert (linked.rel, linked.link) == ("related", Link("tea-2", "tea", "related", "why"))
    assert (linked.changed, linked.seq, linked.position, linked.left_section) == (True, 3, 3, False)
    assert linked.to_note.updated_seq == 1


def test_an_edge_is_all_four_of_its_fields(memory: Memory) -> None:
    memory.write_many([TEA, {**TEA, "body": "black"}])
    edges = [
        ("tea", "tea-2", "related"),
        ("tea-2", "tea", "related"),
        ("tea", "tea-2", "derived_from"),
    ]

    assert [memory.link(*edge).changed for edge in edges] == [True] * 3
    assert memory.link(*edges[0], label="x").changed
    assert memory.link(*edges[0], label="").changed
    again = memory.link(*edges[0])

    assert (again.changed, again.seq) == (False, 2)
    assert not memory.unlink(*edges[1], label="x").changed
    assert len(memory.read("tea").links) == 4


def test_superseding_a_pinned_note_takes_it_out_of_the_section_and_says_so(memory: Memory) -> None:
    memory.write_many([{**TEA, "pinned": True}, {**TEA, "body": "black"}])

    linked = memory.link("tea-2", "tea", "supersedes")

    assert linked.left_section
    assert (linked.to_note.superseded_by, linked.to_note.pinned) == ("tea-2", True)
    assert linked.to_note.updated_seq == linked.seq == 4
    assert not memory.link("tea-2", "tea", "supersedes").left_section


def test_only_superseding_takes_a_note_out_of_the_section(memory: Memory) -> None:
    memory.write_many([{**TEA, "pinned": True}, {**TEA, "body": "b"}, {**TEA, "body": "c"}])
    memory.link("tea-2", "tea", "supersedes")

    outcomes = [
        memory.link("tea-3", "tea", "related"),
        memory.link("tea-2", "tea", "derived_from"),
        memory.unlink("tea-3", "tea", "related"),
        memory.unlink("tea-2", "tea", "supersedes"),
    ]

    assert [each.left_section for each in outcomes] == [False] * 4


def test_superseding_an_unpinned_note_takes_nothing_out(memory: Memory) -> None:
    memory.write_many([TEA, {**TEA, "body": "black"}])

    assert not memory.link("tea-2", "tea", "supersedes").left_section


def test_a_note_has_one_superseder_and_may_supersede_many(memory: Memory) -> None:
    memory.write_many([{**TEA, "body": body} for body in "abc"])
    memory.link("tea-3", "tea", "supersedes")
    memory.link("tea-3", "tea-2", "supersedes")

    with pytest.raises(AlreadySupersededError) as caught:
        memory.link("tea-2", "tea", "supersedes")

    assert (caught.value.slug, caught.value.superseded_by) == ("tea", "tea-3")
    assert [link.to_slug for link in memory.read("tea-3").links] == ["tea", "tea-2"]


@pytest.mark.parametrize("length", [2, 3, 7])
def test_a_cycle_of_any_length_is_refused(memory: Memory, length: int) -> None:
    slugs = [memory.write(title="Tea", body=str(n)).note.slug for n in range(length)]
    for newer, older in zip(slugs[1:], slugs, strict=False):
        memory.link(newer, older, "supersedes")

    with pytest.raises(SupersedeCycleError) as caught:
        memory.link(slugs[0], slugs[-1], "supersedes")

    assert (caught.value.from_slug, caught.value.to_slug) == (slugs[0], slugs[-1])


def test_unlinking_a_superseder_makes_the_note_live_again(memory: Memory) -> None:
    memory.write_many([TEA, {**TEA, "body": "black"}])
    memory.link("tea-2", "tea", "supersedes")

    unlinked = memory.unlink("tea-2", "tea", "supersedes")

    assert (unlinked.changed, unlinked.to_note.live, unlinked.to_note.updated_seq) == (
        True,
        True,
        4,
    )
    assert memory.fingerprint() == "2:4"
    assert not memory.unlink("tea-2", "tea", "supersedes").changed


def test_a_note_cannot_be_linked_to_itself_or_to_nothing(memory: Memory, log: Log) -> None:
    memory.write(**TEA)

    with pytest.raises(SelfLinkError):
        memory.link("tea", "tea", "related")
    with pytest.raises(NoteNotFoundError) as caught:
        memory.link("tea", "teas", "related")

    assert (caught.value.slug, caught.value.near) == ("teas", ("tea",))
    assert log.position() == 1


# --- Reading


def test_read_gives_links_backlinks_and_the_superseder_in_the_order_they_came(
    memory: Memory,
) -> None:
    memory.write_many([{**TEA, "body": body} for body in "abc"])
    memory.link("tea", "tea-3", "related")
    memory.link("tea-2", "tea", "supersedes")
    memory.link("tea", "tea-2", "derived_from")
    memory.link("tea-3", "tea", "related", label="z")

    reading = memory.read("tea")

    assert reading.note == memory.get("tea")
    assert reading.links == (Link("tea", "tea-3", "related"), Link("tea", "tea-2", "derived_from"))
    assert reading.backlinks == (
        Link("tea-2", "tea", "supersedes"),
        Link("tea-3", "tea", "related", "z"),
    )
    assert reading.superseded_by == "tea-2"


@pytest.mark.parametrize("slug", ["nothing", "../x", "", "Tea", "\0", "x" * 10_000])
def test_what_is_no_note_is_none_or_an_error(memory: Memory, slug: str) -> None:
    memory.write(**TEA)

    assert memory.get(slug) is None
    for read in (memory.read, memory.history):
        with pytest.raises(NoteNotFoundError):
            read(slug)


def test_notes_come_most_recently_written_first_and_in_pages(memory: Memory) -> None:
    memory.write_many([{**TEA, "body": body} for body in "abcde"])
    memory.pin("tea")  # Touched, but written no later.
    memory.write(title="Tea", body="f", slug="tea-2")

    pages: list[list[str]] = []
    before: int | None = None
    for _ in range(4):
        page = memory.notes(limit=2, before=before)
        pages.append([note.slug for note in page])
        before = page[-1].written_seq if page else before

    assert pages == [["tea-2", "tea-5"], ["tea-4", "tea-3"], ["tea"], []]
    assert [note.slug for note in memory.notes()] == [slug for page in pages for slug in page]


def test_notes_may_leave_out_history(memory: Memory) -> None:
    memory.write_many([{**TEA, "body": body} for body in "abc"])
    memory.link("tea-3", "tea-2", "supersedes")

    assert [note.slug for note in memory.notes(live_only=True)] == ["tea-3", "tea"]
    assert [note.slug for note in memory.notes(live_only=True, limit=1, before=3)] == ["tea"]


@pytest.mark.parametrize("limit", [0, -1])
def test_a_page_of_no_notes_is_refused(memory: Memory, limit: int) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        memory.notes(limit=limit)

    assert (caught.value.field, caught.value.value) == ("limit", limit)


def test_the_fingerprint_moves_with_every_touch_and_with_nothing_else(memory: Memory) -> None:
    steps: list[tuple[Callable[[], object], str]] = [
        (memory.notes, "0:0"),
        (lambda: memory.write(**TEA), "1:1"),
        (lambda: memory.write(**TEA), "1:1"),
        (lambda: memory.write(title="Tea", body="b"), "2:2"),
        (lambda: memory.link("tea", "tea-2", "related"), "2:2"),
        (lambda: memory.pin("tea"), "2:4"),
        (lambda: memory.link("tea-2", "tea", "supersedes"), "1:5"),
        (lambda: memory.unlink("tea-2", "tea", "supersedes"), "2:6"),
    ]

    for step, fingerprint in steps:
        step()
        assert memory.fingerprint() == fingerprint


def test_history_tells_who_did_what_to_a_note(memory: Memory, clock: FixedClock) -> None:
    memory.write(**TEA, actor="a", conversation_id="c", request_id="r")
    memory.write(title="Not tea", body='says "tea"')
    clock.advance(1)
    memory.write(title="Tea", body="black", topics=["hot"], slug="tea")
    memory.pin("tea", actor="b")
    memory.link("not-tea", "tea", "supersedes", label="l")
    memory.link("tea", "not-tea", "related")

    history = memory.history("tea")

    assert [(each.seq, each.position, each.type) for each in history] == [
        (1, 1, "note_written/1"),
        (3, 3, "note_written/1"),
        (4, 4, "note_pinned/1"),
        (5, 5, "notes_linked/1"),
        (6, 6, "notes_linked/1"),
    ]
    assert [each.changed for each in history] == [
        ("created",),
        ("body", "topics"),
        ("pinned",),
        ("supersedes",),
        ("related",),
    ]
    assert (history[0].actor, history[0].conversation_id, history[0].request_id) == ("a", "c", "r")
    assert history[1].recorded_at - history[0].recorded_at == timedelta(seconds=1)
    assert history[3].link == Link("not-tea", "tea", "supersedes", "l")
    assert (history[0].note.body, history[2].note.pinned) == ("green", True)
    assert history[-1].note == memory.get("tea")


def test_events_of_a_scope_begin_after_a_seq(log: Log) -> None:
    alice, everyone = log.scope("owner", "alice"), log.scope("global")
    for n in range(3):
        alice.write(title="Tea", body=str(n))
        everyone.write(title="Tea", body=str(n))

    assert [(event.seq, event.position) for event in alice.events(after=1)] == [(2, 3), (3, 5)]
    assert [event.position for event in log.events(after=4)] == [5, 6]
    assert list(log.events(after=6)) == []


def test_scopes_are_apart_and_listed_by_their_stream(log: Log) -> None:
    log.scope("owner", "bob").write(**TEA)
    log.scope("global").write(title="Tea", body="of all")
    log.scope("owner", "nobody").notes()

    assert log.scopes() == (
        ScopeInfo(scope=Scope("global"), live=1, notes=1, last_seq=1),
        ScopeInfo(scope=Scope("owner", "bob"), live=1, notes=1, last_seq=1),
    )
    assert log.scope("owner", "nobody").get("tea") is None
    assert log.scope(Scope("global")).read("tea").note.body == "of all"


# --- Similar


def test_a_write_reports_similar_live_notes_but_not_itself(memory: Memory) -> None:
    memory.write(title="Daily summary monday", body="x")
    written = memory.write(title="Daily summary tuesday", body="x")
    rewritten = memory.write(title="Daily summary monday", body="y", slug="daily-summary-monday")

    assert written.similar == (Similar("daily-summary-monday", "Daily summary monday", 0.5),)
    assert [each.slug for each in rewritten.similar] == ["daily-summary-tuesday"]


def test_similar_notes_come_best_first_ties_by_the_later_touch_at_most_five(
    memory: Memory,
) -> None:
    for n in range(6):
        memory.write(title=f"green tea {n}", body="x")
    memory.pin("green-tea-1")
    memory.write(title="green tea", body="x")

    found = memory.similar("Tea, GREEN")

    assert [each.slug for each in found] == [
        "green-tea",
        "green-tea-1",
        "green-tea-5",
        "green-tea-4",
        "green-tea-3",
    ]
    assert [each.score for each in found] == [1.0, *[2 / 3] * 4]


def test_topics_count_as_words(memory: Memory) -> None:
    memory.write(title="Rotation", body="x", topics=["deploy key"])

    assert memory.similar("deploy key", topics=["rotation"])[0].score == 1.0
    assert memory.similar("rotation") == ()


def test_a_superseded_note_is_similar_to_nothing_until_it_lives_again(memory: Memory) -> None:
    memory.write_many([TEA, {"title": "Oolong", "body": "x"}])
    memory.link("oolong", "tea", "supersedes")
    assert memory.similar("tea") == ()

    memory.unlink("oolong", "tea", "supersedes")

    assert [each.slug for each in memory.similar("tea")] == ["tea"]


def test_a_rewritten_note_is_found_by_its_new_words_only(memory: Memory) -> None:
    memory.write(**TEA)
    memory.write(title="Coffee", body="x", slug="tea")

    assert memory.similar("tea") == ()
    assert [each.slug for each in memory.similar("coffee")] == ["tea"]


@pytest.mark.parametrize("title", ["", "!!!", "\ud800", " "])
def test_nothing_is_similar_to_no_words(memory: Memory, title: str) -> None:
    memory.write(title="!!!", body="x")

    assert memory.similar(title) == ()


def test_the_threshold_is_a_setting_and_counts_itself() -> None:
    """14 of 25 words is exactly 0.56, though 0.56 * 25 is a little above 14 in floating point."""
    with open_log(settings=Settings(duplicate_threshold=0.56)) as log:
        memory = log.scope("global")
        words = [f"w{n}" for n in range(25)]
        memory.write(title=" ".join(words[:14]), body="x")
        memory.write(title=" ".join(words[:13]), body="x")

        assert [each.score for each in memory.similar(" ".join(words))] == [0.56]


# --- The handle


def test_time_never_runs_backwards_in_a_log(memory: Memory, clock: FixedClock) -> None:
    memory.write(**TEA)
    clock.advance(-3_600)
    memory.write(title="Tea", body="black")
    clock.advance(3_601)
    memory.write(title="Tea", body="white")

    assert [event.recorded_at - START for event in memory.events()] == [
        timedelta(0),
        timedelta(0),
        timedelta(seconds=1),
    ]


def test_a_log_in_memory_is_private_and_gone_when_closed() -> None:
    with open_log() as one, open_log() as other:
        one.scope("global").write(**TEA)
        assert other.scope("global").get("tea") is None
    with open_log() as log:
        assert log.position() == 0


def test_everything_is_there_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    with open_log(path) as log:
        memory = log.scope("owner", "alice")
        memory.write(**TEA, pinned=True)
        memory.write(title="Oolong", body="x")
        memory.link("oolong", "tea", "supersedes")
        before = (memory.notes(), memory.read("tea"), memory.fingerprint(), log.scopes())
        events, log_id = list(log.events()), log.log_id

    with open_log(path) as log:
        memory = log.scope("owner", "alice")
        assert (memory.notes(), memory.read("tea"), memory.fingerprint(), log.scopes()) == before
        assert (list(log.events()), log.log_id) == (events, log_id)


def test_a_closed_handle_refuses_every_call(tmp_path: Path) -> None:
    log = open_log(tmp_path / "notes.db")
    memory = log.scope("global")
    memory.write(**TEA)
    log.close()
    log.close()

    for call in (
        lambda: memory.write(**TEA),
        lambda: memory.pin("tea"),
        lambda: memory.get("tea"),
        lambda: memory.read("tea"),
        memory.notes,
        lambda: memory.similar("tea"),
        memory.fingerprint,
        lambda: list(memory.events()),
        lambda: list(log.events()),
        log.scopes,
        log.position,
        log.rebuild,
    ):
        with pytest.raises(ClosedError):
            call()


def test_a_forked_child_is_refused_and_leaves_the_parent_alone(tmp_path: Path) -> None:
    script = """
import os, sys
import memlog
log = memlog.open(sys.argv[1])
memory = log.scope("global")
memory.write(title="Tea", body="green")
child = os.fork()
if child == 0:
    refused = 0
    for call in (lambda: memory.get("tea"), lambda: memory.write(title="x", body="y")):
        try:
            call()
        except memlog.ForkedError:
            refused += 1
    log.close()
    os._exit(refused)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(memory.write(title="Tea", body="black").note.slug)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "notes.db")],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(memlog.__file__).parent.parent,
    )

    assert (done.stdout.split(), done.stderr) == (["2", "tea-2"], "")


@pytest.mark.parametrize("in_memory", [False, True])
def test_eight_threads_write_and_read_one_handle(tmp_path: Path, *, in_memory: bool) -> None:
    target = ":memory:" if in_memory else tmp_path / "notes.db"
    failures: list[BaseException] = []
    with memlog.open(target, settings=Settings(lock_timeout_s=60.0)) as log:
        memory = log.scope("owner", "alice")

        def work(thread: int) -> None:
            try:
                for n in range(15):
                    written = memory.write(title="Same title", body=f"{thread} {n}")
                    memory.pin(written.note.slug)
                    assert memory.read(written.note.slug).note.body == f"{thread} {n}"
                    memory.similar("Same title")
            except BaseException as error:  # noqa: BLE001  # reported by the main thread
                failures.append(error)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert failures == []
        assert len({note.slug for note in memory.notes()}) == 120
        assert memory.fingerprint() == "120:240"
        assert [event.position for event in log.events()] == list(range(1, 241))
        assert tables_equal_fold(log)


def test_a_refused_argument_of_a_read_leaves_the_handle_usable(tmp_path: Path) -> None:
    with open_log(tmp_path / "notes.db") as log:
        memory = log.scope("global")
        memory.write(**TEA)
        bad: list[Any] = [
            lambda: memory.notes(limit=1.5),  # type: ignore[arg-type]
            lambda: memory.notes(limit=2**70),
            lambda: memory.notes(before=2**70),
            lambda: memory.read("\ud800"),
            lambda: memory.history("\ud800"),
            lambda: memory.write(title="x", body="y", confidence=10**400),
        ]
        for call in bad:
            with pytest.raises(RequestError):
                call()

        assert memory.get("\ud800") is None
        assert memory.write(title="Tea", body="black").note.slug == "tea-2"


def test_the_database_holds_the_bytes_in_plain_sight(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    with open_log(path) as log:
        log.scope("global").write(title="Tée", body="grün")
        connection = sqlite3.connect(path)
        (state,) = connection.execute("SELECT state FROM stored_events").fetchone()
        connection.close()

    record = msgspec.json.decode(state)
    assert list(record) == ["envelope", "salt", "payload"]
    assert (record["payload"]["title"], record["payload"]["body"]) == ("Tée", "grün")
    assert os.fspath(path) == log.target
