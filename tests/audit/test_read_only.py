"""The audit reads and nothing else: no byte of a store changes, and a read-only medium will do."""

import hashlib
from pathlib import Path

import memlog
from memlog.audit.matching import matching
from memlog.memory import Memory
from tests.store.files import read_only


def store(path: Path) -> str:
    """Make a closed store with a bit of everything, searched; return the hash of its section."""
    with memlog.open(path) as log:
        memory = log.scope("owner", "alice")
        memory.write(title="Tea", body="green", source={"url": "https://example.org"})
        memory.write(title="Oolong", body="half", pinned=True)
        memory.link("oolong", "tea", "derived_from")
        section = memory.section(conversation_id="c-1")
        memory.write(title="Oolong", body="whole", slug="oolong")
        memory.search("tea")
        return section.hash


def content(directory: Path) -> dict[str, str]:
    """Return the hash of each file that is there."""
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def audit(memory: Memory, section_hash: str) -> None:
    """Ask everything that the past can be asked."""
    for seq in range(7):
        past = memory.at(seq=seq)
        past.search("tea")
        past.section(conversation_id="c-2")
        past.similar("tea")
        past.notes()
    source = matching(url="https://example.org")
    assert memory.at(position=5, without=source).refused
    assert memory.diff(0).added
    assert len(memory.timeline()) == 6
    assert memory.taint(source).sections
    found = memory.prompt(section_hash)
    assert found is not None
    assert found.agrees
    assert memory.history("oolong")


def test_no_byte_of_a_closed_store_changes(tmp_path: Path) -> None:
    section_hash = store(tmp_path / "notes.db")
    before = content(tmp_path)

    with memlog.open(tmp_path / "notes.db", read_only=True) as log:
        audit(log.scope("owner", "alice"), section_hash)

    after = content(tmp_path)
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) <= {"notes.db-shm", "notes.db-wal"}, "SQLite's own, and empty"
    assert (tmp_path / "notes.db-wal").stat().st_size == 0


def test_a_writable_store_is_not_written_to(tmp_path: Path) -> None:
    section_hash = store(tmp_path / "notes.db")
    with memlog.open(tmp_path / "notes.db") as log:
        before = content(tmp_path)
        audit(log.scope("owner", "alice"), section_hash)
        after = content(tmp_path)

    assert after == before


def test_a_read_only_medium_will_do(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    section_hash = store(home / "notes.db")
    before = content(home)

    with (
        read_only(home) as medium,
        memlog.open(medium / "notes.db", read_only=True) as log,
    ):
        audit(log.scope("owner", "alice"), section_hash)

    assert content(home) == before
