"""What a handle counts, on both engines."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import memlog.log
from memlog.errors import BusyError, NoteNotFoundError
from memlog.settings import Settings
from memlog.store.counters import Counts
from tests.operations.targets import ENGINES, Places, places


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Places]:
    with places(tmp_path) as found:
        yield found


@pytest.mark.parametrize("engine", ENGINES)
def test_writes_refusals_and_views_are_counted(stores: Places, engine: str) -> None:
    with memlog.log.open(stores.new(engine)) as log:
        memory = log.scope("global")
        before = log.counters()
        memory.write(title="Tea", body="b", pinned=True)
        memory.write(title="Tea", body="b", pinned=True)
        with suppress(NoteNotFoundError):
            memory.pin("none")
        memory.get("tea")
        after = log.counters()

    assert after.commits - before.commits == 2
    assert after.events_appended - before.events_appended == 2
    assert after.refusals - before.refusals == 1
    assert after.views - before.views == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_waiting_for_others_is_counted(stores: Places, engine: str) -> None:
    target, impatient = stores.new(engine), Settings(lock_timeout_s=0.05)
    with memlog.log.open(target) as log, memlog.log.open(target, settings=impatient) as other:
        with log._store.transaction(), pytest.raises(BusyError):  # noqa: SLF001  # to be slow
            other.scope("global").write(title="Tea", body="b")
        counts = other.counters()

    assert (counts.busy, counts.commits) == (1, 0)


def test_a_fresh_handle_has_counted_nothing() -> None:
    counts = Counts()

    assert (counts.commits, counts.lock_wait_s) == (0, 0.0)
