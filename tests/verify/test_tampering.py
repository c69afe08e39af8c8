"""Whatever is changed by hand in a closed store, a verification names its kind and its place."""

import shutil
from pathlib import Path

import msgspec
import pytest

import memlog
from memlog.testing import tampering
from memlog.testing.tampering import SAVED_CHECKPOINT, Tampering
from memlog.testing.tampering_tables import TAMPERINGS
from projections.notes.waiting import Waiting, waiting_of
from tests.verify.stores import copied, verified


def test_an_untouched_copy_verifies(signed_store: Path, tmp_path: Path) -> None:
    found = verified(copied(signed_store, tmp_path / "copy"))

    assert found.first is None
    assert found.ok
    assert {each.outcome for each in found.checks} == {"ok"}


@pytest.mark.parametrize("tampering", TAMPERINGS, ids=lambda each: each.name)
def test_a_change_by_hand_is_named(
    tampering: Tampering, signed_store: Path, tmp_path: Path
) -> None:
    path = copied(signed_store, tmp_path / "copy")
    damage = tampering.apply(path)
    saved = {}
    if tampering.needs == SAVED_CHECKPOINT:
        assert verified(path).first is None, "what a store alone does not show"
        saved = {"kept": (signed_store.parent / "last.note").read_bytes()}

    first = verified(path, saved=saved).first

    assert first is not None
    assert (first.check, first.position) == (damage.check, damage.position), first.detail


def test_an_index_that_is_ahead_of_its_log_is_named(signed_store: Path, tmp_path: Path) -> None:
    """As it is when only the database of a backup was put back."""
    path = copied(signed_store, tmp_path / "copy")
    older = path.read_bytes()
    with memlog.open(path) as log:
        log.scope("owner", "alice").write(title="Newest", body="x")
        log.scope("owner", "alice").search("newest")
    path.write_bytes(older)

    first = verified(path).first

    assert first is not None
    assert first.check == "index"
    assert "ahead of the log" in first.detail


def test_a_store_without_a_tree_or_indexes_has_nothing_wrong(
    signed_store: Path, tmp_path: Path
) -> None:
    path = copied(signed_store, tmp_path / "copy")
    shutil.rmtree(path.with_name("notes.db-index"))
    with tampering.by_hand(path) as db:
        db.execute("DROP TABLE tree_nodes")
        db.execute("DROP TABLE checkpoints")

    found = verified(path)

    assert found.ok
    assert {each.name for each in found.checks if each.outcome == "absent"} == {
        "tree",
        "checkpoints",
        "index",
    }
    assert found.root == verified(signed_store).root


def test_only_the_first_findings_are_kept_and_all_are_counted(
    signed_store: Path, tmp_path: Path
) -> None:
    path = copied(signed_store, tmp_path / "copy")
    with tampering.by_hand(path) as db:
        db.execute("UPDATE tree_nodes SET hash = ?", (bytes(32),))
        (count,) = db.execute("SELECT count(*) FROM tree_nodes").fetchone()

    (check,) = verified(path).failed

    assert (check.name, check.count, len(check.findings)) == ("tree", count, 10)
    assert [each.position for each in check.findings] == sorted(
        each.position or 0 for each in check.findings
    )


def test_words_that_wait_and_are_not_found_are_named(signed_store: Path, tmp_path: Path) -> None:
    """A word is found between two spaces alone."""
    path = copied(signed_store, tmp_path / "copy")
    with tampering.by_hand(path) as db:
        (live,) = db.execute("SELECT live FROM notes_pointer").fetchone()
        stored = db.execute(f"SELECT id, waiting FROM scopes_{live}").fetchall()
        for id_, waiting in stored:
            hidden = waiting.replace(b" ", b"\t")
            db.execute(f"UPDATE scopes_{live} SET waiting = ? WHERE id = ?", (hidden, id_))

    assert any(waiting for _, waiting in stored)
    assert "words" in {each.name for each in verified(path).failed}


def test_notes_that_wait_out_of_order_are_named(signed_store: Path, tmp_path: Path) -> None:
    path = copied(signed_store, tmp_path / "copy")
    with tampering.by_hand(path) as db:
        (live,) = db.execute("SELECT live FROM notes_pointer").fetchone()
        swapped = 0
        for id_, stored in db.execute(f"SELECT id, waiting FROM scopes_{live}").fetchall():
            waiting = waiting_of(stored)
            notes = [*waiting]
            if len(notes) > 1:
                turned = Waiting()
                for words, seq, outline in reversed(notes):
                    turned.add(
                        words,
                        seq=int.from_bytes(seq, "little"),
                        outline=int.from_bytes(outline, "little"),
                    )
                changed = msgspec.msgpack.encode(turned)
                db.execute(f"UPDATE scopes_{live} SET waiting = ? WHERE id = ?", (changed, id_))
                swapped += 1

    assert swapped
    (failed,) = verified(path).failed
    assert failed.name == "words"
    assert "out of order" in failed.findings[0].detail


def test_an_index_that_is_not_that_of_its_table_is_named(
    signed_store: Path, tmp_path: Path
) -> None:
    """As a broken disk leaves it: SQLite would not find the event by its stream."""
    path = copied(signed_store, tmp_path / "copy")
    with tampering.by_hand(path) as db:
        (page,) = db.execute(
            "SELECT rootpage FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'stored_events'"
        ).fetchone()
        (page_bytes,) = db.execute("PRAGMA page_size").fetchone()
    start = (page - 1) * page_bytes
    whole = path.read_bytes()
    index = whole[start : start + page_bytes].replace(b"owner/alice", b"owner/alicf", 1)
    path.write_bytes(whole[:start] + index + whole[start + page_bytes :])

    pages = verified(path).failed[0]

    assert pages.name == "pages"
    assert any("missing from index" in finding.detail for finding in pages.findings)
