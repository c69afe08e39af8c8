"""Servers as processes of their own, clients of the official SDK, and time limits around both."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import mcp_types as types
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "t0ken-of-the-tests-4711"  # noqa: S105  # opens nothing
LIMIT_S = 120
PYTHON = (sys.executable, "-W", "error", "-m", "memlog")


def environment() -> dict[str, str]:
    """Return the environment of a server: none of this machine's settings of memlog."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("MEMLOG_")}
    return {**kept, "PYTHONPATH": str(ROOT)}


def arguments(path: Path, *options: str) -> list[str]:
    return ["mcp", "--db", str(path), "--scope", "owner:alice", *options]


@asynccontextmanager
async def over_stdio(path: Path, *options: str) -> AsyncIterator[Client]:
    """Connect a client to a server that it starts."""
    command, *python = PYTHON
    parameters = StdioServerParameters(
        command=command, args=[*python, *arguments(path, *options)], env=environment()
    )
    async with Client(stdio_client(parameters), mode="legacy", read_timeout_seconds=60) as client:
        yield client


class HTTPServer(NamedTuple):
    """A server that listens: its URL, its process, and its store."""

    url: str
    process: subprocess.Popen[str]
    path: Path


@contextmanager
def http_server(path: Path, *options: str, token: str | None = TOKEN) -> Iterator[HTTPServer]:
    """Run a server over HTTP on a free port, and end it with SIGTERM."""
    command = [*PYTHON, *arguments(path, "--http", "127.0.0.1:0", *options)]
    environ = environment() | ({} if token is None else {"MEMLOG_MCP_TOKEN": token})
    process = subprocess.Popen(
        command, env=environ, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        assert said.startswith("serving "), said
        yield HTTPServer(said.removeprefix("serving ").strip(), process, path)
    finally:
        process.terminate()
        try:
            _, rest = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
    assert (process.returncode, rest) == (0, "")


@asynccontextmanager
async def over_http(url: str, *, token: str | None = TOKEN) -> AsyncIterator[Client]:
    """Connect a client to a server that listens."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode="legacy", read_timeout_seconds=60) as client:
            yield client


def limited(test: Callable[[], Awaitable[None]]) -> None:
    """Run a test's coroutine, for a limited time."""

    async def run() -> None:
        async with asyncio.timeout(LIMIT_S):
            await test()

    asyncio.run(run())


def text_of(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


def fields_of(result: types.CallToolResult) -> dict[str, Any]:
    assert not result.is_error, text_of(result)
    structured: dict[str, Any] = result.structured_content
    return structured


async def index_of(client: Client) -> str:
    (contents,) = (await client.read_resource("memlog://index")).contents
    assert isinstance(contents, types.TextResourceContents)
    return contents.text
