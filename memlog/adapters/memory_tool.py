"""Anthropic's memory tool over the notes of a scope; needs the extra `anthropic`.

    from anthropic import Anthropic
    from memlog.adapters.memory_tool import MemoryTool

    tool = MemoryTool(log.scope("owner", "alice"), actor="agent:claude")
    client.beta.messages.tool_runner(tools=[tool], …)

What the files are, and what becomes of a delete, is said in `memlog.adapters.files`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError

from memlog.adapters.files import MemoryFiles
from memlog.adapters.filetext import FileError

if TYPE_CHECKING:
    from anthropic.types.beta import (
        BetaCacheControlEphemeralParam,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )

    from memlog.memory import Memory


def _answer(command: Callable[[], str]) -> str:
    """Return what a command answers; what cannot be done becomes the tool's own error."""
    try:
        return command()
    except FileError as error:
        raise ToolError(str(error)) from None


class MemoryTool(BetaAbstractMemoryTool):
    """The memory tool, for `Anthropic` clients."""

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
        super().__init__(cache_control=cache_control)
        self._files = MemoryFiles(
            memory,
            actor=actor,
            conversation_id=conversation_id,
            allow_user_notes=allow_user_notes,
        )

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a file with line numbers, or list a folder."""
        return _answer(lambda: self._files.view(command.path, command.view_range))

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Make a file."""
        return _answer(lambda: self._files.create(command.path, command.file_text))

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that stands in a file exactly once."""
        new = command.new_str
        return _answer(lambda: self._files.str_replace(command.path, command.old_str, new))

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Put a text behind a line of a file."""
        line, text = command.insert_line, command.insert_text
        return _answer(lambda: self._files.insert(command.path, line, text))

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Retire a file, or all files of a folder."""
        return _answer(lambda: self._files.delete(command.path))

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file, or all files of a folder."""
        return _answer(lambda: self._files.rename(command.old_path, command.new_path))


class AsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """The memory tool, for `AsyncAnthropic` clients; each command runs in a thread."""

    def __init__(
        self,
        memory: Memory,
        *,
        actor: str | None = None,
        conversation_id: str | None = None,
        allow_user_notes: bool = False,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        """Serve the notes of `memory`; see `MemoryTool`."""
        super().__init__(cache_control=cache_control)
        self._tool = MemoryTool(
            memory,
            actor=actor,
            conversation_id=conversation_id,
            allow_user_notes=allow_user_notes,
        )

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a file with line numbers, or list a folder."""
        return await asyncio.to_thread(self._tool.view, command)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Make a file."""
        return await asyncio.to_thread(self._tool.create, command)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that stands in a file exactly once."""
        return await asyncio.to_thread(self._tool.str_replace, command)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Put a text behind a line of a file."""
        return await asyncio.to_thread(self._tool.insert, command)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Retire a file, or all files of a folder."""
        return await asyncio.to_thread(self._tool.delete, command)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file, or all files of a folder."""
        return await asyncio.to_thread(self._tool.rename, command)
