"""The notes tables against brute force: similar notes, word postings, near slugs, twins."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from memlog import Log, Memory, Note, NoteNotFoundError, Settings, Similar, text
from memlog.testing import model_text, open_log, tables_equal_fold

THRESHOLDS = (0.01, 0.07, 0.14, 0.28, 0.3, 0.5, 0.55, 0.56, 0.6, 0.7, 0.9, 1.0)
SIMILAR_MAX = 5
WINDOW = 200


def log_with(threshold: float) -> Log:
    return open_log(settings=Settings(duplicate_threshold=threshold))


Carried = list[tuple[Note, frozenset[str]]]


def carried(memory: Memory) -> Carried:
    """Return the live notes with their words, the last touched first."""
    notes = memory.notes(limit=10_000, live_only=True)
    notes.sort(key=lambda note: -note.updated_seq)
    return [(note, model_text.words(note.title, note.topics)) for note in notes]


def brute_force(notes: Carried, title: str, threshold: float) -> list[Similar]:
    """Return every note from the threshold on, best first, then the last touched first."""
    words = model_text.words(title, ())
    scored = [
        Similar(note.slug, note.title, len(words & others) / max(1, len(words | others)))
        for note, others in notes
    ]
    return sorted((each for each in scored if each.score >= threshold), key=lambda s: -s.score)


def titles_of(seed: int, *, count: int, vocabulary: int, longest: int) -> list[str]:
    """Return titles of words of which low numbers are common and high ones rare."""
    rng = random.Random(seed)
    return [
        " ".join(
            f"w{min(int(rng.expovariate(4 / vocabulary)), vocabulary)}"
            for _ in range(rng.randint(1, longest))
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("seed", range(3))
def test_similar_is_exact_while_no_word_is_carried_by_more_than_a_window(
    threshold: float, seed: int
) -> None:
    titles = titles_of(seed, count=WINDOW, vocabulary=40, longest=30)
    with log_with(threshold) as log:
        memory = log.scope("global")
        memory.write_many([{"title": title, "body": "x"} for title in titles])

        notes = carried(memory)

        for title in titles_of(seed + 100, count=40, vocabulary=40, longest=30):
            found = memory.similar(title)
            assert list(found) == brute_force(notes, title, threshold)[:SIMILAR_MAX]


@for_all(
    st.lists(st.text("abc ", min_size=1, max_size=12).filter(str.strip), min_size=1, max_size=25),
    st.lists(st.tuples(st.integers(0, 24), st.integers(0, 24)), max_size=8),
    st.text("abc ", max_size=12),
    st.sampled_from(THRESHOLDS),
)
def test_similar_is_exact_after_pins_rewrites_and_supersessions(
    titles: list[str], changes: list[tuple[int, int]], asked: str, threshold: float
) -> None:
    with log_with(threshold) as log:
        memory = log.scope("global")
        slugs = [memory.write(title=title, body=str(n)).note.slug for n, title in enumerate(titles)]
        for one, other in changes:
            newer, older = slugs[one % len(slugs)], slugs[other % len(slugs)]
            note = memory.read(older).note
            if newer == older and note.live:
                memory.pin(older)
            elif note.live and memory.read(newer).note.live:
                memory.link(newer, older, "supersedes")
        exact = brute_force(carried(memory), asked, threshold)
        assert list(memory.similar(asked)) == exact[:SIMILAR_MAX]
        assert tables_equal_fold(log)


@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.7])
@pytest.mark.parametrize("seed", range(2))
def test_among_hundreds_that_share_words_scores_are_exact_and_no_recent_note_is_missed(
    threshold: float, seed: int
) -> None:
    """Which rare words are chosen is free; a note that is in the window of each word it shares
    must be found whichever they are."""
    titles = titles_of(seed, count=700, vocabulary=12, longest=6)
    with log_with(threshold) as log:
        memory = log.scope("global")
        memory.write_many([{"title": title, "body": str(n)} for n, title in enumerate(titles)])
        notes = carried(memory)
        newest = {
            word: {note.slug for note in [n for n, words in notes if word in words][:WINDOW]}
            for word in {word for _, words in notes for word in words}
        }
        assert max(sum(word in words for _, words in notes) for word in newest) > 2 * WINDOW

        for title in titles_of(seed + 100, count=30, vocabulary=12, longest=6):
            found = list(memory.similar(title))
            exact = brute_force(notes, title, threshold)
            places = [exact.index(each) for each in found]
            assert places == sorted(places)
            for place, each in enumerate(exact):
                shared = model_text.words(title, ()) & model_text.words(each.title, ())
                if each not in found and all(each.slug in newest[word] for word in shared):
                    assert len(found) == SIMILAR_MAX
                    assert places[-1] < place


def test_an_old_note_is_found_by_its_rare_word_among_hundreds_of_the_common_ones() -> None:
    """Its common words lie outside of their windows, and its score is exact all the same."""
    with log_with(0.5) as log:
        memory = log.scope("global")
        memory.write(title="daily summary zebra", body="x")
        memory.write(title="daily zebra monday tuesday", body="x")
        memory.write_many([{"title": "daily summary", "body": str(n)} for n in range(450)])

        found = memory.similar("daily summary zebra")

        assert found[0] == Similar("daily-summary-zebra", "daily summary zebra", 1.0)
        assert [each.score for each in found[1:]] == [2 / 3] * 4


@pytest.mark.parametrize("count", [150, 151, 300, 301, 451])
def test_words_stay_right_across_parts(count: int) -> None:
    """Notes leave the oldest part, the middle and the newest, and come back at the end."""
    with open_log() as log:
        memory = log.scope("global")
        memory.write_many([{"title": "same", "body": str(n)} for n in range(count)])
        for number in (1, count // 3, count - 1, 140, 2):
            memory.pin(text.numbered_slug("same", number) if number > 1 else "same")
        memory.link("same-3", "same-4", "supersedes")
        memory.write(title="other", body="x", slug="same-5")

        assert tables_equal_fold(log)
        assert [each.slug for each in memory.similar("same")][:2] == ["same-2", "same-140"]
        assert log.rebuild().differences == ()


def test_a_word_that_everybody_left_can_be_carried_again() -> None:
    with open_log() as log:
        memory = log.scope("global")
        memory.write_many([{"title": "same", "body": str(n)} for n in range(160)])
        memory.write_many(
            [{"title": "gone", "body": "x", "slug": note.slug} for note in memory.notes()]
        )
        assert memory.similar("same") == ()

        memory.write(title="same", body="back", slug="same")

        assert [each.slug for each in memory.similar("same")] == ["same"]
        assert tables_equal_fold(log)


def test_a_twin_is_found_among_hundreds_of_the_same_title() -> None:
    with open_log() as log:
        memory = log.scope("global")
        memory.write_many([{"title": "same", "body": str(n)} for n in range(300)])

        assert [memory.write(title="same", body=str(n)).note.slug for n in (0, 1, 150, 299)] == [
            "same",
            "same-2",
            "same-151",
            "same-300",
        ]
        assert log.position() == 300


def test_a_write_with_another_field_is_no_twin() -> None:
    with open_log() as log:
        memory = log.scope("global")
        memory.write(title="same", body="x")

        for fields in (
            {"confidence": 0.5},
            {"topics": ["a"]},
            {"source": {"note": "n"}},
            {"extra": {"k": "v"}},
            {"provenance": "user"},
        ):
            arguments = {"title": "same", "body": "x", **fields}
            first, second = memory.write_many([arguments, arguments])
            assert (first.created, second.created) == (True, False)


@pytest.mark.parametrize(
    ("slugs", "wrong", "near"),
    [
        (["tea", "oolong"], "tee", ["tea"]),
        (["deploy-key", "deploy-keys", "deploy"], "deploy-kye", ["deploy-key", "deploy-keys"]),
        (["tea"], "coffee", []),
        ([], "tea", []),
    ],
)
def test_near_slugs_are_offered(slugs: Sequence[str], wrong: str, near: Sequence[str]) -> None:
    with open_log() as log:
        memory = log.scope("global")
        for slug in slugs:
            memory.write(title="x", body=slug, slug=slug)

        with pytest.raises(NoteNotFoundError) as caught:
            memory.read(wrong)

        assert list(caught.value.near)[:2] == near
