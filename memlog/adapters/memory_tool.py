"""Anthropic's memory tool over the notes of a scope; needs the extra `anthropic`.

    from anthropic import Anthropic
    from memlog.adapters.memory_tool import MemoryTool

    tool = MemoryTool(log.scope("owner", "alice"), actor="agent:claude")
    client.beta.messages.tool_runner(tools=[tool], …)

What the files are, and what becomes of a delete, is said in `memlog.adapters.files`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anthropic.types.beta import (
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)

from memlog.adapters.files import MemoryFiles
from memlog.adapters.filetext import FileError
from memlog.tools.arguments import briefly

if TYPE_CHECKING:
    from anthropic.types.beta import BetaCacheControlEphemeralParam, BetaMemoryTool20250818Command

    from memlog.memory import Memory


class _OverNotes:
    """What both tools are made of: the files of a scope, and the commands on them."""

    def __init__(
        self,
        memory: Memory,
        *,
        actor: str | None = None,
        conversation_id: str | None = None,
        allow_user_notes: bool = False,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        """Serve the notes of `memory`.

        Args:
            memory: whose notes.
            actor: opaque id of who asks; stays in the log for ever, like the next.
            conversation_id: opaque id of the conversation.
            allow_user_notes: let the model change a person's pinned notes.
            cache_control: as for every tool of the SDK.
        """
        # The SDK's class comes next in the order of both tools.
        super().__init__(cache_control=cache_control)  # type: ignore[call-arg]
        self._files = MemoryFiles(
            memory,
            actor=actor,
            conversation_id=conversation_id,
            allow_user_notes=allow_user_notes,
        )

    def _answer(self, command: BetaMemoryTool20250818Command) -> str:
        """Do a command; what cannot be done becomes the tool's own error."""
        _check_types(command)
        try:
            return self._done(command)
        except FileError as error:
            raise ToolError(str(error)) from None

    def _done(self, command: BetaMemoryTool20250818Command) -> str:
        match command:
            case BetaMemoryTool20250818ViewCommand():
                return self._files.view(command.path, command.view_range)
            case BetaMemoryTool20250818CreateCommand():
                return self._files.create(command.path, command.file_text)
            case BetaMemoryTool20250818StrReplaceCommand():
                return self._files.str_replace(command.path, command.old_str, command.new_str)
            case BetaMemoryTool20250818InsertCommand():
                return self._files.insert(command.path, command.insert_line, command.insert_text)
            case BetaMemoryTool20250818DeleteCommand():
                return self._files.delete(command.path)
            case BetaMemoryTool20250818RenameCommand():
                return self._files.rename(command.old_path, command.new_path)


def _check_types(command: BetaMemoryTool20250818Command) -> None:
    """Refuse what a model left out or gave another type; the SDK builds commands unchecked."""
    for name, value in command:
        wanted, fits = "a string", isinstance(value, str)
        if name == "insert_line":
            wanted, fits = "a whole number", isinstance(value, int)
        elif name == "view_range":
            wanted, fits = "a list of two numbers", value is None or _is_numbers(value)
        if not fits:
            raise ToolError(f"{name} must be {wanted}, not {briefly(value)}")


def _is_numbers(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, int) for each in value)


class MemoryTool(_OverNotes, BetaAbstractMemoryTool):
    """The memory tool, for `Anthropic` clients."""

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a file with line numbers, or list a folder."""
        return self._answer(command)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Make a file."""
        return self._answer(command)

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that stands in a file exactly once."""
        return self._answer(command)

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Put a text behind a line of a file."""
        return self._answer(command)

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Retire a file, or all files of a folder."""
        return self._answer(command)

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file, or all files of a folder."""
        return self._answer(command)


class AsyncMemoryTool(_OverNotes, BetaAsyncAbstractMemoryTool):
    """The memory tool, for `AsyncAnthropic` clients; each command runs in a thread."""

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a file with line numbers, or list a folder."""
        return await asyncio.to_thread(self._answer, command)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Make a file."""
        return await asyncio.to_thread(self._answer, command)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that stands in a file exactly once."""
        return await asyncio.to_thread(self._answer, command)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Put a text behind a line of a file."""
        return await asyncio.to_thread(self._answer, command)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Retire a file, or all files of a folder."""
        return await asyncio.to_thread(self._answer, command)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file, or all files of a folder."""
        return await asyncio.to_thread(self._answer, command)
