"""The server over streamable HTTP: the same surface, and who is kept out."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

import memlog
from tests.mcp.conversation import check_untouched, drive, drive_read_only, write_tea
from tests.mcp.serving import (
    LIMIT_S,
    TOKEN,
    HTTPServer,
    fields_of,
    http_server,
    limited,
    over_http,
)
from tests.mcp.test_stdio import INITIALIZE


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HTTPServer]:
    """One server for all tests of this module that only ask it."""
    with http_server(tmp_path_factory.mktemp("http") / "notes.db") as running:
        yield running


def post(url: str, *, token: str | None = TOKEN, **headers: str) -> httpx2.Response:
    given = {"Accept": "application/json, text/event-stream", **headers}
    if token is not None:
        given["Authorization"] = f"Bearer {token}"
    with httpx2.Client(trust_env=False, timeout=LIMIT_S) as client:
        return client.post(url, json=INITIALIZE, headers=given)


def test_a_client_can_do_all_that_there_is(tmp_path: Path) -> None:
    with http_server(tmp_path / "notes.db") as running:

        async def test() -> None:
            assert not running.path.exists()  # Opened when it is first needed.
            async with over_http(running.url) as client:
                await drive(client, running.path)

        limited(test)


def test_read_only_offers_and_does_nothing_that_writes(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    write_tea(path)
    with http_server(path, "--read-only") as running:

        async def test() -> None:
            async with over_http(running.url) as client:
                await drive_read_only(client)

        limited(test)
    check_untouched(path)


def test_two_clients_write_at_once(server: HTTPServer) -> None:
    async def writes(name: str) -> None:
        async with over_http(server.url) as client:
            for number in range(10):
                note = {"title": f"{name} {number}", "body": "x"}
                fields_of(await client.call_tool("memory_write", note))

    async def test() -> None:
        await asyncio.gather(writes("one"), writes("two"))

    limited(test)
    with memlog.open(server.path, read_only=True) as log:
        titles = {note.title for note in log.scope("owner", "alice").notes()}
        assert titles >= {f"{name} {number}" for name in ("one", "two") for number in range(10)}


def test_the_token_lets_in(server: HTTPServer) -> None:
    response = post(server.url)

    assert response.status_code == 200
    assert response.json()["result"]["serverInfo"]["name"] == "memlog"


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "Bearer",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        f"Bearer {TOKEN.upper()}",
        f"Basic {TOKEN}",
        TOKEN,
    ],
)
def test_nobody_else_comes_in(server: HTTPServer, authorization: str | None) -> None:
    headers = {} if authorization is None else {"Authorization": authorization}

    response = post(server.url, token=None, **headers)

    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert TOKEN not in response.text


def test_no_other_path_or_method_tells_anything_without_the_token(server: HTTPServer) -> None:
    root = server.url.removesuffix("/mcp")
    with httpx2.Client(trust_env=False, timeout=LIMIT_S) as client:
        for method in ("GET", "POST", "DELETE", "OPTIONS", "HEAD"):
            for url in (server.url, root, f"{root}/other"):
                assert client.request(method, url).status_code == 401


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "http://localhost.evil.example",
        "http://127.0.0.1",
        "http://127.0.0.1:1",
        "null",
    ],
)
def test_a_foreign_origin_is_refused(server: HTTPServer, origin: str) -> None:
    assert post(server.url, Origin=origin).status_code == 403


def test_the_servers_own_origin_is_not(server: HTTPServer) -> None:
    origin = server.url.removesuffix("/mcp")

    assert post(server.url, Origin=origin).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:80", "127.0.0.1:1"])
def test_a_foreign_host_is_refused(server: HTTPServer, host: str) -> None:
    assert post(server.url, Host=host).status_code == 421


def test_a_body_that_is_too_large_is_refused(server: HTTPServer) -> None:
    with httpx2.Client(trust_env=False, timeout=LIMIT_S) as client:
        response = client.post(
            server.url,
            content=json.dumps({"x": "y" * 1_100_000}),
            headers={
                "Authorization": f"Bearer {TOKEN}",
                "Content-Type": "application/json",
                "Accept": "application/json, text/event-stream",
            },
        )

    assert response.status_code == 413


def test_a_client_that_hangs_up_leaves_the_server_as_it_was(server: HTTPServer) -> None:
    with pytest.raises(httpx2.TimeoutException), httpx2.Client(trust_env=False) as client:
        client.post(server.url, content=_slow(), timeout=0.2)

    assert post(server.url).status_code == 200


def _slow() -> Iterator[bytes]:
    yield b'{"jsonrpc"'
    raise httpx2.ReadTimeout(TOKEN)  # The client gives up.


def test_without_a_token_only_where_it_was_asked_for_and_on_loopback(tmp_path: Path) -> None:
    with http_server(tmp_path / "notes.db", "--no-token", token=None) as running:
        assert post(running.url, token=None).status_code == 200
        assert post(running.url, token=None, Host="evil.example").status_code == 421


def test_it_ends_when_told_to_while_it_starts(tmp_path: Path) -> None:
    with http_server(tmp_path / "notes.db", "--no-token", token=None):
        pass  # The signal comes before the first request, and is not lost.


def test_the_token_may_lie_in_a_private_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    file.chmod(0o600)

    with http_server(
        tmp_path / "notes.db",
        "--token-file",
        str(file),
        "--allow-host",
        "notes.example",
        token=None,
    ) as running:
        assert post(running.url).status_code == 200
        assert post(running.url, token="x" * 20).status_code == 401
        assert post(running.url, Host="notes.example").status_code == 200
