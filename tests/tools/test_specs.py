"""The specs: one source, three forms, nothing that a provider would refuse."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from memlog.testing import open_log
from memlog.tools import EFFECTS, TOOL_NAMES, Tools, effect, output_schema, specs

READS = ["memory_search", "memory_read"]


def test_each_form_carries_the_same_tools() -> None:
    plain = {each["name"]: (each["description"], each["parameters"]) for each in specs()}
    openai = [each["function"] for each in specs("openai")]
    anthropic = specs("anthropic")

    assert tuple(plain) == TOOL_NAMES
    assert plain == {e["name"]: (e["description"], e["parameters"]) for e in openai}
    assert plain == {e["name"]: (e["description"], e["input_schema"]) for e in anthropic}
    assert [set(each) for each in anthropic] == [{"name", "description", "input_schema"}] * 4
    assert [each["type"] for each in specs("openai")] == ["function"] * 4


def test_effects_are_those_of_the_plain_specs() -> None:
    assert [each["effect"] for each in specs()] == [effect(name) for name in TOOL_NAMES]
    assert [name for name in TOOL_NAMES if EFFECTS[name] == "read"] == READS


def test_read_only_leaves_out_what_changes_memory() -> None:
    assert [each["name"] for each in specs(read_only=True)] == READS


def _nodes(node: object) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        for each in node.values():
            yield from _nodes(each)
    elif isinstance(node, list):
        for each in node:
            yield from _nodes(each)


@pytest.mark.parametrize("name", TOOL_NAMES)
def test_parameters_are_plain_closed_and_described(name: str) -> None:
    (schema,) = [each["parameters"] for each in specs() if each["name"] == name]

    jsonschema.Draft202012Validator.check_schema(schema)
    json.dumps(schema)
    for node in _nodes(schema):
        assert not {"$ref", "$defs", "anyOf"} & set(node)
        if node.get("type") == "object":
            assert node["additionalProperties"] is False
            assert all(each["description"] for each in node["properties"].values())


@pytest.mark.parametrize("name", TOOL_NAMES)
def test_no_model_can_name_what_is_not_its_to_set(name: str) -> None:
    (schema,) = [each["parameters"] for each in specs() if each["name"] == name]

    fields = set(schema["properties"])

    assert not fields & {
        "provenance", "actor", "scope", "principal", "conversation_id", "request_id", "if_seq",
        "extra", "allow_pin_untrusted", "allow_user_notes",
    }  # fmt: skip


def test_specs_are_fresh_each_time() -> None:
    specs()[0]["parameters"]["properties"].clear()

    assert specs()[0]["parameters"]["properties"]


def test_structured_content_fits_its_schema() -> None:
    with open_log() as log:
        tools = Tools(log.scope("owner", "alice"))
        note = {"title": "Tea", "body": "green", "topics": ["hot"], "pinned": True}
        for name, arguments in (
            ("memory_write", note),
            ("memory_write", {**note, "body": "black"}),
            ("memory_link", {"from_slug": "tea-2", "to_slug": "tea", "rel": "supersedes"}),
            ("memory_read", {"slug": "tea"}),
            ("memory_search", {"query": "tea", "include_superseded": True}),
            ("memory_search", {"query": "coffee"}),
        ):
            schema = output_schema(name)
            result = tools.call(name, arguments)
            assert not result.is_error, result.text
            jsonschema.Draft202012Validator.check_schema(schema)
            jsonschema.validate(result.structured, schema)
            assert schema["additionalProperties"] is False
            assert not any("$ref" in node for node in _nodes(schema))
