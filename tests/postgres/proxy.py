"""A wire to the server that can be cut: before a commit arrives, or before its answer returns.

Or it greets as a transaction pooler does, which makes up the process that clients talk to.
"""

import re
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict

Cut = Literal["before", "after", "hold"]
_CHUNK = 65_536
_PROCESS = re.compile(rb"K\0\0\0[\x0c-\xff]")  # BackendKeyData: its length, then the process.


class Proxy:
    """Forwards connections; `cut` says what happens to the next one that sends a COMMIT.

    Attributes:
        cut: "before": the server never sees it; "after": it is done, but nobody is told; "hold":
            it stays on its way while the client's side is cut, until `release` is set; None: all
            is forwarded.
        commits: number of COMMITs seen.
        pools: name another process than the server's when a client is greeted.
        release: lets what is held go on to the server.
    """

    def __init__(self, server: str | tuple[str, int], path: Path) -> None:
        self._server = server
        self.cut: Cut | None = None
        self.commits = 0
        self.pools = False
        self.release = threading.Event()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(
                socket.AF_UNIX if isinstance(self._server, str) else socket.AF_INET
            )
            server.connect(self._server)
            self._open += [client, server]
            ways = ((self._upstream, (client, server)), (self._downstream, (server, client)))
            for target, pair in ways:
                threading.Thread(target=target, args=pair, daemon=True).start()

    def _upstream(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while sent := client.recv(_CHUNK):
                if b"COMMIT\0" in sent:  # The end of a statement, and no isolation level.
                    self.commits += 1
                    cut, self.cut = self.cut, None
                    if cut == "before":
                        break
                    if cut == "after":
                        client.shutdown(socket.SHUT_RDWR)  # The answer has nowhere to go.
                    if cut == "hold":
                        client.shutdown(socket.SHUT_RDWR)
                        self.release.wait()
                server.sendall(sent)
        _end(server, client)

    def _downstream(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while answer := server.recv(_CHUNK):
                greeting = _PROCESS.search(answer) if self.pools else None
                if greeting is not None:
                    end = greeting.end()
                    answer = answer[:end] + b"\x7f\0\0\1" + answer[end + 4 :]
                client.sendall(answer)
        with suppress(OSError):  # The server may still have to work on what the client sent before.
            client.shutdown(socket.SHUT_RDWR)

    def sever(self) -> None:
        """Cut every connection."""
        while self._open:
            _end(self._open.pop())

    def close(self) -> None:
        """Stop."""
        self.release.set()
        _end(self._listener)
        self.sever()


def _end(*ends: socket.socket) -> None:
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()


@contextmanager
def proxied(url: str) -> Iterator[tuple[Proxy, str]]:
    """Give a proxy to the server of `url`, and the URL that goes through it."""
    given = conninfo_to_dict(url)
    with psycopg.connect(url) as connection:
        host, port = connection.info.host, connection.info.port
    server: str | tuple[str, int] = (
        f"{host}/.s.PGSQL.{port}" if host.startswith("/") else (host, port)
    )
    with tempfile.TemporaryDirectory() as directory:
        proxy = Proxy(server, Path(directory, ".s.PGSQL.5432"))
        given.update(host=directory, port="5432", gssencmode="disable")
        query = "&".join(f"{name}={quote(str(value))}" for name, value in given.items())
        try:
            yield proxy, f"postgresql://?{query}"
        finally:
            proxy.close()
