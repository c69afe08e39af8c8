"""A log that somebody changed by hand: a damage error, never another one, and never an answer."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

import memlog
from memlog.audit.matching import matching
from memlog.errors import DamageError
from memlog.memory import Memory
from memlog.store import schema
from memlog.testing import FixedClock, open_log

Change = Callable[[sqlite3.Connection], object]


def store(path: Path) -> None:
    clock = FixedClock()
    with open_log(path, clock=clock) as log:
        memory = log.scope("owner", "alice")
        for number in range(5):
            memory.write(title=f"Tea {number}", body="green")
            clock.advance(60)
        memory.section()


def tampered(path: Path, change: Change) -> None:
    """Change the events as somebody does who can write the file: without the triggers."""
    with closing(sqlite3.connect(path)) as connection, connection:
        triggers = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall()
        for (name,) in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        change(connection)
        for statement in schema.TRIGGERS:
            connection.execute(statement)


def rewrite(old: str, new: str, *, seq: int = 3) -> Change:
    """Return the change of some bytes of an event."""
    statement = (
        "UPDATE stored_events SET state = CAST(replace(CAST(state AS TEXT), ?, ?) AS BLOB) "
        "WHERE originator_version = ?"
    )
    return lambda connection: connection.execute(statement, (old, new, seq))


CHANGES: dict[str, Change] = {
    "no json": rewrite("{", "["),
    "cut": lambda connection: connection.execute(
        "UPDATE stored_events SET state = substr(state, 1, 90) WHERE originator_version = 3"
    ),
    "unknown type": lambda connection: connection.execute(
        "UPDATE stored_events SET topic = 'note_burnt/1' WHERE originator_version = 3"
    ),
    "another type": rewrite('"note_written/1"', '"note_pinned/1"'),
    "no time": rewrite("2026-11-30T19:17:00.000000Z", "once upon a time"),
    "another scope": rewrite("owner/alice", "owner/bob"),
    "another seq": rewrite('"seq":3', '"seq":9'),
    "missing": lambda connection: connection.execute(
        "DELETE FROM stored_events WHERE originator_version = 3"
    ),
}

QUESTIONS: dict[str, Callable[[Memory], object]] = {
    "at": lambda memory: memory.at(seq=5).notes(),
    "at a position": lambda memory: memory.at(position=5).get("tea-0"),
    "at a time": lambda memory: memory.at(time=datetime(2026, 11, 30, 19, 19, tzinfo=UTC)).notes(),
    "search": lambda memory: memory.at(seq=5).search("tea"),
    "similar": lambda memory: memory.at(seq=5).similar("Tea 1"),
    "diff": lambda memory: memory.diff(1),
    "timeline": lambda memory: memory.timeline(),
    "taint": lambda memory: memory.taint(matching(provenance="agent")),
    "prompt": lambda memory: memory.prompt(memory.section().hash),
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_event_is_never_passed_over(tmp_path: Path, change: str, question: str) -> None:
    path = tmp_path / "notes.db"
    store(path)
    tampered(path, CHANGES[change])

    with memlog.open(path, read_only=True) as log:
        memory = log.scope("owner", "alice")
        assert memory.at(seq=2).get("tea-1"), "what comes before it can still be read"
        with pytest.raises(DamageError):
            QUESTIONS[question](memory)
