"""The server over standard input and output, driven by the SDK's own client."""

import asyncio
import json
import signal
import subprocess
from pathlib import Path

import pytest

import memlog
from tests.mcp.conversation import (
    check_untouched,
    drive,
    drive_read_only,
    is_out_of_order,
    write_tea,
)
from tests.mcp.serving import (
    LIMIT_S,
    PYTHON,
    arguments,
    environment,
    fields_of,
    limited,
    over_stdio,
)

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.db"


def test_a_client_can_do_all_that_there_is(path: Path) -> None:
    async def test() -> None:
        async with over_stdio(path) as client:
            await drive(client, path)

    limited(test)


def test_read_only_offers_and_does_nothing_that_writes(path: Path) -> None:
    write_tea(path)

    async def test() -> None:
        async with over_stdio(path, "--read-only") as client:
            await drive_read_only(client)

    limited(test)
    check_untouched(path)


def test_a_store_that_cannot_be_opened_is_told_without_its_place(path: Path) -> None:
    path.write_bytes(b"no store")

    async def test() -> None:
        async with over_stdio(path) as client:
            await is_out_of_order(client, path)

    limited(test)


def test_two_clients_share_one_store(path: Path) -> None:
    async def writes(name: str) -> None:
        async with over_stdio(path) as client:
            for number in range(10):
                note = {"title": f"{name} {number}", "body": "x"}
                fields_of(await client.call_tool("memory_write", note))

    async def test() -> None:
        await asyncio.gather(writes("one"), writes("two"))

    limited(test)
    with memlog.open(path) as log:
        memory = log.scope("owner", "alice")
        assert {note.title for note in memory.notes()} == {
            f"{name} {number}" for name in ("one", "two") for number in range(10)
        }


def _started(path: Path) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [*PYTHON, *arguments(path)],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
    process.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
    process.stdin.flush()
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "memlog"
    assert not path.exists()  # Opened when it is first needed.
    return process


def _ask(process: subprocess.Popen[bytes], name: str, given: dict[str, object]) -> None:
    params = {"name": name, "arguments": given}
    message = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
    assert process.stdin is not None
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()


@pytest.mark.parametrize("ending", ["end of input", "SIGTERM"])
def test_it_ends_cleanly_and_prints_nothing_but_the_protocol(path: Path, ending: str) -> None:
    with _started(path) as process:
        _ask(process, "memory_write", {"title": "Tea", "body": "green"})
        assert process.stdout is not None
        answer = process.stdout.readline()
        if ending == "SIGTERM":
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=LIMIT_S)
        out, err = process.communicate(timeout=LIMIT_S)

    assert json.loads(answer)["result"]["structuredContent"]["slug"] == "tea"
    assert (process.returncode, out, err) == (0, b"", b"")
    assert not path.with_name("notes.db-wal").exists()  # The log was closed.


def test_a_client_that_is_gone_leaves_nothing_broken(path: Path) -> None:
    with _started(path) as process:
        _ask(process, "memory_write", {"title": "Tea", "body": "green"})
        process.kill()
        process.communicate(timeout=LIMIT_S)

    with memlog.open(path) as log:
        memory = log.scope("owner", "alice")
        memory.write(title="Kettle", body="broken")
        assert memory.get("kettle") is not None
        assert log.position() == len(memory.notes())


def test_noise_on_its_input_is_answered_and_survived(path: Path) -> None:
    with _started(path) as process:
        assert process.stdin is not None
        process.stdin.write(b'not json\n{"jsonrpc": "2.0"}\n\xff\xfe\n[]\n')
        _ask(process, "memory_search", {"query": "tea"})
        assert process.stdout is not None
        while (answer := json.loads(process.stdout.readline())).get("id") != 2:
            assert "error" in answer or "method" in answer
        process.communicate(timeout=LIMIT_S)

    assert "result" in answer
