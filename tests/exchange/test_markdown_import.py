"""Folders of Markdown: what becomes of each kind of file, and what is refused and why."""

import os
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example
from hypothesis import given as for_all
from hypothesis import strategies as st

from memlog.exchange import frontmatter, splitting
from memlog.exchange.items import FileRefusedError
from memlog.exchange.marks import marks
from memlog.settings import Settings
from tests.exchange.places import all_notes, bring, edges, last_seq, only, put, scope

# --- What a note takes from its file


def test_a_basic_memory_note_keeps_labels_times_relations_and_the_rest(tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            "Kettle.md": "---\ntitle: The Kettle\ntype: thing\ntags: [Kitchen, tea time]\n"
            "permalink: kitchen/kettle\ncreated: 2025-03-01T10:00:00+02:00\nowner: me\n---\n\n"
            "# Kettle\n\n- [fact] It boils #hot\n- [ ] buy another\n"
            "- stands_in [[Kitchen]] (there)\n",
            "Kitchen.md": "A room, see [[the kettle]].\n",
        },
    )
    with scope() as memory:
        report = bring(memory, tmp_path)
        note = memory.read("the-kettle").note

        assert (note.title, note.provenance) == ("The Kettle", "import")
        assert note.topics == ("kitchen", "tea-time", "thing")
        assert note.source.created_at == "2025-03-01T08:00:00.000000Z"
        assert note.source.artifact == f"{tmp_path.name}/Kettle.md"
        assert note.extra["owner"] == "me"
        assert note.extra["permalink"] == "kitchen/kettle"
        assert note.extra["labels"] == '["Kitchen","tea time","thing"]'
        assert note.body.startswith("# Kettle\n")
        assert (report.observations, report.relations) == (1, 1)
        assert edges(memory) == {
            ("the-kettle", "kitchen", "related", "stands_in"),
            ("kitchen", "the-kettle", "related", None),
        }


def test_a_claude_memory_folder_is_found_although_it_is_hidden(tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            ".claude/memory/MEMORY.md": "# Index\n- [Tests](run-tests.md)\n",
            ".claude/memory/run-tests.md": "---\nname: run-tests\ndescription: how\n"
            "metadata:\n  type: feedback\n---\nRun them.\n",
            ".claude/settings.md": "no",
            ".obsidian/app.md": "no",
        },
    )
    with scope() as memory:
        report = bring(memory, tmp_path)

        assert set(all_notes(memory)) == {"index", "run-tests"}
        assert memory.read("run-tests").note.topics == ("feedback",)
        assert memory.read("run-tests").note.extra["description"] == "how"
        assert edges(memory) == {("index", "run-tests", "related", None)}
        assert [told.file.removeprefix(f"{tmp_path.name}/") for told in report.skipped] == [
            ".claude/settings.md",
            ".obsidian",
        ]
        assert bring(memory, tmp_path / ".obsidian").created == 1


def test_a_vault_resolves_aliases_paths_and_names_in_any_case(tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            "a/Tea.md": "---\naliases: [chá, cup]\n---\nhot\n",
            "b/Links.md": "[[tea#Brewing|shown]] [[CUP]] [[a/Tea]] [x](../a/Tea.md) ![[Tea]] "
            "`[[no]]`\n",
        },
    )
    with scope() as memory:
        report = bring(memory, tmp_path)

        assert edges(memory) == {("links", "tea", "related", None)}
        assert report.dangling == []


@pytest.mark.parametrize(
    ("raw", "title", "body"),
    [
        ("\ufeff---\ntitle: Tea\n---\nhot\n", "Tea", "hot\n"),
        ("---\r\ntitle: Tea\r\n---\r\n\r\nhot\r\ncold\r\n", "Tea", "hot\r\ncold\r\n"),
        ("---\ntitle: No\n---\n1", "No", "1"),
        ("---\ntitle: 1.10\n---\n1", "1.10", "1"),
        ("---\n\na rule\n\n---\nnot a head", "note", "---\n\na rule\n\n---\nnot a head"),
        ("---\nnever: closed\n", "note", "---\nnever: closed\n"),
        ("text\n# Head *line*\n", "Head line", "text\n# Head *line*\n"),
        ("---\ntitle: 茶\n---\n熱い", "茶", "熱い"),
        ("---\nname: x\ndescription: all there is\n---\n", "x", "all there is"),
    ],
)
def test_title_and_body_are_what_stands_there(
    tmp_path: Path, raw: str, title: str, body: str
) -> None:
    put(tmp_path, {"note.md": raw})
    with scope() as memory:
        report = bring(memory, tmp_path)

        assert report.refused == []
        assert (only(memory).title, only(memory).body) == (title, body)


def test_a_time_without_a_zone_is_utc_and_told(tmp_path: Path) -> None:
    put(tmp_path, {"note.md": "---\ndate: 2025-12-04\nmodified: soon\n---\nx"})
    with scope() as memory:
        report = bring(memory, tmp_path)

        assert only(memory).source.created_at == "2025-12-04T00:00:00.000000Z"
        assert only(memory).extra["modified"] == "soon"
        assert ["no time zone" in told.reason for told in report.remarks] == [True]


def test_two_notes_of_one_name_both_come_in_and_the_nearest_is_linked(tmp_path: Path) -> None:
    put(
        tmp_path, {"a/tea.md": "one", "b/tea.md": "two", "b/x.md": "[[tea]]", "c.md": "[[nowhere]]"}
    )
    with scope() as memory:
        report = bring(memory, tmp_path)

        assert {slug: note.body for slug, note in all_notes(memory).items()} == {
            "tea": "one",
            "tea-2": "two",
            "x": "[[tea]]",
            "c": "[[nowhere]]",
        }
        assert edges(memory) == {("x", "tea-2", "related", None)}
        assert "several" in report.remarks[0].reason
        assert [(told.file[-4:], told.line) for told in report.dangling] == [("c.md", 1)]


def test_links_may_go_in_circles(tmp_path: Path) -> None:
    put(tmp_path, {"a.md": "[[b]] [[a]]", "b.md": "[[c]]", "c.md": "[[a]]"})
    with scope() as memory:
        bring(memory, tmp_path)

        assert edges(memory) == {
            ("a", "b", "related", None),
            ("b", "c", "related", None),
            ("c", "a", "related", None),
        }


# --- What is refused


@pytest.mark.parametrize(
    ("name", "raw", "line", "reason"),
    [
        ("x.md", "---\na: b\nc: [d\n---\nx", 4, "cannot be read"),
        ("x.md", "---\na: &l [1]\nb: *l\n---\nx", 3, "alias"),
        ("x.md", "---\na: 1\na: 2\n---\nx", 3, "twice"),
        ("x.md", f"---\na: {'[' * 500}\n---\nx", 2, "deep"),
        ("x.md", "---\na: !!python/name:os.system\n---\nx", 2, "constructor"),
        ("x.md", "---\na: \x07\n---\nx", 2, "U+0007"),
        ("x.md", b"ok\n\xff\n", 2, "UTF-8"),
        ("x.md", b"\xff\xfea\x00", 1, "UTF-16"),
        ("x.md", b"a\nb\x00", 2, "NUL"),
        ("x.md", "---\ntitle: x\n---\n \n", 4, "no text"),
        ("x.md", "", 1, "no text"),
        ("x.jsonl", '{"name": "a", "observations": []}\n{"name": \n', 2, "no JSON"),
        ("x.json", '{\n"entities": [\n{]}', 3, "no JSON"),
        ("x.json", '{"a": 1, "a": 2}', 1, "repeats a key"),
        ("x.json", "[" * 100_000, 1, "no JSON|deep"),
        ("x.json", '{"a": {"b": 1}}', 1, "understood"),
        ("x.json", "", 1, "empty"),
    ],
)
def test_a_file_that_cannot_come_in_is_refused_alone_with_its_line(
    tmp_path: Path, name: str, raw: str | bytes, line: int, reason: str
) -> None:
    put(tmp_path, {name: raw, "good.md": "good"})
    with scope() as memory:
        report = bring(memory, tmp_path)

        (told,) = report.refused
        assert told.file == f"{tmp_path.name}/{name}"
        assert told.line == line
        assert any(part in told.reason for part in reason.split("|")), told.reason
        assert only(memory).body == "good"


def test_symbolic_links_and_pipes_are_refused_and_never_read(tmp_path: Path) -> None:
    outside = put(tmp_path / "outside", {"secret.md": "secret"})
    vault = put(tmp_path / "vault", {"a.md": "[up](../outside/secret.md)"})
    (vault / "link.md").symlink_to(outside / "secret.md")
    (vault / "folder").symlink_to(outside)
    (vault / "inner.md").symlink_to("a.md")
    os.mkfifo(vault / "pipe.md")
    with scope() as memory:
        report = bring(memory, vault)

        refused = {told.file: told.reason for told in report.refused}
        assert set(refused) == {
            "vault/folder",
            "vault/inner.md",
            "vault/link.md",
            "vault/pipe.md",
        }
        assert "symbolic link" in refused["vault/link.md"]
        assert "no regular file" in refused["vault/pipe.md"]
        assert only(memory).title == "a"
        assert len(report.dangling) == 1


def test_a_folder_that_was_named_may_be_a_link_itself(tmp_path: Path) -> None:
    put(tmp_path / "vault", {"a.md": "x"})
    (tmp_path / "link").symlink_to("vault")
    with scope() as memory:
        bring(memory, tmp_path / "link")
        report = bring(memory, tmp_path / "vault")

        assert (report.created, report.unchanged) == (0, 1)


def test_names_that_are_not_utf8_and_other_kinds_of_files_are_told(tmp_path: Path) -> None:
    put(
        tmp_path, {"a.md": "x", "b.png": b"\x00", "e.txt": b"\x00", "c.docx": "d", "d.txt": "plain"}
    )
    (Path(os.fsdecode(bytes(tmp_path) + b"/\xff.md"))).write_bytes(b"x")
    with scope() as memory:
        report = bring(memory, tmp_path)

        assert {"a", "d-txt"} == set(all_notes(memory))
        assert [told.file.rpartition("/")[2] for told in report.skipped] == [
            "b.png",
            "c.docx",
        ]
        assert sorted(told.reason for told in report.refused) == [
            "it holds a NUL character; it is no text",
            "its name is not UTF-8; rename it",
        ]


# --- Long texts


def test_a_long_text_is_split_into_linked_parts_without_losing_a_byte(tmp_path: Path) -> None:
    body = "".join(f"## Part {n}\n\n{'tea é ' * 40}\r\n\n" for n in range(900))
    assert 230_000 < len(body.encode()) < 290_000
    put(tmp_path, {"long.md": body, "to.md": "[[long]]"})
    with scope() as memory:
        report = bring(memory, tmp_path)
        parts = [
            memory.read("long-1-of-9").note,
            *(memory.read(f"long-{n}-of-9").note for n in range(2, 10)),
        ]

        assert "".join(part.body for part in parts) == body
        assert all(part.body.startswith("## Part") for part in parts)
        assert report.created == 10
        assert ("long-1-of-9", "long-2-of-9", "related", "part 2 of 9") in edges(memory)
        assert ("to", "long-1-of-9", "related", None) in edges(memory)

        put(tmp_path, {"long.md": body[: len(body) // 2]})
        bring(memory, tmp_path)
        live = [note for note in all_notes(memory).values() if note.live and "Part" in note.body]
        assert len(live) == 5
        put(tmp_path, {"long.md": body})
        bring(memory, tmp_path)
        live = [note for note in all_notes(memory).values() if note.live and "Part" in note.body]
        assert sum(len(note.body) for note in live) == len(body)
        before = last_seq(memory)
        assert not bring(memory, tmp_path).changed
        assert last_seq(memory) == before


def test_a_long_text_is_refused_by_choice(tmp_path: Path) -> None:
    put(tmp_path, {"long.md": "x" * 40_000, "short.md": "y"})
    with scope() as memory:
        report = bring(memory, tmp_path, long="refuse")

        assert only(memory).title == "short"
        assert "40,000 bytes" in report.refused[0].reason


@example(pieces=["a", "a", "a", "a", "\r\n", "b"], bytes_max=5)
@for_all(
    st.lists(st.sampled_from(["a", "é", "🍵", " ", "\n", "\r\n", "## ", "word "]), max_size=120),
    st.integers(4, 40),
)
def test_parts_make_up_the_text_again(pieces: list[str], bytes_max: int) -> None:
    body = "".join(pieces)

    parts = splitting.split(body, bytes_max=bytes_max)

    if parts is None:  # Only where white space alone would fill a part.
        assert any(not part.strip() for part in splitting._parts(body, bytes_max))  # noqa: SLF001  # before the check
        return
    assert "".join(parts) == body
    assert all(len(part.encode()) <= bytes_max for part in parts)
    for before, after in pairwise(parts):
        assert not (before.endswith("\r") and after.startswith("\n"))


# --- The parsers


@for_all(st.text(max_size=300))
def test_any_text_between_two_rules_is_front_matter_or_a_sentence(yaml_text: str) -> None:
    refused: FileRefusedError | None = None
    try:
        fields, body, line = frontmatter.split(f"---\n{yaml_text}\n---\nbody", file="x.md")
    except FileRefusedError as error:
        refused = error
    else:
        assert body.endswith("body")
        assert line >= 1
        assert all(isinstance(key, str) for key in fields)
    assert refused is None or (refused.line >= 1 and refused.reason)


@for_all(st.lists(st.sampled_from(["[[", "]]", "|", "#", "a", " ", "`", "\n", "- ", "[b]", "\\"])))
def test_wikilinks_of_any_shape_are_read_or_left(pieces: list[str]) -> None:
    for mention in marks("".join(pieces)).mentions:
        assert "\n" not in mention.name
        assert "]]" not in mention.name


# --- Small notes


def test_a_body_limit_of_the_store_counts(tmp_path: Path) -> None:
    put(tmp_path, {"a.md": "word " * 30})
    with scope(Settings(max_body_bytes=64)) as memory:
        assert bring(memory, tmp_path).created == 3


def test_a_file_that_was_named_itself_and_is_not_read_is_refused(tmp_path: Path) -> None:
    put(tmp_path, {"a.md": "x", "b.png": "x"})
    with scope() as memory:
        for name, format_ in (("a.md", "mcp"), ("b.png", "auto")):
            report = bring(memory, tmp_path / name, format_=format_)

            assert [told.file for told in report.refused] == [name]
            assert "kind that is not read" in report.refused[0].reason


def test_a_loop_of_links_that_was_named_itself_is_an_error_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with scope() as memory, pytest.raises(OSError, match="loop"):
        bring(memory, tmp_path / "loop")


def test_a_line_is_counted_by_line_feeds_alone(tmp_path: Path) -> None:
    put(tmp_path, {"a.md": "---\na: 1\u2028b: *x\n---\ntext"})
    with scope() as memory:
        assert [told.line for told in bring(memory, tmp_path).refused] == [2]
