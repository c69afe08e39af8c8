"""`memlog.testing` itself: what it promises to other people's tests, and that its page is true."""

import re
import subprocess
import sys
import unicodedata
import uuid
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import Phase, find, settings
from hypothesis import given as for_all
from hypothesis import strategies as st

import memlog.testing
from memlog import Note, Scope, codec, text
from memlog.decide import violations
from memlog.events import (
    CompactionHarvested,
    Event,
    NotePinned,
    NotesLinked,
    NotesUnlinked,
    NoteUnpinned,
    NoteWritten,
)
from memlog.requests import Write
from memlog.testing import (
    START,
    CountingIds,
    FixedClock,
    StumblingClock,
    given,
    model_text,
    open_log,
    record,
    strategies,
)

ROOT = Path(memlog.testing.__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "TESTING.md").read_text("utf-8")
QUICK_TO_FIND = settings(max_examples=300, phases=[Phase.generate], database=None)
LINES_OF_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=120)


def test_the_examples_of_its_page_run() -> None:
    examples = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(examples) == 5
    exec(compile("\n".join(examples), "docs/TESTING.md", "exec"), {})  # noqa: S102  # our own page


@pytest.mark.parametrize("name", memlog.testing.__all__)
def test_its_page_names_what_is_public(name: str) -> None:
    constants = {"LOG_ID", "START", "ScopeModel"}
    assert name in constants or f"`{name}" in PAGE or f"{name}(" in PAGE


def test_it_can_be_imported_without_hypothesis() -> None:
    code = "import sys; sys.modules['hypothesis'] = None; import memlog.testing"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False)

    assert done.returncode == 0


# --- Clocks and ids


def test_a_fixed_clock_moves_only_when_told() -> None:
    clock = FixedClock()

    assert clock() == clock() == START
    assert clock.advance(1.5) == clock() == START + timedelta(seconds=1.5)
    assert clock.advance(-60) < START


def test_a_stumbling_clock_goes_back_and_a_log_does_not() -> None:
    clock = StumblingClock()
    times = [clock() for _ in range(6)]
    assert times != sorted(times)

    with open_log(clock=StumblingClock()) as log:
        memory = log.scope("global")
        for number in range(9):
            memory.write(title="Tea", body=str(number))
        recorded = [event.recorded_at for event in log.events()]

    assert recorded == sorted(recorded)
    assert len(set(recorded)) > 1


def test_counted_ids_are_valid_different_and_the_same_every_time() -> None:
    one, same, other = CountingIds(), CountingIds(), CountingIds(1)
    ids = [one.new_id() for _ in range(50)]
    salts = [one.new_salt() for _ in range(50)]

    assert ids == [same.new_id() for _ in range(50)]
    assert salts == [same.new_salt() for _ in range(50)]
    assert len({*ids, *(other.new_id() for _ in range(50))}) == 100
    assert {uuid.UUID(each).version for each in ids} == {4}
    assert {len(salt) for salt in salts} == {codec.SALT_BYTES}


def test_recorded_payloads_keep_the_rules_out_of_it() -> None:
    """A broken log can be made on purpose."""
    with open_log() as log:
        memory = log.scope("global")
        wrong = NotePinned(slug="tea")
        web = NoteWritten(slug="tea", title="Tea", body="x", provenance="compaction")

        appended = record(memory, [web, wrong])

        assert [event.seq for event in appended] == [1, 2]
        assert list(memory.events()) == list(appended)
        assert violations(given(web), wrong) != ()


# --- Strategies


@for_all(strategies.scopes())
def test_scopes_have_a_stream_of_their_own(scope: Scope) -> None:
    assert Scope.of_stream(scope.stream) == scope


@for_all(strategies.notes())
def test_notes_are_as_a_first_write_makes_them(note: Note) -> None:
    assert note.live
    assert (note.created_seq, note.written_seq) == (1, 1)
    assert note.updated_seq == 1 + note.pinned
    assert text.is_slug(note.slug)


@for_all(strategies.texts())
def test_texts_are_accepted_as_they_are(body: str) -> None:
    with open_log() as log:
        assert log.scope("global").write(title="x", body=body).note.body == body


@pytest.mark.parametrize(
    "kind",
    [NoteWritten, NotePinned, NoteUnpinned, NotesLinked, NotesUnlinked, CompactionHarvested],
)
def test_histories_hold_every_kind_of_event(kind: type) -> None:
    def has_kind(history: tuple[Event, ...]) -> bool:
        return any(isinstance(event.payload, kind) for event in history)

    assert find(strategies.histories(), has_kind, settings=QUICK_TO_FIND)


def test_histories_rewrite_and_supersede() -> None:
    def is_rich(history: tuple[Event, ...]) -> bool:
        slugs = [each.payload.slug for each in history if isinstance(each.payload, NoteWritten)]
        linked = [each.payload.rel for each in history if isinstance(each.payload, NotesLinked)]
        return len(slugs) > len(set(slugs)) and "supersedes" in linked

    assert find(strategies.histories(), is_rich, settings=QUICK_TO_FIND)


@for_all(strategies.histories(streams=("owner/a", "owner/b")))
def test_histories_have_the_places_and_times_of_one_log(history: tuple[Event, ...]) -> None:
    seqs = {"owner/a": 0, "owner/b": 0}
    for position, event in enumerate(history, start=1):
        seqs[event.stream] += 1
        assert (event.position, event.seq) == (position, seqs[event.stream])
    times = [event.recorded_at for event in history]
    assert times == sorted(times)
    assert len({event.event_id for event in history}) == len(history)


@for_all(strategies.requests())
def test_requests_are_well_formed(request: object) -> None:
    if isinstance(request, Write):
        assert request.content.title in strategies.TITLES


# --- The model's own text functions agree with the library's; neither uses the other


@for_all(LINES_OF_TEXT.filter(str.strip))
def test_the_model_makes_the_same_slugs(title: str) -> None:
    assert model_text.slug(title) == text.slugify(title)


@for_all(st.lists(LINES_OF_TEXT, max_size=4))
def test_the_model_makes_the_same_topics(topics: list[str]) -> None:
    assert model_text.topics(topics) == text.normalize_topics(topics)


def test_the_model_takes_every_character_as_the_library_does() -> None:
    for code in [*range(0xD800), *range(0xE000, sys.maxunicode + 1)]:
        if unicodedata.category(character := chr(code)) not in ("Cn", "Co"):
            title = f"x{character}茶"  # It joins the one, or the other, or neither.
            assert model_text.words(title, ()) == text.words(title, ()), hex(code)


@for_all(LINES_OF_TEXT | st.text("茶の湯ab 1가\u3007", max_size=20))
def test_the_model_makes_the_same_words(title: str) -> None:
    assert model_text.words(title, ()) == text.words(title, ())


@for_all(st.sampled_from(["tea", "y" * 80, "a-" * 39 + "b", "t." * 39]), st.integers(2, 10**15 - 1))
def test_the_model_numbers_alike(stem: str, number: int) -> None:
    slug = model_text.numbered(stem, number)

    assert slug == text.numbered_slug(stem, number)
    assert model_text.number(slug, stem) == number
    assert text.split_number(slug)[0] in text.numbering_stems(stem)
