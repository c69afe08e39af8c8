"""Rebuilding the notes tables: nothing is lost, and planted differences are found."""

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import memlog
from memlog import DriftError, InvalidRequestError, Log, Settings
from memlog.errors import RebuildTakenOverError, UnknownEventTypeError
from memlog.events import CompactionHarvested
from memlog.testing import CountingIds, open_log, record, tables_equal_fold


@pytest.fixture(autouse=True)
def _few_words_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let some words be filed and some wait."""
    monkeypatch.setattr("projections.notes.words.WAITING_POSTINGS", 3)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.db"


@pytest.fixture
def log(path: Path) -> Iterator[Log]:
    with open_log(path) as log:
        fill(log)
        yield log


def fill(log: Log) -> None:
    """Put something into every table."""
    alice, everyone = log.scope("owner", "alice"), log.scope("global")
    for body in "abc":
        alice.write(title="Tea", body=body, request_id=f"r-{body}", topics=["hot"])
    everyone.write(title="Tea", body="of all")
    alice.link("tea-3", "tea", "supersedes", request_id="l")
    alice.link("tea-2", "tea-3", "related")
    alice.pin("tea-2")
    record(alice, [CompactionHarvested(key="k", entries_sha256="0" * 64, model="m")])


def live_set(path: Path) -> str:
    with sqlite3.connect(path) as connection:
        name: str = connection.execute("SELECT live FROM notes_pointer").fetchone()[0]
    connection.close()
    return name


def change(path: Path, statement: str) -> None:
    """Change a row of the live set by hand; `{}` stands for the set."""
    connection = sqlite3.connect(path)
    with connection:
        changed = connection.execute(statement.format(live_set(path))).rowcount
    connection.close()
    assert changed > 0


def test_a_rebuild_moves_to_the_other_set_and_back(log: Log, path: Path) -> None:
    before = log.scope("owner", "alice").notes()

    rebuilt = [log.rebuild() for _ in range(2)]

    assert [(each.projection, each.events, each.differences) for each in rebuilt] == [
        ("notes", 8, ())
    ] * 2
    assert live_set(path) == "a"
    assert log.scope("owner", "alice").notes() == before
    assert tables_equal_fold(log)


def test_the_set_that_is_not_live_is_left_empty(log: Log, path: Path) -> None:
    log.rebuild()

    assert live_set(path) == "b"
    connection = sqlite3.connect(path)
    for table in ("scopes_a", "notes_a", "links_a", "requests_a", "words_a"):
        assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
    connection.close()


def test_an_empty_log_is_rebuilt(path: Path) -> None:
    with open_log(path) as log:
        rebuilt = log.rebuild()
        assert (rebuilt.events, rebuilt.differences) == (0, ())
        assert tables_equal_fold(log)


PLANTED = [
    ("UPDATE notes_{} SET body = 'eaten' WHERE slug = 'tea-2'", "notes", "tea-2"),
    ("UPDATE notes_{} SET pinned = 0 WHERE slug = 'tea-2'", "notes", "tea-2"),
    ("UPDATE notes_{} SET superseded_by = NULL WHERE slug = 'tea'", "notes", "tea"),
    ("UPDATE notes_{} SET confidence = 0.999 WHERE slug = 'tea-3'", "notes", "tea-3"),
    ("DELETE FROM notes_{} WHERE slug = 'tea-3'", "notes", "tea-3"),
    ("UPDATE links_{} SET label = 'why' WHERE rel = 'related'", "links", "tea-2 related tea-3"),
    ("DELETE FROM links_{} WHERE rel = 'supersedes'", "links", "tea-3 supersedes tea"),
    ("DELETE FROM requests_{} WHERE request_id = 'r-b'", "requests", "r-b"),
    ("UPDATE requests_{} SET seq = 9 WHERE request_id = 'l'", "requests", "l"),
    ("UPDATE scopes_{} SET live = 9 WHERE stream = 'owner/alice'", "scopes", "owner/alice"),
    ("UPDATE scopes_{} SET touched_seq = 1 WHERE stream = 'owner/alice'", "scopes", "owner/alice"),
    ("UPDATE words_{} SET outlines = X'0900000000000009' WHERE word = 'of'", "words", "of"),
    ("DELETE FROM words_{} WHERE word = 'hot'", "words", "hot"),
    ("UPDATE scopes_{} SET waiting = X'' WHERE stream = 'global/'", "scopes", "global/"),
]


def plant(path: Path, statement: str) -> None:
    if "'of'" in statement:  # Nobody carries `of` yet.
        connection = sqlite3.connect(path)
        with connection:
            row = (2, "of", 0, 0, b"\1\0\0\0", b"\1\0")
            connection.execute(f"INSERT INTO words_{live_set(path)} VALUES (?, ?, ?, ?, ?, ?)", row)
        connection.close()
    change(path, statement)


@pytest.mark.parametrize(("statement", "table", "row"), PLANTED)
def test_a_planted_difference_is_named_and_gone_after_the_rebuild(
    log: Log, path: Path, statement: str, table: str, row: str
) -> None:
    before = log.scope("owner", "alice").notes()
    plant(path, statement)

    rebuilt = log.rebuild()

    (difference,) = rebuilt.differences
    assert difference.startswith(f"{table}: ")
    assert repr(row) in difference
    assert log.scope("owner", "alice").notes() == before
    assert tables_equal_fold(log)
    assert log.rebuild().differences == ()


@pytest.mark.parametrize("statement", [statement for statement, _, _ in PLANTED])
def test_the_comparison_with_the_fold_sees_every_planted_difference(
    log: Log, path: Path, statement: str
) -> None:
    """The canary of `tables_equal_fold`."""
    assert tables_equal_fold(log)
    plant(path, statement)

    with pytest.raises(DriftError) as caught:
        tables_equal_fold(log)

    assert caught.value.projection == "notes"


def test_the_comparison_sees_a_head_that_is_not_the_log_s(log: Log, path: Path) -> None:
    change(path, "UPDATE log SET recorded_at = '2027-01-01T00:00:00.000000Z' -- {}")

    with pytest.raises(DriftError):
        tables_equal_fold(log)


def test_progress_is_told_in_events(path: Path) -> None:
    told: list[tuple[int, int]] = []
    with open_log(path) as log:
        log.scope("global").write_many([{"title": "Tea", "body": str(n)} for n in range(1_201)])

        rebuilt = log.rebuild(progress=lambda done, total: told.append((done, total)))

    assert rebuilt.events == 1_201
    assert told == [(500, 1_201), (1_000, 1_201), (1_201, 1_201)]


def test_writes_during_a_rebuild_are_in_it(path: Path) -> None:
    """Between its batches the rebuild lets others write; their events come last."""
    with open_log(path) as log:
        memory = log.scope("global")
        memory.write_many([{"title": "Tea", "body": str(n)} for n in range(700)])

        told: list[int] = []

        def meanwhile(done: int, _: int) -> None:
            told.append(done)
            if len(told) <= 2:  # After the first batch, and after the one that was the last.
                memory.write(title="Meanwhile", body=str(done))
                (memory.pin if len(told) == 1 else memory.unpin)("tea-2")

        rebuilt = log.rebuild(progress=meanwhile)

        assert rebuilt.differences == ()
        assert rebuilt.events == log.position()
        assert len(memory.notes(limit=2_000)) == 702
        assert tables_equal_fold(log)


def test_a_rebuild_beside_writing_threads_loses_nothing(path: Path) -> None:
    written: list[list[str]] = [[] for _ in range(4)]
    failures: list[BaseException] = []
    stop = threading.Event()

    with memlog.open(path, settings=Settings(lock_timeout_s=60.0)) as log:

        def write(thread: int) -> None:
            memory = log.scope("owner", f"p{thread % 2}")
            try:
                while not stop.is_set() and len(written[thread]) < 300:
                    number = len(written[thread])
                    note = memory.write(title="Tea", body=f"{thread} {number}").note
                    written[thread].append(note.slug)
                    assert memory.read(note.slug).note.body == f"{thread} {number}"
            except BaseException as error:  # noqa: BLE001  # reported by the main thread
                failures.append(error)

        threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        rebuilt = [log.rebuild() for _ in range(5)]
        stop.set()
        for thread in threads:
            thread.join()

        assert failures == []
        assert [each.differences for each in rebuilt] == [()] * 5
        for number in range(2):
            slugs = {note.slug for note in log.scope("owner", f"p{number}").notes(limit=5_000)}
            assert slugs == {*written[number], *written[number + 2]}
        assert tables_equal_fold(log)


def test_the_later_of_two_rebuilds_wins_and_the_earlier_changes_nothing(path: Path) -> None:
    with open_log(path) as log, open_log(path, ids=CountingIds(1)) as other:
        log.scope("global").write_many([{"title": "Tea", "body": str(n)} for n in range(600)])

        def take_over(done: int, _: int) -> None:
            if done == 500:
                other.rebuild()

        with pytest.raises(RebuildTakenOverError):
            log.rebuild(progress=take_over)

        assert tables_equal_fold(log)
        assert log.rebuild().differences == ()


def test_an_event_of_unknown_type_leaves_the_live_tables_alone(log: Log, path: Path) -> None:
    memory = log.scope("owner", "alice")
    before = memory.notes()
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(
            "INSERT INTO stored_events SELECT 9, 'owner/alice', 8, 'note_eaten/1', state "
            "FROM stored_events WHERE rowid = 1"
        )
        connection.execute("UPDATE log SET position = 9")
    connection.close()

    with pytest.raises(UnknownEventTypeError) as caught:
        log.rebuild()

    assert (caught.value.position, caught.value.type) == (9, "note_eaten/1")
    assert live_set(path) == "a"
    assert memory.notes() == before


def test_an_unknown_projection_is_refused_by_name(log: Log) -> None:
    with pytest.raises(InvalidRequestError, match="'nonsense'"):
        log.rebuild("nonsense")  # type: ignore[arg-type]
