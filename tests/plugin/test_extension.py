"""The runner of extensions: who is asked, in which order, and when it stops."""

from collections.abc import Sequence
from typing import Any

from memlog.extension import (
    AgentConfig,
    CallTool,
    Context,
    Extension,
    run_before_agent_start,
    run_before_compact,
    run_tool,
    system_prompt,
)
from memlog.plugin import MemoryPlugin
from memlog.testing import open_log


class Noting(Extension):
    """Notes what it was asked, and answers a compaction as it was told."""

    description = "for tests"

    def __init__(self, name: str, seen: list[str], summary: object = "default") -> None:
        self.id = self.name = name
        self._seen, self._summary = seen, summary

    def before_agent_start(self, agent_cfg: AgentConfig) -> AgentConfig:
        self._seen.append(self.name)
        return {**agent_cfg, "last": self.name}

    def wrap_tool(
        self, name: str, arguments: object, call_next: CallTool, context: Context
    ) -> object:
        del context
        self._seen.append(f"{self.name} in")
        answer = call_next(name, arguments)
        self._seen.append(f"{self.name} out")
        return f"{self.name}({answer})"

    def before_compact(self, entries: Sequence[Any], context: Context) -> object:
        del entries, context
        self._seen.append(self.name)
        return self._summary


class Silent(Extension):
    """Has a part in nothing."""

    id = name = description = "silent"


def test_requests_go_through_the_list_in_order() -> None:
    seen: list[str] = []

    cfg = run_before_agent_start([Noting("a", seen), Silent(), Noting("b", seen)], {"x": 1})

    assert seen == ["a", "b"]
    assert cfg == {"x": 1, "last": "b"}


def test_the_first_extension_stands_around_all_others() -> None:
    seen: list[str] = []
    extensions = [Noting("a", seen), Silent(), Noting("b", seen)]

    answer = run_tool(extensions, "t", {}, lambda name, arguments: f"{name}{arguments}", {})

    assert answer == "a(b(t{}))"
    assert seen == ["a in", "b in", "b out", "a out"]


def test_compaction_stops_at_the_first_answer_that_is_not_default() -> None:
    seen: list[str] = []
    extensions = [Noting("a", seen), Noting("b", seen, "summary"), Noting("c", seen, "other")]

    assert run_before_compact(extensions, [], {}) == "summary"
    assert seen == ["a", "b"]


def test_compaction_is_the_loops_own_when_nobody_has_another_answer() -> None:
    seen: list[str] = []

    assert run_before_compact([Noting("a", seen), Silent()], [], {}) == "default"
    assert run_before_compact([], [], {}) == "default"
    assert seen == ["a"]


def test_memory_is_asked_before_an_extension_with_its_own_summaries_and_not_behind_it() -> None:
    context = {"agent_cfg": {"principal": "alice", "conversation_id": "c"}}
    with open_log() as log:
        log.scope("owner", "alice").write(title="Tea", body="green")
        memory = MemoryPlugin(log, index_refresh="session")
        summarizing = Noting("s", [], "summary")
        index = _index(memory)
        log.scope("owner", "alice").write(title="Cup", body="blue")

        assert run_before_compact([summarizing, memory], [], context) == "summary"
        assert _index(memory) == index
        assert run_before_compact([memory, summarizing], [], context) == "summary"
        assert _index(memory) != index


def _index(plugin: MemoryPlugin) -> str:
    return system_prompt(plugin.before_agent_start({"principal": "alice", "conversation_id": "c"}))


def test_what_changes_least_comes_first_in_the_system_prompt() -> None:
    cfg = {"system": "Own.", "system_sections": {"b": "B", "empty": "", "a": "A"}}

    assert system_prompt(cfg) == "Own.\n\nB\n\nA"
    assert system_prompt({}) == ""


def test_a_system_prompt_may_come_in_blocks() -> None:
    blocks = [{"type": "text", "text": "Own."}, {"type": "other"}, "More."]

    assert system_prompt({"system": blocks, "system_sections": None}) == "Own.\n\nMore."
