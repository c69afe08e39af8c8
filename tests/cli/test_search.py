"""`memlog search`: what it finds, how it shows, and what it leaves alone."""

import json
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

import memlog
from memlog.cli import cells
from tests.cli.running import Run, Stream
from tests.store.files import read_only

MOMENT = "2026-11-30T19:15:00.000000Z"
LONG = "sencha " * 30 + "gyokuro " + "bancha " * 30


@pytest.fixture
def alice(alice: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `memlog` on four notes, all written at one time."""
    moment = datetime(2026, 11, 30, 19, 15, tzinfo=UTC)
    (tmp_path / "home").mkdir()
    with memlog.open(tmp_path / "home" / "notes.db", clock=lambda: moment) as log:
        memory = log.scope("owner", "alice")
        memory.write(title="Steeping", body="Steeped two minutes.", topics=["tea", "how to"])
        memory.write(title="Steeping, new", body="Steep three minutes.", pinned=True)
        memory.write(title="Shop", body=LONG, source={"url": "https://x.example"}, topics=["tea"])
        memory.write(title="T" * 70, body="部署密钥每月轮换" * 20, slug="s" * 75)
        memory.link("steeping-new", "steeping", "supersedes")
    monkeypatch.setenv("MEMLOG_DB", str(tmp_path / "home" / "notes.db"))
    return alice


def slugs(run: Run, *arguments: str) -> list[str]:
    ended = run("search", *arguments)
    assert (ended.code, ended.err) == (0, ""), ended
    return [line.split("\t")[0] for line in ended.lines]


# --- What is found


def test_a_query_finds_other_forms_of_its_words(alice: Run) -> None:
    assert slugs(alice, "steeped minute") == ["steeping-new"]
    assert slugs(alice, "轮换") == ["s" * 75]


def test_words_need_no_quotes(alice: Run) -> None:
    assert set(slugs(alice, "gyokuro", "minutes")) == {"shop", "steeping-new"}
    assert slugs(alice, "gyokuro", "minutes") == slugs(alice, "gyokuro minutes")


def test_superseded_notes_are_found_when_asked_for(alice: Run) -> None:
    assert set(slugs(alice, "steep", "--all")) == {"steeping", "steeping-new"}


def test_a_topic_is_taken_as_a_write_takes_it(alice: Run) -> None:
    assert slugs(alice, "steep", "--all", "--topic", "How To") == ["steeping"]
    assert slugs(alice, "", "--topic", "TEA") == ["shop"]


def test_a_limit_keeps_the_best(alice: Run) -> None:
    best, _ = slugs(alice, "steep", "--all")

    assert slugs(alice, "steep", "--all", "--limit", "1") == [best]


def test_a_blank_query_lists_the_most_recently_written(alice: Run) -> None:
    assert slugs(alice, "") == slugs(alice, " \n") == ["s" * 75, "shop", "steeping-new"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["coffee"], "no note fits 'coffee'; --all looks in superseded notes too"),
        (["coffee", "--all"], "no note fits 'coffee'"),
        (["x", "--topic", "t", "--all"], "no note on the topic 't' fits 'x'"),
        (["", "--topic", "t", "--all"], "no note on the topic 't'"),
        (["", "--scope", "global", "--all"], "no note"),
        (["\x1b[31m\u202e" * 9, "--all"], "no note fits '\\x1b[31m\\u202e"),
        (["\udcff", "--topic", "\udcff", "--json"], "no note on the topic '\\udcff' fits"),
    ],
)
def test_finding_nothing_is_a_sentence_and_no_error(
    arguments: list[str], sentence: str, alice: Run
) -> None:
    ended = alice("search", *arguments, terminal=True)

    assert (ended.code, ended.out) == (0, b"")
    assert ended.err.startswith(sentence)
    assert ended.err.count("\n") == 1
    assert "\x1b" not in ended.err


# --- How it shows


def test_hits_in_a_pipe_are_fields_between_tabs(alice: Run) -> None:
    (fields,) = [line.split("\t") for line in alice("search", "gyokuro").lines]

    assert fields[:6] == ["shop", "live", MOMENT, "tea", "Shop", "web"]
    assert "gyokuro" in fields[6]
    assert len(fields) == 7
    states = {line.split("\t")[1] for line in alice("search", "steep", "--all").lines}
    assert states == {"pinned", "superseded by steeping-new"}


def test_a_score_in_a_pipe_is_explained_by_its_parts(alice: Run) -> None:
    (line,) = alice("search", "gyokuro", "--explain").lines
    score, relevance, recency, pin = map(float, line.split("\t")[7:])

    assert score > 0
    assert score == pytest.approx(relevance * (1 + recency + pin), rel=1e-4)


def test_hits_as_json_have_the_score_and_its_parts(alice: Run) -> None:
    (pinned,) = map(json.loads, alice("search", "steep", "--json").lines)

    assert (pinned["slug"], pinned["written_at"], pinned["pinned"]) == (
        "steeping-new",
        MOMENT,
        True,
    )
    factor = 1 + pinned["recency"] + pinned["pin"]
    assert pinned["score"] == pytest.approx(pinned["relevance"] * factor)


def on_terminal(run: Run, *arguments: str) -> list[str]:
    lines: list[str] = run("search", *arguments, terminal=True).lines
    return lines


def hits(lines: Iterable[str]) -> list[list[str]]:
    return [block.split("\n") for block in "\n".join(lines).split("\n\n")]


def test_hits_on_a_terminal_fit_80_columns(alice: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    lines = on_terminal(alice, "", "--all", "--explain")

    assert max(map(cells.width, lines)) <= 80
    wide, shop, pinned, superseded, foot = hits(lines)
    assert wide[:2] == ["  " + "s" * 75, "  " + "T" * 70]
    assert shop[0] == "  shop  Shop"
    assert shop[-2] == "  2026-11-30 · from web · tea"
    assert pinned[:3] == [
        "* steeping-new  Steeping, new",
        "  Steep three minutes.",
        "  2026-11-30",
    ]
    assert superseded[0] == "- steeping  Steeping"
    assert superseded[2] == "  2026-11-30 · superseded by steeping-new · tea, how-to"
    assert foot == ["4 notes  * pinned  - superseded"]


def test_a_score_on_a_terminal_is_explained(alice: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("MEMLOG_RECENCY_WEIGHT", "0")
    (hit,) = map(json.loads, alice("search", "steep", "--json").lines)

    assert on_terminal(alice, "steep", "--explain")[3] == (
        f"  score {hit['score']:.4g} = relevance {hit['relevance']:.4g} × (1 + recency 0 + pin 0.2)"
    )


def test_a_full_page_says_that_there_may_be_more(alice: Run) -> None:
    assert (
        "2 notes  * pinned  superseded: --all  more: --limit"
        in (on_terminal(alice, "", "--limit", "2")[-1])
    )
    assert "more" not in on_terminal(alice, "", "--limit", "4")[-1]


def test_hits_are_shown_before_the_index_is_stored(
    alice: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    printed: list[bytes] = []
    original = memlog.Log.close

    def close(log: memlog.Log) -> None:
        printed.append(cast("Stream", sys.stdout).bytes.getvalue())
        original(log)

    monkeypatch.setattr(memlog.Log, "close", close)

    ended = alice("search", "steep")

    assert printed == [ended.out]
    assert (tmp_path / "home" / "notes.db-index").is_dir()


# --- What it leaves alone


def test_a_search_changes_no_byte_of_the_store(alice: Run, tmp_path: Path) -> None:
    path = tmp_path / "home" / "notes.db"
    path.chmod(0o400)
    before = path.read_bytes()

    assert slugs(alice, "steep") == ["steeping-new"]
    assert path.read_bytes() == before
    assert (tmp_path / "home" / "notes.db-index").is_dir()


def test_a_store_on_a_read_only_medium_is_searched(alice: Run, tmp_path: Path) -> None:
    with read_only(tmp_path / "home") as medium:
        ended = alice("search", "steep", "--db", str(medium / "notes.db"))

    assert ended.code == 0
    assert [line.split("\t")[0] for line in ended.lines] == ["steeping-new"]
    assert ended.err.startswith("memlog: search index of owner/alice: it cannot be stored (")
    assert ended.err.endswith("kept in memory\n")
    assert ended.err.count("\n") == 1


def test_a_damaged_index_is_told_and_costs_no_hit(alice: Run, tmp_path: Path) -> None:
    slugs(alice, "steep")
    (manifest,) = (tmp_path / "home" / "notes.db-index").glob("*/*/manifest.json")
    manifest.write_bytes(manifest.read_bytes().replace(b'"format"', b'"farmat"'))

    ended = alice("search", "steep")

    assert [line.split("\t")[0] for line in ended.lines] == ["steeping-new"]
    assert ended.err.startswith("memlog: search index of owner/alice: manifest.json ")
    assert slugs(alice, "steep") == ["steeping-new"]


def test_what_the_library_logs_cannot_steer_a_terminal(alice: Run, tmp_path: Path) -> None:
    whose = "owner:a\u202eb"
    alice("write", "Tea", "--body", "x", "--scope", whose)
    alice("search", "tea", "--scope", whose)
    (manifest,) = (tmp_path / "home" / "notes.db-index").glob("*/*/manifest.json")
    manifest.write_bytes(b"")

    told = alice("search", "tea", "--scope", whose, terminal=True).err

    assert told.startswith("memlog: search index of owner/a\\u202eb: ")


def test_a_search_makes_no_store(alice: Run, tmp_path: Path) -> None:
    ended = alice("search", "tea", "--db", str(tmp_path / "none.db"))

    assert ended.code == 2
    assert not list(tmp_path.glob("none.db*"))
