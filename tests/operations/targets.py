"""Stores of both engines, and a log with something of every kind in it."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from memlog.log import Log
from memlog.memory import Memory
from tests import postgres_server

ENGINES = ("sqlite", "postgres")


@contextmanager
def places(directory: Path) -> Iterator["Places"]:
    """Give places for new stores."""
    with ExitStack() as stack:
        yield Places(directory, stack)


class Places:
    """Names stores that do not exist yet, each another one."""

    def __init__(self, directory: Path, stack: ExitStack) -> None:
        self._directory, self._stack, self._count = directory, stack, 0

    def new(self, engine: str) -> str:
        self._count += 1
        if engine == "postgres":
            return self._stack.enter_context(postgres_server.schema())
        return str(self._directory / f"store-{self._count}.db")


def fill(log: Log, *, count: int = 20) -> Memory:
    """Write notes, links, pins, a repeated request and a handed-out section."""
    memory = log.scope("owner", "alice")
    for number in range(count):
        memory.write(title=f"note {number}", body="茶 " * number + "b", topics=["tea"])
    memory.write(title="Pinned", body="b", pinned=True, request_id="r-1", actor="agent:a")
    memory.link("note-1", "note-0", "supersedes", label="better")
    log.scope("global").write(title="Global", body="g", source={"url": "https://example.org"})
    memory.section(conversation_id="c-1")
    return memory
