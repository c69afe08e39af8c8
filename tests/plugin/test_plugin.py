"""memlog in an agent loop: whose notes, what a request gets, what calls and compactions do."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from memlog import harvest
from memlog.errors import InvalidRequestError
from memlog.log import Log
from memlog.plugin import MemoryPlugin
from memlog.settings import Settings
from memlog.testing import open_log
from memlog.tools import TOOL_NAMES, ToolResult

ALICE: dict[str, Any] = {"principal": "alice", "actor": "agent:a", "conversation_id": "c-1"}
NOTE: dict[str, Any] = {"title": "Deploy key rotates", "body": "On the first."}


def _never(*_: object) -> str:
    raise AssertionError


def _call(plugin: MemoryPlugin, name: str, arguments: object, **context: Any) -> ToolResult:  # noqa: ANN401
    result = plugin.wrap_tool(name, arguments, _never, {"agent_cfg": ALICE, **context})
    assert isinstance(result, ToolResult)
    return result


@pytest.fixture
def log() -> Iterator[Log]:
    with open_log(settings=Settings(harvest_llm=_never)) as log:
        yield log


@pytest.fixture
def plugin(log: Log) -> MemoryPlugin:
    return MemoryPlugin(log)


# --- Requests


def test_a_request_gets_the_index_and_the_tools(log: Log, plugin: MemoryPlugin) -> None:
    log.scope("owner", "alice").write(**NOTE)
    cfg: dict[str, Any] = {**ALICE, "system": "Own.", "tools": [{"name": "other"}]}

    returned = plugin.before_agent_start(cfg)

    assert returned is cfg
    assert [tool["name"] for tool in cfg["tools"]] == ["other", *TOOL_NAMES]
    assert cfg["system_sections"] == {"memory_index": log.scope("owner", "alice").section().text}
    assert cfg["system"] == "Own."


def test_each_request_may_come_with_the_same_configuration(log: Log, plugin: MemoryPlugin) -> None:
    cfg: dict[str, Any] = {**ALICE, "system_sections": {"a": "A"}}
    plugin.before_agent_start(cfg)
    cfg["tools"].append({"type": "function", "function": {"name": "later"}})
    cfg["system_sections"]["z"] = "Z"
    log.scope("owner", "alice").write(**NOTE)

    plugin.before_agent_start(cfg)

    assert len(cfg["tools"]) == 5
    assert list(cfg["system_sections"]) == ["a", "memory_index", "z"]
    assert '"Deploy key rotates"' in cfg["system_sections"]["memory_index"]


def test_a_list_of_tools_that_others_share_stays_as_it_is(plugin: MemoryPlugin) -> None:
    shared: list[dict[str, Any]] = []

    plugin.before_agent_start({**ALICE, "tools": shared})

    assert shared == []


@pytest.mark.parametrize("form", ["plain", "openai", "anthropic"])
def test_specs_come_in_the_form_that_the_loop_needs(log: Log, form: Any) -> None:  # noqa: ANN401
    plugin = MemoryPlugin(log, spec_form=form)
    cfg = dict(ALICE)

    plugin.before_agent_start(cfg)
    tools = plugin.before_agent_start(cfg)["tools"]

    assert tools == plugin.tool_specs()
    assert len(tools) == 4


# --- Whose notes


@pytest.mark.parametrize("cfg", [{}, {"principal": None}, {"principal": ""}, {"principal": 7}])
def test_without_a_principal_nothing_is_served(
    log: Log, plugin: MemoryPlugin, cfg: dict[str, Any]
) -> None:
    with pytest.raises(InvalidRequestError, match="principal"):
        plugin.before_agent_start(cfg)
    with pytest.raises(InvalidRequestError, match="principal"):
        plugin.wrap_tool("memory_write", NOTE, _never, {"agent_cfg": cfg})
    assert plugin.before_compact([], {"agent_cfg": cfg}) == "default"
    assert log.scopes() == ()


def test_each_principal_has_notes_of_its_own(plugin: MemoryPlugin) -> None:
    _call(plugin, "memory_write", NOTE)

    bob = plugin.before_agent_start({"principal": "bob"})["system_sections"]["memory_index"]
    found = plugin.wrap_tool("memory_search", {"query": "deploy"}, _never, {"principal": "bob"})

    assert "0 of 0 shown" in bob
    assert isinstance(found, ToolResult)
    assert found.structured["notes"] == []


def test_the_global_scope_is_chosen_by_code_only(log: Log) -> None:
    plugin = MemoryPlugin(log, scope="global")

    _call(plugin, "memory_write", NOTE)
    index = plugin.before_agent_start({"principal": "bob"})["system_sections"]["memory_index"]

    assert '"Deploy key rotates"' in index
    assert [each.scope.stream for each in log.scopes()] == ["global/"]


@pytest.mark.parametrize(
    "wrong", [{"scope": "owner/alice"}, {"index_refresh": "never"}, {"spec_form": "xml"}]
)
def test_a_wrong_choice_is_refused_at_once(log: Log, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError, match=next(iter(wrong))):
        MemoryPlugin(log, **wrong)


# --- Calls


def test_calls_of_other_tools_are_passed_on(plugin: MemoryPlugin) -> None:
    answer = plugin.wrap_tool("bash", "ls", lambda name, arguments: (name, arguments), {})

    assert answer == ("bash", "ls")


def test_calls_of_the_four_are_served(log: Log, plugin: MemoryPlugin) -> None:
    assert not _call(plugin, "memory_write", NOTE).is_error
    assert not _call(plugin, "memory_read", '{"slug": "deploy-key-rotates"}').is_error
    (event,) = log.events()
    assert (event.actor, event.conversation_id) == ("agent:a", "c-1")


def test_plan_mode_reads_and_does_not_write(log: Log, plugin: MemoryPlugin) -> None:
    assert _call(plugin, "memory_write", NOTE, mode="plan").is_error
    assert not _call(plugin, "memory_search", {"query": ""}, mode="plan").is_error
    assert log.position() == 0


def test_the_pin_of_untrusted_text_is_for_code_to_allow(log: Log) -> None:
    page = {**NOTE, "source": {"url": "https://example.org"}, "pinned": True}

    assert _call(MemoryPlugin(log), "memory_write", page).is_error
    assert not _call(MemoryPlugin(log, allow_pin_untrusted=True), "memory_write", page).is_error


# --- Compaction


def test_what_is_cut_is_queued_once_for_each_compaction(log: Log, plugin: MemoryPlugin) -> None:
    entries = [{"role": "user", "content": "Wei is away in December."}]
    context = {"agent_cfg": {**ALICE, "system": [{"type": "text", "text": "Own."}]}}

    for each in (entries, entries, [*entries, "more"]):
        assert plugin.before_compact(each, context) == "default"
        assert plugin.before_compact(each, {**context, "compaction_key": "k"}) == "default"

    jobs = harvest.listed(log)
    assert len(jobs) == 3
    assert "k" in {job.key for job in jobs}
    assert {job.stream for job in jobs} == {"owner/alice"}


def test_the_same_words_of_another_conversation_are_another_compaction(
    log: Log, plugin: MemoryPlugin
) -> None:
    for conversation in ("c-1", "c-2"):
        plugin.before_compact(["hi"], {"agent_cfg": {**ALICE, "conversation_id": conversation}})

    assert len(harvest.listed(log)) == 2


def test_a_compaction_is_the_same_whatever_the_order_of_its_fields_and_however_deep(
    log: Log, plugin: MemoryPlugin
) -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    fields = {"role": "user", "content": "hi", "meta": {"a": 1, "b": deep}}
    for entry in (fields, dict(reversed(fields.items())), {**fields, "content": "ho"}):
        plugin.before_compact([entry], {"agent_cfg": ALICE})

    assert len(harvest.listed(log)) == 2


def test_nothing_is_queued_when_nobody_asked_for_a_harvest(log: Log) -> None:
    plugin = MemoryPlugin(log, harvest=False)

    assert plugin.before_compact(["hi"], {"agent_cfg": ALICE}) == "default"
    assert harvest.listed(log) == []


class _Unspeakable:
    """An entry that breaks whoever looks at it."""

    def __repr__(self) -> str:
        raise RuntimeError("sk-secret")


def test_no_entries_break_a_compaction(
    plugin: MemoryPlugin, caplog: pytest.LogCaptureFixture
) -> None:
    circular: list[Any] = []
    circular.append(circular)

    with caplog.at_level(logging.WARNING):
        for entries in ([_Unspeakable()], circular, ["\ud800"], [10**5000], None, 7):
            assert plugin.before_compact(entries, {"agent_cfg": ALICE}) == "default"  # type: ignore[arg-type]

    assert "unexpected RuntimeError" in caplog.text
    assert "sk-secret" not in caplog.text


def test_a_closed_log_breaks_no_compaction(caplog: pytest.LogCaptureFixture) -> None:
    with open_log(settings=Settings(harvest_llm=_never)) as log:
        plugin = MemoryPlugin(log)

    with caplog.at_level(logging.WARNING):
        assert plugin.before_compact(["hi"], {"agent_cfg": ALICE}) == "default"

    assert "closed" in caplog.text
