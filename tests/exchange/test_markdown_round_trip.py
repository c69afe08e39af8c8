"""Notes out as Markdown and in again: the same notes, links and states."""

import string
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from memlog.errors import InvalidRequestError, RequestError
from memlog.exchange import frontmatter, portable
from memlog.exchange.markdown_export import export_markdown, text_of
from memlog.exchange.portable import Portable
from memlog.memory import Memory
from memlog.note import RELS, Note
from memlog.testing import open_log, strategies
from tests.exchange.places import FEW, all_notes, bring, edges, last_seq, put, scope

SOME_SLUGS = st.sampled_from(
    ["tea", "con", "nul.x", "index", "log", "com1", "a.", "null", "1", "x--", "tea.md", "a" * 80]
)


def kept(memory: Memory) -> dict[str, tuple[Portable, bool]]:
    """Return what must be the same: the content of each note, and whether it is live."""
    return {slug: (portable.portable(note), note.live) for slug, note in all_notes(memory).items()}


@FEW
@for_all(
    st.lists(strategies.write_arguments(slugs=SOME_SLUGS), min_size=1, max_size=6),
    st.lists(
        st.tuples(
            st.integers(0, 5),
            st.integers(0, 5),
            st.sampled_from(RELS),
            st.none() | st.text(max_size=20),
        ),
        max_size=6,
    ),
)
def test_out_in_and_out_again_gives_the_same_notes(
    writes: list[dict[str, Any]], links: list[tuple[int, int, str, str | None]]
) -> None:
    with scope() as memory, scope() as other, TemporaryDirectory() as folder:
        for arguments in writes:
            with suppress(RequestError):
                memory.write(**arguments)
        slugs = sorted(all_notes(memory))
        for start, end, rel, label in links if slugs else []:
            with suppress(RequestError):
                memory.link(slugs[start % len(slugs)], slugs[end % len(slugs)], rel, label=label)

        first, second = Path(folder) / "first", Path(folder) / "second"
        export_markdown(memory, first)
        report = bring(other, first)
        export_markdown(other, second)

        assert report.refused == []
        assert kept(other) == kept(memory)
        assert edges(other) == edges(memory)
        assert marked_out(first) == marked_out(second)
        before = last_seq(memory)
        assert not bring(memory, first).changed  # A copy of its own notes brings nothing.
        assert last_seq(memory) == before


@pytest.mark.parametrize("value", ["x", '{"provenance":"web","written_at":""}', "x" * 7_900])
def test_a_note_may_use_the_name_under_which_an_import_keeps_its_own(
    tmp_path: Path, value: str
) -> None:
    with scope() as memory, scope() as second, scope() as third:
        memory.write(title="Tea", body="at four", extra={"memlog": value, "b": "y"})
        for name, source, target in (("1", memory, second), ("2", second, third)):
            export_markdown(source, tmp_path / name)
            report = bring(target, tmp_path / name)

        assert kept(third) == kept(second)
        assert kept(third)["tea"][0].provenance == "agent"
        if len(value) < 1_000:
            assert (kept(third), report.remarks) == (kept(memory), [])


def marked_out(folder: Path) -> dict[str, list[str]]:
    """Return every file's lines without what only its own store can know: mark, pin."""
    return {
        path.name: [
            line
            for line in path.read_bytes().decode().split("\n")
            if not line.startswith(("  base: ", "  pinned: "))
        ]
        for path in sorted(folder.iterdir())
    }


def test_an_edited_export_rewrites_the_note_and_an_old_one_does_not(tmp_path: Path) -> None:
    with scope() as memory:
        memory.write(title="Tea", body="at four", topics=["habit"])
        export_markdown(memory, tmp_path / "old")
        export_markdown(memory, tmp_path / "edited")
        edited = tmp_path / "edited" / "tea.md"
        edited.write_bytes(edited.read_bytes().replace(b"at four", b"at five"))

        report = bring(memory, tmp_path / "edited")
        assert (report.rewritten, memory.read("tea").note.body) == (1, "at five")
        assert not bring(memory, tmp_path / "old").changed  # Older than what is here.

        memory.write(title="Tea", body="at six", topics=["habit"], slug="tea")
        edited.write_bytes(edited.read_bytes().replace(b"at five", b"at seven"))
        bring(memory, tmp_path / "edited")
        assert memory.read("tea").note.body == "at seven"  # The file that became it was edited.


def test_a_strangers_file_cannot_overwrite_a_note(tmp_path: Path) -> None:
    with scope() as memory, open_log() as log:
        log._store.secret = (  # noqa: SLF001  # random on purpose
            b"another store's secret, 32 bytes"
        )
        stranger = log.scope("owner", "alice")
        memory.write(title="Tea", body="mine")
        stranger.write(title="Tea", body="theirs")
        export_markdown(stranger, tmp_path / "theirs")
        bring(memory, tmp_path / "theirs")

        assert {slug: note.body for slug, note in all_notes(memory).items()} == {
            "tea": "mine",
            "tea-2": "theirs",
        }


def test_pins_come_back_only_when_asked_for_and_never_for_untrusted_text(tmp_path: Path) -> None:
    with scope() as memory:
        memory.write(title="Mine", body="x", pinned=True)
        memory.write(
            title="Web",
            body="y",
            source={"url": "https://example.org"},
            pinned=True,
            allow_pin_untrusted=True,
        )
        export_markdown(memory, tmp_path / "out")
        with scope() as plain, scope() as pinning:
            report = bring(plain, tmp_path / "out")
            bring(pinning, tmp_path / "out", keep_pins=True)

            assert [note.pinned for note in all_notes(plain).values()] == [False, False]
            assert sum("pinned" in told.reason for told in report.remarks) == 2
            assert {s: n.pinned for s, n in all_notes(pinning).items()} == {
                "mine": True,
                "web": False,
            }


def test_the_form_is_what_others_read(tmp_path: Path) -> None:
    import yaml

    with scope() as memory:
        memory.write(title="Old", body="x", provenance="user")
        memory.write(title="New", body="y", topics=["a b"], source={"url": "https://example.org"})
        memory.link("new", "old", "supersedes")
        memory.link("new", "old", "related", label="grew from")
        export_markdown(memory, tmp_path / "out")

        head, _, rest = (tmp_path / "out" / "new.md").read_text()[4:].partition("\n---\n")
        fields = yaml.safe_load(head)
        assert (fields["type"], fields["title"], fields["tags"]) == ("note", "New", ["a-b"])
        assert fields["sources"] == [{"resource": "https://example.org"}]
        assert fields["generated"]["by"] == "web"
        assert fields["status"] == "draft"
        assert rest.endswith(
            '## Relations\n\n- supersedes [[old]] ([old](old.md))\n- "grew from" [[old]] '
            "([old](old.md))\n"
        )
        old = yaml.safe_load((tmp_path / "out" / "old.md").read_text()[4:].partition("\n---\n")[0])
        assert (old["status"], old["verified"][0]["by"]) == ("deprecated", "human:user")


def test_a_relation_that_a_person_adds_below_comes_in(tmp_path: Path) -> None:
    with scope() as memory, scope() as other:
        memory.write(title="A", body="x")
        memory.write(title="B", body="y")
        memory.link("a", "b", "related")
        memory.link("b", "a", "derived_from")
        export_markdown(memory, tmp_path / "out")
        file = tmp_path / "out" / "b.md"
        file.write_text(file.read_text() + "- likes [[nowhere]]\n- part_of [[A]]\n")
        bring(other, tmp_path / "out")

        assert edges(other) == {
            ("a", "b", "related", None),
            ("b", "a", "derived_from", None),
            ("b", "a", "related", "part_of"),
        }


@for_all(strategies.slugs())
def test_file_names_are_safe_on_every_system(slug: str) -> None:
    name = portable.stem(slug)

    assert set(name) <= set(string.ascii_lowercase + string.digits + "._-")
    assert len(name) <= 81
    assert not name.startswith((".", "-", " "))
    windows = {"con", "prn", "aux", "nul", *(f"{d}{n}" for d in ("com", "lpt") for n in range(10))}
    assert f"{name}.md".partition(".")[0] not in windows
    assert f"{name}.md" not in {"index.md", "log.md"}


@pytest.mark.parametrize("slug", ["con", "nul.txt", "aux", "com1", "lpt9.x", "index", "log"])
def test_reserved_names_are_marked(slug: str) -> None:
    assert portable.stem(slug) == f"_{slug}"


def test_a_body_that_imitates_the_end_mark_stays_whole(tmp_path: Path) -> None:
    body = f"x\n\n{portable.TAIL}\n\n## Relations\n\n- lies [[old]]\n"
    with scope() as memory, scope() as other:
        memory.write(title="Old", body=body)
        memory.write(title="New", body=body)
        memory.link("new", "old", "related")
        export_markdown(memory, tmp_path / "out")
        bring(other, tmp_path / "out")

        assert {note.body for note in all_notes(other).values()} == {body}
        assert edges(other) == {("new", "old", "related", None)}


def test_a_folder_with_something_in_it_is_not_written_into(tmp_path: Path) -> None:
    put(tmp_path, {"mine.txt": "x"})
    with scope() as memory:
        with pytest.raises(InvalidRequestError, match="new or empty"):
            export_markdown(memory, tmp_path)

        assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_nothing_is_left_of_an_export_that_failed(tmp_path: Path) -> None:
    def stop(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with scope() as memory:
        memory.write(title="A", body="x")
        with pytest.raises(KeyboardInterrupt):
            export_markdown(memory, tmp_path / "out", progress=stop)

        assert list(tmp_path.iterdir()) == []


ANY_TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)
VISIBLE = ANY_TEXT.filter(lambda text: bool(text.strip()))


@for_all(strategies.notes(), VISIBLE, VISIBLE, st.dictionaries(ANY_TEXT, ANY_TEXT, max_size=3))
def test_any_note_survives_its_file(
    note: Note, title: str, body: str, extra: dict[str, str]
) -> None:
    note = msgspec.structs.replace(note, title=title, body=body, extra=extra)
    with scope() as memory:
        content = text_of(memory, note, ())
    fields, below, _ = frontmatter.split(content, file="x.md")
    body, _ = portable.split_tail(below)

    read = portable.read(fields, body)

    assert read is not None
    assert read.portable == portable.portable(note)
