"""Who may ask over HTTP: whoever has the token, by a name of this machine, from no foreign page.

The token is compared by its SHA-256 and in constant time, so neither its length nor its start can
be measured. `Host` and `Origin` are matched exactly against the names that the server is known by:
a web page that let its own name point here (DNS rebinding) has another one.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from memlog.errors import InvalidRequestError

TOKEN_VARIABLE = "MEMLOG_MCP_TOKEN"  # noqa: S105  # a name, not a token
TOKEN_CHARACTERS_MIN = 16
_TOKEN_BYTES_MAX = 4_096
_PORT_MAX, _PORT_DIGITS = 65_535, 5
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class Place(msgspec.Struct, frozen=True):
    """Where to listen."""

    host: str
    port: int


def parse_place(given: str) -> Place:
    """Return the place that `HOST:PORT`, `[::1]:PORT` or `PORT` names; PORT 0 takes a free one.

    Raises:
        InvalidRequestError: it names none.
    """
    host, _, port = given.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or "127.0.0.1"
    if not (
        port.isascii() and port.isdecimal() and len(port) <= _PORT_DIGITS and int(port) <= _PORT_MAX
    ):
        raise InvalidRequestError("http", given, "give HOST:PORT, such as 127.0.0.1:8808")
    return Place(host, int(port))


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach a host."""
    return host in _LOOPBACK


def token_of(environ: Mapping[str, str], file: Path | None) -> str:
    """Return the token: of the file if one is named, else of `MEMLOG_MCP_TOKEN`.

    Raises:
        InvalidRequestError: there is none, it is too short, or others can read its file.
    """
    if file is not None:
        return _checked("token_file", _content(file))
    token = environ.get(TOKEN_VARIABLE, "").strip()
    if not token:
        rule = f"set it, name a private file with --token-file, or give --no-token on {_names()}"
        raise InvalidRequestError(TOKEN_VARIABLE, token, rule)
    return _checked(TOKEN_VARIABLE, token)


def _names() -> str:
    return " or ".join(sorted(_LOOPBACK))


def _checked(field: str, token: str) -> str:
    if len(token) < TOKEN_CHARACTERS_MIN or not token.isascii() or not token.isprintable():
        rule = f"give at least {TOKEN_CHARACTERS_MIN} printable ASCII characters, drawn at random"
        raise InvalidRequestError(field, "…", rule)
    return token


def _content(file: Path) -> str:
    with file.open("rb") as opened:
        status = os.fstat(opened.fileno())  # Of what is read, whatever the path names by now.
        if os.name == "posix" and stat.S_IMODE(status.st_mode) & 0o077:
            raise InvalidRequestError("token_file", str(file), "others can use it; chmod 600 it")
        return opened.read(_TOKEN_BYTES_MAX + 1).decode("ascii", "replace").strip()


def is_token(header: str, token: str) -> bool:
    """Tell whether an `Authorization` header carries the token (RFC 6750)."""
    scheme, _, given = header.partition(" ")
    is_same = hmac.compare_digest(_hashed(given.strip()), _hashed(token))
    return is_same and scheme.lower() == "bearer"


def _hashed(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


def host_names(host: str, port: int, others: Sequence[str] = ()) -> list[str]:
    """Return each `Host` header by which a server that listens there is called, its own first.

    Args:
        host: what it listens on.
        port: where.
        others: more names, such as that of a proxy before it, with or without a port.
    """
    names = dict.fromkeys([host, *(sorted(_LOOPBACK) if is_loopback(host) else ())])
    bracketed = [f"[{name}]" if ":" in name else name for name in names]
    bare = bracketed if port in (80, 443) else []
    return [*(f"{name}:{port}" for name in bracketed), *bare, *others]


def origins(hosts: Sequence[str]) -> list[str]:
    """Return each `Origin` that pages of these hosts have."""
    return [f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")]
