"""The rules, given what happened, when somebody asks: it acts, it refuses, it stays quiet."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given as for_all
from hypothesis import strategies

from memlog import requests
from memlog.decide import content_of, decide, living_end, superseders, target, violations
from memlog.errors import (
    AlreadySupersededError,
    NoteNotFoundError,
    StaleWriteError,
    SupersedeCycleError,
    SupersededNoteError,
    UntrustedPinError,
)
from memlog.events import (
    CompactionHarvested,
    NotePinned,
    NotesLinked,
    NotesUnlinked,
    NoteUnpinned,
    NoteWritten,
    Payload,
)
from memlog.note import Provenance, Rel, Source
from memlog.text import is_slug
from projections.notes.fold import Fold

URL = "https://example.org/tea"
WEB = Source(url=URL)
NOON = "2026-11-30T12:00:00.000000Z"
TEA = NoteWritten(slug="tea", title="Tea", body="green")
WEB_TEA = NoteWritten(slug="tea", title="Tea", body="green", provenance="web", source=WEB)
HARVESTED_TEA = NoteWritten(slug="tea", title="Tea", body="green", provenance="compaction")


def given(*payloads: Payload) -> Fold:
    """Return the state of a scope in which this happened, from seq 1 on."""
    fold = Fold()
    for seq, payload in enumerate(payloads, start=1):
        fold.apply(payload, position=seq, seq=seq, recorded_at=NOON)
    return fold


def note(slug: str, *, body: str = "green") -> NoteWritten:
    """Return the writing of a note that nobody looks at closely."""
    return NoteWritten(slug=slug, title=slug, body=body)


def superseded(older: str, by: str) -> NotesLinked:
    """Return the link that makes a note history."""
    return NotesLinked(from_slug=by, to_slug=older, rel="supersedes")


def write(
    state: Fold,
    *,
    title: str = "Tea",
    body: str = "green",
    slug: str | None = None,
    pinned: bool = False,
    url: str | None = None,
    provenance: Provenance | None = None,
    topics: Sequence[str] = (),
    confidence: float = 1.0,
    artifact: str | None = None,
    extra: dict[str, str] | None = None,
    if_seq: int | None = None,
    allow_pin_untrusted: bool = False,
) -> tuple[Payload, ...]:
    request = requests.write(
        title=title,
        body=body,
        slug=slug,
        pinned=pinned,
        source={"url": url, "artifact": artifact},
        provenance=provenance,
        topics=topics,
        confidence=confidence,
        extra=extra,
        if_seq=if_seq,
        allow_pin_untrusted=allow_pin_untrusted,
        max_body_bytes=32_000,
    )
    return decide(state, request)


def pin(state: Fold, slug: str, *, allow_pin_untrusted: bool = False) -> tuple[Payload, ...]:
    return decide(state, requests.pin(slug, allow_pin_untrusted=allow_pin_untrusted))


def unpin(state: Fold, slug: str) -> tuple[Payload, ...]:
    return decide(state, requests.unpin(slug))


def link(
    state: Fold, from_slug: str, to_slug: str, rel: Rel, *, label: str | None = None
) -> tuple[Payload, ...]:
    return decide(state, requests.add_link(from_slug, to_slug, rel, label=label))


def unlink(
    state: Fold, from_slug: str, to_slug: str, rel: Rel, *, label: str | None = None
) -> tuple[Payload, ...]:
    return decide(state, requests.remove_link(from_slug, to_slug, rel, label=label))


def slug_of(payloads: Sequence[Payload]) -> str:
    """Return the slug of the only event, which wrote a note."""
    (written,) = payloads
    assert isinstance(written, NoteWritten)
    return written.slug


# --- Writing under a slug


def test_a_write_says_all_that_the_note_holds() -> None:
    events = write(
        given(),
        title="Tea",
        body="green",
        slug="drink",
        topics=["hot"],
        confidence=0.5,
        url=URL,
        artifact="tea.md",
        extra={"a": "1"},
        provenance="import",
    )

    assert events == (
        NoteWritten(
            slug="drink",
            title="Tea",
            body="green",
            topics=("hot",),
            confidence=0.5,
            provenance="import",
            source=Source(url=URL, artifact="tea.md"),
            extra={"a": "1"},
        ),
    )


def test_an_explicit_slug_makes_the_note() -> None:
    assert write(given(), title="Anything", slug="tea") == (
        NoteWritten(slug="tea", title="Anything", body="green"),
    )


def test_an_explicit_slug_rewrites_the_note() -> None:
    assert write(given(TEA), slug="tea", body="oolong") == (
        NoteWritten(slug="tea", title="Tea", body="oolong"),
    )


def test_equal_content_under_the_same_slug_writes_nothing() -> None:
    assert write(given(TEA), slug="tea") == ()


@pytest.mark.parametrize(
    "other",
    [
        NoteWritten(slug="tea", title="TEA", body="green"),
        NoteWritten(slug="tea", title="Tea", body="green "),
        NoteWritten(slug="tea", title="Tea", body="green", topics=("hot",)),
        NoteWritten(slug="tea", title="Tea", body="green", confidence=0.5),
        NoteWritten(slug="tea", title="Tea", body="green", provenance="user"),
        NoteWritten(slug="tea", title="Tea", body="green", source=Source(artifact="tea.md")),
        NoteWritten(slug="tea", title="Tea", body="green", extra={"a": "1"}),
    ],
)
def test_each_part_of_the_content_makes_a_difference(other: NoteWritten) -> None:
    assert write(given(other), slug="tea") == (TEA,)


def test_another_order_of_topics_is_other_content() -> None:
    state = given(NoteWritten(slug="tea", title="Tea", body="green", topics=("hot", "wet")))

    assert write(state, slug="tea", topics=["hot", "wet"]) == ()
    assert len(write(state, slug="tea", topics=["wet", "hot"])) == 1


def test_topics_and_confidence_are_compared_as_they_are_stored() -> None:
    state = given(
        NoteWritten(slug="tea", title="Tea", body="green", topics=("hot-drinks",), confidence=0.333)
    )

    assert write(state, slug="tea", topics=["Hot Drinks!"], confidence=1 / 3) == ()


def test_the_content_of_a_note_is_what_was_written() -> None:
    request = requests.write(title="Tea", body="green", slug="tea", max_body_bytes=9)
    (stored,) = given(*decide(given(), request)).notes.values()

    assert content_of(stored) == request.content


# --- Slugs from titles


def test_a_title_gives_the_slug() -> None:
    assert slug_of(write(given(), title="Green Tea!")) == "green-tea"


def test_a_taken_slug_gets_the_number_2() -> None:
    assert slug_of(write(given(TEA), body="oolong")) == "tea-2"


def test_a_derived_slug_never_overwrites_a_note_of_another_title() -> None:
    state = given(NoteWritten(slug="tea", title="Coffee", body="black"))

    assert slug_of(write(state, title="Tea")) == "tea-2"


def test_the_number_is_one_more_than_the_highest_in_use_not_the_first_free_one() -> None:
    state = given(TEA, note("tea-2"), note("tea-7"))

    assert slug_of(write(state, body="oolong")) == "tea-8"


def test_a_free_stem_is_taken_though_numbers_of_it_are_in_use() -> None:
    assert slug_of(write(given(note("tea-7")), body="oolong")) == "tea"


def test_the_number_1_is_never_given_and_a_stem_of_its_own_when_named() -> None:
    assert slug_of(write(given(TEA, note("tea-1")), body="oolong")) == "tea-2"
    assert slug_of(write(given(note("tea-1")), title="Tea 1", body="oolong")) == "tea-1-2"


def test_a_title_that_ends_in_a_number_is_a_stem_of_its_own() -> None:
    state = given(note("tea-2"))

    assert slug_of(write(state, title="Tea 2", body="oolong")) == "tea-2-2"


def test_titles_that_differ_are_numbered_apart_only_by_stem() -> None:
    state = given(TEA, note("teapot"), note("teapot-9"))

    assert slug_of(write(state, title="TEA?", body="oolong")) == "tea-2"


def test_a_superseded_note_keeps_its_slug() -> None:
    state = given(TEA, note("oolong"), superseded("tea", by="oolong"))

    assert slug_of(write(state)) == "tea-2"


def test_a_title_without_latin_words_is_numbered_like_any_other() -> None:
    first = slug_of(write(given(), title="日本"))
    second = slug_of(write(given(note(first)), title="日本", body="oolong"))

    assert (first, second) == ("n-cf2abf0c5b", "n-cf2abf0c5b-2")


def test_a_stem_of_80_characters_is_cut_for_its_number() -> None:
    state = given(note("a" * 80))

    assert slug_of(write(state, title="a" * 80, body="oolong")) == "a" * 78 + "-2"


def test_long_titles_that_are_cut_to_the_same_stem_share_its_numbers() -> None:
    state = given(note("a" * 80), note("a" * 78 + "-2"), note("a" * 79))

    assert slug_of(write(state, title="a" * 80, body="oolong")) == "a" * 78 + "-3"
    assert slug_of(write(state, title="a" * 79, body="oolong")) == "a" * 78 + "-3"


def test_a_stem_of_80_characters_goes_on_from_the_highest_number_of_any_cut() -> None:
    state = given(note("a" * 80), note("a" * 78 + "-9"))

    assert slug_of(write(state, title="a" * 80, body="oolong")) == "a" * 77 + "-10"

    state = given(note("a" * 80), note("a" * 78 + "-9"), note("a" * 77 + "-10"))

    assert slug_of(write(state, title="a" * 80, body="oolong")) == "a" * 77 + "-11"


def test_numbers_go_up_to_15_digits() -> None:
    state = given(TEA, note("tea-999999999999998"))

    assert slug_of(write(state, body="oolong")) == "tea-999999999999999"


def test_a_number_that_has_no_successor_moves_the_count_to_another_stem() -> None:
    state = given(TEA, note("tea-999999999999999"))

    # The first ten digits of SHA-256("tea").
    assert slug_of(write(state, body="oolong")) == "n-a9f74d1ec3-2"


def test_a_slug_with_16_digits_is_no_numbered_slug() -> None:
    state = given(TEA, note("tea-1000000000000000"))

    assert slug_of(write(state, body="oolong")) == "tea-2"


TITLES = strategies.sampled_from(["Tea", "tea 2", "Tea-1", "a" * 80, "a" * 79, "a" * 78, "日本"])
STEMS = strategies.sampled_from(["tea", "tea-1", "tea-2", "a" * 80, "a" * 79, "a" * 78, "a" * 64])
NAMED = strategies.builds(
    lambda stem, number: f"{stem[: 80 - len(str(number)) - 1]}-{number}" if number else stem,
    STEMS,
    strategies.sampled_from([0, 1, 2, 9, 10, 99, 10**14, 10**15 - 1, 10**15]),
)


@for_all(strategies.lists(NAMED, unique=True, max_size=8), strategies.lists(TITLES, max_size=8))
def test_a_derived_slug_is_always_free(named: list[str], titles: list[str]) -> None:
    state = given(*map(note, named))

    for seq, title in enumerate(titles, start=len(named) + 1):
        (written,) = write(state, title=title, body=f"body {seq}")
        assert isinstance(written, NoteWritten)
        assert written.slug not in state.notes
        assert is_slug(written.slug)
        state.apply(written, position=seq, seq=seq, recorded_at=NOON)


# --- Twins: a client's retry


def test_a_repeated_write_without_a_slug_returns_the_note_and_writes_nothing() -> None:
    assert write(given(TEA)) == ()


def test_a_repeated_write_finds_its_twin_among_the_numbered_notes() -> None:
    state = given(TEA, NoteWritten(slug="tea-2", title="Tea", body="oolong"), note("tea-3"))
    request = requests.write(title="Tea", body="oolong", max_body_bytes=9)

    assert decide(state, request) == ()
    assert target(state, request) == ("tea-2", state.notes["tea-2"])


def test_a_twin_is_found_under_the_cut_stem_of_a_long_title() -> None:
    title = "a" * 80
    numbered = NoteWritten(slug="a" * 77 + "-10", title=title, body="oolong")

    assert write(given(note(title), numbered), title=title, body="oolong") == ()


def test_a_repeated_write_with_a_title_of_80_characters_writes_nothing() -> None:
    title = "a" * 80

    assert write(given(NoteWritten(slug=title, title=title, body="green")), title=title) == ()


def test_a_twin_under_a_numbered_slug_is_found_while_the_stem_is_free() -> None:
    assert write(given(NoteWritten(slug="tea-2", title="Tea", body="green"))) == ()


def test_the_oldest_twin_is_taken() -> None:
    twins = [NoteWritten(slug=f"tea-{n}", title="Tea", body="oolong") for n in (3, 2)]
    request = requests.write(title="Tea", body="oolong", max_body_bytes=9)

    assert target(given(TEA, *twins), request)[0] == "tea-3"


def test_a_superseded_twin_is_none() -> None:
    state = given(
        TEA,
        NoteWritten(slug="tea-2", title="Tea", body="oolong"),
        note("new"),
        superseded("tea-2", by="new"),
    )

    assert slug_of(write(state, body="oolong")) == "tea-3"


def test_equal_content_under_another_stem_is_no_twin() -> None:
    state = given(
        NoteWritten(slug="tea", title="x", body="x"),
        NoteWritten(slug="drink", title="Tea", body="green"),
    )

    assert slug_of(write(state)) == "tea-2"


def test_a_twin_under_an_explicit_slug_is_no_reason_to_stay_quiet() -> None:
    assert slug_of(write(given(TEA), slug="tea-2")) == "tea-2"


def test_a_retry_that_pins_pins_the_twin() -> None:
    assert write(given(TEA), pinned=True) == (NotePinned(slug="tea"),)


def test_content_that_differs_in_its_source_only_is_no_twin() -> None:
    assert slug_of(write(given(TEA), url=URL)) == "tea-2"


# --- if_seq


def test_if_seq_lets_a_write_through_that_saw_the_last_touch() -> None:
    state = given(TEA, NotePinned(slug="tea"))

    assert write(state, slug="tea", body="oolong", pinned=True, if_seq=2)


@pytest.mark.parametrize("seen", [0, 1, 3])
def test_if_seq_refuses_a_write_that_saw_another_state(seen: int) -> None:
    state = given(TEA, NotePinned(slug="tea"))

    with pytest.raises(StaleWriteError) as caught:
        write(state, slug="tea", body="oolong", if_seq=seen)

    error = caught.value
    assert (error.slug, error.if_seq, error.updated_seq) == ("tea", seen, 2)


def test_a_stale_write_is_refused_though_it_would_change_nothing() -> None:
    with pytest.raises(StaleWriteError):
        write(given(TEA), slug="tea", if_seq=7)


def test_if_seq_0_lets_a_new_note_through() -> None:
    assert slug_of(write(given(), slug="tea", if_seq=0)) == "tea"


def test_if_seq_refuses_a_note_that_is_not_there() -> None:
    with pytest.raises(StaleWriteError) as caught:
        write(given(), slug="tea", if_seq=1)

    assert caught.value.updated_seq == 0


def test_if_seq_0_without_a_slug_always_holds_since_the_slug_is_new() -> None:
    assert slug_of(write(given(TEA), body="oolong", if_seq=0)) == "tea-2"


def test_if_seq_0_without_a_slug_lets_a_retry_find_its_twin() -> None:
    assert write(given(TEA), if_seq=0) == ()


def test_being_superseded_is_a_touch_that_if_seq_sees() -> None:
    state = given(TEA, note("new"), superseded("tea", by="new"))

    with pytest.raises(StaleWriteError):
        write(state, slug="tea", body="oolong", if_seq=1)


# --- The pin of a write


def test_a_pin_comes_after_the_text_that_it_is_about() -> None:
    assert write(given(), pinned=True) == (TEA, NotePinned(slug="tea"))


def test_rewriting_a_pinned_note_unpins_it_before_the_new_text() -> None:
    state = given(TEA, NotePinned(slug="tea"))

    assert write(state, slug="tea", body="oolong") == (
        NoteUnpinned(slug="tea"),
        NoteWritten(slug="tea", title="Tea", body="oolong"),
    )


def test_a_pin_that_stays_adds_no_event() -> None:
    state = given(TEA, NotePinned(slug="tea"))

    assert write(state, slug="tea", body="oolong", pinned=True) == (
        NoteWritten(slug="tea", title="Tea", body="oolong"),
    )


def test_rewriting_an_unpinned_note_with_a_pin_pins_it_afterwards() -> None:
    assert write(given(TEA), slug="tea", body="oolong", pinned=True) == (
        NoteWritten(slug="tea", title="Tea", body="oolong"),
        NotePinned(slug="tea"),
    )


def test_equal_content_with_another_pin_is_only_the_pin_event() -> None:
    assert write(given(TEA), slug="tea", pinned=True) == (NotePinned(slug="tea"),)
    assert write(given(TEA, NotePinned(slug="tea")), slug="tea") == (NoteUnpinned(slug="tea"),)


def test_equal_content_with_an_equal_pin_is_nothing() -> None:
    assert write(given(TEA, NotePinned(slug="tea")), slug="tea", pinned=True) == ()


@pytest.mark.parametrize(
    ("provenance", "url", "why"),
    [
        ("compaction", None, "its provenance is 'compaction'"),
        (None, URL, "it has a source URL"),
        ("user", URL, "it has a source URL"),
        ("import", URL, "it has a source URL"),
    ],
)
def test_untrusted_text_is_not_pinned_unasked(
    provenance: Provenance | None, url: str | None, why: str
) -> None:
    with pytest.raises(UntrustedPinError) as caught:
        write(given(), pinned=True, provenance=provenance, url=url)

    assert (caught.value.slug, caught.value.why) == ("tea", why)


@pytest.mark.parametrize("provenance", ["agent", "user", "import"])
def test_trusted_text_is_pinned_and_the_override_is_not_noted(provenance: Provenance) -> None:
    events = write(given(), pinned=True, provenance=provenance, allow_pin_untrusted=True)

    assert events[1:] == (NotePinned(slug="tea", untrusted_allowed=False),)


def test_code_may_pin_untrusted_text_and_the_event_says_so() -> None:
    assert write(given(), pinned=True, url=URL, allow_pin_untrusted=True) == (
        WEB_TEA,
        NotePinned(slug="tea", untrusted_allowed=True),
    )


def test_untrusted_text_without_a_pin_is_written() -> None:
    assert write(given(), url=URL) == (WEB_TEA,)


def test_untrusted_text_under_an_old_pin_is_unpinned_first_and_pinned_anew() -> None:
    state = given(TEA, NotePinned(slug="tea"))

    assert write(state, slug="tea", url=URL, pinned=True, allow_pin_untrusted=True) == (
        NoteUnpinned(slug="tea"),
        WEB_TEA,
        NotePinned(slug="tea", untrusted_allowed=True),
    )


def test_new_untrusted_text_needs_a_new_pin_though_the_old_one_was_allowed() -> None:
    state = given(WEB_TEA, NotePinned(slug="tea", untrusted_allowed=True))

    assert write(
        state, slug="tea", body="oolong", url=URL, pinned=True, allow_pin_untrusted=True
    ) == (
        NoteUnpinned(slug="tea"),
        NoteWritten(slug="tea", title="Tea", body="oolong", provenance="web", source=WEB),
        NotePinned(slug="tea", untrusted_allowed=True),
    )
    with pytest.raises(UntrustedPinError):
        write(state, slug="tea", body="oolong", url=URL, pinned=True)


def test_untrusted_text_takes_an_old_pin_away_when_the_call_does_not_pin() -> None:
    state = given(TEA, NotePinned(slug="tea"))

    assert write(state, slug="tea", url=URL) == (NoteUnpinned(slug="tea"), WEB_TEA)


def test_a_pinned_untrusted_note_written_again_with_its_pin_is_nothing() -> None:
    state = given(WEB_TEA, NotePinned(slug="tea", untrusted_allowed=True))

    assert write(state, slug="tea", url=URL, pinned=True, allow_pin_untrusted=True) == ()


def test_trusted_text_keeps_the_pin_of_untrusted_text() -> None:
    state = given(WEB_TEA, NotePinned(slug="tea", untrusted_allowed=True))

    assert write(state, slug="tea", pinned=True) == (TEA,)


# --- pin and unpin


def test_pinning_a_note_pins_it() -> None:
    assert pin(given(TEA), "tea") == (NotePinned(slug="tea"),)


def test_pinning_a_pinned_note_is_nothing() -> None:
    assert pin(given(TEA, NotePinned(slug="tea")), "tea") == ()


def test_unpinning_a_pinned_note_unpins_it() -> None:
    assert unpin(given(TEA, NotePinned(slug="tea")), "tea") == (NoteUnpinned(slug="tea"),)


def test_unpinning_a_note_without_a_pin_is_nothing() -> None:
    assert unpin(given(TEA), "tea") == ()


@pytest.mark.parametrize("allowed", [True, False])
def test_a_pin_that_is_there_needs_no_override_again(*, allowed: bool) -> None:
    state = given(WEB_TEA, NotePinned(slug="tea", untrusted_allowed=True))

    assert write(state, url=URL, pinned=True, allow_pin_untrusted=allowed) == ()
    assert pin(state, "tea", allow_pin_untrusted=allowed) == ()


@pytest.mark.parametrize("untrusted", [WEB_TEA, HARVESTED_TEA])
def test_an_untrusted_note_is_pinned_with_the_override_only(untrusted: NoteWritten) -> None:
    state = given(untrusted)

    with pytest.raises(UntrustedPinError):
        pin(state, "tea")
    assert pin(state, "tea", allow_pin_untrusted=True) == (
        NotePinned(slug="tea", untrusted_allowed=True),
    )


def test_what_a_note_once_held_does_not_stop_code_from_pinning_what_it_holds() -> None:
    state = given(WEB_TEA, TEA)

    assert pin(state, "tea") == (NotePinned(slug="tea", untrusted_allowed=False),)


def test_a_missing_note_is_named_with_the_nearest_slugs() -> None:
    state = given(TEA, note("teapot"), note("coffee"))

    for ask in (pin, unpin):
        with pytest.raises(NoteNotFoundError) as caught:
            ask(state, "teas")
        assert (caught.value.slug, caught.value.near) == ("teas", ("tea", "teapot"))


# --- History: superseded notes


CHAIN = (
    TEA,
    note("oolong"),
    note("matcha"),
    superseded("tea", by="oolong"),
    superseded("oolong", by="matcha"),
)


def test_rewriting_a_superseded_note_is_refused_and_the_living_end_named() -> None:
    with pytest.raises(SupersededNoteError) as caught:
        write(given(*CHAIN), slug="tea", body="black")

    assert (caught.value.slug, caught.value.living) == ("tea", "matcha")


def test_rewriting_a_superseded_note_is_refused_though_nothing_would_change() -> None:
    with pytest.raises(SupersededNoteError):
        write(given(*CHAIN), slug="tea")


def test_pinning_a_superseded_note_is_refused_and_the_living_end_named() -> None:
    with pytest.raises(SupersededNoteError) as caught:
        pin(given(*CHAIN), "oolong")

    assert (caught.value.slug, caught.value.living) == ("oolong", "matcha")


def test_pinning_a_superseded_note_is_refused_though_it_is_pinned() -> None:
    state = given(TEA, NotePinned(slug="tea"), note("new"), superseded("tea", by="new"))

    with pytest.raises(SupersededNoteError):
        pin(state, "tea")


def test_unpinning_a_superseded_note_is_allowed() -> None:
    state = given(TEA, NotePinned(slug="tea"), note("new"), superseded("tea", by="new"))

    assert unpin(state, "tea") == (NoteUnpinned(slug="tea"),)


@pytest.mark.parametrize("rel", ["related", "derived_from"])
def test_a_superseded_note_may_be_linked_in_both_directions(rel: Rel) -> None:
    state = given(*CHAIN, note("milk"))

    assert link(state, "tea", "milk", rel) == (
        NotesLinked(from_slug="tea", to_slug="milk", rel=rel),
    )
    assert link(state, "milk", "tea", rel) == (
        NotesLinked(from_slug="milk", to_slug="tea", rel=rel),
    )


def test_a_superseded_note_may_supersede_another_one() -> None:
    state = given(*CHAIN, note("milk"))

    assert link(state, "tea", "milk", "supersedes") == (superseded("milk", by="tea"),)


def test_a_note_that_is_live_again_may_be_rewritten() -> None:
    undone = NotesUnlinked(from_slug="new", to_slug="tea", rel="supersedes")
    state = given(TEA, note("new"), superseded("tea", by="new"), undone)

    assert slug_of(write(state, slug="tea", body="black")) == "tea"


def test_the_living_end_of_a_live_note_is_the_note() -> None:
    assert living_end(given(*CHAIN), "matcha") == "matcha"
    assert list(superseders(given(*CHAIN), "matcha")) == []


def test_superseders_are_listed_up_to_the_living_end() -> None:
    assert list(superseders(given(*CHAIN), "tea")) == ["oolong", "matcha"]


@pytest.mark.parametrize("start", ["tea", "oolong", "milk"])
def test_a_damaged_log_with_a_cycle_ends_every_walk(start: str) -> None:
    state = given(
        TEA,
        note("oolong"),
        note("milk"),
        superseded("tea", by="oolong"),
        superseded("oolong", by="tea"),
        superseded("milk", by="tea"),
    )

    walk = list(superseders(state, start))

    assert len(walk) == len(set(walk))
    assert living_end(state, start) in {"tea", "oolong"}


# --- Links


@pytest.mark.parametrize("rel", ["related", "derived_from", "supersedes"])
def test_linking_two_notes_adds_the_edge(rel: Rel) -> None:
    assert link(given(TEA, note("new")), "new", "tea", rel, label="why") == (
        NotesLinked(from_slug="new", to_slug="tea", rel=rel, label="why"),
    )


@pytest.mark.parametrize("rel", ["related", "derived_from", "supersedes"])
def test_linking_twice_adds_nothing(rel: Rel) -> None:
    edge = NotesLinked(from_slug="new", to_slug="tea", rel=rel, label="why")

    assert link(given(TEA, note("new"), edge), "new", "tea", rel, label="why") == ()


@pytest.mark.parametrize(
    "other",
    [
        NotesLinked(from_slug="tea", to_slug="new", rel="related", label="why"),
        NotesLinked(from_slug="new", to_slug="tea", rel="derived_from", label="why"),
        NotesLinked(from_slug="new", to_slug="tea", rel="related", label="because"),
        NotesLinked(from_slug="new", to_slug="tea", rel="related"),
    ],
)
def test_an_edge_is_all_four_of_its_fields(other: NotesLinked) -> None:
    state = given(TEA, note("new"), other)

    assert len(link(state, "new", "tea", "related", label="why")) == 1


@pytest.mark.parametrize(("from_slug", "to_slug"), [("tea", "missing"), ("missing", "tea")])
def test_both_ends_of_an_edge_must_exist(from_slug: str, to_slug: str) -> None:
    for ask in (link, unlink):
        with pytest.raises(NoteNotFoundError) as caught:
            ask(given(TEA), from_slug, to_slug, "related")
        assert caught.value.slug == "missing"


def test_one_note_may_supersede_many() -> None:
    state = given(TEA, note("milk"), note("new"), superseded("tea", by="new"))

    assert link(state, "new", "milk", "supersedes") == (superseded("milk", by="new"),)


def test_a_note_has_one_superseder_and_the_error_says_which() -> None:
    state = given(TEA, note("new"), note("newer"), superseded("tea", by="new"))

    with pytest.raises(AlreadySupersededError) as caught:
        link(state, "newer", "tea", "supersedes")

    assert (caught.value.slug, caught.value.superseded_by) == ("tea", "new")


def test_a_second_label_is_a_second_superseder() -> None:
    state = given(TEA, note("new"), superseded("tea", by="new"))

    with pytest.raises(AlreadySupersededError):
        link(state, "new", "tea", "supersedes", label="again")


def test_a_note_that_is_live_again_may_be_superseded_by_another() -> None:
    undone = NotesUnlinked(from_slug="new", to_slug="tea", rel="supersedes")
    state = given(TEA, note("new"), note("newer"), superseded("tea", by="new"), undone)

    assert link(state, "newer", "tea", "supersedes") == (superseded("tea", by="newer"),)


@pytest.mark.parametrize("length", [2, 3, 4, 10, 50])
def test_superseding_closes_no_cycle_of_any_length(length: int) -> None:
    slugs = [f"tea-{number}" for number in range(2, 2 + length)]
    links = [superseded(older, by=newer) for older, newer in pairwise(slugs)]
    state = given(*(note(slug) for slug in slugs), *links)

    with pytest.raises(SupersedeCycleError) as caught:
        link(state, slugs[0], slugs[-1], "supersedes")

    assert (caught.value.from_slug, caught.value.to_slug) == (slugs[0], slugs[-1])
    assert len(violations(state, superseded(slugs[-1], by=slugs[0]))) == 1


def test_two_chains_may_be_joined() -> None:
    state = given(*CHAIN, note("a"), note("b"), superseded("a", by="b"))

    assert link(state, "tea", "b", "supersedes") == (superseded("b", by="tea"),)


def test_other_links_may_close_cycles() -> None:
    edge = NotesLinked(from_slug="new", to_slug="tea", rel="derived_from")

    assert len(link(given(TEA, note("new"), edge), "tea", "new", "derived_from")) == 1


@pytest.mark.parametrize("rel", ["related", "derived_from", "supersedes"])
def test_unlinking_takes_the_edge_away(rel: Rel) -> None:
    edge = NotesLinked(from_slug="new", to_slug="tea", rel=rel, label="why")

    assert unlink(given(TEA, note("new"), edge), "new", "tea", rel, label="why") == (
        NotesUnlinked(from_slug="new", to_slug="tea", rel=rel, label="why"),
    )


@pytest.mark.parametrize(
    "other",
    [
        NotesLinked(from_slug="tea", to_slug="new", rel="related", label="why"),
        NotesLinked(from_slug="new", to_slug="tea", rel="derived_from", label="why"),
        NotesLinked(from_slug="new", to_slug="tea", rel="related"),
    ],
)
def test_unlinking_an_edge_that_is_not_there_is_nothing(other: NotesLinked) -> None:
    assert unlink(given(TEA, note("new"), other), "new", "tea", "related", label="why") == ()


# --- violations: what is wrong with an event that is already there

LEGAL: list[tuple[Fold, Payload]] = [
    (given(), TEA),
    (given(TEA), TEA),
    (given(TEA, NotePinned(slug="tea")), note("tea", body="oolong")),
    (given(WEB_TEA, NotePinned(slug="tea", untrusted_allowed=True)), TEA),
    (given(TEA), WEB_TEA),
    (given(TEA), NotePinned(slug="tea")),
    (given(WEB_TEA), NotePinned(slug="tea", untrusted_allowed=True)),
    (given(TEA), NotePinned(slug="tea", untrusted_allowed=True)),
    (given(TEA), NoteUnpinned(slug="tea")),
    (given(*CHAIN), NoteUnpinned(slug="tea")),
    (given(*CHAIN), NotesLinked(from_slug="tea", to_slug="oolong", rel="related")),
    (given(TEA, note("new")), superseded("tea", by="new")),
    (
        given(TEA, note("new"), superseded("tea", by="new")),
        NotesUnlinked(from_slug="new", to_slug="tea", rel="supersedes"),
    ),
    (given(), CompactionHarvested(key="k", entries_sha256="0" * 64, model="m")),
    (given(TEA), CompactionHarvested(key="k", entries_sha256="0" * 64, model="m", slugs=("tea",))),
    # Limits that are settings, or were, bind no stored event.
    (given(), NoteWritten(slug="tea", title="x" * 501, body="x" * 32_001)),
]


@pytest.mark.parametrize(("state", "event"), LEGAL)
def test_a_legal_event_violates_nothing(state: Fold, event: Payload) -> None:
    assert violations(state, event) == ()


ILLEGAL: list[tuple[Fold, Payload, tuple[str, ...]]] = [
    (
        given(*CHAIN),
        TEA,
        ("'tea' is superseded by 'oolong' and cannot be rewritten",),
    ),
    (
        given(TEA, NotePinned(slug="tea")),
        WEB_TEA,
        ("'tea' gets untrusted text under an old pin",),
    ),
    (
        given(TEA, NotePinned(slug="tea")),
        HARVESTED_TEA,
        ("'tea' gets untrusted text under an old pin",),
    ),
    (
        given(TEA, NotePinned(slug="tea"), note("new"), superseded("tea", by="new")),
        WEB_TEA,
        (
            "'tea' is superseded by 'new' and cannot be rewritten",
            "'tea' gets untrusted text under an old pin",
        ),
    ),
    (given(), NotePinned(slug="tea"), ("there is no note 'tea'",)),
    (
        given(*CHAIN),
        NotePinned(slug="tea"),
        ("'tea' is superseded by 'oolong' and cannot be pinned",),
    ),
    (
        given(WEB_TEA),
        NotePinned(slug="tea"),
        ("'tea' is pinned though it has a source URL",),
    ),
    (
        given(HARVESTED_TEA),
        NotePinned(slug="tea"),
        ("'tea' is pinned though its provenance is 'compaction'",),
    ),
    (given(), NoteUnpinned(slug="tea"), ("there is no note 'tea'",)),
    (
        given(TEA),
        NotesLinked(from_slug="tea", to_slug="x", rel="related"),
        ("there is no note 'x'",),
    ),
    (
        given(TEA),
        NotesLinked(from_slug="x", to_slug="tea", rel="supersedes"),
        ("there is no note 'x'",),
    ),
    (
        given(),
        NotesLinked(from_slug="x", to_slug="y", rel="related"),
        ("there is no note 'x'", "there is no note 'y'"),
    ),
    (
        given(TEA),
        NotesLinked(from_slug="tea", to_slug="tea", rel="related"),
        ("'tea' is linked to itself",),
    ),
    (
        given(TEA),
        superseded("tea", by="tea"),
        ("'tea' is linked to itself",),
    ),
    (
        given(*CHAIN),
        superseded("tea", by="matcha"),
        ("'tea' is already superseded by 'oolong'",),
    ),
    (
        given(*CHAIN),
        superseded("matcha", by="tea"),
        ("'tea' and 'matcha' supersede each other",),
    ),
    (
        given(TEA, note("new")),
        NotesUnlinked(from_slug="new", to_slug="tea", rel="related"),
        ("there is no related link from 'new' to 'tea'",),
    ),
    (
        given(TEA),
        NotesUnlinked(from_slug="x", to_slug="tea", rel="related"),
        ("there is no note 'x'", "there is no related link from 'x' to 'tea'"),
    ),
    (
        given(TEA),
        CompactionHarvested(key="k", entries_sha256="0" * 64, model="m", slugs=("tea", "x", "y")),
        ("there is no note 'x'", "there is no note 'y'"),
    ),
]


@pytest.mark.parametrize(("state", "event", "faults"), ILLEGAL)
def test_an_illegal_event_is_told_each_rule_that_it_breaks(
    state: Fold, event: Payload, faults: tuple[str, ...]
) -> None:
    assert violations(state, event) == faults
