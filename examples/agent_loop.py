"""A small agent loop that remembers, without any network: its model follows a script.

    python examples/agent_loop.py

A first conversation writes one of two facts down and finds it again. It grows too long and is
compacted, and a harvest saves the other fact from the entries that were cut. A second conversation
knows both from its first request on. Swap `ScriptedModel` and `ask_the_small_model` for real ones,
and the rest stays.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import memlog
from memlog import harvest

SYSTEM = "You are the assistant of a small team. Keep what will matter next week in memory."
ENTRIES_MAX = 8

Message = dict[str, Any]


# --- The loop


@dataclass
class Agent:
    """One conversation of an agent loop.

    Attributes:
        model: answers a request with text, or with calls of tools.
        extensions: asked in this order; memory comes first.
        agent_cfg: what the extensions know of the agent.
        entries: the messages of the conversation.
        compactions: how often it was compacted.
    """

    model: ScriptedModel
    extensions: Sequence[memlog.Extension]
    agent_cfg: dict[str, Any]
    entries: list[Message] = field(default_factory=list)
    compactions: int = 0

    def say(self, text: str) -> str:
        """Give the agent a message of the person, and return its answer."""
        self.entries.append({"role": "user", "content": text})
        while True:
            self._compact_if_long()
            answer = self._request()
            self.entries.append(answer)
            if "tool_calls" not in answer:
                return str(answer["content"])
            for call in answer["tool_calls"]:
                self.entries.append({"role": "tool", "content": self._call(call)})

    def _request(self) -> Message:
        cfg = memlog.run_before_agent_start(self.extensions, self.agent_cfg)
        return self.model.answer(memlog.system_prompt(cfg), self.entries, cfg["tools"])

    def _call(self, call: Mapping[str, Any]) -> str:
        context = {"agent_cfg": self.agent_cfg, "mode": "act"}
        result = memlog.run_tool(
            self.extensions, call["name"], call["arguments"], _no_such_tool, context
        )
        return str(result)

    def _compact_if_long(self) -> None:
        if len(self.entries) <= ENTRIES_MAX:
            return
        cut, self.entries = self.entries[:-2], self.entries[-2:]
        self.compactions += 1
        context = {
            "agent_cfg": self.agent_cfg,
            "compaction_key": f"{self.agent_cfg['conversation_id']}/{self.compactions}",
        }
        summary = memlog.run_before_compact(self.extensions, cut, context)
        if summary == "default":  # Nobody made a summary of their own.
            summary = f"[{len(cut)} earlier messages were cut]"
        self.entries.insert(0, {"role": "user", "content": summary})


def _no_such_tool(name: str, arguments: object) -> str:
    return f"there is no tool {name} ({arguments})"


# --- What stands in for models


class ScriptedModel:
    """Answers with what a script says; remembers the system prompts that it was given."""

    def __init__(self, answers: Iterable[Message]) -> None:
        """Follow a script."""
        self._answers: Iterator[Message] = iter(answers)
        self.prompts: list[str] = []

    def answer(
        self, system: str, entries: Sequence[Message], tools: Sequence[Mapping[str, Any]]
    ) -> Message:
        """Return the next answer."""
        assert entries[-1]["role"] in ("user", "tool")
        assert {tool["name"] for tool in tools} >= {"memory_write", "memory_search"}
        self.prompts.append(system)
        return {"role": "assistant", **next(self._answers)}


def says(text: str) -> Message:
    """Return an answer in words."""
    return {"content": text}


def calls(name: str, arguments: Mapping[str, Any]) -> Message:
    """Return an answer that calls a tool, with its arguments as JSON text, as models send them."""
    return {"tool_calls": [{"name": name, "arguments": json.dumps(arguments)}]}


def ask_the_small_model(messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any]) -> str:
    """Return the durable facts of a transcript, as the model of a harvest would find them."""
    del schema
    transcript = messages[-1]["content"]
    found = [
        {"title": "Wei is away in December", "body": "Ask Tomás about schema changes until then."}
    ]
    return json.dumps({"facts": found if "Wei" in transcript else []})


# --- Two conversations


def main(path: Path) -> None:
    """Let a conversation learn, compact it, harvest it, and let another one remember."""
    settings = memlog.Settings(harvest_llm=ask_the_small_model, harvest_model="scripted")
    with memlog.open(path, settings=settings) as log:
        plugin = memlog.MemoryPlugin(log, index_refresh="session")
        first = _conversation(plugin, "c-1", FIRST)
        print(first.say("Deploys need the VPN from today. And Wei is away in December."))
        print(first.say("So how do we deploy?"))
        assert first.compactions == 1
        assert len(set(first.model.prompts[:4])) == 1, "its own write broke no prompt cache"

        (done,) = harvest.Worker(log).run()
        print(f"harvested: {', '.join(done.slugs)}")

        second = _conversation(plugin, "c-2", SECOND)
        print(second.say("Who can review my schema change?"))
        assert '"Deploys need the VPN"' in second.model.prompts[0]
        assert '"Wei is away in December"' in second.model.prompts[0]


def _conversation(
    plugin: memlog.MemoryPlugin, conversation_id: str, script: Sequence[Message]
) -> Agent:
    agent_cfg = {
        "principal": "alice",
        "actor": "agent:example",
        "conversation_id": conversation_id,
        "system": SYSTEM,
    }
    return Agent(ScriptedModel(script), [plugin], agent_cfg)


FIRST = [
    calls("memory_search", {"query": "deploy VPN"}),
    calls(
        "memory_write",
        {
            "title": "Deploys need the VPN",
            "body": "Since 30 November the deploy host answers inside the VPN only.",
            "topics": ["deploy"],
        },
    ),
    says("I will remember that deploys need the VPN."),
    calls("memory_search", {"query": "how to deploy"}),
    says("Connect to the VPN first, then deploy."),
]
SECOND = [
    calls("memory_read", {"slug": "wei-is-away-in-december"}),
    says("Wei is away in December, so ask Tomás."),
]

if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as directory:
            main(Path(directory) / "notes.db")
