"""`memory.diff`: what is otherwise at one moment than at another, and the lines that differ."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given as for_all
from hypothesis import settings as examples
from hypothesis import strategies as st

import memlog
from memlog.audit.matching import matching
from memlog.audit.textdiff import unified
from memlog.errors import InvalidRequestError
from memlog.events import Event
from memlog.note import Link, Note
from memlog.testing import START, FixedClock, open_log, strategies
from projections.notes.fold import Fold
from tests.audit.reads import recorded

HISTORIES = strategies.histories(max_requests=14)
CONTENT = ("title", "body", "topics", "confidence", "provenance", "source", "extra")
LINES = st.lists(st.sampled_from(["", "a", "b", "c", " x", "-y"]), max_size=30).map("\n".join)


def content(note: Note) -> tuple[object, ...]:
    return tuple(getattr(note, name) for name in CONTENT)


@for_all(HISTORIES, st.data())
def test_it_is_the_difference_of_the_two_sets_of_notes(
    history: tuple[Event, ...], data: st.DataObject
) -> None:
    seqs = st.integers(0, len(history))
    first, second = data.draw(seqs), data.draw(seqs)
    old, new = Fold.of(history[:first]), Fold.of(history[:second])
    with recorded(history) as log:
        found = log.scope("owner", "alice").diff(first, second)

    both = sorted(old.notes.keys() & new.notes.keys())
    assert [note.slug for note in found.added] == sorted(new.notes.keys() - old.notes.keys())
    assert [note.slug for note in found.removed] == sorted(old.notes.keys() - new.notes.keys())
    assert [each.slug for each in found.rewritten] == [
        slug for slug in both if content(old.notes[slug]) != content(new.notes[slug])
    ]
    assert {*found.pinned} - {*found.unpinned} == {
        slug for slug, note in new.notes.items() if note.pinned
    } - {slug for slug, note in old.notes.items() if note.pinned}
    assert {*found.linked} == {*new.links} - {*old.links}
    assert {*found.unlinked} == {*old.links} - {*new.links}
    superseded = {slug: note.superseded_by for slug, note in new.notes.items() if not note.live}
    assert {each.slug: each.superseded_by for each in found.superseded} == {
        slug: by
        for slug, by in superseded.items()
        if slug not in old.notes or old.notes[slug].superseded_by != by
    }
    assert {*found.restored} == {
        slug for slug, note in old.notes.items() if not note.live
    } - superseded.keys()
    if (old.notes, old.links) == (new.notes, new.links):
        assert not found


@for_all(HISTORIES)
@examples(max_examples=20)
def test_there_and_back_is_the_opposite_and_a_moment_does_not_differ_from_itself(
    history: tuple[Event, ...],
) -> None:
    with recorded(history) as log:
        memory = log.scope("owner", "alice")
        there, back = memory.diff(0), memory.diff(len(history), 0)
        same = memory.diff(len(history), len(history))

    assert [note.slug for note in there.added] == [note.slug for note in back.removed]
    assert (there.pinned, there.linked) == (back.unpinned, back.unlinked)
    assert not same


def test_it_names_every_kind_of_change() -> None:
    with open_log() as log:
        memory = log.scope("owner", "alice")
        memory.write(title="Tea", body="green\nhot\nsweet")
        memory.write(title="Cha", body="x", pinned=True)
        memory.link("cha", "tea", "related", label="also")
        before = memory.at(seq=4)
        memory.write(title="Green tea", body="green\ncold\nsweet", slug="tea", topics=["hot"])
        memory.pin("tea")
        memory.unpin("cha")
        memory.unlink("cha", "tea", "related", label="also")
        memory.write(title="Oolong", body="half")
        memory.link("oolong", "cha", "supersedes")

        found = memory.diff(before)

    (rewritten,) = found.rewritten
    assert [note.slug for note in found.added] == ["oolong"]
    assert (rewritten.slug, rewritten.changed) == ("tea", ("title", "body", "topics"))
    assert (rewritten.before.title, rewritten.after.title) == ("Tea", "Green tea")
    assert rewritten.text_diff.splitlines() == [
        "--- tea (seq 1)",
        "+++ tea (seq 5)",
        "@@ -1,3 +1,3 @@",
        " green",
        "-hot",
        "+cold",
        " sweet",
    ]
    assert (found.pinned, found.unpinned) == (("tea",), ("cha",))
    assert found.linked == (Link("oolong", "cha", "supersedes"),)
    assert found.unlinked == (Link("cha", "tea", "related", "also"),)
    assert [(each.slug, each.superseded_by) for each in found.superseded] == [("cha", "oolong")]
    assert (found.before.seq, found.after.seq) == (4, 10)


def test_a_note_that_got_another_superseder_is_superseded_anew() -> None:
    with open_log() as log:
        memory = log.scope("owner", "alice")
        memory.write_many([{"title": title, "body": "x"} for title in ("Tea", "Cha", "Sencha")])
        memory.link("cha", "tea", "supersedes")
        memory.unlink("cha", "tea", "supersedes")
        memory.link("sencha", "tea", "supersedes")

        found = memory.diff(4)

    assert [(each.slug, each.superseded_by) for each in found.superseded] == [("tea", "sencha")]
    assert found.restored == ()


def test_what_some_events_changed_is_the_difference_to_a_past_without_them() -> None:
    with open_log() as log:
        memory = log.scope("owner", "alice")
        memory.write(title="Tea", body="green", conversation_id="good")
        memory.write(title="Tea", body="poison", slug="tea", conversation_id="bad")
        memory.write(title="Cha", body="x", conversation_id="bad")

        found = memory.diff(
            memory.at(seq=3, without=matching(conversation_id="bad")), memory.at(seq=3)
        )

    assert [note.slug for note in found.added] == ["cha"]
    assert [(each.slug, each.changed) for each in found.rewritten] == [("tea", ("body",))]


def test_moments_are_seqs_times_and_pasts() -> None:
    clock = FixedClock()
    with open_log(clock=clock) as log:
        memory = log.scope("owner", "alice")
        memory.write(title="Tea", body="green")
        clock.advance(60)
        memory.write(title="Oolong", body="half")

        by_time = memory.diff(START, START + timedelta(seconds=60))
        by_past = memory.diff(memory.at(position=1), memory.at(position=2))

        assert [note.slug for note in memory.diff(1).added] == ["oolong"]
        assert by_time.added == by_past.added == memory.diff(1, 2).added


NO_TIME = datetime(2026, 1, 1)  # noqa: DTZ001  # that is the point
NEVER = datetime(9999, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("when", ["1", 1.0, True, None, 3, NO_TIME, NEVER])
def test_what_is_no_moment_is_refused(when: object) -> None:
    with open_log() as log:
        memory = log.scope("owner", "alice")
        memory.write(title="Tea", body="green")
        memory.write(title="Tea", body="black")

        with pytest.raises(InvalidRequestError):
            memory.diff(when)  # type: ignore[arg-type]  # that is the point


def test_a_past_of_another_scope_is_refused() -> None:
    with open_log() as log, pytest.raises(InvalidRequestError, match="another scope"):
        log.scope("global").diff(log.scope("owner", "alice").at(seq=0))


def test_a_past_of_another_log_is_refused() -> None:
    with open_log() as log, memlog.open(":memory:") as other:
        past = other.scope("global").at(seq=0)
        with pytest.raises(InvalidRequestError, match="another log"):
            log.scope("global").diff(past)


# --- The text


def patched(old: str, diff: str) -> str:
    """Apply a unified diff, as `patch` does; every line of it must fit."""
    lines, result, at = old.split("\n"), [], 0
    for line in diff.split("\n")[2:]:
        hunk = re.fullmatch(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@", line)
        if hunk is not None:
            start = int(hunk[1]) - (1 if int(hunk[2]) else 0)
            result += lines[at:start]
            at = start
        elif line[:1] == "+":
            result.append(line[1:])
        else:
            assert lines[at] == line[1:]
            result += [line[1:]] if line[:1] == " " else []
            at += 1
    return "\n".join([*result, *lines[at:]])


@for_all(LINES, LINES)
def test_a_text_diff_leads_from_the_old_text_to_the_new_one(old: str, new: str) -> None:
    diff = unified(old, new, old_name="old", new_name="new")

    assert (diff == "") == (old == new)
    if diff:
        assert patched(old, diff) == new


@for_all(strategies.texts(), strategies.texts())
def test_a_text_diff_keeps_every_character(old: str, new: str) -> None:
    diff = unified(old, new, old_name="old", new_name="new")

    if diff:
        assert patched(old, diff) == new


def test_texts_that_were_made_to_be_slow_are_replaced_whole() -> None:
    """Eight thousand lines each, none of them common enough for difflib to pass over."""
    old = "\n".join(str(n % 120) for n in range(8_000))
    new = "\n".join(str(n * 31 % 113) for n in range(8_000))

    diff = unified("a\n" + old, "a\n" + new, old_name="old", new_name="new")

    signs = [line[:1] for line in diff.split("\n")[3:]]
    assert signs == sorted(signs, key=" -+".index), "all of the old lines, then all of the new ones"
    assert patched("a\n" + old, diff) == "a\n" + new


def test_a_small_change_of_a_long_text_is_small() -> None:
    old = [str(n % 97) for n in range(8_000)]
    new = [*old[:4_000], "changed", *old[4_001:]]

    diff = unified("\n".join(old), "\n".join(new), old_name="old", new_name="new")

    assert len(diff.split("\n")) == 2 + 1 + 3 + 2 + 3
