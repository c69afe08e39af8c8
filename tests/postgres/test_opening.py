"""Opening and migrating a log in PostgreSQL: databases, schemas, roles, URLs and passwords."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import pytest

import memlog.log
from memlog.errors import (
    ClosedError,
    CorruptStoreError,
    InvalidRequestError,
    NewerFormatError,
    NotAStoreError,
    ReadOnlyError,
    StoreNotFoundError,
    UnreachableError,
    UnsafeLocationError,
)
from memlog.log import Log
from memlog.store.postgres_connections import Conninfo
from memlog.testing import open_log, tables_equal_fold
from tests import postgres_server
from tests.postgres.twins import store_of
from tests.postgres_server import column, execute, in_schema

TEXT_COLUMNS = (
    "SELECT table_name, column_name, collation_name FROM information_schema.columns "
    "WHERE table_schema = current_schema() AND data_type = 'text'"
)


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


@pytest.mark.parametrize("table", ["log", "stored_events", "sections", "digests"])
def test_a_schema_with_tables_of_another_program_is_left_alone(
    postgres_url: str, table: str
) -> None:
    execute(postgres_url, f"CREATE TABLE {table} (line TEXT)")

    with pytest.raises(NotAStoreError):
        open_log(postgres_url)

    assert column(
        postgres_url, "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
    ) == [table]


@pytest.mark.parametrize("schema", ["pg_temp", "pg_catalog", "information_schema"])
def test_a_schema_of_the_server_itself_holds_no_log(schema: str) -> None:
    """What lies in pg_temp is gone with the connection."""
    with pytest.raises(UnsafeLocationError, match="own"):
        open_log(in_schema(postgres_server.url(), schema))


def test_a_schema_may_have_any_name() -> None:
    name = "Tea $$; '\u8336"
    quoted = f'"{name}"'
    execute(postgres_server.url(), f"CREATE SCHEMA {quoted}")
    try:
        path = quote(quoted.replace(" ", "\\ "))
        with open_log(in_schema(postgres_server.url(), path)) as log:
            assert log.scope("global").write(title="Tea", body="b").position == 1
            assert tables_equal_fold(log)
    finally:
        execute(postgres_server.url(), f"DROP SCHEMA {quoted} CASCADE")


@pytest.mark.parametrize("change", ["DROP TABLE log", "ALTER TABLE log RENAME position TO place"])
def test_a_log_that_lost_a_table_or_a_column_is_damaged(postgres_url: str, change: str) -> None:
    with open_log(postgres_url) as log:
        execute(postgres_url, change)

        with pytest.raises(CorruptStoreError):
            log.position()
        with pytest.raises(ClosedError):
            log.scope("global").write(title="Tea", body="b")
    with pytest.raises(CorruptStoreError):
        open_log(postgres_url)


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
    "url",
    [
        "postgresql://u:hidden@h/d?nonsense=1",
        "postgresql://u:hidden@h:port/d",
        "postgresql://u:a@hidden@127.0.0.1:1/d",
        "postgresql://u:a/hidden@127.0.0.1:1/d",
        "postgresql://u:12/hidden@127.0.0.1:1/d",
        "postgresql://u:hidden?x@127.0.0.1:1/d",
        "postgresql://127.0.0.1:1/d?password=hidden",
        "PostgreSQL://u:hidden@127.0.0.1:1/d",
        "mysql://u:hidden@127.0.0.1:1/d",
    ],
)
def test_no_error_shows_a_password(url: str) -> None:
    """Also where it has a character that a URL would end it at."""
    with pytest.raises((InvalidRequestError, UnreachableError)) as caught:
        open_log(url)

    shown = repr(caught.value) + str(caught.value) + repr(caught.value.args)
    assert "hidden" not in shown


def test_the_target_shows_no_password_and_names_the_place() -> None:
    conninfo = Conninfo("postgresql://u:hidden@h:5433/d?sslmode=require&options=-csearch_path%3Dx")

    assert conninfo.shown == ("postgresql://u@h:5433/d?options=-csearch_path%3Dx&sslmode=require")
    assert "hidden" in conninfo.text


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u@[::1]:5433/d",
        "postgresql:///d?host=%2Ftmp&port=3",
        "postgresql:///d?host=a%2Cb&port=1%2C2",
        "postgresql://u%40x@h/a%40b",
        "postgresql:///",
    ],
)
def test_a_target_without_a_password_is_shown_as_it_is(url: str) -> None:
    assert Conninfo(url).shown == url


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


def test_a_role_that_may_not_read_is_told_so(postgres_url: str) -> None:
    open_log(postgres_url).close()
    (schema,) = column(postgres_url, "SELECT current_schema()")
    role = f"r_{schema}"
    execute(postgres_url, f"CREATE ROLE {role}")
    try:
        for grant in ("SELECT 1", f"GRANT USAGE ON SCHEMA {schema} TO {role}"):
            execute(postgres_url, grant)
            with pytest.raises(UnsafeLocationError, match="role"):
                open_log(f"{postgres_url}%20-crole%3D{role}")
    finally:
        execute(postgres_url, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_a_role_that_may_only_read_is_told_so_when_it_writes(postgres_url: str) -> None:
    with open_log(postgres_url) as log:
        log.scope("global").write(title="Tea", body="b")
    (schema,) = column(postgres_url, "SELECT current_schema()")
    role = f"r_{schema}"
    execute(
        postgres_url,
        f"CREATE ROLE {role}",
        f"GRANT USAGE ON SCHEMA {schema} TO {role}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}",
    )
    try:
        with open_log(f"{postgres_url}%20-crole%3D{role}") as log:
            assert "tea" in log.scope("global").section().text
            with pytest.raises(ReadOnlyError):
                log.scope("global").write(title="Milk", body="b")
            assert log.scope("global").search("tea")[0].slug == "tea"
    finally:
        execute(postgres_url, f"DROP OWNED BY {role}", f"DROP ROLE {role}")
