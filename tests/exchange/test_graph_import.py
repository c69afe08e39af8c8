"""The JSON of the MCP memory server and what looks like it, and that of mem0."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from memlog.exchange import graphs, records
from memlog.exchange.folders import Content
from tests.exchange.places import all_notes, bring, edges, last_seq, only, put, scope


def lines(*values: dict[str, Any]) -> str:
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)


ENTITY = {"type": "entity", "name": "Kettle", "entityType": "Thing", "observations": ["A", "B\nb"]}


def test_entities_relations_and_observations(tmp_path: Path) -> None:
    other = {"type": "entity", "name": "주방", "entityType": "room", "observations": []}
    relation = {"type": "relation", "from": "Kettle", "to": "주방", "relationType": "stands in"}
    put(tmp_path, {"memory.jsonl": lines(ENTITY, other, relation)})
    with scope() as memory:
        report = bring(memory, tmp_path / "memory.jsonl")

        note = memory.read("kettle").note
        assert (note.title, note.body, note.topics) == ("Kettle", "- A\n- B\n  b", ("thing",))
        assert (note.provenance, note.source.artifact) == ("import", "memory.jsonl")
        assert note.extra == {"labels": '["Thing"]'}
        (room,) = set(all_notes(memory)) - {"kettle"}
        assert memory.read(room).note.body == "주방"
        assert edges(memory) == {("kettle", room, "related", "stands in")}
        assert (report.entities, report.observations, report.relations) == (2, 2, 1)


@pytest.mark.parametrize(
    "variant",
    [
        lines({"name": "Kettle", "entityType": "Thing", "observations": ["A", "B\nb"]}),
        lines({"entityName": "Kettle", "entity_type": "Thing", "observations": ["A", "B\nb"]}),
        json.dumps({"entities": [ENTITY], "relations": []}, indent=2),
        json.dumps([ENTITY]),
        "\ufeff" + lines(ENTITY).replace("\n", "\r\n"),
        json.dumps(ENTITY),
    ],
)
def test_near_misses_say_the_same(tmp_path: Path, variant: str) -> None:
    put(tmp_path, {"memory.json": variant})
    with scope() as memory:
        report = bring(memory, tmp_path)

        assert (only(memory).title, only(memory).body) == ("Kettle", "- A\n- B\n  b")
        assert (only(memory).topics, report.observations) == (("thing",), 2)


def test_an_entity_that_is_there_twice_is_one_note(tmp_path: Path) -> None:
    again = {"type": "entity", "name": "Kettle", "entityType": "tool", "observations": ["A", "C"]}
    put(tmp_path, {"m.jsonl": lines(ENTITY, again)})
    with scope() as memory:
        report = bring(memory, tmp_path)

        assert only(memory).body == "- A\n- B\n  b\n- C"
        assert only(memory).topics == ("thing", "tool")
        assert (report.entities, report.observations) == (2, 4)
        assert [(told.line, "line 1" in told.reason) for told in report.remarks] == [(2, True)]


def test_relations_to_nowhere_are_kept(tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            "m.jsonl": lines(
                ENTITY,
                {"from": "Kettle", "to": "Moon", "relationType": "near"},
                {"from": "Kettle", "to": "Kettle", "relationType": "is"},
                {"from": "Sun", "to": "Moon", "relationType": "above"},
            )
        },
    )
    with scope() as memory:
        report = bring(memory, tmp_path)

        kept = json.loads(memory.read("kettle").note.extra["dangling"])
        assert kept == [["Kettle", "near", "Moon"], ["Kettle", "is", "Kettle"]]
        orphans = memory.read("relations-without-entities-in-m").note
        assert orphans.body == "- Sun: above: Moon"
        assert (report.relations, report.refused, edges(memory)) == (3, [], set())


def test_times_and_other_facts_have_a_place(tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            "m.jsonl": lines(
                {
                    "name": "E",
                    "entityType": "t",
                    "createdAt": 1768061136,
                    "createdBy": "me",
                    "observations": [
                        {"text": "seen", "timestamp": "2025-05-11T15:54:05Z", "version": "1.0"}
                    ],
                },
                {"name": "F", "entityType": "t", "observations": ["x"]},
                {"from": "E", "to": "F", "relationType": "r", "createdBy": "you"},
            )
        },
    )
    with scope() as memory:
        bring(memory, tmp_path)
        note = memory.read("e").note

        assert note.source.created_at == "2026-01-10T16:05:36.000000Z"
        assert note.body == "- seen (2025-05-11T15:54:05.000000Z)"
        assert note.extra["createdBy"] == "me"
        assert note.extra["observations: version"] == "1.0"
        assert '"you"' in note.extra["relation_facts"]


def test_a_line_that_is_not_understood_is_named_and_the_others_come_in(tmp_path: Path) -> None:
    put(tmp_path, {"m.jsonl": lines(ENTITY, {"foo": 1}, {"type": "storage", "content": "text"})})
    with scope() as memory:
        report = bring(memory, tmp_path)

        assert [(told.line, "'foo'" in told.reason) for told in report.refused] == [(2, True)]
        assert memory.read("storage").note.body == "text"
        assert report.texts == 1


def test_nothing_of_a_broken_file_comes_in(tmp_path: Path) -> None:
    put(tmp_path, {"m.jsonl": lines(ENTITY) + '{"type": "entity", "na'})
    with scope() as memory:
        report = bring(memory, tmp_path)

        assert (last_seq(memory), report.created) == (0, 0)
        assert [told.line for told in report.refused] == [2]


def test_an_edited_entity_rewrites_its_note_wherever_it_stands(tmp_path: Path) -> None:
    put(tmp_path, {"m.jsonl": lines(ENTITY)})
    with scope() as memory:
        bring(memory, tmp_path)
        edited = {**ENTITY, "observations": ["C"]}
        put(tmp_path, {"m.jsonl": lines({"name": "First", "observations": ["f"]}, edited)})
        report = bring(memory, tmp_path)

        assert (report.created, report.rewritten) == (1, 1)
        assert memory.read("kettle").note.body == "- C"


def test_mem0_memories_are_the_same_by_their_id(tmp_path: Path) -> None:
    memory_ = {
        "id": "m-1",
        "memory": "Takes tea at four.",
        "hash": "5d41402abc4b2a76b9719d911017c592",
        "user_id": "alice",
        "categories": ["Habits"],
        "metadata": {"mood": "good"},
        "created_at": "2024-07-01T10:00:00.123-07:00",
        "updated_at": None,
    }
    put(tmp_path, {"one.json": json.dumps({"results": [memory_]})})
    put(tmp_path, {"two.json": json.dumps([{**memory_, "memory": "At five."}, {"id": "m-2"}])})
    with scope() as memory:
        bring(memory, tmp_path / "one.json")
        note = only(memory)
        assert (note.title, note.topics) == ("Takes tea at four.", ("habits",))
        assert note.source.created_at == "2024-07-01T17:00:00.123000Z"
        assert note.extra["user_id"] == "alice"
        assert "hash" not in note.extra

        report = bring(memory, tmp_path / "two.json")
        assert only(memory).body == "At five."
        assert [told.line for told in report.refused] == [1]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "name",
                    "entityType",
                    "observations",
                    "from",
                    "to",
                    "text",
                    "id",
                    "createdAt",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@for_all(
    st.lists(
        st.dictionaries(st.sampled_from(["type", "name", "observations", "from", "to"]), JSON),
        max_size=5,
    )
)
def test_any_records_are_read_or_named(values: list[dict[str, Any]]) -> None:
    content = Content(file="f/m.jsonl", identity="/f/m.jsonl", text=lines(*values))
    if not values:
        return

    parsed = graphs.parse(content, records.read(content))

    accounted = parsed.entities + parsed.texts + parsed.relations + len(parsed.refused)
    assert accounted == len(values)
    identities = [item.identity for item in parsed.items]
    assert len(set(identities)) == len(identities)
    assert {reference.identity for reference in parsed.references} <= set(identities)


@for_all(
    st.lists(
        st.dictionaries(
            st.sampled_from(["name", "n", "[{"]),
            st.text(max_size=3) | st.lists(st.dictionaries(st.text(max_size=2), st.just([{}]))),
        ),
        max_size=4,
    ),
    st.sampled_from([None, "entities", "relations", 'a"[{\\']),
    st.sampled_from([None, 0, 2]),
)
def test_an_object_of_a_list_is_told_by_the_line_on_which_it_begins(
    objects: list[dict[str, object]], name: str | None, indent: int | None
) -> None:
    marked = [{"mark": f"/{number}", **each} for number, each in enumerate(objects)]
    whole = marked if name is None else {"version": 1, "x": {"items": [{}]}, name: marked}
    text = json.dumps(whole, indent=indent).replace("/", "\\/")  # As PHP writes it.
    content = Content(file="x.json", identity="x", text=text)

    found = [record for record in records.read(content) if "mark" in record.fields]

    if name in (None, "entities", "relations"):
        assert [record.fields for record in found] == marked
        lines = text.split("\n")
        for record in found:
            place = next(
                at for at, line in enumerate(lines) if f'\\{record.fields["mark"]}"' in line
            )
            assert record.line == (place if indent is not None else place + 1)


def test_a_long_list_whose_strings_are_written_with_escapes_ends() -> None:
    entities = [{"name": f"https://x/{number}", "observations": ["x"]} for number in range(50_000)]
    text = json.dumps(entities, indent=1).replace("/", "\\/")

    found = records.read(Content(file="x.json", identity="x", text=text))

    assert (len(found), found[-1].line) == (50_000, 2 + 6 * 49_999)
