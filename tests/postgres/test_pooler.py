"""Behind a transaction pooler, whose clients share sessions of the server."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from memlog.errors import UnsafeLocationError
from memlog.log import Log
from memlog.store import postgres_opening
from memlog.store.counters import Counters
from memlog.store.postgres_connections import Connections, Conninfo
from memlog.store.postgres_dialect import Cursor
from memlog.testing import open_log, tables_equal_fold
from tests import postgres_server
from tests.postgres.proxy import Proxy, proxied
from tests.postgres.twins import inside, store_of

WRITE_EXCHANGES_MAX, GET_EXCHANGES_MAX = 16, 5
PREPARED = "SELECT count(*) FROM pg_prepared_statements"


@pytest.fixture
def wire(postgres_url: str) -> Iterator[tuple[Proxy, str]]:
    open_log(postgres_url).close()
    with proxied(postgres_url) as found:
        yield found


def prepared(log: Log) -> tuple[int, int]:
    """Return how many statements the sessions for reading and for writing have prepared."""
    memory = log.scope("global")
    for number in range(12):
        memory.write(title=f"note {number}", body="b")
        memory.get("note-1")
    with store_of(log).reading() as cursor:
        (for_reading,) = cursor.execute(PREPARED).fetchone()
    (for_writing,) = inside(log, PREPARED) or (0,)
    return for_reading, for_writing


def test_no_statement_is_prepared_where_another_client_could_mean_another_one_by_its_name(
    wire: tuple[Proxy, str],
) -> None:
    """The name stands for whatever was prepared under it in the session that one gets."""
    proxy, url = wire
    proxy.pools = True
    with open_log(url) as log:
        assert prepared(log) == (0, 0)
        assert tables_equal_fold(log)


def test_without_a_pooler_statements_are_prepared_and_stay_so(wire: tuple[Proxy, str]) -> None:
    with open_log(wire[1]) as log:
        for_reading, for_writing = prepared(log)
        assert for_reading > 0
        assert for_writing > 0


def test_a_handle_stays_in_its_schema_whatever_others_set_in_its_sessions(
    postgres_url: str,
) -> None:
    with postgres_server.schema() as other_url, open_log(postgres_url) as log:
        with open_log(other_url, log_id="00000000-0000-4000-8000-000000000002") as other:
            other.scope("global").write(title="Other", body="b")
        elsewhere = f"SELECT set_config('search_path', '{other_url[-14:]}', false)"
        inside(log, elsewhere)
        with store_of(log).reading() as cursor:
            cursor.execute(elsewhere)
        with store_of(log).transaction() as transaction:
            transaction.cursor.execute("CREATE TEMPORARY TABLE log (position BIGINT)")

        assert log.scope("global").write(title="Mine", body="b").position == 1
        assert [note.title for note in log.scope("global").notes()] == ["Mine"]
        with open_log(other_url) as other:
            assert other.position() == 1


def test_a_schema_whose_name_was_lost_on_the_way_is_not_guessed(postgres_url: str) -> None:
    """PgBouncer can be told to drop `options`; all logs would come together in one schema."""
    assert place(postgres_url, is_named=True) == postgres_url[-14:]
    with pytest.raises(UnsafeLocationError, match="drops the options"):
        place(postgres_server.url(), is_named=True)


def place(url: str, *, is_named: bool) -> str:
    connections = Connections(Conninfo(url), Counters(), timeout_s=5)
    with closing(connections.open()) as connection:
        return postgres_opening.place(Cursor(connection.cursor()), "t", is_named=is_named)


def test_a_write_takes_few_exchanges_with_the_server(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_log(postgres_url) as log:
        memory = log.scope("global")
        for number in range(20):
            memory.write(title=f"note {number} of many", body="b", topics=["t"])
        waits: list[object] = []
        wait = psycopg.Connection.wait

        def counted(*arguments: Any) -> object:  # noqa: ANN401  # as they came
            waits.append(arguments)
            return wait(*arguments)

        monkeypatch.setattr(psycopg.Connection, "wait", counted)

        memory.write(title="one more note", body="b", topics=["t"])
        assert 0 < len(waits) <= WRITE_EXCHANGES_MAX
        waits.clear()
        memory.get("note-1-of-many")
        assert 0 < len(waits) <= GET_EXCHANGES_MAX
