"""The server over streamable HTTP, at `/mcp`: a token first, then Host and Origin, then MCP.

No session is kept: each request stands for itself, so that a client that is gone leaves nothing.
"""

from __future__ import annotations

import signal
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import uvicorn
from mcp.server.lowlevel.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from memlog.errors import InvalidRequestError
from memlog.mcp_server.access import Place, host_names, is_loopback, is_token, origins

if TYPE_CHECKING:
    from collections.abc import Callable

PATH = "/mcp"
_BODY_BYTES_MAX = 1_000_000
_GRACE_S = 3


def serve(
    server: Server[Any],
    place: Place,
    *,
    token: str | None,
    hosts: Sequence[str] = (),
    say: Callable[[str], None],
) -> None:
    """Serve until SIGTERM or SIGINT.

    Args:
        server: what answers.
        place: where to listen.
        token: what a client must send; None lets everybody in who can reach a loopback address.
        hosts: more names by which it may be called.
        say: is told the URL, once it listens.

    Raises:
        InvalidRequestError: it would listen without a token where others can reach it.
        OSError: it cannot listen there.
    """
    if token is None and not is_loopback(place.host):
        rule = "without a token only loopback is served; set one, or listen on 127.0.0.1"
        raise InvalidRequestError("http", place.host, rule)
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    with socket.create_server((place.host, place.port), family=family) as listening:
        port = listening.getsockname()[1]
        names = host_names(place.host, port, hosts)
        app = with_token(_app(server, names), token)
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_GRACE_S,
        )
        running = uvicorn.Server(config)

        def end(*_: object) -> None:
            running.should_exit = True

        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, end)  # Until uvicorn has its own; it raises what it got once more.
        say(f"http://{names[0]}{PATH}")
        running.run(sockets=[listening])


def _app(server: Server[Any], names: Sequence[str]) -> ASGIApp:
    return server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        max_request_body_size=_BODY_BYTES_MAX,
        transport_security=TransportSecuritySettings(
            allowed_hosts=list(names), allowed_origins=origins(names)
        ),
    )


def with_token(app: ASGIApp, token: str | None) -> ASGIApp:
    """Return an application that lets only requests with the token through; all when it is None."""
    if token is None:
        return app

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or is_token(_authorization(scope), token):
            await app(scope, receive, send)
        else:
            refusal = PlainTextResponse(
                "send the token of this server: Authorization: Bearer TOKEN\n",
                status_code=401,
                headers={"WWW-Authenticate": "Bearer"},
            )
            await refusal(scope, receive, send)

    return guarded


def _authorization(scope: Scope) -> str:
    return Headers(scope=scope).get("authorization", "")
