"""The queue takes a compaction once, masked, and never fails one."""

import logging
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import memlog
from memlog import Log, Scope
from memlog.harvest import enqueue, listed, retry
from memlog.harvest.queue import Enqueued
from tests.harvest.conftest import ALICE, Clock, Open, queue
from tests.harvest.secrets import PLACES, TOKENS

WANTED = {"harvest_model": "small"}


def _enqueue(log: Log, *, key: str = "c-1", entries: Any = ("Hello.",)) -> Enqueued:  # noqa: ANN401  # whatever a caller may give
    return enqueue(log, ALICE, key=key, entries=entries)


def test_a_compaction_is_queued(open_log: Open) -> None:
    log = open_log(**WANTED)

    assert _enqueue(log) == "queued"

    (job,) = listed(log)
    assert (job.stream, job.key, job.state, job.attempts) == ("owner/alice", "c-1", "queued", 0)
    assert job.entries_bytes == len('{"system":null,"entries":["Hello."]}')


def test_the_same_key_is_queued_once_in_each_scope(open_log: Open) -> None:
    log = open_log(**WANTED)

    outcomes = [_enqueue(log), _enqueue(log, entries=["Other."]), _enqueue(log, key="c-2")]

    assert outcomes == ["queued", "known", "queued"]
    assert enqueue(log, Scope("global"), key="c-1", entries=["Hello."]) == "queued"
    assert [job.key for job in listed(log, ALICE)] == ["c-1", "c-2"]


@pytest.mark.parametrize("wanted", [{"harvest_model": "m"}, {"harvest_llm": print}])
def test_only_a_log_with_a_model_queues(open_log: Open, wanted: dict[str, Any]) -> None:
    assert _enqueue(open_log()) == "off"
    log = open_log(**wanted)
    assert listed(log) == []
    assert _enqueue(log) == "queued"


def test_the_queue_is_no_part_of_the_log(open_log: Open) -> None:
    log = open_log(**WANTED)

    _enqueue(log)

    assert (log.position(), list(log.events()), log.scopes()) == (0, [], ())


class _Hostile:
    def __str__(self) -> str:
        raise RuntimeError(TOKENS["github"])


@pytest.mark.parametrize("key", ["", "a\nb", "x" * 257, None, 7, "\ud800"])
def test_a_key_that_cannot_be_kept_is_logged(
    open_log: Open,
    caplog: pytest.LogCaptureFixture,
    key: Any,  # noqa: ANN401  # whatever a caller may give
) -> None:
    log = open_log(**WANTED)

    assert enqueue(log, ALICE, key=key, entries=["Hello."]) == "refused"

    assert "a compaction cannot be harvested: key " in caplog.text
    assert listed(log) == []


@pytest.mark.parametrize("entries", [[_Hostile()], 5, None])
def test_entries_that_cannot_be_read_are_logged_without_their_content(
    open_log: Open,
    caplog: pytest.LogCaptureFixture,
    entries: Any,  # noqa: ANN401  # whatever a caller may give
) -> None:
    log = open_log(**WANTED)

    assert _enqueue(log, entries=entries) == "refused"

    assert "a compaction cannot be harvested: unexpected " in caplog.text
    assert TOKENS["github"] not in caplog.text


def test_a_log_open_for_reading_refuses_and_says_so(
    open_log: Open, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    open_log().close()
    settings = memlog.Settings(harvest_model="small")

    with memlog.open(tmp_path / "notes.db", read_only=True, settings=settings) as log:
        assert _enqueue(log) == "refused"

    assert "cannot be written" in caplog.text


def test_a_busy_store_is_not_waited_for_long(
    open_log: Open, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = open_log(harvest_model="small", lock_timeout_s=0.05)
    with closing(sqlite3.connect(tmp_path / "notes.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        assert _enqueue(log) == "refused"

    assert "try again" in caplog.text
    assert _enqueue(log) == "queued"


def test_a_closed_log_refuses_and_says_so(open_log: Open, caplog: pytest.LogCaptureFixture) -> None:
    log = open_log(**WANTED)
    log.close()

    assert _enqueue(log) == "refused"

    assert "closed" in caplog.text


def test_it_is_logged_that_secrets_were_masked_and_of_which_kind(
    open_log: Open, caplog: pytest.LogCaptureFixture
) -> None:
    log = open_log(**WANTED)

    _enqueue(log, entries=[TOKENS["github"], TOKENS["github"], TOKENS["aws id"]])

    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage() == (
        "masked 3 secrets (aws-key 1, github-token 2) in a compaction before it was queued"
    )
    assert listed(log)[0].masked == {"aws-key": 1, "github-token": 2}


def test_it_is_logged_that_entries_were_left_out(
    open_log: Open, caplog: pytest.LogCaptureFixture
) -> None:
    _enqueue(open_log(**WANTED), entries=["word " * 100_000] * 4)

    assert "a compaction is too long: its 3 oldest entries are left out" in caplog.text


def test_no_planted_secret_reaches_a_file_or_a_log_line(
    open_log: Open, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    log = open_log(**WANTED)
    texts = [*TOKENS.values(), *(text for text, _ in PLACES.values())]
    secrets = [*TOKENS.values(), *(each for _, held in PLACES.values() for each in held)]

    queue(log, "c-1", *texts, {"role": "tool", "content": texts})

    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
    assert b"harvest_jobs" in stored
    assert [each for each in secrets if each.encode() in stored or each in caplog.text] == []


def test_dead_jobs_are_queued_anew_and_forgotten_after_thirty_days(
    open_log: Open, clock: Clock
) -> None:
    log = open_log(**WANTED)
    queue(log, "c-1")
    queue(log, "c-2")
    _kill(log, clock)

    clock.move(days=29)
    _enqueue(log, key="c-3")
    assert [job.state for job in listed(log)] == ["dead", "dead", "queued"]
    assert (retry(log, key="c-1"), retry(log, Scope("global"))) == (1, 0)
    clock.move(days=2)
    _enqueue(log, key="c-4")

    assert [(job.key, job.state) for job in listed(log)] == [
        ("c-1", "queued"),
        ("c-3", "queued"),
        ("c-4", "queued"),
    ]
    assert _enqueue(log, key="c-2") == "queued"


def _kill(log: Log, clock: Clock) -> None:
    with log._store.transaction() as transaction:  # noqa: SLF001  # the table itself has no public way
        transaction.cursor.execute(
            "UPDATE harvest_jobs SET state = 'dead', ended_at = ?",
            (memlog.text.utc_text(clock()),),
        )
