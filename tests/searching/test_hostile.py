"""Real attacks and real naughty strings, as what is searched for and as what is found.

The 3,241 texts lie beside the repository and belong to others; without them these tests are
skipped, and say so.
"""

import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from memlog.memory import Memory
from memlog.testing import START, open_log
from tests.searching.listed import brute_force, comparable, numbers

HOSTILE = Path(__file__).resolve().parents[3] / "shared" / "data" / "hostile.jsonl.gz"
QUERY_CHARACTERS_MAX = 1_000
NOTES_EVERY, QUERIES_EVERY = 18, 5  # All of them take minutes.

pytestmark = pytest.mark.skipif(
    not HOSTILE.exists(), reason="../shared/data/hostile.jsonl.gz is not here: 3,241 texts untried"
)


@cache
def texts() -> tuple[str, ...]:
    with gzip.open(HOSTILE, "rt", encoding="utf-8") as lines:
        return tuple(json.loads(line)["text"] for line in lines)


def as_body(text: str) -> str:
    """Return what a write takes of a text."""
    kept = text.replace("\0", "").encode(errors="replace")[:2_000].decode(errors="ignore")
    return kept if kept.strip() else "blank"


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    with open_log() as log:
        memory = log.scope("owner", "alice")
        memory.write_many(
            [
                {"title": f"Note {number}", "body": as_body(text), "slug": f"n{number}"}
                for number, text in enumerate(texts()[::NOTES_EVERY])
            ]
        )
        yield memory


def test_the_texts_are_there() -> None:
    assert len(texts()) > 3_000


def test_each_is_a_query_and_every_hit_is_a_note(memory: Memory) -> None:
    slugs = {note.slug for note in memory.notes()}
    for text in texts()[::QUERIES_EVERY]:
        hits = memory.search(text[:QUERY_CHARACTERS_MAX], limit=3)
        assert {hit.slug for hit in hits} <= slugs
        assert len({hit.slug for hit in hits}) == len(hits)


def test_a_note_is_among_the_hits_for_its_own_text(memory: Memory) -> None:
    looked = 0
    for note in memory.notes():
        hits = memory.search(note.body[:QUERY_CHARACTERS_MAX], limit=400)
        if hits:
            assert note.slug in {hit.slug for hit in hits}, note.body
            looked += 1
    assert looked > 150


@pytest.mark.parametrize("start", range(2))
def test_they_find_what_brute_force_finds(start: int) -> None:
    chosen = texts()[start * 7 :: 97]
    with open_log() as log:
        memory = log.scope("owner", "alice")
        memory.write_many(
            [
                {"title": as_body(text).encode()[:300].decode(errors="ignore").strip() or "?",
                 "body": as_body(text)}
                for text in chosen
            ]
        )  # fmt: skip
        for query in chosen[::4]:
            found = memory.search(query, now=START)
            expected = brute_force(memory, query, now=START)
            assert comparable(found) == comparable(expected)
            assert numbers(found) == pytest.approx(numbers(expected), rel=1e-6)
