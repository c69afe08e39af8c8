"""A store that has something of everything, and its verification."""

import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from unittest.mock import patch

import msgspec

from memlog import Settings
from memlog.testing import CountingIds, FixedClock, open_log
from memlog.verify import beside
from memlog.verify.opening import verify_file
from memlog.verify.report import Verification
from memlog.verify.run import Asked
from memlog.verify.second import Found, Task, find

ALICE = ("owner", "alice")


def few_words_wait() -> AbstractContextManager[object]:
    """Let words of few notes wait, so that some are filed and some wait."""
    return patch("projections.notes.words.WAITING_POSTINGS", 12)


def fill(path: Path, clock: FixedClock | None = None, *, seed: int = 0) -> Path:
    """Make a closed store: notes, links, a pin, requests, a section, an index, two scopes."""
    clock = clock or FixedClock()
    with few_words_wait(), open_log(path, clock=clock, ids=CountingIds(seed)) as log:
        alice = log.scope("owner", "alice")
        for number in range(6):
            alice.write(
                title=f"Tea number {number}",
                body=f"Steep it {number} minutes.",
                topics=["tea", f"shelf-{number}"],
                request_id=f"r-{number}",
            )
            clock.advance()
        alice.pin("tea-number-1")
        alice.link("tea-number-2", "tea-number-3", "supersedes")
        alice.link("tea-number-0", "tea-number-1", "related", request_id="r-link")
        alice.write(title="Tea number 0", body="Steep it longer.", slug="tea-number-0")
        log.scope("global").write(title="Milk", body="Cold.")
        alice.unlink("tea-number-2", "tea-number-3", "supersedes")
        alice.write(title="Last of all", body="The end.")
        alice.section(conversation_id="c-1")
        alice.search("tea")
    return path


def copied(source: Path, directory: Path) -> Path:
    """Copy a closed store with its search indexes; return the copy's path."""
    shutil.copytree(source.parent, directory, dirs_exist_ok=True)
    return directory / source.name


def verified(path: Path, *, saved: dict[str, bytes] | None = None) -> Verification:
    """Verify a file, once as a small one and once as a large one, and return what both found."""
    asked = Asked(target=str(path), saved=saved or {})
    found = verify_file(path, settings=Settings(), asked=asked)
    with as_a_large_one():
        assert verify_file(path, settings=Settings(), asked=asked) == found
    return found


def as_a_large_one() -> AbstractContextManager[object]:
    """Let what a second process does for a large log be done, in this one."""
    return patch("memlog.verify.beside.begun", _begun)


@contextmanager
def _begun(task: Task, *, events: int) -> Iterator[beside.Second]:
    assert events >= 0
    yield _Here(task)


class _Here(beside.Second):
    def __init__(self, task: Task) -> None:
        self._task = task

    def found(self) -> Found | None:
        task = msgspec.json.decode(msgspec.json.encode(self._task), type=Task)
        try:
            answer = msgspec.json.encode(find(task))
        except Exception:  # noqa: BLE001  # of any kind, as it ends a process
            return None
        return msgspec.json.decode(answer, type=Found)
