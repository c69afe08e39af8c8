"""Writing and reading a log in PostgreSQL."""

import os
from contextlib import closing, suppress
from datetime import timedelta

import psycopg
import pytest

from memlog.errors import (
    BusyError,
    ForkedError,
    StoreFullError,
    UnreachableError,
)
from memlog.log import Log
from memlog.settings import Settings
from memlog.store import postgres_faults
from memlog.testing import FixedClock, open_log
from tests.postgres.twins import inside, store_of
from tests.postgres_server import column, execute


def test_a_statement_that_took_too_long_is_not_blamed_on_another_writer(postgres_url: str) -> None:
    with (
        open_log(postgres_url) as log,
        pytest.raises(UnreachableError, match="statement timeout"),
    ):
        inside(log, "SELECT set_config('statement_timeout', '1', true)", "SELECT pg_sleep(60)")


@pytest.mark.parametrize("state", ["25P03", "25P04", "57P01", "57P05", "08006", "26000"])
def test_a_session_that_the_server_ended_is_unreachable(state: str) -> None:
    """A process that was stopped for a while, for one, finds its transaction ended."""
    error = psycopg.errors.lookup(state)("ended")

    seen = postgres_faults.translate(error, target="t", timeout_s=1)

    assert isinstance(seen, UnreachableError)


def test_a_disk_that_is_full_at_the_commit_is_told(postgres_url: str) -> None:
    with open_log(postgres_url) as log:
        execute(
            postgres_url,
            "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ "
            "BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = 'disk_full'; END $$",
            "CREATE CONSTRAINT TRIGGER late AFTER UPDATE ON log DEFERRABLE INITIALLY DEFERRED "
            "FOR EACH ROW EXECUTE FUNCTION full_disk()",
        )
        with pytest.raises(StoreFullError):
            log.scope("global").write(title="Tea", body="b")
        assert log.position() == 0

        execute(postgres_url, "DROP TRIGGER late ON log")
        assert log.scope("global").write(title="Tea", body="b").position == 1


def test_a_reader_never_passes_a_write_that_is_not_committed(postgres_url: str) -> None:
    """Positions are given under the lock, so there is no hole to fill later (P1, P3)."""
    impatient = Settings(lock_timeout_s=0.2)
    with open_log(postgres_url) as log, open_log(postgres_url, settings=impatient) as other:
        writing = store_of(log).transaction()
        writing.__enter__()

        with pytest.raises(BusyError):
            other.scope("global").write(title="Two", body="b")
        assert list(other.events()) == []

        writing.__exit__(None, None, None)
        assert other.scope("global").write(title="Two", body="b").position == 1


def test_vacuum_and_index_builds_do_not_stop_a_writer(postgres_url: str) -> None:
    """The stock table lock waits for them for ever (P5)."""
    impatient = Settings(lock_timeout_s=1)
    with (
        open_log(postgres_url, settings=impatient) as log,
        closing(psycopg.connect(postgres_url)) as other,
    ):
        other.execute("LOCK TABLE stored_events IN SHARE UPDATE EXCLUSIVE MODE")

        assert log.scope("global").write(title="Tea", body="b").position == 1


def test_a_projection_that_fails_leaves_nothing(postgres_url: str) -> None:
    """Stock hooks commit what came before the error (P7, G1)."""
    with open_log(postgres_url) as log:
        change = "UPDATE notes_pointer SET rebuild = 'x' RETURNING live"
        for error in (RuntimeError, KeyboardInterrupt):
            with pytest.raises(error):
                inside(log, change, error=error)

        assert column(postgres_url, "SELECT rebuild FROM notes_pointer") == [None]
        assert log.scope("global").write(title="Tea", body="b").position == 1


def test_a_statement_that_failed_cannot_be_swallowed_and_committed(postgres_url: str) -> None:
    with open_log(postgres_url) as log:
        with pytest.raises(AssertionError):
            swallow_a_failure(log)

        assert log.scope("global").write(title="Tea", body="b").position == 1


def swallow_a_failure(log: Log) -> None:
    with store_of(log).transaction() as transaction, suppress(psycopg.Error):
        transaction.cursor.execute("SELECT no_such_column")


def test_a_node_whose_clock_is_behind_does_not_go_back(postgres_url: str) -> None:
    ahead, behind = FixedClock(), FixedClock()
    behind.advance(-3_600)
    with open_log(postgres_url, clock=ahead) as log, open_log(postgres_url, clock=behind) as other:
        log.scope("global").write(title="One", body="b")
        other.scope("global").write(title="Two", body="b")
        first, second = log.events()

    assert second.recorded_at - first.recorded_at == timedelta(0)


def test_texts_that_postgresql_cannot_hold_are_not_found(postgres_url: str) -> None:
    """SQLite takes a NUL, PostgreSQL does not; a caller sees the same (G11)."""
    with open_log(postgres_url) as log:
        memory = log.scope("global")
        memory.write(title="Tea", body="b")

        assert memory.get("te\0a") is None
        assert memory.section_text("a\0b") is None
        assert memory.search("tea\0", topic="a\0") == []
        assert memory.similar("tea\0")[0].slug == "tea"


def test_a_node_serves_no_section_that_another_node_made_stale(postgres_url: str) -> None:
    with open_log(postgres_url) as log, open_log(postgres_url) as other:
        for number in range(5):
            log.scope("global").section()
            other.scope("global").write(title=f"note {number}", body="b")

            assert f"note-{number}" in log.scope("global").section().text
            assert log.scope("global").section() == other.scope("global").section()


def test_a_forked_child_must_open_its_own(postgres_url: str) -> None:
    with open_log(postgres_url) as log:
        log.scope("global").write(title="Tea", body="b")
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                log.position()
            except ForkedError:
                os.write(write, b"refused")
            log.close()
            os._exit(0)
        os.waitpid(child, 0)

        assert os.read(read, 100) == b"refused"
        assert log.scope("global").write(title="Two", body="b").position == 2
        os.close(read)
        os.close(write)


def test_a_commit_is_durable_also_where_the_server_would_not_wait(postgres_url: str) -> None:
    with open_log(f"{postgres_url}%20-csynchronous_commit%3Doff") as log:
        assert inside(log, "SELECT current_setting('synchronous_commit')") == ("on",)


def test_no_wait_is_without_an_end(postgres_url: str) -> None:
    asked = (
        "SELECT current_setting('lock_timeout'), "
        "current_setting('idle_in_transaction_session_timeout')"
    )
    with open_log(postgres_url, settings=Settings(lock_timeout_s=0)) as log:
        assert inside(log, asked) == ("1ms", "1min")
