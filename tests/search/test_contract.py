"""What every search backend promises; run on Whoosh, with and without a directory, and on brute
force."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from projections.search import SearchBackend, Weights, WhooshBackend
from tests.search.notebook import START, Notebook
from tests.search.reference import ReferenceBackend

PLAIN = Weights(recency_weight=0.0, pinned_bonus=0.0)

BACKENDS: dict[str, Callable[[Path], SearchBackend]] = {
    "whoosh": lambda path: WhooshBackend(path / "index", idle_s=3_600.0),
    "whoosh in memory": lambda _path: WhooshBackend(None, idle_s=3_600.0),
    "brute force": lambda _path: ReferenceBackend(),
}


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SearchBackend]:
    made = BACKENDS[request.param](tmp_path)
    yield made
    made.close()


def slugs(
    backend: SearchBackend, notes: Notebook, query: str, *, limit: int = 10,
    topic: str | None = None, include_superseded: bool = False, weights: Weights = PLAIN,
) -> list[str]:  # fmt: skip
    hits = backend.search(
        notes, query, now=START, limit=limit, topic=topic,
        include_superseded=include_superseded, weights=weights,
    )  # fmt: skip
    return [hit.slug for hit in hits]


def test_an_empty_scope_finds_nothing(backend: SearchBackend) -> None:
    assert slugs(backend, Notebook(), "tea") == []
    assert slugs(backend, Notebook(), "") == []


def test_a_write_is_found_by_the_next_search(backend: SearchBackend) -> None:
    notes = Notebook()
    notes.write("tea", body="Oolong steeps for three minutes.")
    assert slugs(backend, notes, "oolong") == ["tea"]

    notes.write("coffee", body="Oolong is no coffee.")

    assert set(slugs(backend, notes, "oolong")) == {"tea", "coffee"}


def test_title_topics_and_body_are_searched(backend: SearchBackend) -> None:
    notes = Notebook()
    notes.write("a", title="Kestrel", body="x", topics=("y",))
    notes.write("b", title="x", body="kestrel", topics=("y",))
    notes.write("c", title="x", body="y", topics=("kestrel",))

    assert set(slugs(backend, notes, "kestrel")) == {"a", "b", "c"}


def test_a_rewritten_note_is_found_by_its_new_words_only(backend: SearchBackend) -> None:
    notes = Notebook()
    notes.write("tea", body="oolong")
    assert slugs(backend, notes, "oolong") == ["tea"]

    notes.write("tea", body="sencha")

    assert slugs(backend, notes, "oolong") == []
    assert slugs(backend, notes, "sencha") == ["tea"]


def test_a_superseded_note_appears_only_when_asked_for(backend: SearchBackend) -> None:
    notes = Notebook()
    notes.write("old", body="the key rotates weekly")
    notes.write("new", body="the key rotates monthly")
    assert set(slugs(backend, notes, "key rotates")) == {"old", "new"}

    notes.supersede("new", "old")

    assert slugs(backend, notes, "key rotates") == ["new"]
    assert set(slugs(backend, notes, "key rotates", include_superseded=True)) == {"old", "new"}
    hits = backend.search(notes, "weekly", now=START, include_superseded=True, weights=PLAIN)
    assert [hit.superseded_by for hit in hits] == ["new"]

    notes.unlink("old")

    assert set(slugs(backend, notes, "key rotates")) == {"old", "new"}


def test_statistics_are_those_of_live_notes_whatever_the_options(backend: SearchBackend) -> None:
    alone, crowded = Notebook("owner/a"), Notebook("owner/b")
    for notes in (alone, crowded):
        notes.write("x", body="falcon and heron")
        notes.write("y", body="heron by the lake")
    for number in range(5):
        crowded.write(f"gone-{number}", body="falcon falcon falcon")
        crowded.supersede("x", f"gone-{number}")

    for everything in (False, True):
        scores = [
            {
                hit.slug: hit.score
                for hit in backend.search(
                    notes, "falcon heron", now=START, limit=20,
                    include_superseded=everything, weights=PLAIN,
                )
            }
            for notes in (alone, crowded)
        ]  # fmt: skip
        assert {slug: scores[1][slug] for slug in ("x", "y")} == pytest.approx(scores[0], rel=1e-12)


def test_the_topic_filter_is_exact_and_applies_before_the_limit(backend: SearchBackend) -> None:
    notes = Notebook()
    for number in range(20):
        notes.write(f"other-{number}", title="release release", body="release", topics=("work",))
    notes.write("mine", body="a release that is rarely named", topics=("home", "work-log"))

    assert slugs(backend, notes, "release", limit=1, topic="home") == ["mine"]
    assert slugs(backend, notes, "release", limit=1, topic="work-log") == ["mine"]
    assert slugs(backend, notes, "release", topic="wor") == []
    assert slugs(backend, notes, "", topic="home") == ["mine"]


def test_a_blank_query_lists_the_most_recently_written(backend: SearchBackend) -> None:
    notes = Notebook()
    for slug in ("a", "b", "c"):
        notes.write(slug)
    notes.touch("a", pinned=True)

    assert slugs(backend, notes, " \n\t", limit=2) == ["c", "b"]


@pytest.mark.parametrize("query", ["***", "...", "🚀", "\ud800", "\x00", "'", "_", "()"])
def test_a_query_without_a_word_finds_nothing(backend: SearchBackend, query: str) -> None:
    notes = Notebook()
    notes.write("a", body="anything at all")

    assert slugs(backend, notes, query) == []


def test_a_query_of_stop_words_uses_them_all(backend: SearchBackend) -> None:
    notes = Notebook()
    notes.write("a", body="To be, or not to be")
    notes.write("b", body="Tea")

    assert slugs(backend, notes, "to be or not to be") == ["a"]


@pytest.mark.parametrize("limit", [0, -1, -100])
def test_a_limit_below_one_finds_nothing(backend: SearchBackend, limit: int) -> None:
    notes = Notebook()
    notes.write("a", body="tea")

    assert slugs(backend, notes, "tea", limit=limit) == []
    assert slugs(backend, notes, "", limit=limit) == []


def test_a_newer_note_ranks_above_its_older_twin_and_the_future_counts_as_now(
    backend: SearchBackend,
) -> None:
    notes = Notebook()
    notes.write("future", body="tea", days=90)
    notes.write("old", body="tea", days=0)
    notes.write("new", body="tea", days=30)
    hits = backend.search(notes, "tea", now=START + timedelta(days=60), weights=Weights())

    assert [hit.slug for hit in hits] == ["future", "new", "old"]
    assert [hit.recency for hit in hits] == pytest.approx([0.2, 0.1, 0.05])


def test_a_pinned_note_ranks_above_its_twin(backend: SearchBackend) -> None:
    notes = Notebook()
    notes.write("pinned", body="tea")
    notes.write("plain", body="tea")
    assert slugs(backend, notes, "tea") == ["plain", "pinned"]

    notes.touch("pinned", pinned=True)

    hits = backend.search(notes, "tea", now=START, weights=Weights(recency_weight=0.0))
    assert [hit.slug for hit in hits] == ["pinned", "plain"]
    assert [hit.pin for hit in hits] == [0.2, 0.0]


def test_the_score_is_what_its_parts_say(backend: SearchBackend) -> None:
    notes = Notebook()
    notes.write("a", body="tea time", pinned=True, days=3)
    notes.write("b", body="tea")
    for hit in backend.search(notes, "tea", now=START + timedelta(days=9), weights=Weights()):
        assert hit.score == pytest.approx(hit.relevance * (1 + hit.recency + hit.pin))
        assert hit.relevance > 0


def test_equal_scores_go_to_the_higher_updated_seq(backend: SearchBackend) -> None:
    notes = Notebook()
    for slug in ("a", "b", "c", "d"):
        notes.write(slug, title="same", body="tea")
    notes.touch("b")

    assert slugs(backend, notes, "tea") == ["b", "d", "c", "a"]
    assert slugs(backend, notes, "tea", limit=2) == ["b", "d"]


def test_a_repeated_word_counts_as_often_as_it_stands(backend: SearchBackend) -> None:
    notes = Notebook()
    notes.write("a", title="x", body="ebb")
    notes.write("b", title="x", body="flow")

    assert slugs(backend, notes, "ebb flow flow flow") == ["b", "a"]
    assert slugs(backend, notes, "ebb ebb ebb flow") == ["a", "b"]


def test_events_that_touch_no_note_change_nothing(backend: SearchBackend) -> None:
    notes = Notebook()
    notes.write("a", body="tea")
    before = backend.search(notes, "tea", now=START, weights=PLAIN)
    notes.other_event()

    assert backend.search(notes, "tea", now=START, weights=PLAIN) == before


def test_scopes_share_no_result_and_no_statistic(backend: SearchBackend) -> None:
    mine, other = Notebook("owner/alice"), Notebook("owner/bob")
    mine.write("a", body="tea and biscuits")
    mine.write("b", body="coffee")
    before = backend.search(mine, "tea coffee", now=START, weights=PLAIN)
    for number in range(50):
        other.write(f"n-{number}", body="tea tea tea " * number)
    assert len(slugs(backend, other, "tea", limit=99)) == 49
    backend.commit(other)
    backend.commit(mine)

    assert backend.search(mine, "tea coffee", now=START, weights=PLAIN) == before
    assert slugs(backend, other, "biscuits") == []


def test_two_logs_with_one_owner_share_nothing(backend: SearchBackend) -> None:
    first = Notebook(log_id="00000000-0000-4000-8000-000000000001")
    second = Notebook(log_id="00000000-0000-4000-8000-000000000002")
    first.write("a", body="tea")

    assert slugs(backend, first, "tea") == ["a"]
    assert slugs(backend, second, "tea") == []


def test_commit_and_rebuild_change_no_answer(backend: SearchBackend) -> None:
    notes = Notebook()
    for number in range(40):
        notes.write(f"n-{number}", body=f"tea {'cup ' * (number % 7)}")
    before = backend.search(notes, "tea cup", now=START, limit=40, weights=PLAIN)
    for act in (backend.commit, backend.rebuild, backend.commit):
        act(notes)
        assert backend.search(notes, "tea cup", now=START, limit=40, weights=PLAIN) == before


def test_a_private_backend_shares_nothing_and_leaves_no_file(
    backend: SearchBackend, tmp_path: Path
) -> None:
    then, notes = Notebook(), Notebook()
    then.write("tea", body="green")
    notes.write("tea", body="green")
    notes.write("more-tea", body="black tea")
    assert {*slugs(backend, notes, "tea")} == {"tea", "more-tea"}
    backend.commit(notes)
    files = sorted(tmp_path.rglob("*"))

    private = backend.private()

    assert slugs(private, then, "tea") == ["tea"]
    assert {*slugs(backend, notes, "tea")} == {"tea", "more-tea"}
    private.close()
    assert sorted(tmp_path.rglob("*")) == files


def test_a_closed_backend_may_be_closed_again(backend: SearchBackend) -> None:
    backend.close()
    backend.close()


def test_a_million_characters_are_a_query(backend: SearchBackend) -> None:
    notes = Notebook()
    notes.write("a", body="needle in a haystack")
    hay = " ".join(f"straw{number}" for number in range(100_000))

    assert slugs(backend, notes, f"{hay} needle {hay}") == ["a"]
