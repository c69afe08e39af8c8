"""Real attacks, real naughty strings: wherever they stand, the section holds its notes and no more.

The texts lie beside the repository, in `../shared/data`, and belong to others: they are read from
there, never copied. Without them these tests are skipped, and say so.
"""

import gzip
import json
from functools import cache
from pathlib import Path

import pytest

from memlog.note import Note, Source
from memlog.text import normalize_topics, numbered_slug, slugify
from projections.digest.headline import Headline
from projections.digest.render import render
from tests.digest import section_parser
from tests.digest.examples import note
from tests.digest.section_parser import normalized

HOSTILE = Path(__file__).resolve().parents[3] / "shared" / "data" / "hostile.jsonl.gz"
BATCH = 250
EVERYTHING_TOKENS = 10_000_000

pytestmark = pytest.mark.skipif(
    not HOSTILE.exists(), reason="../shared/data/hostile.jsonl.gz is not here"
)


@cache
def _texts() -> list[str]:
    with gzip.open(HOSTILE, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"].replace("\0", "") for line in lines]


@cache
def _notes(batch: int) -> list[Note]:
    """Return the notes of a batch, each hostile text in every field of its note."""
    texts = _texts()[batch * BATCH : (batch + 1) * BATCH]
    return [
        note(
            number,
            slug=numbered_slug(slugify(text), number),
            title=text.encode()[:500].decode(errors="ignore") or "?",
            body=text,
            topics=tuple(topic[:40] for topic in normalize_topics([text, *text.split()[:7]])),
            source=Source(url=text, artifact=text, note=text),
        )
        for number, text in enumerate(texts, 2)
    ]


BATCHES = pytest.mark.parametrize("batch", range(13))


def test_the_batches_are_all_texts() -> None:
    assert 12 * BATCH < len(_texts()) <= 13 * BATCH


@BATCHES
def test_pinned_they_come_out_as_they_went_in_each_once(batch: int) -> None:
    notes = _notes(batch)

    text = render([], notes, len(notes), EVERYTHING_TOKENS, 10**6)
    section = section_parser.parse(text)

    assert [(each.slug, _undone(each.text)) for each in section.wrapped] == [
        (each.slug, _undone(normalized(each.body))) for each in reversed(notes)
    ]
    assert len(section.pin_titles) == len(notes)
    assert (section.listed, section.accounted) == ([], len(notes))


@BATCHES
def test_unpinned_they_are_titles_each_once(batch: int) -> None:
    notes = _notes(batch)

    text = render(map(Headline.of, notes), [], len(notes), EVERYTHING_TOKENS, 2_000)
    section = section_parser.parse(text)

    assert section.wrapped == []
    assert sorted((each.topic, each.slug) for each in section.listed) == sorted(
        (normalized(each.topics[0]) if each.topics else "", each.slug) for each in notes
    )
    assert section.accounted == len(notes)


@BATCHES
@pytest.mark.parametrize("budget_tokens", [0, 300, 2_000, 20_000])
def test_in_any_budget_they_are_accounted_for(batch: int, budget_tokens: int) -> None:
    notes = _notes(batch)

    text = render(map(Headline.of, notes[::2]), notes[1::2], len(notes), budget_tokens, 500)
    section = section_parser.parse(text)

    assert len(text.encode()) <= 4 * max(200, budget_tokens)
    assert (section.accounted, section.live) == (len(notes), len(notes))


def _undone(seen: str) -> str:
    return seen.replace("&lt;", "<")
