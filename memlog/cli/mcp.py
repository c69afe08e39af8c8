"""`memlog mcp`: the notes of one scope as a server of the Model Context Protocol."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import memlog
from memlog.cli import output
from memlog.cli.exits import UsageError
from memlog.cli.session import Db, In, session
from memlog.errors import InvalidRequestError, format_error

if TYPE_CHECKING:
    from memlog.mcp_server.access import Place
    from memlog.mcp_server.notes import Notes

_NOT_INSTALLED = "the server needs the official SDK: pip install 'agent-memlog[mcp]'"


def mcp(
    context: typer.Context,
    *,
    http: Annotated[
        str | None,
        typer.Option(
            "--http",
            metavar="HOST:PORT",
            help="Serve streamable HTTP at /mcp there, instead of standard input and output.",
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file",
            metavar="FILE",
            help="A file with the token that clients must send; nobody else may read it. "
            "[env: MEMLOG_MCP_TOKEN holds the token itself]",
        ),
    ] = None,
    no_token: Annotated[
        bool, typer.Option("--no-token", help="Ask for none; on a loopback address only.")
    ] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            metavar="NAME[:PORT]",
            help="One more name that clients call it by, as in their Host header; repeatable.",
        ),
    ] = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Offer searching and reading only.")
    ] = False,
    actor: Annotated[
        str,
        typer.Option("--actor", metavar="ID", help="Who its writes are by; kept for ever."),
    ] = "mcp",
    db: Db = None,
    scope: In = None,
) -> None:
    """Serve the notes of a scope to MCP clients.

    Over standard input and output, or over HTTP with --http. The store is opened, and made if there
    is none, when a client first asks for notes.
    """
    asked = session(context, db=db, scope=scope)
    whose = asked.scope()
    try:
        place, token = _access(http, token_file=token_file, no_token=no_token)
        settings = memlog.from_env(os.environ)
    except InvalidRequestError as error:
        raise UsageError(format_error(error)) from None
    asked.check_target()
    from memlog.mcp_server.notes import Notes

    notes = Notes(asked.target, whose, settings=settings, read_only=read_only)
    try:
        _serve(notes, place, token=token, hosts=allow_host or [], actor=actor)
    except InvalidRequestError as error:
        raise UsageError(format_error(error)) from None


def _access(
    http: str | None, *, token_file: Path | None, no_token: bool
) -> tuple[Place | None, str | None]:
    if http is None:
        if token_file is not None or no_token:
            sentence = "a token is for HTTP; give --http HOST:PORT, too"
            raise UsageError(sentence)
        return None, None
    from memlog.mcp_server.access import parse_place, token_of

    place = parse_place(http)
    return place, None if no_token else token_of(os.environ, token_file)


def _serve(
    notes: Notes, place: Place | None, *, token: str | None, hosts: list[str], actor: str
) -> None:
    from memlog.mcp_server.sdk import import_server

    try:
        import_server()
        from memlog.mcp_server.protocol import make_server
    except ImportError:  # It is not there, or of an older version.
        raise UsageError(_NOT_INSTALLED) from None

    server = make_server(notes, actor=actor)
    if place is None:
        from memlog.mcp_server import stdio

        stdio.serve(server, notes)
        return
    from memlog.mcp_server import http

    http.serve(
        server,
        place,
        token=token,
        hosts=hosts,
        say=lambda url: output.notice(f"serving {url}"),
    )
