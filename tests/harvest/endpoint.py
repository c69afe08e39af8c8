"""An OpenAI-compatible endpoint on this machine, which behaves as it is told."""

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Fact = Mapping[str, Any]


def fact(title: str, body: str = "", *topics: str) -> dict[str, Any]:
    return {"title": title, "body": body or f"{title}, as was decided.", "topics": list(topics)}


def completion(content: object) -> bytes:
    """Return a chat completion with this text, as an endpoint sends it."""
    message = {"role": "assistant", "content": content}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return json.dumps({"object": "chat.completion", "choices": [choice]}).encode()


def answer(*facts: Any) -> bytes:  # noqa: ANN401  # whatever a caller may give
    return completion(json.dumps({"facts": facts}))


class Reply:
    """What the endpoint does with one request: a status and bytes, slowly if need be."""

    def __init__(
        self,
        body: bytes = b"",
        *,
        status: int = 200,
        headers: Sequence[tuple[str, str]] = (),
        drip_s: float = 0.0,
        drips_headers: bool = False,
    ) -> None:
        self.body, self.status, self.headers = body, status, headers
        self.drip_s, self.drips_headers = drip_s, drips_headers


class Endpoint:
    """A running endpoint: what it received, and what it says next (the last reply for ever)."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.replies: list[Reply] = [Reply(answer())]
        self.received: list[bytes] = []
        self.paths: list[str] = []
        self.authorizations: list[str | None] = []
        self.closing = threading.Event()

    @property
    def requests(self) -> list[dict[str, Any]]:
        return [json.loads(body) for body in self.received]

    def next_reply(self) -> Reply:
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


@contextmanager
def running() -> Iterator[Endpoint]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    endpoint = Endpoint(f"http://127.0.0.1:{server.server_address[1]}/v1")
    server.endpoint = endpoint  # type: ignore[attr-defined]  # where the handler finds it
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        endpoint: Endpoint = self.server.endpoint  # type: ignore[attr-defined]
        endpoint.received.append(self.rfile.read(int(self.headers["content-length"])))
        endpoint.paths.append(self.path)
        endpoint.authorizations.append(self.headers.get("authorization"))
        reply = endpoint.next_reply()
        lines = [f"HTTP/1.1 {reply.status} Status", f"Content-Length: {len(reply.body)}"]
        lines += [f"{name}: {value}" for name, value in reply.headers]
        head = ("\r\n".join([*lines, "Connection: close"]) + "\r\n\r\n").encode()
        self.close_connection = True
        slow = head + reply.body if reply.drips_headers else reply.body
        try:
            self.wfile.write(b"" if reply.drips_headers else head)
            if not reply.drip_s:
                self.wfile.write(slow)
                return
            for byte in slow:
                if endpoint.closing.is_set():
                    return
                self.wfile.write(bytes([byte]))
                time.sleep(reply.drip_s)
        except OSError:  # The worker hung up.
            return

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name there
        pass
