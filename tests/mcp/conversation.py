"""What every client must be able to do, whatever carries it."""

from pathlib import Path

import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

import memlog
from memlog.defuse import STANDING_LINE
from memlog.tools import EFFECTS, TOOL_NAMES
from tests.mcp.serving import fields_of, index_of, text_of


async def drive(client: Client, path: Path) -> None:
    """List, call each tool, be refused, read the index: the whole surface."""
    await _lists(client)
    await _calls_each_tool(client)
    await _is_refused(client)
    await _reads_the_index(client, path)


async def _lists(client: Client) -> None:
    assert client.server_info is not None
    assert (client.server_info.name, client.server_info.version) == ("memlog", memlog.__version__)
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert tuple(tools) == TOOL_NAMES
    for name, tool in tools.items():
        hints = tool.annotations
        assert hints is not None
        assert hints.read_only_hint == (EFFECTS[name] == "read")
        assert (hints.destructive_hint, hints.idempotent_hint) == (False, True)
        assert hints.open_world_hint is False
        assert tool.input_schema["additionalProperties"] is False
        assert tool.output_schema is not None
        assert tool.output_schema["type"] == "object"
    (resource,) = (await client.list_resources()).resources
    assert (str(resource.uri), resource.mime_type) == ("memlog://index", "text/plain")


async def _calls_each_tool(client: Client) -> None:
    written = await client.call_tool(
        "memory_write", {"title": "Tea", "body": "Ada drinks green tea.", "topics": ["drinks"]}
    )
    assert fields_of(written)["slug"] == "tea"
    await client.call_tool("memory_write", {"title": "Kettle", "body": "It is broken."})
    found = await client.call_tool("memory_search", {"query": "green tea"})
    assert fields_of(found)["notes"][0]["slug"] == "tea"
    assert text_of(found).startswith(STANDING_LINE)
    read = await client.call_tool("memory_read", {"slug": "tea"})
    assert "<MEMORY[tea] " in text_of(read)
    linked = await client.call_tool(
        "memory_link", {"from_slug": "kettle", "to_slug": "tea", "rel": "related"}
    )
    assert fields_of(linked)


async def _is_refused(client: Client) -> None:
    refusals = {
        "takes no 'actor'": ("memory_write", {"title": "x", "body": "x", "actor": "root"}),
        "takes no 'scope'": ("memory_search", {"query": "x", "scope": "global"}),
        "title": ("memory_write", {"body": "x"}),
        "no note 'coffee'": ("memory_read", {"slug": "coffee"}),
        "there is no tool 'memory_delete'": ("memory_delete", {}),
    }
    for sentence, (name, arguments) in refusals.items():
        result = await client.call_tool(name, arguments)
        assert result.is_error
        assert sentence in text_of(result)
        assert "\n" not in text_of(result)
    with pytest.raises(MCPError, match="the only one is memlog://index"):
        await client.read_resource("memlog://other")


async def _reads_the_index(client: Client, path: Path) -> None:
    text = await index_of(client)
    with memlog.open(path, read_only=True) as log:
        memory = log.scope("owner", "alice")
        assert text == memory.section().text
        assert {event.actor for event in memory.events()} == {"mcp"}
        assert [note.slug for note in memory.notes()] == ["kettle", "tea"]


# --- With --read-only


def write_tea(path: Path) -> None:
    """Make the store that `drive_read_only` reads."""
    with memlog.open(path) as log:
        log.scope("owner", "alice").write(title="Tea", body="green")


async def drive_read_only(client: Client) -> None:
    """List, search, read, and be refused whatever writes."""
    names = [tool.name for tool in (await client.list_tools()).tools]
    assert names == ["memory_search", "memory_read"]
    calls: dict[str, dict[str, object]] = {
        "memory_write": {"title": "x", "body": "x"},
        "memory_link": {"from_slug": "tea", "to_slug": "tea", "rel": "related"},
    }
    for name, given in calls.items():
        refused = await client.call_tool(name, given)
        assert refused.is_error
        assert "can only be read here" in text_of(refused)
    found = await client.call_tool("memory_search", {"query": "tea"})
    assert fields_of(found)["notes"][0]["slug"] == "tea"
    read = await client.call_tool("memory_read", {"slug": "tea"})
    assert "green" in text_of(read)
    assert '"Tea"' in await index_of(client)


def check_untouched(path: Path) -> None:
    """Check that the log holds what `write_tea` wrote, and nothing else."""
    with memlog.open(path) as log:
        assert log.position() == 1


async def is_out_of_order(client: Client, path: Path) -> None:
    """Be told that there is no memory, in a sentence without a place, a path or a position."""
    refused = await client.call_tool("memory_search", {"query": "tea"})
    assert refused.is_error
    with pytest.raises(MCPError) as unread:
        await index_of(client)
    for sentence in (text_of(refused), str(unread.value)):
        assert "memory cannot be used now" in sentence
        assert path.name not in sentence
        assert "/" not in sentence
