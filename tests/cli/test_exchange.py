"""`memlog export` and `memlog import`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import memlog
from tests.cli.running import Run

YAML_SAYS = "expected the node content, but found '<stream end>'"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "tea.md").write_text("---\ntags: [drink]\n---\nGreen, see [[cup]].\n")
    (folder / "cup.md").write_text("Blue.\n")
    (folder / "bad.md").write_text("---\na: [\n---\nx\n")
    (folder / "x.png").write_bytes(b"png")
    return folder


def test_a_folder_comes_in_and_what_does_not_is_told(alice: Run, vault: Path) -> None:
    ended = alice("import", str(vault))

    assert ended.code == 1
    assert ended.lines == [
        "imported 2 files into owner:alice",
        "  2 new notes, 0 rewritten, 0 there already",
        "  1 link added, 0 taken away, 0 to nothing that is there",
        "refused (1)",
        f"  vault/bad.md:3: its front matter cannot be read: {YAML_SAYS}",
        "skipped (1)",
        "  vault/x.png: it is of a kind that is not read; see --format",
    ]
    assert alice("read", "tea").out == b"Green, see [[cup]].\n"
    (vault / "bad.md").unlink()
    ended = alice("import", str(vault), "--json")
    assert ended.code == 0
    report = json.loads(ended.out)
    assert (report["created"], report["unchanged"], report["links"]) == (0, 2, 0)


def test_a_dry_run_makes_no_store(alice: Run, vault: Path, tmp_path: Path) -> None:
    ended = alice("import", str(vault / "tea.md"), "--dry-run")

    assert ended.code == 0
    assert ended.lines[0] == "would have imported 1 file into owner:alice"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["vault"]


def test_a_log_goes_out_and_in(alice: Run, vault: Path, tmp_path: Path) -> None:
    alice("import", str(vault))
    file, copy = str(tmp_path / "log.jsonl"), str(tmp_path / "copy.db")

    exported = alice("export", "--output", file)
    assert exported.code == 0
    assert exported.lines[0] == f"exported 3 events to {file}"
    imported = alice("import", file, "--db", copy)
    assert imported.lines[0] == f"a new log: {copy}, 3 events added"
    assert imported.lines[2] == exported.lines[2]
    assert alice("index", "--db", copy).out == alice("index").out

    other = alice("import", file, "--db", copy, "--scope", "owner:bob")
    assert other.lines[0] == f"continued {copy}, 0 events added"
    alice("write", "Later", "--body", "x")
    alice("export", "-o", file, "--since", "3")
    assert alice("import", file, "--db", copy).lines[0].endswith("1 event added")


def test_a_changed_file_is_refused_and_its_line_named(
    alice: Run, vault: Path, tmp_path: Path
) -> None:
    alice("import", str(vault))
    file = tmp_path / "log.jsonl"
    alice("export", "-o", str(file))
    file.write_bytes(file.read_bytes().replace(b"Green", b"Black"))

    ended = alice("import", str(file), "--db", str(tmp_path / "copy.db"))

    assert ended.code == 1
    assert ended.err.startswith("memlog: log.jsonl, line 3: the event at position 2 is damaged")
    assert not (tmp_path / "copy.db").exists()


def test_another_log_gets_in_neither_as_log_nor_into_the_section(
    alice: Run, vault: Path, tmp_path: Path
) -> None:
    alice("import", str(vault))
    alice("export", "-o", str(tmp_path / "theirs.jsonl"))
    mine = str(tmp_path / "mine.db")
    alice("write", "Mine", "--body", "x", "--db", mine)
    before = alice("index", "--db", mine).out

    ended = alice("import", str(tmp_path / "theirs.jsonl"), "--db", mine)

    assert ended.code == 1
    assert "a log goes into a new store only" in ended.err
    assert alice("index", "--db", mine).out == before


def test_a_scope_is_handed_over_as_notes(alice: Run, vault: Path, tmp_path: Path) -> None:
    alice("import", str(vault))
    file = str(tmp_path / "alice.jsonl")
    assert alice("export", "-o", file, "--scope", "owner:alice").lines[0] == (
        f"exported 3 events of owner:alice to {file}"
    )

    refused = alice("import", file, "--scope", "owner:bob")
    assert (refused.code, "--as-notes" in refused.err) == (1, True)
    taken = alice("import", file, "--as-notes", "--scope", "owner:bob")
    assert (taken.code, taken.lines[1]) == (0, "  2 new notes, 0 rewritten, 0 there already")
    assert alice("read", "tea", "--scope", "owner:bob").out == b"Green, see [[cup]].\n"


def test_markdown_goes_out_and_in(alice: Run, vault: Path, tmp_path: Path) -> None:
    alice("import", str(vault))
    out = str(tmp_path / "out")

    assert alice("export", "--format", "markdown", "-o", out).lines == [
        f"exported 2 notes to {out}"
    ]
    back = alice("import", out)
    assert back.lines[1] == "  0 new notes, 0 rewritten, 2 there already"
    refused = alice("export", "--format", "markdown", "-o", out)
    assert (refused.code, "new or empty" in refused.err) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["import", "nowhere"], "nowhere: there is nothing at this place"),
        (["export", "-o", "x", "--format", "xml"], "format 'xml' is not known"),
        (["export", "-o", "x", "--format", "markdown", "--since", "1"], "--since and --checkpoint"),
        (["export", "-o", "x", "--since", "1", "--scope", "global"], "--since is for a whole log"),
        (["import", ".", "--key", "nonsense"], "--key:"),
    ],
)
def test_a_wrong_call_is_a_sentence(alice: Run, arguments: list[str], sentence: str) -> None:
    ended = alice(*arguments)

    assert ended.code == 2
    assert sentence in ended.err
    assert not Path("x").exists()


def test_a_pipe_is_refused_and_not_waited_for(alice: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")

    ended = alice("import", str(tmp_path / "pipe.md"))

    assert (ended.code, ended.lines[-1]) == (1, "  pipe.md: it is no regular file")


def test_an_export_never_takes_the_place_of_the_log(
    alice: Run, vault: Path, tmp_path: Path
) -> None:
    alice("import", str(vault))
    (store,) = tmp_path.glob("*.db")

    ended = alice("export", "-o", str(store))

    assert (ended.code, ended.out) == (1, b"")
    assert "there is something else than an export" in ended.err
    assert alice("read", "tea").code == 0


@pytest.mark.parametrize("end", ["-lock", "-wal"])
def test_an_export_never_takes_the_place_of_a_file_beside_the_log(
    alice: Run, vault: Path, tmp_path: Path, end: str
) -> None:
    alice("import", str(vault))
    (store,) = tmp_path.glob("*.db")
    place = store.with_name(f"{store.name}{end}")
    place.unlink(missing_ok=True)

    ended = alice("export", "-o", str(place))

    assert (ended.code, ended.out) == (1, b"")
    assert "belong to the store beside them" in ended.err
    assert alice("read", "tea").code == 0


def test_a_hostile_name_does_not_reach_the_terminal(alice: Run, tmp_path: Path) -> None:
    folder = tmp_path / "v"
    folder.mkdir()
    (folder / "a\x1b[31m\nb.md").write_text("---\na: [\n---\n")

    ended = alice("import", str(folder), terminal=True)

    assert ended.code == 1
    assert b"\x1b[31m" not in ended.out
    assert b"a\\x1b[31m\\nb.md" in ended.out.replace(b"\n    ", b"")


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("yaml", ["import", "vault"]),
        ("markdown_it", ["import", "vault"]),
        ("yaml", ["export", "--format", "markdown", "--output", "out"]),
    ],
)
def test_without_the_extra_it_is_named_once_and_nothing_is_made(
    vault: Path, tmp_path: Path, module: str, arguments: list[str]
) -> None:
    path = tmp_path / "notes.db"
    with memlog.open(path) as log:
        log.scope("owner", "alice").write(title="Tea", body="hot")
    call = ["memlog", *arguments, "--db", str(path), "--scope", "owner:alice"]
    code = (
        f"import sys; sys.modules[{module!r}] = None; sys.argv = {call!r}\n"
        "from memlog.cli import main; sys.exit(main())"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=vault.parent
    )

    assert done.returncode == 1
    assert done.stderr.count("agent-memlog[markdown]") == 1
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()
    with memlog.open(path) as log:
        assert log.position() == 1
