"""Whatever a model sends: never an exception, never half a write, always an answer that fits."""

import json
from typing import Any

from hypothesis import example
from hypothesis import given as for_all
from hypothesis import strategies as st
from pydantic import ValidationError

from memlog.log import Log
from memlog.testing import open_log, strategies, tables_equal_fold
from memlog.tools import EFFECTS, TOOL_NAMES, ToolResult, Tools
from memlog.tools.specs import TOOLS
from tests.tools.result_parser import check_structured, parse

_FIELDS = sorted({name for tool in TOOLS.values() for name in tool.arguments.model_fields})
_FORBIDDEN = (
    "provenance", "actor", "scope", "principal", "conversation_id", "request_id", "if_seq", "extra",
    "allow_pin_untrusted", "allow_user_notes", "position", "written_at",
)  # fmt: skip

_ANY_TEXT = st.text(max_size=20) | st.text(st.characters(), max_size=20)  # lone surrogates too
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**400, -(10**30), 2**63, 1e308])
    | st.floats()
    | _ANY_TEXT
)
JSON = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(_ANY_TEXT | st.sampled_from(_FIELDS), inner, max_size=4)
    ),
    max_leaves=12,
)
_SLUGS = strategies.slugs()
_SOURCES = st.fixed_dictionaries(
    {}, optional={"url": _ANY_TEXT, "artifact": _ANY_TEXT, "note": _ANY_TEXT}
)
FITTING = st.fixed_dictionaries(
    {},
    optional={
        "title": strategies.titles(),
        "body": st.sampled_from(strategies.BODIES),
        "topics": st.lists(st.sampled_from(strategies.TOPICS), max_size=3),
        "slug": _SLUGS,
        "pinned": st.booleans(),
        "confidence": st.sampled_from([0, 0.5, 1, 1.0]),
        "source": _SOURCES,
        "query": strategies.titles(),
        "limit": st.integers(0, 21),
        "topic": st.sampled_from(strategies.TOPICS),
        "include_superseded": st.booleans(),
        "from_slug": _SLUGS,
        "to_slug": _SLUGS,
        "rel": st.sampled_from(["related", "derived_from", "supersedes"]),
        "label": _ANY_TEXT,
    },
)


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, Any]:
    """Return a tool and arguments: mostly its own, some with one thing wrong, and anything."""
    name = draw(st.sampled_from(TOOL_NAMES))
    kind = draw(st.sampled_from(["own", "own", "own", "own", "wrong", "extra", "any"]))
    if kind == "any":
        return draw(st.sampled_from(TOOL_NAMES) | _ANY_TEXT), draw(JSON)
    own = TOOLS[name].arguments.model_fields
    arguments = {key: value for key, value in draw(FITTING).items() if key in own}
    for key in own:
        if own[key].is_required() and key not in arguments and draw(st.integers(0, 9)):
            arguments[key] = draw(strategies.slugs() if "slug" in key else st.just("related"))
    if kind == "wrong":
        arguments[draw(st.sampled_from(list(own)))] = draw(JSON)
    if kind == "extra":
        arguments[draw(st.sampled_from(_FORBIDDEN) | _ANY_TEXT)] = draw(JSON)
    return name, arguments


def _fits(name: str, result: ToolResult) -> bool:
    try:
        TOOLS[name].answer.model_validate(result.structured, strict=True)
    except ValidationError:
        return False
    return True


def _called(log: Log, tools: Tools, name: str, arguments: object) -> ToolResult:
    """Make one call, and hold it to all that each call promises."""
    before = log.position()
    result = tools.call(name, arguments)
    added = [event.payload for event in log.events(after=before)]
    if result.is_error:
        assert added == []
        assert result.structured == {"error": result.text}
        assert len(result.text.splitlines()) == 1
    else:
        assert _fits(name, result)
        assert len(added) <= (2 if EFFECTS[name] == "state_write" else 0)
        parse(name, result.text)
        check_structured(result.structured)
    json.dumps(result.structured, allow_nan=False).encode()
    result.text.encode()
    return result


@for_all(st.lists(calls(), max_size=12))
def test_no_call_raises_or_writes_half(sequence: list[tuple[str, Any]]) -> None:
    with open_log() as log:
        tools = Tools(log.scope("owner", "alice"), actor="a", conversation_id="c")
        for name, arguments in sequence:
            _called(log, tools, name, arguments)
        assert tables_equal_fold(log)
        assert all(event.stream == "owner/alice" for event in log.events())
        assert all(
            (event.actor, event.conversation_id, event.request_id) == ("a", "c", None)
            for event in log.events()
        )
        notes = log.scope("owner", "alice").notes()
        assert {note.provenance for note in notes} <= {"agent", "web"}
        assert not any(note.pinned and note.ever_untrusted for note in notes)


@for_all(st.sampled_from(TOOL_NAMES), st.text(st.characters(), max_size=60) | JSON.map(json.dumps))
def test_no_text_in_the_place_of_an_object_raises(name: str, arguments: str) -> None:
    with open_log() as log:
        _called(log, Tools(log.scope("global")), name, arguments)


@for_all(calls())
@example(("memory_write", None))
def test_json_text_and_object_are_the_same_to_it(call: tuple[str, Any]) -> None:
    name, arguments = call
    try:
        as_text = json.dumps(arguments, allow_nan=False, ensure_ascii=False)
        as_text.encode()
    except ValueError:  # Not JSON: a lone surrogate, or no number.
        return
    if isinstance(arguments, str):  # A text in the place of an object is JSON text itself.
        return
    if len(as_text) > 400:  # Numbers of many digits are refused as JSON, not as a number.
        return
    with open_log() as left, open_log() as right:
        told = Tools(left.scope("global")).call(name, as_text)
        given = Tools(right.scope("global")).call(name, arguments)

    assert told == given


@for_all(st.lists(calls(), max_size=12))
def test_in_plan_mode_and_read_only_nothing_is_written(sequence: list[tuple[str, Any]]) -> None:
    with open_log() as log:
        memory = log.scope("owner", "alice")
        memory.write(title="Tea", body="green", slug="tea")
        memory.write(title="Tea", body="black", slug="tea-2")
        for name, arguments in sequence:
            planned = Tools(memory).call(name, arguments, mode="plan")
            reading = Tools(memory, read_only=True).call(name, arguments)
            if EFFECTS.get(name) == "state_write":
                assert planned.is_error
                assert reading.is_error
                assert "plan" in planned.text
            else:
                assert planned == reading
        assert log.position() == 2


@for_all(st.integers(1, 100_000))
def test_no_depth_is_too_deep(depth: int) -> None:
    nested: list[Any] = []
    for _ in range(min(depth, 5_000)):
        nested = [nested]
    with open_log() as log:
        tools = Tools(log.scope("global"))
        for name in TOOL_NAMES:
            for arguments in (nested, {"slug": nested}, {"title": nested, "body": "b"}):
                assert tools.call(name, arguments).is_error
            assert tools.call(name, "[" * depth).is_error
            assert tools.call(name, '{"query":' + "[" * depth + "]" * depth + "}").is_error
