"""An import that is repeated, resumed, undone by hand, or follows an edit."""

from pathlib import Path

import pytest

from memlog.exchange import importing
from memlog.testing import open_log
from tests.exchange.places import all_notes, bring, edges, last_seq, only, put, scope


def test_a_repeated_import_adds_nothing(tmp_path: Path) -> None:
    put(tmp_path, {"a.md": "[[b]]", "b.md": "x", "g.jsonl": '{"name":"E","observations":["o"]}'})
    with scope() as memory:
        first = bring(memory, tmp_path)
        before = last_seq(memory)
        second = bring(memory, tmp_path)

        assert (first.created, first.links) == (3, 1)
        assert (second.created, second.rewritten, second.unchanged, second.links) == (0, 0, 3, 0)
        assert last_seq(memory) == before


def test_an_edited_file_rewrites_the_note_it_became_also_back_again(tmp_path: Path) -> None:
    with scope() as memory:
        for body in ["one", "two", "one", "two", "three"]:
            put(tmp_path, {"a.md": f"# Title\n{body}"})
            bring(memory, tmp_path)

            assert only(memory).body.endswith(body)
            assert only(memory).slug == "title"
        assert [change.type for change in memory.history("title")] == ["note_written/1"] * 5


def test_a_title_may_change_while_the_slug_stays(tmp_path: Path) -> None:
    with scope() as memory:
        for title in ("Old", "New"):
            put(tmp_path, {"a.md": f"# {title}\ntext"})
            bring(memory, tmp_path)

        assert (only(memory).slug, only(memory).title) == ("old", "New")


def test_a_file_is_the_same_whatever_folder_above_it_is_named(tmp_path: Path) -> None:
    put(tmp_path, {"vault/deep/a.md": "x"})
    with scope() as memory:
        for place in ("vault/deep", "vault", "vault/deep/a.md"):
            bring(memory, tmp_path / place)

        assert last_seq(memory) == 1


def test_what_became_of_a_note_here_is_left_alone_until_its_file_changes(tmp_path: Path) -> None:
    put(tmp_path, {"a.md": "file [[b]]", "b.md": "b"})
    with scope() as memory:
        bring(memory, tmp_path)
        memory.write(title="a", body="mine", slug="a")
        memory.unlink("a", "b", "related")
        bring(memory, tmp_path)

        assert memory.read("a").note.body == "mine"
        assert edges(memory) == set()

        put(tmp_path, {"a.md": "file, edited [[b]]"})
        report = bring(memory, tmp_path)
        assert memory.read("a").note.body == "file, edited [[b]]"
        assert edges(memory) == {("a", "b", "related", None)}
        assert "written here since" in report.remarks[0].reason


def test_a_note_that_was_superseded_here_stays_history(tmp_path: Path) -> None:
    put(tmp_path, {"a.md": "old"})
    with scope() as memory:
        bring(memory, tmp_path)
        memory.write(title="new", body="new")
        memory.link("new", "a", "supersedes")
        assert not bring(memory, tmp_path).changed

        put(tmp_path, {"a.md": "edited"})
        report = bring(memory, tmp_path)
        assert not report.changed
        assert "'a', which 'new' superseded" in report.refused[0].reason


def test_a_link_that_left_its_file_goes_and_one_made_here_stays(tmp_path: Path) -> None:
    put(tmp_path, {"a.md": "[[b]] [[c]]", "b.md": "b", "c.md": "c"})
    with scope() as memory:
        bring(memory, tmp_path)
        memory.link("a", "c", "derived_from", label="by hand")
        put(tmp_path, {"a.md": "[[b]]"})
        report = bring(memory, tmp_path)

        assert report.unlinked == 1
        assert edges(memory) == {
            ("a", "b", "related", None),
            ("a", "c", "derived_from", "by hand"),
        }


def test_a_target_that_comes_later_is_linked_then(tmp_path: Path) -> None:
    put(tmp_path, {"a.md": "[[b]]"})
    with scope() as memory:
        assert len(bring(memory, tmp_path).dangling) == 1
        put(tmp_path, {"b.md": "here"})
        assert bring(memory, tmp_path).links == 1


def test_the_same_folder_elsewhere_brings_no_twins(tmp_path: Path) -> None:
    files = {"a.md": "x", "b.md": "[[a]]"}
    with scope() as memory:
        bring(memory, put(tmp_path / "one" / "vault", files))
        assert not bring(memory, put(tmp_path / "two" / "vault", files)).changed


def test_two_folders_with_a_file_of_one_name_do_not_overwrite_each_other(tmp_path: Path) -> None:
    with scope() as memory:
        bring(memory, put(tmp_path / "one" / "memory", {"MEMORY.md": "first"}))
        bring(memory, put(tmp_path / "two" / "memory", {"MEMORY.md": "second"}))

        assert {note.body for note in all_notes(memory).values()} == {"first", "second"}


def test_a_dry_run_says_the_same_and_writes_nothing(tmp_path: Path) -> None:
    put(tmp_path, {"a.md": "[[b]]", "b.md": "x"})
    with scope() as memory:
        tried = bring(memory, tmp_path, dry_run=True)
        assert all_notes(memory) == {}
        assert last_seq(memory) == 0
        done = bring(memory, tmp_path)

        tried.dry_run = False
        assert tried == done


def test_an_interrupted_import_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {f"n{n}.md": f"[[n{(n + 1) % 6}]]" for n in range(6)}
    put(tmp_path, files)
    with scope() as whole, scope() as broken:
        bring(whole, tmp_path)
        parse = importing._parsed  # noqa: SLF001  # between two files
        for cut in (2, 4):

            def interrupt(found: object, kind: object, cut: int = cut) -> object:
                if getattr(found, "file", "").endswith(f"n{cut}.md"):
                    raise KeyboardInterrupt
                return parse(found, kind)  # type: ignore[arg-type]

            monkeypatch.setattr(importing, "_parsed", interrupt)
            with pytest.raises(KeyboardInterrupt):
                bring(broken, tmp_path)
            assert len(all_notes(broken)) == cut
        monkeypatch.setattr(importing, "_parsed", parse)
        bring(broken, tmp_path)

        assert edges(broken) == edges(whole)
        assert {n.slug: n.body for n in all_notes(broken).values()} == {
            n.slug: n.body for n in all_notes(whole).values()
        }


def test_no_hash_of_the_content_stays_in_the_log(tmp_path: Path) -> None:
    put(tmp_path, {"a.md": "secret word"})
    ids = []
    for secret in (b"1" * 32, b"2" * 32):
        with open_log() as log:
            log._store.secret = secret  # noqa: SLF001  # random on purpose
            bring(log.scope("owner", "alice"), tmp_path)
            ids.append([event.request_id for event in log.events()])

    assert ids[0] != ids[1]  # Nobody without the secret can try contents out.
    assert all(each is not None and each.startswith("import:") for each in ids[0])


def test_a_pinned_note_whose_file_changed_is_unpinned_and_told(tmp_path: Path) -> None:
    put(tmp_path, {"a.md": "one"})
    with scope() as memory:
        bring(memory, tmp_path)
        memory.pin("a")
        put(tmp_path, {"a.md": "two"})
        report = bring(memory, tmp_path)

        assert not only(memory).pinned
        assert "pinned" in report.remarks[0].reason
