"""What a section costs: three point reads while it is current, one rendering when it is not."""

import sqlite3
from pathlib import Path

from memlog.log import Log
from memlog.memory import Memory
from memlog.settings import Settings
from memlog.testing import open_log
from tests.section.asking import count, forget, renders, statements


def written(log: Log, notes: int = 300) -> Memory:
    memory = log.scope("owner", "alice")
    memory.write_many(
        [{"title": f"Note {number}", "body": "b", "pinned": not number} for number in range(notes)]
    )
    memory.link("note-1", "note-2", "supersedes")
    return memory


def plans(log: Log, sql: list[str]) -> list[str]:
    """Return how SQLite finds the rows of statements."""
    with log._store.reading() as cursor:  # noqa: SLF001  # as in `asking`
        return [str(row[3]) for each in sql for row in cursor.execute(f"EXPLAIN QUERY PLAN {each}")]


def test_the_warm_path_is_three_point_reads_and_no_rendering(tmp_path: Path) -> None:
    for target in (":memory:", tmp_path / "notes.db"):
        with open_log(target) as log:
            memory = written(log)
            first = memory.section()

            with statements(log) as sql, renders() as rendered:
                assert memory.section() == first

            assert rendered == []
            assert len(sql) <= 3
            assert all(each.startswith("SELECT") for each in sql)
            found = plans(log, sql)
            assert found[0] == "SCAN notes_pointer"  # One row, by its CHECK.
            assert [plan.split(" (")[0] for plan in found[1:]] == [
                "SEARCH scopes_a USING INDEX sqlite_autoindex_scopes_a_1",
                "SEARCH digests USING INDEX sqlite_autoindex_digests_1",
            ]


def test_the_warm_path_writes_nothing(tmp_path: Path) -> None:
    with open_log(tmp_path / "notes.db") as log, sqlite3.connect(tmp_path / "notes.db") as other:
        memory = written(log)
        first = memory.section(conversation_id="c-1")
        version = other.execute("PRAGMA data_version").fetchone()

        for number in range(20):
            assert memory.section(conversation_id=f"c-{number}") == first

        assert other.execute("PRAGMA data_version").fetchone() == version
    other.close()


def test_it_is_rendered_once_for_all_handles_until_a_note_is_touched(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    with open_log(path) as log, open_log(path) as other:
        memories = [written(log), other.scope("owner", "alice")]
        for number in range(3):
            with renders() as rendered:
                assert len({memory.section() for memory in memories * 2}) == 1
            assert len(rendered) == 1
            memories[1].write(title="Rewritten", body=f"{number}", slug="note-1")
        assert count(log, "digests") == 1
        assert count(log, "sections") == 3


def test_settings_each_stay_warm_beside_the_other(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    wide = Settings(index_token_budget=20_000)
    with open_log(path) as log, open_log(path, settings=wide) as other:
        memories = [written(log), other.scope("owner", "alice")]
        texts = [memory.section().text for memory in memories]

        with renders() as rendered:
            again = [memory.section().text for memory in memories * 3]

        assert rendered == []
        assert again == texts * 3
        assert texts[0] != texts[1]


def test_an_empty_scope_is_warm_too() -> None:
    with open_log() as log:
        first = log.scope("global").section()

        with renders() as rendered:
            assert log.scope("global").section() == first

        assert rendered == []


def test_a_pinned_write_looks_at_the_pinned_notes_only() -> None:
    with open_log() as log:
        memory = written(log)

        with statements(log) as sql:
            assert memory.write(title="New", body="b", pinned=True).pin_shown

        asked = [each for each in sql if "pinned = 1" in each]
        assert plans(log, asked) == ["SEARCH notes_a USING INDEX notes_a_pinned (scope=?)"]
        assert not [each for each in sql if "OFFSET" in each]


def test_a_forgotten_digest_is_recorded_again() -> None:
    with open_log() as log:
        memory = written(log, 3)
        first = memory.section()
        forget(log)

        assert memory.section() == first
        assert count(log, "sections") == 2
