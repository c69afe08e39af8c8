"""What a forged row gave does not outlive a rebuild: neither the section nor the search index."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import memlog


def forge_title(path: Path, *, title: str) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE notes_a SET title = ?", (title,))


def test_a_forged_section_and_index_are_gone_after_a_rebuild_of_the_notes(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    with memlog.open(path) as log:
        log.scope("global").write(title="Tea", body="green")
    forge_title(path, title="Forged")

    with memlog.open(path) as log:
        memory = log.scope("global")
        assert "Forged" in memory.section().text
        assert [hit.title for hit in memory.search("forged")] == ["Forged"]

        rebuilt = log.rebuild("notes")

        assert rebuilt.differences
        assert "Forged" not in memory.section().text
        assert memory.search("forged") == []
        assert [hit.title for hit in memory.search("tea")] == ["Tea"]
