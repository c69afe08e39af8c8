"""The recorder passes the test cases that `eventsourcing` ships for application recorders.

Its case for aggregate recorders does not apply: those answer an insert with None, application
recorders with positions. The table is the recorder's own, without the store's triggers, because the
shipped cases begin at version 0 and leave gaps.
"""

import threading
import uuid
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from eventsourcing.persistence import IntegrityError, StoredEvent
from eventsourcing.tests.persistence import (
    ApplicationRecorderTestCase,
    NonInterleavingNotificationIDsBaseCase,
)

from memlog.store.recorder import Datastore, Recorder


class _OnFile:
    """Every recorder of a test is on one file."""

    TIMEOUT_S = 30.0

    def setUp(self) -> None:
        self._threads_before = threading.enumerate()
        self._directory = TemporaryDirectory()
        self._datastore = Datastore(self.database_name(), timeout_s=self.TIMEOUT_S)

    def tearDown(self) -> None:
        # The shipped concurrent case leaves reading threads behind; the engine crashes when a
        # connection is closed under one.
        for thread in threading.enumerate():
            if thread not in self._threads_before:
                thread.join(timeout=self.TIMEOUT_S)
        self._datastore.close()
        self._directory.cleanup()

    def database_name(self) -> str:
        return Path(self._directory.name, "events.db").as_uri() + "?mode=rwc"

    def create_recorder(self) -> Recorder:
        recorder = Recorder(self._datastore)
        recorder.create_table()
        return recorder

    def new_originator_id(self) -> str:
        return f"owner/{uuid.uuid4()}"


class _InMemory(_OnFile):
    def database_name(self) -> str:
        return f"file:{uuid.uuid4()}?mode=memory&cache=shared"


class TestApplicationRecorderOnFile(_OnFile, ApplicationRecorderTestCase[Recorder]):
    pass


class TestApplicationRecorderInMemory(_InMemory, ApplicationRecorderTestCase[Recorder]):
    pass


class TestNonInterleavingIdsOnFile(_OnFile, NonInterleavingNotificationIDsBaseCase):
    pass


class TestNonInterleavingIdsInMemory(_InMemory, NonInterleavingNotificationIDsBaseCase):
    pass


del ApplicationRecorderTestCase, NonInterleavingNotificationIDsBaseCase  # Abstract: not to be run.


def test_positions_follow_the_highest_also_after_a_conflict(tmp_path: Path) -> None:
    """A refused insert leaves no gap, which an AUTOINCREMENT would."""
    datastore = Datastore((tmp_path / "events.db").as_uri() + "?mode=rwc", timeout_s=5.0)
    recorder = Recorder(datastore)
    recorder.create_table()
    first, second = (StoredEvent("owner/a", seq, "t/1", b"{}") for seq in (1, 2))

    assert recorder.insert_events([first]) == [1]
    with pytest.raises(IntegrityError):
        recorder.insert_events([second, first])

    assert recorder.insert_events([second]) == [2]
    datastore.close()
