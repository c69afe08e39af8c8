"""Opening, migrating and reading a log in PostgreSQL."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

import memlog.log
from memlog.errors import (
    BusyError,
    ForkedError,
    InvalidRequestError,
    NewerFormatError,
    NotAStoreError,
    ReadOnlyError,
    StoreNotFoundError,
    UnreachableError,
    UnsafeLocationError,
)
from memlog.log import Log
from memlog.settings import Settings
from memlog.testing import FixedClock, open_log, tables_equal_fold
from tests import postgres_server
from tests.postgres.twins import inside, store_of
from tests.postgres_server import execute, in_schema

TEXT_COLUMNS = (
    "SELECT table_name, column_name, collation_name FROM information_schema.columns "
    "WHERE table_schema = current_schema() AND data_type = 'text'"
)


def column(url: str, statement: str) -> list[object]:
    return [row[0] for row in execute(url, statement)]


# --- Opening


def test_many_nodes_that_start_at_once_make_one_log(postgres_url: str) -> None:
    """Stock start-up fails two times in three here (P10)."""
    starting = threading.Barrier(8)

    def start() -> Log:
        starting.wait()
        return memlog.log.open(postgres_url)

    with ThreadPoolExecutor(8) as pool:
        logs = [future.result() for future in [pool.submit(start) for _ in range(8)]]
    try:
        assert len({log.log_id for log in logs}) == 1
        for number, log in enumerate(logs):
            assert log.scope("global").write(title=f"n {number}", body="b").position == number + 1
    finally:
        for log in logs:
            log.close()


def test_every_text_is_compared_by_its_bytes(postgres_url: str) -> None:
    open_log(postgres_url).close()

    found = execute(postgres_url, TEXT_COLUMNS)

    assert len(found) > 30
    assert {collation for _, _, collation in found} == {"C"}


def test_scopes_and_near_slugs_are_sorted_by_bytes(postgres_url: str) -> None:
    principals = ["b", "B", "a", "A", "ä", "_", "Z", "aa", "茶"]
    with open_log(postgres_url) as log:
        for principal in principals:
            log.scope("owner", principal).write(title="t", body="b")

        found = [each.scope.principal for each in log.scopes()]

    assert found == sorted(principals)


def test_a_schema_with_tables_of_another_program_is_left_alone(postgres_url: str) -> None:
    execute(postgres_url, "CREATE TABLE log (line TEXT)")

    with pytest.raises(NotAStoreError):
        open_log(postgres_url)

    assert column(
        postgres_url, "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
    ) == ["log"]


def test_a_newer_format_is_not_opened(postgres_url: str) -> None:
    open_log(postgres_url).close()
    execute(postgres_url, "UPDATE memlog_format SET format = 99")

    with pytest.raises(NewerFormatError):
        open_log(postgres_url)


def test_reading_makes_no_log(postgres_url: str) -> None:
    for read_only in (True, False):
        with pytest.raises(StoreNotFoundError):
            memlog.log.open(postgres_url, read_only=read_only, create=False)
    assert column(
        postgres_url, "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()"
    ) == [0]


def test_a_log_that_is_open_for_reading_cannot_be_written(postgres_url: str) -> None:
    with open_log(postgres_url) as log:
        log.scope("global").write(title="Tea", body="b")
    with memlog.log.open(postgres_url, read_only=True) as log:
        assert log.scope("global").get("tea") is not None
        assert "tea" in log.scope("global").section().text
        with pytest.raises(ReadOnlyError):
            log.scope("global").write(title="Tea", body="c")


def test_a_schema_that_does_not_exist_is_named() -> None:
    with pytest.raises(UnsafeLocationError, match="schema"):
        open_log(in_schema(postgres_server.url(), "nowhere"))


def test_a_server_that_is_not_there_is_unreachable(tmp_path: Path) -> None:
    with pytest.raises(UnreachableError):
        open_log(f"postgresql://u:hidden@/d?host={tmp_path}")


@pytest.mark.parametrize(
    "url", ["postgresql://u:hidden@h/d?nonsense=1", "postgresql://u:hidden@h:port/d"]
)
def test_no_error_shows_a_password(url: str) -> None:
    with pytest.raises((InvalidRequestError, UnreachableError)) as caught:
        open_log(url)

    shown = repr(caught.value) + str(caught.value) + repr(caught.value.args)
    assert "hidden" not in shown


def test_the_target_shows_no_password_and_names_the_place() -> None:
    from memlog.store.postgres_connections import Conninfo

    conninfo = Conninfo("postgresql://u:hidden@h:5433/d?sslmode=require&options=-csearch_path%3Dx")

    assert conninfo.shown == ("postgresql://u@h:5433/d?options=-csearch_path%3Dx&sslmode=require")
    assert "hidden" in conninfo.text


def test_the_whole_url_reaches_the_driver(postgres_url: str) -> None:
    url = f"{postgres_url}%20-cwork_mem%3D3MB&application_name=node-7"
    with open_log(url) as log, store_of(log).reading() as cursor:
        found = cursor.execute(
            "SELECT current_setting('work_mem'), current_setting('application_name')"
        ).fetchone()

    assert found == ("3MB", "node-7")


def test_without_the_driver_the_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "import memlog\n"
        "try:\n    memlog.open('postgresql://u:hidden@h/d')\n"
        "except memlog.InvalidRequestError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "agent-memlog[postgres]" in done.stdout
    assert "hidden" not in done.stdout


# --- Roles


def test_a_role_without_ddl_can_do_everything(postgres_url: str) -> None:
    """The tables of a rebuild exist from the beginning; nothing is made at run time."""
    open_log(postgres_url).close()
    (schema,) = column(postgres_url, "SELECT current_schema()")
    role = f"r_{schema}"
    execute(
        postgres_url,
        f"CREATE ROLE {role}",
        f"GRANT USAGE ON SCHEMA {schema} TO {role}",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}",
        f"REVOKE UPDATE, DELETE ON {schema}.stored_events FROM {role}",
    )
    try:
        with open_log(f"{postgres_url}%20-crole%3D{role}") as log:
            memory = log.scope("owner", "a")
            memory.write(title="Tea", body="b", topics=["hot"], request_id="r-1")
            memory.write(title="Tea two", body="c")
            memory.link("tea-two", "tea", "supersedes")
            memory.section(conversation_id="c-1")
            assert log.rebuild().differences == ()
            log.rebuild("search")
            assert memory.search("tea")[0].slug == "tea-two"
            assert tables_equal_fold(log)
    finally:
        execute(postgres_url, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_a_role_that_may_not_make_tables_is_told_so(postgres_url: str) -> None:
    (schema,) = column(postgres_url, "SELECT current_schema()")
    role = f"r_{schema}"
    execute(postgres_url, f"CREATE ROLE {role}", f"GRANT USAGE ON SCHEMA {schema} TO {role}")
    try:
        with pytest.raises(UnsafeLocationError, match="may not make"):
            open_log(f"{postgres_url}%20-crole%3D{role}")
    finally:
        execute(postgres_url, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


# --- Writing and reading


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
