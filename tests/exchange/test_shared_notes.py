"""The real files beside the repository: all of them come in or are refused with a sentence.

What is counted here is counted by other means than the importer's: `json` and regular expressions.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from memlog.exchange.items import Report
from memlog.memory import Memory
from tests.exchange.places import NOTES, all_notes, bring, edges, last_seq, needs_notes, scope


def graph_records() -> Iterator[dict[str, Any]]:
    for path in sorted((NOTES / "mcp_memory").iterdir()):
        raw = path.read_text("utf-8")
        try:
            document = json.loads(raw)
        except json.JSONDecodeError:
            yield from map(json.loads, filter(str.strip, raw.splitlines()))
        else:
            yield from document.get("entities", [])
            yield from document.get("relations", [])


def markdown_files() -> list[Path]:
    return [path for path in NOTES.rglob("*") if path.suffix == ".md" and path.is_file()]


class Imported(NamedTuple):
    """All files, imported twice."""

    memory: Memory
    first: Report
    second: Report
    events_before: int


@pytest.fixture(scope="module")
def imported() -> Iterator[Imported]:
    """Import everything once for all tests: parsing 2.7 MB of Markdown takes seconds."""
    with scope() as memory:
        first = bring(memory, NOTES)
        before = last_seq(memory)
        yield Imported(memory, first, bring(memory, NOTES), before)


@needs_notes
def test_every_file_comes_in_or_is_refused_with_a_sentence(imported: Imported) -> None:
    files = [path for path in NOTES.rglob("*") if path.is_file()]
    report = imported.first
    whole = {told.file for told in report.refused}

    assert report.files + len(whole) == len(files)
    assert report.skipped == []
    assert all(told.line >= 1 and len(told.reason) > 20 for told in report.refused)
    assert len(whole) == 3


@needs_notes
def test_a_second_run_changes_nothing(imported: Imported) -> None:
    assert not imported.second.changed
    assert imported.second.unchanged == imported.first.created
    assert last_seq(imported.memory) == imported.events_before
    assert imported.second.refused == imported.first.refused


@needs_notes
def test_the_counts_of_the_graphs_agree_with_another_count(imported: Imported) -> None:
    records = list(graph_records())
    entities = [each for each in records if "observations" in each]
    relations = [each for each in records if "from" in each]
    with scope() as memory:
        report = bring(memory, NOTES / "mcp_memory")
        notes = all_notes(memory)

        assert report.entities == imported.first.entities == len(entities)
        assert report.observations == sum(len(each["observations"]) for each in entities)
        assert report.relations == len(relations)
        assert {each["name"] for each in entities} <= {note.title for note in notes.values()}
        labels = {each["relationType"] for each in relations}
        assert {label for _, _, _, label in edges(memory) if label} <= labels
        kept = sum(len(json.loads(note.extra.get("dangling", "[]"))) for note in notes.values())
        orphans = sum(
            note.body.count("\n") + 1
            for note in notes.values()
            if note.title.startswith("Relations without entities")
        )
        assert report.links + kept + orphans == len(relations)


@needs_notes
def test_no_observation_is_lost(imported: Imported) -> None:
    bodies: dict[str, str] = {}
    for note in all_notes(imported.memory).values():
        bodies[note.title] = bodies.get(note.title, "") + note.body

    for each in graph_records():
        for observation in each.get("observations", []):
            text = observation if isinstance(observation, str) else observation["text"]
            assert text.replace("\n", "\n  ") in bodies[each["name"]]


@needs_notes
def test_the_counts_of_the_markdown_agree_with_another_count(imported: Imported) -> None:
    observation = re.compile(r"^\s*[-*+] \[(?![ xX-]\])[^\[\]()\n]+\]\s+\S", re.MULTILINE)
    relation = re.compile(
        r"^\s*(?:[-*+]|\d+\.) (?!\[[^\[])[^\n`]{0,180}?\[\[[^\[\]\n]+\]\]", re.MULTILINE
    )
    fenced = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
    observations = relations = 0
    for path in markdown_files():
        text = fenced.sub("", path.read_text("utf-8"))
        observations += len(observation.findall(text))
        relations += len(relation.findall(text))
    graphs = [each for each in graph_records() if "observations" in each]
    in_graphs = sum(len(each["observations"]) for each in graphs)
    related = sum("from" in each for each in graph_records())

    assert imported.first.observations - in_graphs == observations
    assert imported.first.relations - related == relations


@needs_notes
def test_bodies_come_in_byte_for_byte(imported: Imported) -> None:
    head = re.compile(r"\A---\n.*?^---\n", re.MULTILINE | re.DOTALL)
    bodies: dict[str, str] = {}
    for note in sorted(all_notes(imported.memory).values(), key=lambda note: note.written_seq):
        artifact = note.source.artifact or ""
        bodies[artifact] = bodies.get(artifact, "") + note.body
    markdown = {artifact: body for artifact, body in bodies.items() if artifact.endswith(".md")}

    assert len(markdown) == len(markdown_files()) - 1  # One has a head that is no YAML.
    for artifact, body in markdown.items():
        raw = (NOTES.parent / artifact).read_bytes().decode()
        assert body == head.sub("", raw).lstrip("\r\n"), artifact
