"""The tree and the sections are made anew from the log, and what was otherwise is told."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import memlog
from memlog.errors import InvalidRequestError
from memlog.testing import tampering, tampering_tables
from tests.verify.stores import copied, few_words_wait, verified


@pytest.fixture
def store(signed_store: Path, tmp_path: Path) -> Iterator[Path]:
    with few_words_wait():
        yield copied(signed_store, tmp_path / "copy")


@pytest.mark.parametrize("projection", ["tree", "section", "notes", "search"])
def test_an_untouched_store_has_no_difference(projection: str, store: Path) -> None:
    with memlog.open(store) as log:
        rebuilt = log.rebuild(projection)  # type: ignore[arg-type]

        assert rebuilt.projection == projection
        assert rebuilt.events == log.position()
        assert rebuilt.differences == ()
    assert verified(store).ok


@pytest.mark.parametrize(
    "damage",
    [tampering_tables.tree_leaf, tampering_tables.tree_node, tampering_tables.tree_cut],
)
def test_a_damaged_tree_is_right_again(damage: object, store: Path) -> None:
    assert callable(damage)
    where = damage(store).position
    with memlog.open(store) as log:
        (difference,) = log.rebuild("tree").differences

        assert f"position {where}," in difference
        assert log.rebuild("tree").differences == ()
        log.scope("global").write(title="After", body="x")
    assert verified(store).ok


def test_hashes_of_no_event_are_taken_away(store: Path) -> None:
    with tampering.by_hand(store) as db:
        db.execute("INSERT INTO tree_nodes VALUES (-1, ?)", (bytes(32),))
        db.execute("INSERT INTO tree_nodes VALUES (1000, ?)", (bytes(32),))
    assert {each.name for each in verified(store).failed} == {"tree"}

    with memlog.open(store) as log:
        assert log.rebuild("tree").differences == ("tree: 2 hashes belonged to no event",)
    assert verified(store).ok


def test_a_lost_tree_is_made_in_pages(store: Path) -> None:
    with memlog.open(store) as log:
        log.scope("global").write_many([{"title": f"T {n}", "body": "x"} for n in range(700)])
    before = verified(store).root
    with tampering.by_hand(store) as db:
        db.execute("DELETE FROM tree_nodes")
    seen: list[tuple[int, int]] = []

    with memlog.open(store) as log:
        differences = log.rebuild("tree", progress=lambda *each: seen.append(each)).differences

    assert len(differences) == 11
    assert differences[-1].endswith("more")
    assert [total for _, total in seen] == [seen[-1][0]] * 2
    assert verified(store).root == before
    assert verified(store).ok


def test_a_forged_section_is_told_and_dropped(store: Path) -> None:
    with memlog.open(store) as log:
        section = log.scope("owner", "alice").section()
    tampering_tables.digest_text(store)

    with memlog.open(store) as log:
        (difference,) = log.rebuild("section").differences

        assert "owner/alice" in difference
        assert log.scope("owner", "alice").section() == section


def test_what_is_no_projection_is_refused(store: Path) -> None:
    with memlog.open(store) as log, pytest.raises(InvalidRequestError, match="tree"):
        log.rebuild("leaves")  # type: ignore[arg-type]
