"""Verifying and proving change no byte, and need nothing but to read."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import memlog
from memlog.errors import NotAStoreError, StoreNotFoundError
from memlog.verify.opening import verify_file
from memlog.verify.run import Asked
from tests.store.files import left_by_a_killed_process, read_only
from tests.verify.stores import copied, verified


def content(directory: Path) -> dict[str, bytes]:
    return {
        str(each.relative_to(directory)): each.read_bytes()
        for each in sorted(directory.rglob("*"))
        if each.is_file()
    }


def look(path: Path, *, old: bytes) -> None:
    """Do all that only reads."""
    assert verified(path).ok
    with memlog.open(path, read_only=True) as log:
        assert log.verify().ok
        log.prove(3)
        log.prove_consistency(old)


@pytest.fixture
def store(signed_store: Path, tmp_path: Path) -> Path:
    return copied(signed_store, tmp_path / "copy")


@pytest.fixture
def old(signed_store: Path) -> bytes:
    return (signed_store.parent / "first.note").read_bytes()


def test_a_verification_leaves_every_file_as_it_was_and_makes_none(store: Path) -> None:
    before = content(store.parent)

    assert verified(store).ok

    assert content(store.parent) == before


def test_every_byte_of_a_closed_store_stays_as_it_was(store: Path, old: bytes) -> None:
    before = content(store.parent)

    look(store, old=old)

    after = content(store.parent)
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) <= {"notes.db-shm", "notes.db-wal"}, "SQLite's own, and empty"
    assert (store.with_name("notes.db-wal")).stat().st_size == 0


def test_every_byte_of_a_store_in_use_stays_as_it_was(store: Path, old: bytes) -> None:
    with memlog.open(store) as log:
        log.scope("global").write(title="Still open", body="x")
        before = {name: data for name, data in content(store.parent).items() if "-shm" not in name}

        look(store, old=old)

        after = content(store.parent)
        assert {name: after[name] for name in before} == before


def test_a_read_only_medium_is_enough(store: Path, old: bytes) -> None:
    with read_only(store.parent) as medium:
        look(medium / store.name, old=old)


def test_writes_in_the_wal_of_a_killed_process_are_looked_at(tmp_path: Path) -> None:
    path = left_by_a_killed_process(tmp_path / "notes.db")

    found = verified(path)

    assert found.ok
    assert found.events == 1


def test_a_log_in_memory_verifies() -> None:
    with memlog.open(":memory:") as log:
        log.scope("global").write(title="Tea", body="oolong")

        assert log.verify().ok


def test_others_may_write_while_a_log_is_verified(store: Path) -> None:
    with memlog.open(store) as log:
        events = log.position()

        def write(_done: int, _total: int) -> None:
            log.scope("global").write(title="Meanwhile", body="x")

        found = log.verify(progress=write)

        assert found.ok
        assert found.events == events
        assert log.position() > events


def test_progress_ends_at_the_number_of_events(store: Path) -> None:
    seen: list[tuple[int, int]] = []
    with memlog.open(store, read_only=True) as log:
        log.verify(progress=lambda done, total: seen.append((done, total)))

        assert seen[-1] == (log.position(), log.position())


# --- What cannot be looked at is an error, not a finding


@pytest.mark.parametrize("name", ["missing.db", "other.db", "text.db"])
def test_what_is_no_store_is_refused_and_left_as_it_is(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if name == "other.db":
        with closing(sqlite3.connect(path)) as db:
            db.execute("CREATE TABLE t (x)")
    elif name == "text.db":
        path.write_text("Dear diary, this is no database at all.\n" * 100)
    before = content(tmp_path)

    with pytest.raises((NotAStoreError, StoreNotFoundError)):
        verified(path)

    assert content(tmp_path) == before


def test_no_flipped_byte_makes_a_verification_fail(store: Path) -> None:
    whole = store.read_bytes()
    used = [place for place, byte in enumerate(whole) if byte and place > 100]
    for place in used[:: len(used) // 60]:
        store.write_bytes(flipped(whole, place))

        verified(store)  # It raises nothing: what it finds is its own business.


def test_every_flipped_byte_of_an_event_is_found(store: Path) -> None:
    whole = store.read_bytes()
    with closing(sqlite3.connect(f"{store.as_uri()}?mode=ro&immutable=1", uri=True)) as db:
        (state,) = db.execute("SELECT state FROM stored_events WHERE rowid = 7").fetchone()
    start = whole.index(state)
    for offset in range(0, len(state), len(state) // 40):
        store.write_bytes(flipped(whole, start + offset))

        first = verified(store).first

        assert first is not None
        assert first.position == 7 or first.check == "pages", first


def flipped(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 0x04]) + content[place + 1 :]


def test_a_store_that_is_written_meanwhile_is_read_again(store: Path) -> None:
    written: list[int] = []

    def write(_done: int, _total: int) -> None:
        if not written:  # The last one to close it moves what was written into the file.
            with memlog.open(store) as log:
                written.append(log.scope("global").write(title="Meanwhile", body="x").position)

    asked = Asked(target="store", progress=write)
    found = verify_file(store, settings=memlog.Settings(), asked=asked)

    assert found.ok
    assert found.events == written[0]
