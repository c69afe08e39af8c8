"""A dry run says what the import then does, while others write, and where nobody may write."""

import json
from pathlib import Path

from hypothesis import given as for_all
from hypothesis import strategies as st

import memlog
from memlog.memory import Memory
from memlog.testing import open_log
from tests.exchange.places import FEW, all_notes, bring, edges, last_seq, put

# Few names, titles and texts, so that notes are twins, take each other's slug, and link each other.
TEXTS = st.builds(
    "{}{}\n{}".format,
    st.sampled_from(["# One\n", "", "# Two\n"]),
    st.sampled_from(["x", "y", "word " * 30]),
    st.sampled_from(["", "[[a]]", "- needs [[b]]", "[[One]] [c](c.md)"]),
)
MEMORIES = st.lists(st.tuples(st.sampled_from("12"), st.sampled_from("xyz")), min_size=1).map(
    lambda pairs: json.dumps([{"id": id_, "memory": memory} for id_, memory in pairs])
)
FOLDERS = st.builds(
    lambda notes, memories: notes | memories,
    st.dictionaries(st.sampled_from(["a.md", "b.md", "c.md", "d/a.md"]), TEXTS, max_size=4),
    st.dictionaries(st.just("m.json"), MEMORIES),
)
BY_HAND = st.sampled_from(["nothing", "rewrite", "supersede", "unlink", "pin"])


def by_hand(memory: Memory, action: str) -> None:
    """Do something to the note `a` or `one`, as a person may between two imports."""
    note = memory.get("a") or memory.get("one")
    if note is None or not note.live:
        return
    match action:
        case "rewrite":
            memory.write(title="mine", body="mine", slug=note.slug)
        case "supersede":
            newer = memory.write(title="newer", body="newer").note
            memory.link(newer.slug, note.slug, "supersedes")
        case "unlink":
            for link in memory.read(note.slug).links:
                memory.unlink(link.from_slug, link.to_slug, link.rel, label=link.label)
        case "pin":
            memory.pin(note.slug)


@FEW
@for_all(st.lists(st.tuples(FOLDERS, BY_HAND), min_size=1, max_size=4))
def test_a_dry_run_tells_what_the_import_then_does(
    tmp_path_factory: object, rounds: list[tuple[dict[str, str], str]]
) -> None:
    folder: Path = tmp_path_factory.mktemp("vault")  # type: ignore[attr-defined]
    settings = memlog.Settings(max_body_bytes=100)
    with open_log(settings=settings) as log:
        memory = log.scope("owner", "alice")
        for files, action in rounds:
            for old in (*folder.rglob("*.md"), *folder.rglob("*.json")):
                old.unlink()
            put(folder, files)
            before = last_seq(memory)
            tried = bring(memory, folder, dry_run=True)
            assert last_seq(memory) == before
            done = bring(memory, folder)
            tried.dry_run = False
            assert tried == done
            by_hand(memory, action)


def test_others_write_while_a_dry_run_goes_on(tmp_path: Path) -> None:
    vault = put(tmp_path / "vault", {"a.md": "[[b]]", "b.md": "x"})
    with memlog.open(tmp_path / "notes.db") as log:
        memory = log.scope("owner", "alice")

        def meanwhile(done: int, _: int) -> None:
            memory.write(title=f"meanwhile {done}", body="x")

        report = bring(memory, vault, dry_run=True, progress=meanwhile)

        assert (report.created, report.links) == (2, 1)
        assert set(all_notes(memory)) == {"meanwhile-1", "meanwhile-2"}


def test_a_log_that_may_only_be_read_can_be_asked(tmp_path: Path) -> None:
    vault = put(tmp_path / "vault", {"a.md": "[[b]]", "b.md": "x"})
    path = tmp_path / "notes.db"
    with memlog.open(path) as log:
        bring(log.scope("owner", "alice"), vault)
    put(vault, {"a.md": "[[b]], edited", "c.md": "new"})

    with memlog.open(path, read_only=True) as log:
        memory = log.scope("owner", "alice")
        report = bring(memory, vault, dry_run=True)

        assert (report.created, report.rewritten, report.unchanged) == (1, 1, 1)
        assert edges(memory) == {("a", "b", "related", None)}
