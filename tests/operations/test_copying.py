"""A copy has the same id, positions, bytes, root, notes and section hashes, on either engine."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

import memlog.log
from memlog.copying import copy_log
from memlog.errors import InvalidRequestError, StoreNotFoundError
from memlog.signing import SigningKey
from memlog.testing import tables_equal_fold
from tests.operations.targets import ENGINES, Places, fill, places
from tests.postgres.twins import assert_same, assert_same_at_each_moment


@pytest.fixture
def stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Places]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with places(tmp_path) as found:
        yield found


def test_there_and_back_again_nothing_differs(stores: Places) -> None:
    first, other, last = stores.new("sqlite"), stores.new("postgres"), stores.new("sqlite")
    with memlog.log.open(first) as log:
        section = fill(log).section()

    copied = copy_log(first, other)
    again = copy_log(other, last)

    assert (copied.root, copied.events) == (again.root, again.events)
    with memlog.log.open(first) as log:
        for target in (other, last):
            with memlog.log.open(target) as copy:
                assert copy.log_id == log.log_id == copied.log_id
                assert_same(log, copy)
                assert_same_at_each_moment(log, copy)
                assert tables_equal_fold(copy)
                assert copy.verify().ok
                assert copy.scope("owner", "alice").section_text(section.hash) == section.text


@pytest.mark.parametrize(("source", "target"), [*itertools.product(ENGINES, ENGINES)])
def test_a_copy_can_be_continued(stores: Places, source: str, target: str) -> None:
    here, there = stores.new(source), stores.new(target)
    with memlog.log.open(here) as log:
        memory = fill(log, count=3)
        copy_log(here, there)
        memory.write(title="Later", body="b")
        memory.section(conversation_id="c-2")

        assert copy_log(here, there).events == 1
        assert copy_log(here, there).events == 0
        with memlog.log.open(there) as copy:
            assert_same(log, copy)
            replayed = copy.scope("owner", "alice").write(
                title="Pinned", body="b", pinned=True, request_id="r-1"
            )
            assert replayed.replayed


def test_another_log_is_not_overwritten(stores: Places) -> None:
    here, there = stores.new("sqlite"), stores.new("sqlite")
    for target in (here, there):
        with memlog.log.open(target) as log:
            fill(log, count=2)

    with pytest.raises(InvalidRequestError, match="holds the log"):
        copy_log(here, there)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_copy_that_went_its_own_way_is_refused(stores: Places, engine: str) -> None:
    here, there = stores.new("sqlite"), stores.new(engine)
    with memlog.log.open(here) as log:
        memory = fill(log, count=2)
        copy_log(here, there)
        with memlog.log.open(there) as copy:
            copy.scope("global").write(title="Forked", body="b")
        with pytest.raises(InvalidRequestError, match="other way"):
            copy_log(here, there)
        memory.write(title="Meanwhile", body="b")
        memory.write(title="Meanwhile 2", body="b")

        with pytest.raises(InvalidRequestError, match="not those of the source"):
            copy_log(here, there)


@pytest.mark.parametrize("engine", ENGINES)
def test_records_of_the_copy_alone_are_not_lost(stores: Places, engine: str) -> None:
    here, there = stores.new("sqlite"), stores.new(engine)
    with memlog.log.open(here) as log:
        memory = fill(log, count=2)
        copy_log(here, there)
        with memlog.log.open(there) as copy:
            shown = copy.scope("global").section(conversation_id="c-9")
        memory.write(title="Meanwhile", body="b")

        with pytest.raises(InvalidRequestError, match="handed-out sections of its own"):
            copy_log(here, there)

    with memlog.log.open(there) as copy:
        assert copy.scope("global").section_text(shown.hash) == shown.text
        assert copy.verify().ok


def test_a_checkpoint_of_the_copy_alone_is_not_lost(stores: Places, tmp_path: Path) -> None:
    here, there = stores.new("sqlite"), stores.new("sqlite")
    SigningKey.generate("copy").save(tmp_path / "key")
    with memlog.log.open(here) as log:
        fill(log, count=2)
        copy_log(here, there)
        with memlog.log.open(there) as copy:
            copy.checkpoint(tmp_path / "key")

        with pytest.raises(InvalidRequestError, match="signed checkpoints of its own"):
            copy_log(here, there)


def test_what_is_not_there_cannot_be_copied_and_nothing_is_made(stores: Places) -> None:
    there = stores.new("sqlite")

    with pytest.raises(StoreNotFoundError):
        copy_log(stores.new("sqlite"), there)

    assert not Path(there).exists()
