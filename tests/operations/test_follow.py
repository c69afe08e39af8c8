"""Following: on both engines nothing is skipped, doubled or out of order, whatever happens."""

import itertools
import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import memlog.log
from memlog import follow
from memlog.errors import BusyError, CorruptStoreError, InvalidRequestError
from memlog.log import Log
from memlog.store.postgres_hints import Listening
from memlog.store.sqlite import SQLiteStore
from tests import postgres_server
from tests.postgres.proxy import proxied


@pytest.fixture(params=["sqlite", "postgres"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(tmp_path / "notes.db")
        return
    with postgres_server.schema() as url:
        yield url


def write(log: Log, count: int, *, name: str = "n") -> None:
    memory = log.scope("owner", name)
    for number in range(count):
        memory.write(title=f"{name} {number}", body="b")


def positions(log: Log, *, after: int = 0) -> list[int]:
    return [event.position for event in log.follow(after=after, timeout_s=0)]


def test_it_gives_what_is_there_and_then_ends_when_it_may(target: str) -> None:
    with memlog.log.open(target) as log:
        assert positions(log) == []
        write(log, 5)

        assert positions(log) == [1, 2, 3, 4, 5]
        assert positions(log, after=3) == [4, 5]
        assert list(log.follow(timeout_s=0)) == list(log.events())
        assert log.counters().events_followed == 12


def test_a_position_that_is_not_there_yet_is_refused(target: str) -> None:
    with memlog.log.open(target) as log:
        write(log, 2)
        for after in (3, -1):
            with pytest.raises(InvalidRequestError):
                log.follow(after=after)


def test_each_event_of_several_writers_comes_once_and_in_order(target: str) -> None:
    """Also through more than one buffer, and with a follower that is slower than the writers."""
    with (
        memlog.log.open(target) as log,
        memlog.log.open(target) as other,
        ThreadPoolExecutor(3) as pool,
    ):
        for name in ("a", "b", "c"):
            pool.submit(write, (log, other)[name == "b"], 30, name=name)
        found = [event.position for event in itertools.islice(other.follow(poll_s=0.01), 90)]

    assert found == list(range(1, 91))


def test_no_more_than_a_buffer_is_read_ahead(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "BUFFER_EVENTS", 4)
    with memlog.log.open(target) as log:
        write(log, 11)
        views = log.counters().views
        following = log.follow(timeout_s=0)
        first = next(following)
        read_for_one = log.counters().views - views

        assert first.position == 1
        assert [event.position for event in following] == list(range(2, 12))
        assert log.counters().views > views + read_for_one + 2


def test_it_waits_for_what_comes(target: str) -> None:
    with memlog.log.open(target) as log, memlog.log.open(target) as other:
        following = other.follow(poll_s=0.02)
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(next, following)
            write(log, 1)

            assert future.result(timeout=30).position == 1


def test_it_ends_when_the_log_is_closed(target: str) -> None:
    log = memlog.log.open(target)
    write(log, 1)
    following = log.follow(poll_s=0.01)
    assert next(following).position == 1
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(next, following, None)
        log.close()

        assert future.result(timeout=30) is None


def test_a_log_that_went_back_is_noticed(target: str) -> None:
    """An older copy was restored under a follower (P11)."""
    with memlog.log.open(target) as log:
        write(log, 3)
        following = log.follow(poll_s=0.01)
        assert [next(following).position for _ in range(3)] == [1, 2, 3]
        with log._store.transaction() as transaction:  # noqa: SLF001  # as a restore would
            transaction.cursor.execute("UPDATE log SET position = 2")

        with pytest.raises(CorruptStoreError, match="handed out"):
            next(following)


def test_a_busy_store_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with memlog.log.open(tmp_path / "notes.db") as log:
        write(log, 2)
        following = log.follow(poll_s=0.01)
        next(following)
        next(following)
        write(log, 1, name="m")
        rows, failing = SQLiteStore.rows, iter([True, True])

        def busy_twice(store: SQLiteStore, *, after: int, up_to: int) -> object:
            if next(failing, False):
                raise BusyError("notes.db", 5)
            return rows(store, after=after, up_to=up_to)

        monkeypatch.setattr(SQLiteStore, "rows", busy_twice)
        with caplog.at_level(logging.WARNING, "memlog.follow"):
            assert next(following).position == 3

    assert len(caplog.records) == 1


# --- PostgreSQL: messages are hints


def test_it_goes_on_when_every_connection_is_cut(postgres_url: str) -> None:
    with (
        memlog.log.open(postgres_url) as log,
        proxied(postgres_url) as (proxy, url),
        memlog.log.open(url) as other,
    ):
        following = other.follow(poll_s=0.02)
        found = []
        for number in range(6):
            write(log, 3, name=f"n{number}")
            found += [next(following).position for _ in range(3)]
            proxy.sever()

    assert found == list(range(1, 19))


def test_a_message_wakes_it_long_before_it_looks_again(postgres_url: str) -> None:
    with memlog.log.open(postgres_url) as log, memlog.log.open(postgres_url) as other:
        write(log, 1)
        following = other.follow(poll_s=600)
        assert next(following).position == 1
        threading.Timer(0.3, write, (log, 1), {"name": "m"}).start()

        assert next(following).position == 2


def test_it_needs_no_messages(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind a transaction pooler none ever comes (P8)."""
    with memlog.log.open(postgres_url) as log, memlog.log.open(postgres_url) as other:
        following = other.follow(poll_s=0.02)
        monkeypatch.setattr(Listening, "_listen", lambda _: None)
        for number in range(3):
            write(log, 1, name=f"n{number}")

            assert next(following).position == number + 1
