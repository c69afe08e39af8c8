"""What others write while a store is verified is no damage."""

from collections.abc import Callable
from pathlib import Path

import pytest

import memlog
from memlog.settings import Settings
from memlog.verify.events import Progress
from memlog.verify.opening import verify_file
from memlog.verify.report import Verification
from memlog.verify.run import Asked

Verify = Callable[[Path, Progress], Verification]


def through_a_log(path: Path, progress: Progress) -> Verification:
    with memlog.open(path, read_only=True) as log:
        return log.verify(progress=progress)


def through_the_file(path: Path, progress: Progress) -> Verification:
    with memlog.open(path, read_only=True):  # So that it is not taken for a file at rest.
        asked = Asked(target=str(path), progress=progress)
        return verify_file(path, settings=Settings(), asked=asked)


@pytest.mark.parametrize("verify", [through_a_log, through_the_file])
def test_notes_and_an_index_that_came_since_are_no_damage(verify: Verify, tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    with memlog.open(path) as log:
        log.scope("owner", "alice").write(title="Tea", body="green")
        log.scope("owner", "alice").search("tea")
    written: list[int] = []

    def write_meanwhile(_done: int, _total: int) -> None:
        with memlog.open(path) as log:
            memory = log.scope("owner", "alice")
            memory.write(title="Tea", body="black", slug="tea")
            written.append(memory.write(title="Cha", body="hot").position)
            memory.section()
            memory.search("cha")

    found = verify(path, write_meanwhile)

    assert written == [3]
    assert found.first is None
    assert found.events == 1
    assert {each.name: each.looked_at for each in found.checks}["index"].startswith("2 notes")
