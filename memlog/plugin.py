"""memlog as an extension of an agent loop: the index in the prompt, the tools, the harvest.

    plugin = MemoryPlugin(log)
    agent_cfg = plugin.before_agent_start({"principal": "alice", "system": "You are …"})

`memlog.extension` says what a loop calls, and in which order.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from memlog import fields
from memlog.conversations import Conversations
from memlog.errors import InvalidRequestError, format_error
from memlog.extension import (
    DEFAULT,
    AgentConfig,
    CallTool,
    Context,
    Extension,
    system_prompt,
)
from memlog.log import Log
from memlog.memory import Memory
from memlog.together import keyed_hash
from memlog.tools import TOOL_NAMES, Form, Tools, specs

SECTION = "memory_index"
"""Name of the system section."""

logger = logging.getLogger(__name__)


class MemoryPlugin(Extension):
    """Durable notes for an agent loop. Safe to share between conversations and threads.

    Each call names whose notes it is about: `principal` in the `agent_cfg`. List it before an
    extension that answers `before_compact` with a summary of its own; see `memlog.extension`.

    Args:
        log: an open log; whoever opened it closes it.
        scope: `owner`, the notes of the principal of each call; or `global`, the same for all.
        allow_pin_untrusted: let a model pin what came from the web or a compaction.
        harvest: queue what a compaction cuts for the harvest, if the log's settings have one.
        index_refresh: `change` gives each request the index as it is; `session` gives a
            conversation the one that it was handed first, until it is compacted, so that its own
            writes do not break its prompt cache. That needs a `conversation_id`.
        spec_form: form of the specs in `agent_cfg["tools"]`.

    Raises:
        InvalidRequestError: scope, index_refresh or spec_form is none of these.
    """

    id = "memory"
    name = "Memory"
    description = "Notes that outlive the conversation: an index in the prompt, and four tools."

    def __init__(
        self,
        log: Log,
        *,
        scope: Literal["owner", "global"] = "owner",
        allow_pin_untrusted: bool = False,
        harvest: bool = True,
        index_refresh: Literal["change", "session"] = "change",
        spec_form: Form = "plain",
    ) -> None:
        _check_choice("scope", scope, ("owner", "global"))
        _check_choice("index_refresh", index_refresh, ("change", "session"))
        _check_choice("spec_form", spec_form, ("plain", "openai", "anthropic"))
        self._log, self._scope, self._harvest = log, scope, harvest
        self._allow_pin_untrusted, self._index_refresh = allow_pin_untrusted, index_refresh
        self._spec_form: Form = spec_form
        self._conversations = Conversations()

    def tool_specs(self) -> list[dict[str, Any]]:
        """Return the specs of the four tools."""
        return specs(self._spec_form)

    def before_agent_start(self, agent_cfg: AgentConfig) -> AgentConfig:
        """Put the index and the tools into a request's configuration; call it before each.

        Changes the dict that it is given, and returns it: `tools` gets the specs that are not in it
        yet, `system_sections["memory_index"]` the index. Both keep their places, and the index its
        bytes until a note is touched (`change`) or the conversation compacted (`session`).

        Raises:
            InvalidRequestError: there is no principal, or no conversation where one is needed.
        """
        memory = self._memory(agent_cfg)
        conversation_id = _opaque(agent_cfg, "conversation_id")
        if self._index_refresh == "change":
            section = memory.section(conversation_id=conversation_id)
        elif conversation_id is not None:
            section = self._conversations.section(memory, conversation_id)
        else:
            rule = (
                "name the conversation in agent_cfg: index_refresh='session' keeps one index each"
            )
            raise InvalidRequestError("conversation_id", None, rule)
        tools = agent_cfg.get("tools") or []
        known = {_name(tool) for tool in tools}
        missing = [spec for spec in self.tool_specs() if _name(spec) not in known]
        agent_cfg["tools"] = [*tools, *missing]
        sections = agent_cfg.get("system_sections") or {}
        agent_cfg["system_sections"] = {**sections, SECTION: section.text}
        return agent_cfg

    def wrap_tool(
        self, name: str, arguments: object, call_next: CallTool, context: Context
    ) -> object:
        """Serve a call of a memory tool with a `memlog.tools.ToolResult`; pass others on.

        Args:
            name: of the tool.
            arguments: as the model gave them; whatever they are, the result says what is wrong.
            call_next: is called with name and arguments of a tool that is not ours.
            context: `agent_cfg`, and `mode`: "plan" refuses what changes memory.

        Raises:
            InvalidRequestError: there is no principal.
        """
        if name not in TOOL_NAMES:
            return call_next(name, arguments)
        agent_cfg = _agent_cfg(context)
        tools = Tools(
            self._memory(agent_cfg),
            allow_pin_untrusted=self._allow_pin_untrusted,
            actor=_opaque(agent_cfg, "actor"),
            conversation_id=_opaque(agent_cfg, "conversation_id"),
        )
        return tools.call(name, arguments, mode=context.get("mode"))

    def before_compact(self, entries: Sequence[Any], context: Context) -> str:
        """Queue the entries that a compaction cuts for the harvest; always answers "default".

        Never raises and waits for other writers a moment at most: what goes wrong is logged, and
        the compaction goes on.

        Args:
            entries: what is cut, messages as the loop has them.
            context: `agent_cfg`; `compaction_key`, if the loop has a name for this compaction, so
                that it is harvested once however often it is tried.
        """
        try:
            self._compacted(entries, context)
        except Exception as error:  # noqa: BLE001  # entries are foreign objects; compactions go on
            logger.warning("a compaction was not prepared: %s", format_error(error))
        return DEFAULT

    def _compacted(self, entries: Sequence[Any], context: Context) -> None:
        agent_cfg = _agent_cfg(context)
        memory = self._memory(agent_cfg)
        conversation_id = _opaque(agent_cfg, "conversation_id")
        key = _opaque(context, "compaction_key") or _key(memory, conversation_id, entries)
        if conversation_id is not None:
            self._conversations.compacted(memory, conversation_id, key)
        if self._harvest:
            from memlog import harvest

            harvest.enqueue(
                self._log,
                memory.scope,
                key=key,
                entries=entries,
                conversation_id=conversation_id,
                system=system_prompt(agent_cfg) or None,
            )

    def _memory(self, agent_cfg: Mapping[str, Any]) -> Memory:
        if self._scope == "global":
            return self._log.scope("global")
        principal = agent_cfg.get("principal")
        if principal is None:
            rule = "name in agent_cfg whose notes these are"
            raise InvalidRequestError("principal", None, rule)
        return self._log.scope("owner", principal)


def _agent_cfg(context: Context) -> Mapping[str, Any]:
    """Return the agent's configuration: of the context, or the context itself."""
    agent_cfg: Mapping[str, Any] = context.get("agent_cfg", context)
    return agent_cfg


def _key(memory: Memory, conversation_id: str | None, entries: Sequence[Any]) -> str:
    """Return a name for a compaction: the same for the same entries of the same conversation."""
    from memlog.harvest.entries import canonical

    return keyed_hash(memory, conversation_id or "", canonical(entries))


def _opaque(agent_cfg: Mapping[str, Any], name: str) -> str | None:
    return fields.opaque_id(name, agent_cfg.get(name))


def _name(spec: Mapping[str, Any]) -> object:
    """Return a tool's name, in any form of spec."""
    return spec.get("name") or spec.get("function", {}).get("name")


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InvalidRequestError(name, value, f"use {' or '.join(map(repr, choices))}")
