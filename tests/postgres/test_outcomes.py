"""Connections that break: what happened is looked up, never guessed (P6)."""

import logging
import threading
from collections.abc import Iterator

import pytest

from memlog.errors import ClosedError, UnknownOutcomeError, UnreachableError
from memlog.log import Log
from memlog.memory import Memory
from memlog.store import postgres
from memlog.testing import open_log, tables_equal_fold
from tests import postgres_server
from tests.postgres.proxy import Proxy, proxied
from tests.postgres.twins import inside, store_of


@pytest.fixture
def wire(postgres_url: str) -> Iterator[tuple[Proxy, Log]]:
    open_log(postgres_url).close()
    with proxied(postgres_url) as (proxy, url), open_log(url) as log:
        yield proxy, log


def titles(memory: Memory) -> list[str]:
    return [note.title for note in memory.notes()]


def test_a_commit_whose_answer_is_lost_is_reported_as_done(wire: tuple[Proxy, Log]) -> None:
    proxy, log = wire
    memory = log.scope("global")
    memory.write(title="One", body="b")
    proxy.cut = "after"

    written = memory.write(title="Two", body="b")

    assert (written.created, written.seq, written.position) == (True, 2, 2)
    assert titles(memory) == ["Two", "One"]
    assert memory.write(title="Three", body="b").position == 3
    assert tables_equal_fold(log)


def test_a_commit_that_never_arrived_is_reported_as_not_done(wire: tuple[Proxy, Log]) -> None:
    proxy, log = wire
    memory = log.scope("global")
    proxy.cut = "before"

    with pytest.raises(UnreachableError):
        memory.write(title="One", body="b")

    assert titles(memory) == []
    assert memory.write(title="One", body="b").position == 1


def test_a_commit_that_is_still_on_its_way_is_waited_for(wire: tuple[Proxy, Log]) -> None:
    """An answer before the lost transaction is over would be wrong a moment later."""
    proxy, log = wire
    memory = log.scope("global")
    proxy.cut = "hold"
    threading.Timer(0.5, proxy.release.set).start()

    assert memory.write(title="One", body="b").position == 1

    assert titles(memory) == ["One"]


def test_an_outcome_that_nobody_can_tell_is_reported_as_unknown(
    wire: tuple[Proxy, Log], monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy, log = wire
    memory = log.scope("global")
    memory.write(title="One", body="b")
    monkeypatch.setattr(postgres, "_OUTCOME_WAIT_S", 0.2)
    monkeypatch.setattr(store_of(log), "_timeout_s", 0.05)
    proxy.cut = "hold"

    with pytest.raises(UnknownOutcomeError):
        memory.write(title="Two", body="b", request_id="r-1")

    monkeypatch.undo()
    proxy.release.set()
    assert memory.write(title="Two", body="b", request_id="r-1").note.slug == "two"
    assert sorted(titles(memory)) == ["One", "Two"]


def test_what_was_stored_is_logged_without_content(
    wire: tuple[Proxy, Log], caplog: pytest.LogCaptureFixture
) -> None:
    proxy, log = wire
    proxy.cut = "after"

    with caplog.at_level(logging.WARNING, "memlog"):
        log.scope("global").write(title="Secret", body="secret")

    (record,) = [each for each in caplog.records if each.name.startswith("memlog.store")]
    assert (vars(record)["stored"], vars(record)["position"]) == (True, 1)
    assert "ecret" not in caplog.text


def test_a_killed_backend_costs_one_write_and_leaves_nothing(
    wire: tuple[Proxy, Log], postgres_url: str
) -> None:
    _, log = wire
    memory = log.scope("global")
    change = "UPDATE notes_pointer SET rebuild = 'x' RETURNING live"
    with pytest.raises(UnreachableError):
        inside(log, change, "SELECT pg_terminate_backend(pg_backend_pid())")

    assert memory.write(title="One", body="b").position == 1
    assert postgres_server.execute(postgres_url, "SELECT rebuild FROM notes_pointer") == [(None,)]


def test_idle_connections_that_were_cut_are_replaced_unseen(wire: tuple[Proxy, Log]) -> None:
    proxy, log = wire
    memory = log.scope("global")
    memory.write(title="One", body="b")
    proxy.sever()

    assert titles(memory) == ["One"]
    assert memory.write(title="Two", body="b").position == 2
    counts = log.counters()
    assert (counts.events_appended, counts.reconnections) == (2, 2)


def test_a_server_that_is_gone_is_unreachable_not_damaged(wire: tuple[Proxy, Log]) -> None:
    proxy, log = wire
    memory = log.scope("global")
    proxy.close()

    for ask in (lambda: memory.write(title="One", body="b"), lambda: titles(memory)):
        with pytest.raises(UnreachableError):
            ask()
    log.close()
    with pytest.raises(ClosedError):
        titles(memory)


def test_prepared_statements_that_a_pooler_lost_are_given_up(
    wire: tuple[Proxy, Log], postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    _, log = wire
    memory = log.scope("global")
    for number in range(8):
        memory.write(title=f"note {number}", body="b")
    forget = "SELECT forget() FROM notes_pointer"
    postgres_server.execute(
        postgres_url,
        "CREATE FUNCTION forget() RETURNS void LANGUAGE plpgsql AS $$ "
        "BEGIN EXECUTE 'DEALLOCATE ALL'; END $$",
    )

    with pytest.raises(UnreachableError):
        inside(log, forget, "SELECT live FROM notes_pointer")

    assert memory.write(title="One more", body="b").position == 9
    assert "pooler" in caplog.text
