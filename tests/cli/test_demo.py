"""`memlog demo`: the tour, its text, and what it leaves behind."""

import json
import re
import shlex
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memlog
from memlog.cli import cells
from memlog.demo.topics import split, title_of, topics
from tests.cli.running import Ended, Run


@pytest.fixture(scope="module")
def toured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log that a demo made."""
    from memlog import demo

    path = tmp_path_factory.mktemp("demo") / "notes.db"
    demo.run(path, scope=memlog.Scope("owner", "demo"), program="memlog", say=lambda _: None)
    return path


def test_the_tour_fits_80_columns_and_tells_what_was_found(alice: Run, tmp_path: Path) -> None:
    ended = alice("demo", "--db", str(tmp_path / "tour.db"))

    assert (ended.code, ended.err) == (0, "")
    export = f"  export MEMLOG_DB={tmp_path / 'tour.db'} MEMLOG_SCOPE=owner:demo"
    assert [line for line in ended.lines if cells.width(line) > 80] in ([], [export])
    assert export in ended.lines
    for sentence in (
        "the same as in the tables",
        "no difference",
        "assert is pinned",
        "refused",
        "events: equal; in it",
        "checks hold, 0 found something wrong",
    ):
        assert sentence in ended.out.decode()


def test_the_tour_finds_notes_by_other_forms_and_misspelled_words(
    alice: Run, tmp_path: Path
) -> None:
    shown = alice("demo", "--db", str(tmp_path / "tour.db")).lines
    after = {
        line.split("   (")[0].strip(): shown[at + 1 : at + 4]
        for at, line in enumerate(shown)
        if line.endswith(" ms)")
    }

    assert set(after) == {"catching exeptions", "unpacked iterables", "__getattr__", "lambda"}
    assert "exception" in "".join(after["catching exeptions"][1:])
    assert "unpacking" in "".join(after["unpacked iterables"][1:])
    assert "__getattr__" in "".join(after["__getattr__"][1:])
    assert after["lambda"][0].startswith("    lambdas-in-one-line: ")


def test_only_a_rewrite_changes_the_hash_of_the_section(alice: Run, tmp_path: Path) -> None:
    shown = alice("demo", "--db", str(tmp_path / "tour.db")).out.decode()
    before = re.search(r"  hash ([0-9a-f]{16}), [\d,]+ bytes:", shown)
    untouched = re.search(r"  ([0-9a-f]{16}) after a read and a refused write", shown)
    rewritten = re.search(r"  ([0-9a-f]{16}) after a rewrite", shown)

    assert before
    assert untouched
    assert rewritten
    assert before[1] == untouched[1] != rewritten[1]
    assert f"{before[1]} still gives the text above" in shown
    path = str(tmp_path / "tour.db")
    now = alice("index", "--hash", "--db", path, "--scope", "owner:demo")
    assert now.lines == [rewritten[1]]


def test_what_the_tour_names_at_its_end_works(
    alice: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: Ended = alice("demo", "--db", str(tmp_path / "tour.db"))
    monkeypatch.setenv("MEMLOG_DB", str(tmp_path / "tour.db"))
    monkeypatch.setenv("MEMLOG_SCOPE", "owner:demo")
    to_try = [shlex.split(line) for line in ended.lines[-6:]]
    assert {"search", "index"} < {word for words in to_try for word in words}
    for words in to_try:
        shown = alice(*words[words.index("memlog") + 1 :])
        assert (shown.code, shown.err) == (0, "")
        assert shown.out


def test_a_tour_as_json_is_one_line(alice: Run, tmp_path: Path) -> None:
    (line,) = alice("--json", "demo", "--db", str(tmp_path / "tour.db"), "--scope", "global").lines
    told = json.loads(line)

    assert (told["scope"], told["replay_equal"], told["rebuild_differences"]) == (
        "global",
        True,
        [],
    )
    assert told["notes"] > len(topics())


def test_a_tour_has_a_file_of_its_own(
    alice: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    alice("write", "Mine", "--body", "x")

    assert alice("demo").code == 0
    assert len(alice("list").lines) == 1
    assert [path.name for path in tmp_path.glob("memlog-demo-*/*.db")] == ["notes.db"]


def test_a_tour_keeps_the_whole_text(toured: Path) -> None:
    with memlog.open(toured, read_only=True) as log:
        memory = log.scope("owner", "demo")
        for topic in topics():
            first = memory.history(topic.name.lower())[0].note
            reading = memory.read(first.slug)
            parts = [
                memory.read(link.to_slug).note.body
                for link in reading.links
                if link.label == "part"
            ]
            assert "".join([first.body, *parts]) == topic.text


def test_the_steps_of_the_tour_are_in_the_log(toured: Path) -> None:
    with memlog.open(toured, read_only=True) as log:
        memory = log.scope("owner", "demo")
        kept = memory.read("assert").note
        types = [change.type for change in memory.history("assert")]

        assert kept.pinned
        assert types == ["note_written/1", "note_written/1", "note_pinned/1", "notes_linked/1"]
        assert memory.read("lambda").superseded_by == "lambdas-in-one-line"


HEADED = "Title\n*****\n\nIntro.\n\nOne\n===\n\nText.\n\nSub\n---\n\nMore.\n\nTwo\n===\n\nEnd.\n"


def test_a_long_text_is_cut_at_its_headings() -> None:
    assert split(HEADED, bytes_max=50) == [
        "Title\n*****\n\nIntro.\n\n",
        "One\n===\n\nText.\n\nSub\n---\n\nMore.\n\n",
        "Two\n===\n\nEnd.\n",
    ]
    assert split(HEADED, bytes_max=30)[1:3] == ["One\n===\n\nText.\n\n", "Sub\n---\n\nMore.\n\n"]
    assert split(HEADED, bytes_max=1_000) == [HEADED]


@given(st.lists(st.sampled_from(["Head", "====", "----", "text é", "", "  indented"]), min_size=1))
def test_parts_of_a_text_are_small_enough_and_join_to_it(lines: list[str]) -> None:
    text = "\n".join(lines)
    parts = split(text, bytes_max=24)

    assert "".join(parts) == text
    assert all(len(part.encode()) <= 24 for part in parts)


def test_a_title_is_the_first_line_without_marks_of_emphasis() -> None:
    assert title_of('\n  The "assert" *statement*\n****\n') == "The assert statement"
