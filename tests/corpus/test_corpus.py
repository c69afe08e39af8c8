"""A log of each format ever released still reads as it did. Its files are never made anew."""

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import memlog
from memlog import Log, RequestConflictError, codec
from memlog.testing import LOG_ID, tables_equal_fold
from tests.corpus.write_v1 import SCOPES, expected, lines

HERE = Path(__file__).resolve().parent
VERSIONS = sorted(path.name for path in HERE.glob("v*") if path.is_dir())


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def path(version: str, tmp_path: Path) -> Path:
    """A copy, since opening a log writes to its file."""
    copy = tmp_path / "notes.db"
    shutil.copyfile(HERE / version / "notes.db", copy)
    return copy


@pytest.fixture
def log(path: Path) -> Iterator[Log]:
    with memlog.open(path, create=False) as log:
        yield log


def events(version: str) -> list[dict[str, Any]]:
    content = (HERE / version / "events.jsonl").read_text("utf-8")
    return [json.loads(line) for line in content.splitlines()]


def test_the_first_format_is_kept() -> None:
    assert "v1" in VERSIONS


def test_every_type_of_the_registry_is_in_it() -> None:
    kept = {event["type"] for version in VERSIONS for event in events(version)}

    assert kept == set(codec.TYPES)


def test_the_stored_bytes_are_the_ones_that_were_written(version: str, path: Path) -> None:
    assert [json.loads(line) for line in lines(path)] == events(version)


def test_every_event_decodes_and_its_commitment_holds(version: str, path: Path) -> None:
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT rowid, state FROM stored_events ORDER BY rowid").fetchall()
    connection.close()

    for (position, state), expected_event in zip(rows, events(version), strict=True):
        event = codec.decode(state, position=position)
        parts, envelope = codec.split(state), codec.decode_envelope(state)
        assert envelope.log == LOG_ID
        assert (event.position, event.stream, event.seq, event.type) == tuple(
            expected_event[name] for name in ("position", "stream", "seq", "type")
        )
        codec.check_commitment(parts, envelope)
        assert codec.encode(event, log_id=envelope.log, salt=parts.salt) == state


def test_every_note_reads_as_it_did(version: str, log: Log) -> None:
    kept = json.loads((HERE / version / "expected.json").read_text("utf-8"))

    assert json.loads(json.dumps(expected(log))) == kept


def test_its_tables_are_what_its_events_add_up_to(log: Log) -> None:
    assert tables_equal_fold(log)
    assert log.rebuild().differences == ()
    assert tables_equal_fold(log)


def test_it_can_be_written_on(version: str, log: Log) -> None:
    memory = log.scope(SCOPES[1])

    written = memory.write(title="Deploy key rotates", body="On the third.")

    assert written.note.slug == "deploy-key-rotates-3"
    assert written.position == len(events(version)) + 1
    assert log.log_id == LOG_ID


def test_its_requests_are_still_known(log: Log) -> None:
    memory = log.scope(SCOPES[1])
    asked: dict[str, Any] = {"title": "Deploy key rotates", "body": "On the second."}

    again = memory.write(**asked, request_id="r-2")

    assert (again.replayed, again.note.slug) == (True, "deploy-key-rotates-2")
    with pytest.raises(RequestConflictError):
        memory.write(**{**asked, "body": "On the third."}, request_id="r-2")


def test_the_corpus_is_not_touched_by_its_tests(version: str) -> None:
    """The sizes and hashes of its files; a change here is a change of history."""
    files = sorted(path.name for path in (HERE / version).iterdir())
    manifest = (HERE / f"{version}.sha256").read_text("utf-8").splitlines()

    assert files == [line.split("  ")[1] for line in manifest]
    for line in manifest:
        digest, name = line.split("  ")
        assert hashlib.sha256((HERE / version / name).read_bytes()).hexdigest() == digest
