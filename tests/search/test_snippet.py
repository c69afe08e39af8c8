"""Snippets show the best place of a body and cut nothing that belongs together."""

import unicodedata
from itertools import accumulate
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.search.snippet import CHARACTERS_MAX, ELLIPSIS, needles, snippet

FILLER = "lorem ipsum dolor sit amet " * 40


def shown(body: str, query: str) -> str:
    return snippet(body, needles(query))


def test_a_short_body_is_shown_whole_with_its_white_space_folded() -> None:
    assert shown("  one\n\ttwo\u00a0 three ", "two") == "one two three"


def test_the_window_lies_around_the_match_and_is_marked_where_it_was_cut() -> None:
    text = shown(f"{FILLER} the deploy key rotates monthly {FILLER}", "deploy keys")

    assert "the deploy key rotates monthly" in text
    assert text.startswith(ELLIPSIS)
    assert text.endswith(ELLIPSIS)
    assert len(text) < CHARACTERS_MAX + 60


def test_a_match_at_the_start_or_the_end_is_marked_on_one_side() -> None:
    assert not shown(f"deploy {FILLER}", "deploy").startswith(ELLIPSIS)
    assert not shown(f"{FILLER} deploy", "deploy").endswith(ELLIPSIS)


def test_the_window_with_most_of_the_words_wins() -> None:
    body = f"deploy {FILLER} key {FILLER} the key that we deploy {FILLER}"

    assert "the key that we deploy" in shown(body, "deploy key")


def test_no_match_shows_the_beginning() -> None:
    assert shown(FILLER, "zebra").startswith("lorem ipsum")


def test_words_are_found_at_their_beginning_only() -> None:
    body = f"restart {FILLER} the art of tea {FILLER}"

    assert "the art of tea" in shown(body, "art")


@pytest.mark.parametrize(
    ("body", "query", "expected"),
    [
        ("東京" * 300 + "京都の鍵" + "大阪" * 300, "京都の鍵", "京都の鍵"),
        ("ก" * 400 + "ข้าวผัด" + "ก" * 400, "ข้าวผัด", "ข้าวผัด"),
        (FILLER + "studies show" + FILLER, "study", "studies show"),
        (FILLER + "the study shows" + FILLER, "studies", "the study shows"),
        (FILLER + "GetUserName fails" + FILLER, "getUserName", "GetUserName fails"),
        (FILLER + "the Straße is long" + FILLER, "Straße", "the Straße is long"),
    ],
)
def test_every_script_has_its_window(body: str, query: str, expected: str) -> None:
    assert expected in shown(body, query)


CLUSTERS = [
    "e\u0301", "👩\u200d👩\u200d👧", "👍🏽", "🇩🇪", "क्षि", "กำ", "n\u0303\u0323", "a", " ", "\n",
    "語", "❤\ufe0f",
]  # fmt: skip


@given(st.randoms(use_true_random=False), st.integers(150, 600))
def test_no_character_is_torn_from_what_belongs_to_it(random: Random, count: int) -> None:
    clusters = random.choices(CLUSTERS, k=count)
    clusters.insert(random.randrange(count), " needle ")
    body = "".join(clusters)
    boundaries = set(accumulate(map(len, clusters), initial=0))

    text = shown(body, "needle").strip(ELLIPSIS)

    # Where the text may stand in the body, when white space is left out of both.
    bare, shown_bare = "".join(body.split()), "".join(text.split())
    places = [at for at in range(len(bare)) if bare.startswith(shown_bare, at)]
    bare_boundaries = {len("".join(body[:at].split())) for at in boundaries}
    assert shown_bare
    assert any({at, at + len(shown_bare)} <= bare_boundaries for at in places)


@given(st.text(max_size=2_000), st.text(max_size=60))
def test_any_body_and_query_give_a_snippet_of_the_body(body: str, query: str) -> None:
    text = shown(body, query)

    assert text.strip(ELLIPSIS) in " ".join(body.split())
    assert len(text) <= CHARACTERS_MAX + 2 + 2 * 24 + _longest_cluster(body)


def _longest_cluster(body: str) -> int:
    longest = run = 0
    for char in body:
        run = run + 1 if unicodedata.category(char)[0] == "M" or char in "\u200c\u200d" else 0
        longest = max(longest, run)
    return 2 * longest + 60 * body.count("\u200d") + body.count("\U0001f1e6")
