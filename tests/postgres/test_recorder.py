"""The PostgreSQL recorder passes the test cases that `eventsourcing` ships."""

import uuid
from contextlib import ExitStack

import psycopg
import pytest
from eventsourcing.persistence import IntegrityError, StoredEvent
from eventsourcing.tests.persistence import (
    ApplicationRecorderTestCase,
    NonInterleavingNotificationIDsBaseCase,
)

from memlog.store.postgres_recorder import Datastore, Recorder
from tests import postgres_server


class _InSchema:
    """Every recorder of a test is in one schema."""

    def setUp(self) -> None:
        self._stack = ExitStack()
        self._datastore = Datastore(self._stack.enter_context(postgres_server.schema()))
        self._stack.callback(self._datastore.close)

    def tearDown(self) -> None:
        self._stack.close()

    def create_recorder(self) -> Recorder:
        recorder = Recorder(self._datastore)
        recorder.create_table()
        return recorder

    def new_originator_id(self) -> str:
        return f"owner/{uuid.uuid4()}"


class TestApplicationRecorder(_InSchema, ApplicationRecorderTestCase[Recorder]):
    pass


class TestNonInterleavingIds(_InSchema, NonInterleavingNotificationIDsBaseCase):
    pass


del ApplicationRecorderTestCase, NonInterleavingNotificationIDsBaseCase  # Abstract: not to be run.


def test_positions_follow_the_highest_also_after_a_conflict(postgres_url: str) -> None:
    """A refused insert leaves no gap, which a sequence would (P3)."""
    datastore = Datastore(postgres_url)
    recorder = Recorder(datastore)
    recorder.create_table()
    first, second = (StoredEvent("owner/a", seq, "t/1", b"{}") for seq in (1, 2))

    assert recorder.insert_events([first]) == [1]
    with pytest.raises(IntegrityError):
        recorder.insert_events([second, first])

    assert recorder.insert_events([second]) == [2]
    datastore.close()


def test_no_function_of_the_stock_recorder_is_made_or_called(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With it, positions are given before the lock, and a reader passes a hole (P2, G12)."""
    monkeypatch.setenv("POSTGRES_ENABLE_DB_FUNCTIONS", "y")
    datastore = Datastore(postgres_url)
    recorder = Recorder(datastore)
    recorder.create_table()
    recorder.insert_events([StoredEvent("owner/a", 1, "t/1", b"{}")])
    datastore.close()

    with psycopg.connect(postgres_url) as connection:
        found = connection.execute(
            "SELECT proname FROM pg_proc WHERE pronamespace = current_schema()::regnamespace"
        ).fetchall()
    assert found == []
