"""One call of a tool: check the arguments, ask the memory, say what came of it."""

from __future__ import annotations

from typing import Any

import msgspec

from memlog import fields, text
from memlog.defuse import defuse_line
from memlog.errors import MemlogError
from memlog.guard import is_users_rule
from memlog.memory import Memory
from memlog.note import Written
from memlog.tools import answers, refusals, texts
from memlog.tools.answers import Answer
from memlog.tools.arguments import (
    ArgumentsError,
    LinkArguments,
    ReadArguments,
    SearchArguments,
    WriteArguments,
    briefly,
    parsed,
)
from memlog.tools.specs import EFFECTS, TOOL_NAMES

SAME_FACT_SCORE = 0.75
"""From this similarity on a note looks like the same fact: one word of four differs at most.

Notes of a series, such as "Daily summary 2026-11-30", stay below it.
"""


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a call gives back.

    Attributes:
        text: for the model.
        structured: for programs: the tool's answer, or `{"error": text}` when it was refused.
        is_error: the call was refused, and nothing was written.
    """

    text: str
    structured: dict[str, Any]
    is_error: bool = False

    def __str__(self) -> str:
        return self.text


class Tools:
    """The tools over the notes of one scope. Safe to share between threads.

    Args:
        memory: whose notes they work on; a model has no way to another scope.
        read_only: refuse the tools that change memory.
        allow_pin_untrusted: let a model pin what came from the web or a compaction.
        allow_user_notes: let a model change a person's pinned notes.
        actor: opaque id of who asks; stays in the log for ever, like the next.
        conversation_id: opaque id of the conversation.

    Raises:
        InvalidRequestError: actor or conversation_id is no opaque id.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        read_only: bool = False,
        allow_pin_untrusted: bool = False,
        allow_user_notes: bool = False,
        actor: str | None = None,
        conversation_id: str | None = None,
    ) -> None:
        self._memory = memory.guarded(allow_user_notes=allow_user_notes)
        self._read_only, self._allow_user_notes = read_only, allow_user_notes
        self._allow_pin_untrusted = allow_pin_untrusted
        self._actor = fields.opaque_id("actor", actor)
        self._conversation_id = fields.opaque_id("conversation_id", conversation_id)

    def call(
        self,
        name: str,
        arguments: object,
        *,
        mode: str | None = None,
        conversation_id: str | None = None,
    ) -> ToolResult:
        """Serve one call of a model. Never raises, whatever the model sent.

        Args:
            name: one of `TOOL_NAMES`.
            arguments: an object as a dict, or as the JSON text of one.
            mode: `plan` refuses what changes memory.
            conversation_id: the one of this call; that of the tools when None.
        """
        if name not in TOOL_NAMES:
            names = ", ".join(TOOL_NAMES)
            return _refused(f"there is no tool {briefly(name)}; the tools are {names}")
        if EFFECTS[name] == "state_write":
            if self._read_only:
                return _refused(refusals.read_only(name))
            if mode == "plan":
                return _refused(refusals.plan_mode(name))
        try:
            return self._served(name, arguments, conversation_id or self._conversation_id)
        except ArgumentsError as error:
            return _refused(error.args[0])
        except MemlogError as error:
            return _refused(refusals.sentence(error))

    def _served(self, name: str, arguments: object, conversation_id: str | None) -> ToolResult:
        match name:
            case "memory_write":
                return self._write(parsed(name, WriteArguments, arguments), conversation_id)
            case "memory_search":
                return self._search(parsed(name, SearchArguments, arguments))
            case "memory_read":
                return self._read(parsed(name, ReadArguments, arguments))
            case _:
                return self._link(parsed(name, LinkArguments, arguments), conversation_id)

    def _write(self, given: WriteArguments, conversation_id: str | None) -> ToolResult:
        written = self._memory.write(
            title=given.title,
            body=given.body,
            topics=given.topics,
            pinned=given.pinned,
            confidence=given.confidence,
            source=given.source.model_dump(),
            slug=given.slug or None,
            actor=self._actor,
            conversation_id=conversation_id,
            allow_pin_untrusted=self._allow_pin_untrusted,
        )
        same_fact = _same_fact(written)
        answer = answers.of_write(written, same_fact=same_fact)
        is_users = same_fact is not None and self._is_out_of_reach(same_fact)
        return _result(answer, texts.of_write(answer, is_users=is_users))

    def _is_out_of_reach(self, slug: str) -> bool:
        note = self._memory.get(slug)
        return note is not None and is_users_rule(note) and not self._allow_user_notes

    def _search(self, given: SearchArguments) -> ToolResult:
        hits = self._memory.search(
            given.query,
            limit=given.limit,
            topic=_topic(given.topic),
            include_superseded=given.include_superseded,
        )
        answer = answers.of_search(hits)
        return _result(answer, texts.of_search(answer, by_words=bool(given.query.strip())))

    def _read(self, given: ReadArguments) -> ToolResult:
        answer = answers.of_read(self._memory.read(given.slug))
        return _result(answer, texts.of_read(answer))

    def _link(self, given: LinkArguments, conversation_id: str | None) -> ToolResult:
        linked = self._memory.link(
            given.from_slug,
            given.to_slug,
            given.rel,
            label=given.label or None,
            actor=self._actor,
            conversation_id=conversation_id,
        )
        answer = answers.of_link(linked)
        return _result(answer, texts.of_link(answer))


def _topic(given: str) -> str | None:
    if not given.strip():
        return None
    normal = text.normalize_topics([given])
    if not normal:
        sentence = f"topic {briefly(given)} names no topic; send one that the index lists"
        raise ArgumentsError(sentence)
    return normal[0]


def _same_fact(written: Written) -> str | None:
    best = next(iter(written.similar), None)
    if best is None or not written.changed or best.score < SAME_FACT_SCORE:
        return None
    return best.slug


def _result(answer: Answer, text_: str) -> ToolResult:
    return ToolResult(text=text_, structured=answer.model_dump())


def _refused(sentence: str) -> ToolResult:
    """Return a refusal; its sentence may repeat what the model sent, so it is defused."""
    text_ = defuse_line(sentence)
    return ToolResult(text=text_, structured={"error": text_}, is_error=True)
