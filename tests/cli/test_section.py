"""`memlog index`: the section, byte for byte or fit for a terminal."""

import hashlib
import json
import re
from pathlib import Path

import pytest

import memlog
from memlog.sections import Section
from tests.cli.running import Run

EVIL = "one\n\x1b[31mtwo\x1b[0m \u202ethree\n\tfour"


@pytest.fixture(autouse=True)
def _notes(tmp_path: Path) -> None:
    with memlog.open(tmp_path / "notes.db") as log:
        alice = log.scope("owner", "alice")
        alice.write(title="Evil", body=EVIL, pinned=True)
        alice.write_many([{"title": f"Note {n} of many", "body": "x"} for n in range(40)])


def library_section(path: Path, *, tokens: int = 2_000) -> Section:
    settings = memlog.Settings(index_token_budget=tokens)
    with memlog.open(path, read_only=True, settings=settings) as log:
        return log.scope("owner", "alice").section()


def test_into_a_pipe_goes_the_section_to_the_byte(alice: Run, tmp_path: Path) -> None:
    section = library_section(tmp_path / "notes.db")

    assert EVIL in section.text
    assert alice("index") == (0, section.text.encode(), "")
    assert alice("index", "--hash") == (0, f"{section.hash}\n".encode(), "")


def test_the_hash_is_that_of_the_printed_bytes(alice: Run) -> None:
    digest = hashlib.sha256(alice("index").out).hexdigest()

    assert alice("index", "--hash").lines == [digest[:16]]


def test_a_section_as_json_has_text_and_hash(alice: Run, tmp_path: Path) -> None:
    section = library_section(tmp_path / "notes.db")

    assert json.loads(alice("index", "--json").out) == {
        "text": section.text,
        "hash": section.hash,
    }
    assert json.loads(alice("index", "--json", "--hash").out) == {"hash": section.hash}


def test_a_budget_is_that_of_the_option_then_of_the_environment(
    alice: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = library_section(tmp_path / "notes.db", tokens=300).text.encode()
    assert len(small) <= 1_200

    assert alice("index", "--budget", "300").out == small
    monkeypatch.setenv("MEMLOG_INDEX_TOKEN_BUDGET", "300")
    assert alice("index").out == small
    assert len(alice("index", "--budget", "2000").out) > 1_200
    assert len(alice("index", "--budget", "0").out) <= 800


def test_on_a_terminal_a_section_keeps_its_lines_and_steers_nothing(alice: Run) -> None:
    shown = alice("index", terminal=True).out.decode()

    assert "\none\n\\x1b[31mtwo\\x1b[0m \\u202ethree\n\tfour\n" in shown
    assert "\x1b" not in shown
    assert re.search(r"\d+ of 41 shown[^\n]*\n\Z", shown)


def test_an_index_changes_no_byte_of_the_store(alice: Run, tmp_path: Path) -> None:
    before = (tmp_path / "notes.db").read_bytes()

    assert alice("index").code == 0
    assert (tmp_path / "notes.db").read_bytes() == before
