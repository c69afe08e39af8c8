"""How a command of a test runs, and how it ended."""

import io
from collections.abc import Callable
from typing import NamedTuple


class Ended(NamedTuple):
    """How a command ended: its exit code, and what it wrote to the two streams."""

    code: int
    out: bytes
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.decode().splitlines()


class Stream(io.TextIOWrapper):
    """A standard stream over bytes in memory, which may pass for a terminal."""

    def __init__(self, content: bytes = b"", *, terminal: bool = False) -> None:
        self.bytes = io.BytesIO(content)
        self.terminal = terminal
        super().__init__(self.bytes, encoding="utf-8", newline="\n")

    def isatty(self) -> bool:
        return self.terminal

    def written(self) -> bytes:
        self.flush()
        return self.bytes.getvalue()


Run = Callable[..., Ended]
