"""Sections of stores that are busy, full, read-only, or written by other processes meanwhile."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st

import memlog
from memlog.errors import StoreFullError
from memlog.events import Event
from memlog.log import Log
from memlog.memory import Memory
from memlog.sections import Section
from memlog.settings import Settings
from memlog.testing import CountingIds, FixedClock, open_log, record, strategies
from projections.digest.render import hash_text
from tests.digest.section_parser import parse
from tests.section import children
from tests.section.asking import count, pure, renders

# A locale that counts, sorts and cases otherwise; a time zone on the other side of midnight.
ENVIRONMENTS = [
    {"LC_ALL": "C", "TZ": "UTC", "PYTHONHASHSEED": "0"},
    {"LC_ALL": "C.UTF-8", "TZ": "Pacific/Kiritimati", "PYTHONHASHSEED": "1"},
    {"LC_ALL": "tr_TR.UTF-8", "TZ": "America/Los_Angeles", "PYTHONHASHSEED": "77"},
]
MIDNIGHT = datetime(2026, 11, 30, 23, 59, 59, tzinfo=UTC)
PATIENCE_S = 60.0


def written(log: Log) -> Memory:
    memory = log.scope("owner", "alice")
    memory.write(title="Tea", body="green", pinned=True)
    memory.write(title="Oolong", body="blue")
    return memory


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold the store's lock from another process."""
    child = children.start(children.HOLD_THE_LOCK, path)
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    yield
    children.ended(child, "enough\n")


# --- Other processes


@settings(max_examples=2)
@for_all(st.lists(strategies.histories(max_requests=12), min_size=12, max_size=12))
def test_other_processes_render_the_same_bytes_in_any_environment(
    tmp_path_factory: pytest.TempPathFactory, histories: list[tuple[Event, ...]]
) -> None:
    path = tmp_path_factory.mktemp("stores") / "notes.db"
    clock = FixedClock(MIDNIGHT)
    with open_log(path, clock=clock) as log:
        for number, history in enumerate(histories):
            memory = log.scope("owner", f"p{number}")
            for event in history:
                record(memory, [event.payload])
                clock.advance(3_599.5)
        streams = [each.scope.stream for each in log.scopes()]
        texts = [pure(log, stream) for stream in streams]
    expected = [
        ascii([stream, text, hash_text(text)]) for stream, text in zip(streams, texts, strict=True)
    ]

    started = [children.start(children.PRINT_SECTIONS, path, environ=e) for e in ENVIRONMENTS]

    for child in started:
        assert children.ended(child).splitlines() == expected


def test_no_section_is_stale_after_a_committed_write_of_any_process(tmp_path: Path) -> None:
    path, writers, notes = tmp_path / "notes.db", 3, 15
    failures: list[str] = []
    hashes: set[str] = set()

    def follow(lines: Iterator[str], memory: Memory) -> None:
        live = 0
        for line in lines:
            slug, hash_ = line.split()
            section = memory.section()
            seen = parse(section.text).live
            if slug not in section.text or seen < live:
                failures.append(f"{slug} is missing, or {seen} < {live}")
            live = seen
            hashes.update((hash_, section.hash))

    with open_log(path, settings=Settings(index_token_budget=20_000)) as log:
        started = [children.start(children.WRITE_AND_READ, path, n, notes) for n in range(writers)]
        threads = [
            threading.Thread(
                target=follow, args=(iter(child.stdout or ()), log.scope("owner", "alice"))
            )
            for child in started
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for child in started:
            children.ended(child)
        memory = log.scope("owner", "alice")
        assert failures == []
        assert memory.section().text == pure(log)
        assert parse(memory.section().text).shown == writers * notes
        known = {hash_: memory.section_text(hash_) for hash_ in hashes}
        assert memory.section().hash in known
        assert all(hash_text(text) == hash_ for hash_, text in known.items() if text is not None)


def test_a_write_in_the_middle_of_a_rendering_is_in_the_next_section_and_not_in_half_of_this(
    tmp_path: Path,
) -> None:
    path = tmp_path / "notes.db"
    with open_log(path) as log, open_log(path, ids=CountingIds(1)) as other:
        memory, theirs = written(log), other.scope("owner", "alice")
        before = pure(log)
        with log._store.reading() as cursor:  # noqa: SLF001  # the one that the next read will take
            assert isinstance(cursor, sqlite3.Cursor)
            connection = cursor.connection

        def write(sql: str) -> None:
            if "FROM notes_a" in sql and theirs.get("cup") is None:
                theirs.write(title="Cup", body="for the tea", pinned=True)
                assert "cup" in theirs.section().text

        connection.set_trace_callback(write)
        during = memory.section()
        connection.set_trace_callback(None)

        assert theirs.get("cup") is not None
        assert during.text == before
        assert memory.section().text == pure(log) != before
        assert memory.section() == theirs.section()
        assert memory.section_text(during.hash) == before


# --- Busy, full, read-only


def test_a_busy_store_answers_and_stores_nothing_until_it_is_free(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    with open_log(path, settings=Settings(lock_timeout_s=PATIENCE_S)) as log:
        memory = written(log)
        with held(path), renders() as rendered:
            answers = {memory.section() for _ in range(3)}
            (section,) = answers
            assert section.text == pure(log)
            assert len(rendered) == 3 + 1
            assert memory.section_text(section.hash) is None
        assert memory.section() == section
        assert memory.section_text(section.hash) == section.text
        with held(path), renders() as rendered:
            assert memory.section() == section
        assert rendered == []


def test_a_thread_that_writes_makes_nobody_wait_for_a_section(tmp_path: Path) -> None:
    with open_log(tmp_path / "notes.db", settings=Settings(lock_timeout_s=PATIENCE_S)) as log:
        memory, answers = written(log), []
        with log._store.transaction():  # noqa: SLF001  # a write that lasts
            thread = threading.Thread(target=lambda: answers.append(memory.section()))
            thread.start()
            thread.join(PATIENCE_S / 2)
            assert not thread.is_alive()
        assert [answer.text for answer in answers] == [pure(log)]


def test_a_program_that_knows_no_lock_file_is_waited_for_no_longer_than_the_setting_says(
    tmp_path: Path,
) -> None:
    path = tmp_path / "notes.db"
    with open_log(path, settings=Settings(lock_timeout_s=0.1)) as log:
        memory = written(log)
        with closing(sqlite3.connect(path, isolation_level=None)) as foreign:
            foreign.execute("BEGIN IMMEDIATE")
            assert memory.section().text == pure(log)
            foreign.execute("ROLLBACK")
        assert count(log, "digests") == 0


def test_a_full_disk_answers(tmp_path: Path) -> None:
    large = Settings(index_token_budget=50_000, pinned_body_bytes=100_000)
    with open_log(tmp_path / "notes.db", settings=large) as log:
        memory = written(log)
        memory.write(title="Long", body="x" * 30_000, pinned=True)
        with log._store.transaction() as transaction:  # noqa: SLF001  # to set its size
            (pages,) = transaction.cursor.execute("PRAGMA page_count").fetchone()
            transaction.cursor.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreFullError):
            memory.write(title="Too big", body="x" * 30_000)

        assert memory.section().text == pure(log)

        assert count(log, "digests") == count(log, "sections") == 0


@pytest.mark.parametrize("stored", [True, False], ids=["current", "not stored"])
def test_a_read_only_store_answers_and_changes_no_byte(tmp_path: Path, *, stored: bool) -> None:
    path = tmp_path / "notes.db"
    with open_log(path) as log:
        expected = written(log).section()
        if not stored:
            log.scope("owner", "alice").write(title="Late", body="b")
            expected = Section(pure(log), hash_text(pure(log)))
    before = path.read_bytes()
    with memlog.open(path, read_only=True) as log, renders() as rendered:
        memory = log.scope("owner", "alice")

        assert [memory.section(), memory.section()] == [expected, expected]

        assert len(rendered) == (0 if stored else 2)
        assert (memory.section_text(expected.hash) is not None) is stored
    assert path.read_bytes() == before
