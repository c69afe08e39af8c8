"""Whatever was asked of a log, it verifies; and what is kept in memory decides nothing."""

import sqlite3
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memlog import Log, Scope
from memlog.errors import StoreFullError
from memlog.events import Event, NotePinned, NoteWritten
from memlog.testing import open_log, record, strategies
from memlog.verify import cells, expected, paging
from memlog.verify.cells import Cells, Key
from memlog.verify.expected import ScopeCell
from projections import tree
from tests.proof import rfc

HISTORIES = strategies.histories(streams=["owner/alice", "global/"])


def replayed(log: Log, history: Iterable[Event]) -> None:
    """Append the events of a history, each with the others of its scope around it."""
    for stream, events in groupby(history, key=lambda event: event.stream):
        record(log.scope(Scope.of_stream(stream)), [event.payload for event in events])


@given(HISTORIES)
def test_every_legal_history_verifies(history: tuple[Event, ...]) -> None:
    with open_log() as log:
        replayed(log, history)
        log.scope("owner", "alice").section()

        found = log.verify()

        assert found.first is None
        assert found.ok
        assert found.events == len(history)


@given(HISTORIES)
def test_the_root_is_that_of_the_envelopes(history: tuple[Event, ...]) -> None:
    with open_log() as log:
        replayed(log, history)
        with log._store.reading() as cursor:  # noqa: SLF001  # there is no public way to SQL
            states = cursor.execute("SELECT state FROM stored_events ORDER BY rowid").fetchall()
            root = tree.root(cursor, size=len(states))
        leaves = [rfc.leaf_hash(_envelope(state)) for (state,) in states]

        assert root == rfc.mth(leaves)
        assert log.verify().root == root.hex()


def _envelope(state: bytes) -> bytes:
    return state[len(b'{"envelope":') : state.index(b',"salt":"')]


@settings(max_examples=15)
@given(HISTORIES)
def test_a_verification_that_keeps_nothing_in_memory_finds_the_same(
    history: tuple[Event, ...],
) -> None:
    with pytest.MonkeyPatch.context() as patched, open_log() as log:
        replayed(log, history)
        whole = log.verify()
        patched.setattr(expected, "Cells", lambda cell_type: Cells(cell_type, kept_max=0))
        patched.setattr(paging, "PAGE_ROWS", 3)

        assert log.verify() == whole


KEYS = st.tuples(st.sampled_from(["a", "b"]), st.one_of(st.none(), st.sampled_from("xyz")))


@given(st.lists(st.tuples(KEYS, st.one_of(st.none(), st.integers(0, 9)))), st.data())
def test_cells_are_a_dictionary(
    steps: list[tuple[tuple[str, str | None], int | None]], data: st.DataObject
) -> None:
    kept_max, runs_max = data.draw(st.integers(0, 3)), data.draw(st.integers(1, 4))
    found = Cells(ScopeCell, kept_max=kept_max, runs_max=runs_max)
    model: dict[Key, ScopeCell] = {}
    for key, value in steps:
        if value is None:
            found.remove(key)
            model.pop(key, None)
        else:
            found.put(key, ScopeCell(value))
            model[key] = ScopeCell(value)
        found.make_room()

        assert {key: found.get(key) for key in model} == model
        assert found.count == len(model)
    assert dict(found.all()) == model
    found.close()


def test_a_full_disk_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong with the temporary file says nothing about the store."""
    with open_log(tmp_path / "notes.db") as log:
        log.scope("global").write_many([{"title": f"Tea {n}", "body": "x"} for n in range(300)])
        make = cells._temporary  # noqa: SLF001  # the one place where it is made

        def full() -> sqlite3.Connection:
            connection = make()
            connection.execute("PRAGMA max_page_count=3")
            return connection

        monkeypatch.setattr(cells, "_temporary", full)
        monkeypatch.setattr(expected, "Cells", lambda cell_type: Cells(cell_type, kept_max=0))

        with pytest.raises(StoreFullError, match=r"temporary file.*full.*SQLITE_TMPDIR"):
            log.verify()


def test_an_event_that_breaks_a_rule_is_named() -> None:
    with open_log() as log:
        alice = log.scope("owner", "alice")
        web = {"url": "https://e.example/"}
        alice.write(title="From the web", body="x", source=web)
        written = NoteWritten(slug="tea", title="Tea", body="x", provenance="compaction")
        record(alice, [written, NotePinned(slug="tea")])

        first = log.verify().first

        assert first is not None
        assert (first.check, first.position) == ("rules", 3)
        assert "compaction" in first.detail


def test_a_whole_verification_needs_no_statement_an_event() -> None:
    with open_log() as log:
        alice = log.scope("owner", "alice")
        alice.write_many([{"title": f"Tea {n}", "body": "x"} for n in range(300)])
        counted = Counted(log)

        assert log.verify(progress=counted.progress).ok
        assert counted.statements < 100


class Counted:
    """Counts the statements of the connection that verifies."""

    def __init__(self, log: Log) -> None:
        self.statements = 0
        with log._store.reading() as cursor:  # noqa: SLF001  # there is no public way to SQL
            connection = cursor.connection  # type: ignore[attr-defined]
            connection.set_trace_callback(self._count)

    def _count(self, _statement: str) -> None:
        self.statements += 1

    def progress(self, _done: int, _total: int) -> None:
        pass
