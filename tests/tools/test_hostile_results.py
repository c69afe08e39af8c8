"""Real attacks in every field of a note: no result of a tool says more than its notes do.

All texts go through what makes the results; every thirteenth also through a log and the calls.

The texts lie beside the repository, in `../shared/data`, and belong to others: they are read from
there, never copied. Without them these tests are skipped, and say so.
"""

import gzip
import json
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from memlog.note import Link, Linked, Note, Reading, Similar, Source, Written
from memlog.settings import Settings
from memlog.testing import open_log
from memlog.text import normalize_topics
from memlog.tools import Tools, answers, texts
from projections.search.protocol import Hit
from tests.digest.examples import note
from tests.digest.section_parser import ANY_WRAPPER, normalized
from tests.tools.result_parser import check_structured, parse

HOSTILE = Path(__file__).resolve().parents[3] / "shared" / "data" / "hostile.jsonl.gz"
BATCH = 250

pytestmark = pytest.mark.skipif(
    not HOSTILE.exists(), reason="../shared/data/hostile.jsonl.gz is not here"
)
BATCHES = pytest.mark.parametrize("batch", range(13))


@cache
def _all_texts() -> list[str]:
    with gzip.open(HOSTILE, "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"].replace("\0", "") for line in lines]
    return [_cut(text, 32_000) for text in texts if text.strip()]


def _cut(text: str, size: int) -> str:
    return text.encode()[:size].decode(errors="ignore")


def _title(text: str) -> str:
    return _cut(text, 500) if _cut(text, 500).strip() else "?"


def _topics(text: str) -> list[str]:
    found = normalize_topics([text, *text.split()[:7]])
    return [topic for topic in found if len(topic) <= 40]


def _note(number: int, text: str) -> Note:
    return note(
        number,
        slug=f"n{number}",
        title=_title(text),
        body=text,
        topics=tuple(_topics(text)),
        source=Source(url=_cut(text, 2_000), artifact=_cut(text, 1_000), note=_cut(text, 1_000)),
    )


def _hit(note: Note) -> Hit:
    return Hit(
        slug=note.slug,
        title=note.title,
        snippet=note.body[:240],
        topics=note.topics,
        provenance=note.provenance,
        confidence=note.confidence,
        pinned=note.pinned,
        written_at=note.written_at,
        score=1.0,
        superseded_by=note.superseded_by,
        relevance=1.0,
        recency=0.0,
        pin=0.0,
    )


def _undone(seen: str) -> str:
    return seen.replace("&lt;", "<")


def test_the_batches_are_all_texts() -> None:
    assert 3_000 < len(_all_texts()) <= 13 * 250


@BATCHES
def test_what_is_read_comes_out_as_it_went_in_and_nothing_else(batch: int) -> None:
    for number, text in enumerate(_all_texts()[batch::13], 1):
        link = Link(f"n{number}", "other", "related", _cut(text, 200))
        reading = Reading(note=_note(number, text), links=(link,), backlinks=(link,))
        answer = answers.of_read(reading)

        said = parse("memory_read", texts.of_read(answer))
        check_structured(answer.model_dump())

        assert [(each.slug, _undone(each.text)) for each in said.wrapped] == [
            (f"n{number}", _undone(normalized(text)))
        ]
        assert len(said.titles) == 1
        assert len(said.edges) == 2


@BATCHES
def test_what_is_found_is_wrapped_each_once_and_nothing_else(batch: int) -> None:
    notes = [_note(number, text) for number, text in enumerate(_all_texts()[batch::13], 1)]
    answer = answers.of_search(map(_hit, notes))

    said = parse("memory_search", texts.of_search(answer, by_words=True))
    check_structured(answer.model_dump())

    assert [(each.slug, _undone(each.text)) for each in said.wrapped] == [
        (each.slug, _undone(normalized(each.body[:240]))) for each in notes
    ]
    assert len(said.titles) == len(notes)


@BATCHES
def test_titles_of_similar_and_linked_notes_are_a_line_each(batch: int) -> None:
    notes = [_note(number, text) for number, text in enumerate(_all_texts()[batch::13], 1)]
    similar = tuple(Similar(each.slug, each.title, 0.8) for each in notes)
    written = Written(note=notes[0], created=True, changed=True, similar=similar, seq=1, position=1)
    wrote = answers.of_write(written, same_fact="n7")

    said = parse("memory_write", texts.of_write(wrote, is_users=False))
    check_structured(wrote.model_dump())
    assert len(said.titles) == len(notes)
    for newer, older in pairwise(notes):
        link = Link(newer.slug, older.slug, "supersedes", _cut(newer.body, 200))
        linked = answers.of_link(
            Linked(from_note=newer, to_note=older, link=link, changed=True, seq=1, position=1)
        )
        said = parse("memory_link", texts.of_link(linked))
        check_structured(linked.model_dump())
        assert [edge[:3] for edge in said.edges] == [(newer.slug, "supersedes", older.slug)]
        assert len(said.titles) == 2


def test_through_a_log_and_the_calls() -> None:
    with open_log(settings=Settings(duplicate_threshold=1.0)) as log:
        tools = Tools(log.scope("owner", "alice"))
        last = tools.call("memory_write", {"title": "First", "body": "b"}).structured["slug"]

        for text in _all_texts()[::13]:
            source = {"url": _cut(text, 500), "artifact": _cut(text, 500), "note": _cut(text, 500)}
            arguments = {
                "title": _title(text),
                "body": text,
                "topics": _topics(text)[:3],
                "source": source,
            }
            new = _harmless(tools, "memory_write", arguments)["slug"]
            label = _cut(text, 200)
            link = {"from_slug": new, "to_slug": last, "rel": "related", "label": label}
            _harmless(tools, "memory_link", link)
            _harmless(tools, "memory_read", {"slug": new})
            last = new
        for text in _all_texts()[::130]:
            _harmless(tools, "memory_search", {"query": text, "limit": 20})


def _harmless(tools: Tools, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    result = tools.call(name, arguments)
    assert not result.is_error, result.text
    parse(name, result.text)
    check_structured(result.structured)
    return result.structured


def test_what_is_refused_is_one_harmless_line() -> None:
    with open_log() as log:
        tools = Tools(log.scope("owner", "alice"))

        for text in _all_texts()[::5]:
            for name, arguments in (
                ("memory_read", {"slug": text}),
                ("memory_read", {text: text}),
                ("memory_link", {"from_slug": text, "to_slug": "b", "rel": text}),
                ("memory_write", {"title": "t", "body": "b", "source": {text: 1}}),
                ("memory_write", {"title": "t", "body": "b", "topics": text}),
                (text, {}),
            ):
                result = tools.call(name, arguments)
                assert result.is_error
                seen = normalized(result.text)
                assert "\n" not in seen
                assert not ANY_WRAPPER.search(seen)
