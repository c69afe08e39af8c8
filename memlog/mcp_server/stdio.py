"""The server over standard input and output. It ends when its input does, or when it is told to.

Standard output belongs to the protocol: while it serves, whatever else is printed goes to standard
error (the SDK sees to that).
"""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

from memlog.mcp_server.notes import Notes


def serve(server: Server[Any], notes: Notes) -> None:
    """Serve one client until it closes the input, or until SIGTERM or SIGINT."""
    asyncio.run(_serve(server, notes))


async def _serve(server: Server[Any], notes: Notes) -> None:
    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, _leave, notes)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _leave(notes: Notes) -> None:
    """End the process: a thread may wait for input for ever, and nothing can wake it."""
    notes.close()  # Waits for a write that has begun.
    os._exit(0)
