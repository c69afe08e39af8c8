"""What an agent loop calls while it runs, and the runner that calls it: three hooks.

    agent_cfg = run_before_agent_start(extensions, agent_cfg)    # before every request
    run_tool(extensions, name, arguments, call, context)         # for every call of a tool
    run_before_compact(extensions, entries, context)             # before entries are cut

**Order matters.** `run_before_agent_start` goes through the list in order. `run_tool` lets the
first extension wrap all others. `run_before_compact` stops at the first answer that is not
"default": an extension behind that one is not asked. So list `MemoryPlugin`, which always answers
"default", before an extension that makes its own summaries, or no compaction is ever harvested.

`agent_cfg` is a dict that belongs to the loop. What is known here of it:

| key | what it is |
|---|---|
| `principal` | whose notes |
| `conversation_id` | an opaque id that a conversation keeps, also in another process |
| `actor` | an opaque id of the agent |
| `system` | the loop's own system prompt: text, or a list of blocks with a `text` each |
| `system_sections` | what extensions add to it: text by name, in order |
| `tools` | specs of the tools |

`context` is a mapping: `agent_cfg`, and `mode` ("plan" refuses what changes state).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

AgentConfig = dict[str, Any]
Context = Mapping[str, Any]
CallTool = Callable[[str, object], Any]
"""Calls a tool by its name, with its arguments as the model gave them."""

DEFAULT = "default"
"""The answer to `before_compact` that leaves the compaction to whoever comes next."""


class Extension(Protocol):
    """One extension of an agent loop. Subclass it, and override what it has a part in.

    Attributes:
        id: unique among the extensions of a loop.
        name: for people.
        description: what it does, in one sentence.
    """

    id: str
    name: str
    description: str

    def tool_specs(self) -> list[dict[str, Any]]:
        """Return the specs of the tools that it serves."""
        return []

    def before_agent_start(self, agent_cfg: AgentConfig) -> AgentConfig:
        """Return the configuration of the next request: the one given, changed or not."""
        return agent_cfg

    def wrap_tool(
        self, name: str, arguments: object, call_next: CallTool, context: Context
    ) -> object:
        """Serve a call of a tool, or pass it on and return what `call_next` answers."""
        del context
        return call_next(name, arguments)

    def before_compact(self, entries: Sequence[Any], context: Context) -> object:
        """Return "default", or what is to stand for the entries that a compaction cuts."""
        del entries, context
        return DEFAULT


def run_before_agent_start(extensions: Sequence[Extension], agent_cfg: AgentConfig) -> AgentConfig:
    """Let each extension prepare a request, in order."""
    for extension in extensions:
        agent_cfg = extension.before_agent_start(agent_cfg)
    return agent_cfg


def run_tool(
    extensions: Sequence[Extension],
    name: str,
    arguments: object,
    call: CallTool,
    context: Context,
) -> object:
    """Call a tool through all extensions; the first one stands around all others.

    Args:
        extensions: in the loop's order.
        name: of the tool.
        arguments: as the model gave them.
        call: calls the loop's own tools.
        context: `agent_cfg` and `mode`.
    """
    for extension in reversed(extensions):
        call = partial(_wrapped, extension, call, context)
    return call(name, arguments)


def _wrapped(
    extension: Extension, call_next: CallTool, context: Context, name: str, arguments: object
) -> object:
    return extension.wrap_tool(name, arguments, call_next, context)


def run_before_compact(
    extensions: Sequence[Extension], entries: Sequence[Any], context: Context
) -> object:
    """Return the first answer that is not "default"; "default" when there is none."""
    for extension in extensions:
        answer = extension.before_compact(entries, context)
        if answer != DEFAULT:
            return answer
    return DEFAULT


def system_prompt(agent_cfg: Mapping[str, Any]) -> str:
    """Return the loop's own system prompt, then the sections, with a blank line between.

    What changes least comes first, so that a provider's prompt cache keeps as much as it can.
    """
    sections = agent_cfg.get("system_sections") or {}
    return "\n\n".join(filter(None, [_text(agent_cfg.get("system")), *sections.values()]))


def _text(system: object) -> str:
    """Return a system prompt as text; some APIs have it as a list of blocks with a `text` each."""
    if isinstance(system, str):
        return system
    blocks = system if isinstance(system, list | tuple) else []
    texts = [each.get("text") if isinstance(each, Mapping) else each for each in blocks]
    return "\n\n".join(each for each in texts if isinstance(each, str))
