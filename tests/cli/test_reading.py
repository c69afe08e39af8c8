"""`memlog read`, `list`, `history`, `log`, `scopes`, `stats` and `rebuild`."""

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

import memlog
from memlog.cli import cells
from tests.cli.running import Run

MOMENT = "2026-11-30T19:15:00.000000Z"


@pytest.fixture(autouse=True)
def _notes(tmp_path: Path) -> None:
    """Five notes and two scopes, all at one time."""
    moment = datetime(2026, 11, 30, 19, 15, tzinfo=UTC)
    with memlog.open(tmp_path / "notes.db", clock=lambda: moment) as log:
        alice = log.scope("owner", "alice")
        alice.write(
            title="Deploy key",
            body="Old.",
            topics=["deploy", "ops"],
            actor="agent:claude",
            conversation_id="c-17",
        )
        alice.write(title="部署密钥每月轮换" * 5, body="部署。", slug="rotation-plan")
        alice.write(title="Deploy key, new", body="New.\n", slug="deploy-key-new", pinned=True)
        alice.link("deploy-key-new", "deploy-key", "supersedes")
        alice.link("deploy-key-new", "rotation-plan", "derived_from", label="from the plan")
        alice.write(
            title="Long", body="x", slug="a-slug-that-is-longer-than-its-column-" + "y" * 40
        )
        log.scope("global").write(title="For all", body="x")


# --- read


def test_a_note_on_a_terminal_shows_what_is_known_about_it(alice: Run) -> None:
    assert alice("read", "deploy-key-new", terminal=True).out.decode().splitlines() == [
        "\x1b[1mDeploy key, new\x1b[0m",
        "\x1b[2m  note         \x1b[0mdeploy-key-new in owner:alice",
        "\x1b[2m  pinned       \x1b[0myes",
        "\x1b[2m  from         \x1b[0magent, confidence 1",
        "\x1b[2m  written      \x1b[0m2026-11-30 19:15:00 UTC (seq 3)",
        "\x1b[2m  touched      \x1b[0mlast by seq 4",
        "\x1b[2m  links to     \x1b[0mdeploy-key (supersedes)",
        '\x1b[2m  links to     \x1b[0mrotation-plan (derived_from, "from the plan")',
        "",
        "New.",
    ]


def test_a_superseded_note_says_by_which(alice: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    assert alice("read", "deploy-key", terminal=True).lines[:4] == [
        "Deploy key",
        "  note         deploy-key in owner:alice",
        "  history      superseded by deploy-key-new",
        "  topics       deploy, ops",
    ]


def test_a_note_in_a_pipe_is_its_body_and_nothing_else(alice: Run) -> None:
    assert alice("read", "deploy-key-new") == (0, b"New.\n", "")
    assert alice("read", "deploy-key") == (0, b"Old.", "")


def test_a_note_as_json_comes_with_its_links(alice: Run) -> None:
    reading = json.loads(alice("read", "deploy-key", "--json").out)

    assert reading["note"]["written_at"] == MOMENT
    assert reading["note"]["superseded_by"] == "deploy-key-new"
    assert [each["from_slug"] for each in reading["backlinks"]] == ["deploy-key-new"]
    assert reading["links"] == []


# --- list


def test_a_list_in_a_pipe_has_tabs_and_live_notes_only(alice: Run) -> None:
    long = "a-slug-that-is-longer-than-its-column-" + "y" * 40

    assert [line.split("\t")[0] for line in alice("list").lines] == [
        long,
        "deploy-key-new",
        "rotation-plan",
    ]
    assert alice("list", "--all").lines[-1].split("\t") == [
        "deploy-key",
        "superseded by deploy-key-new",
        MOMENT,
        "deploy,ops",
        "Deploy key",
    ]
    assert len(alice("list", "--limit", "2").lines) == 2


def test_a_list_on_a_terminal_fits_80_columns_and_cuts_no_slug(
    alice: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    head, first, first_title, pinned, wide, superseded, foot = alice(
        "list", "--all", terminal=True
    ).lines

    assert head == "   WRITTEN     SLUG                              TITLE"
    assert first.split() == ["2026-11-30", "a-slug-that-is-longer-than-its-column-" + "y" * 40]
    assert first_title == " " * 49 + "Long"
    assert pinned == "*  2026-11-30  deploy-key-new                    Deploy key, new"
    assert (
        wide == "   2026-11-30  rotation-plan                     部署密钥每月轮换部署密钥每月轮…"
    )
    assert superseded == "-  2026-11-30  deploy-key                        Deploy key"
    assert foot == "4 notes  * pinned  - superseded"
    assert max(map(cells.width, (head, first_title, pinned, wide, superseded, foot))) <= 80


def test_a_list_as_json_has_a_line_for_each_note(alice: Run) -> None:
    notes = [json.loads(line) for line in alice("list", "--all", "--json").lines]

    assert [note["created_seq"] for note in notes] == [7, 3, 2, 1]


def test_a_list_goes_on_behind_its_first_page(alice: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memlog.cli.notes._PAGE_NOTES", 1)

    assert len(alice("list", "--all").lines) == 4
    assert len(alice("list", "--all", terminal=True).lines) == 1 + 5 + 1


# --- history and log


def test_a_history_says_what_when_and_by_whom(alice: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    assert alice("history", "deploy-key").lines == [
        f"1\t{MOMENT}\tcreated by agent:claude in c-17",
        f"5\t{MOMENT}\tsuperseded by deploy-key-new",
    ]
    assert alice("history", "deploy-key", terminal=True).lines == [
        "   SEQ  WHEN (UTC)           WHAT",
        "     1  2026-11-30 19:15:00  created by agent:claude in c-17",
        "     5  2026-11-30 19:15:00  superseded by deploy-key-new",
    ]
    (first, _) = map(json.loads, alice("history", "deploy-key", "--json").lines)
    assert (first["changed"], first["note"]["body"]) == (["created"], "Old.")


def test_the_log_of_a_scope_has_its_seqs(alice: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    assert alice("log", "--after", "4", "--limit", "2", terminal=True).lines == [
        "   POS     SEQ  WHEN (UTC)           WHAT",
        "     5       5  2026-11-30 19:15:00  linked deploy-key-new to deploy-key",
        "                                     (supersedes)",
        "     6       6  2026-11-30 19:15:00  linked deploy-key-new to rotation-plan",
        '                                     (derived_from, "from the plan")',
    ]


def test_the_log_of_all_scopes_names_them(alice: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMLOG_SCOPE")

    assert alice("log", "--after", "7").lines == [f"8\t1\t{MOMENT}\tglobal\twrote for-all"]
    record = json.loads(alice("log", "--after", "7", "--json").lines[0])
    assert (record["position"], record["scope"], record["type"]) == (8, "global", "note_written/1")
    assert record["payload"]["title"] == "For all"
    assert "owner:alice" in alice("log", terminal=True).lines[1]


# --- scopes, stats, rebuild


def test_scopes_are_listed_with_their_numbers(alice: Run) -> None:
    assert alice("scopes").lines == ["1\t1\t1\tglobal", "3\t4\t7\towner:alice"]
    assert json.loads(alice("scopes", "--json").lines[1]) == {
        "scope": "owner:alice",
        "live": 3,
        "notes": 4,
        "last_seq": 7,
    }


def test_stats_tell_where_the_log_is_and_what_it_holds(
    alice: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_alice = json.loads(alice("stats", "--json").out)
    monkeypatch.delenv("MEMLOG_SCOPE")
    of_all = dict(line.split("\t") for line in alice("stats").lines)

    assert (of_alice["scope"], of_alice["fingerprint"], of_alice["notes"]) == (
        "owner:alice",
        "3:7",
        4,
    )
    assert of_alice["path"] == str(tmp_path / "notes.db")
    assert of_alice["last_event_at"] == MOMENT
    assert (of_all["events"], of_all["scopes"], of_all["notes"], of_all["live notes"]) == (
        "8",
        "2",
        "5",
        "4",
    )


def test_a_rebuild_finds_no_difference(alice: Run) -> None:
    assert alice("rebuild").lines == [
        "rebuilt the hashes of the tree from 8 events: no difference",
        "rebuilt the notes from 8 events: no difference",
        "rebuilt the sections from 8 events: no difference",
        "rebuilt the search indexes from the notes of 8 events",
    ]
    assert [json.loads(line) for line in alice("rebuild", "--json").lines] == [
        {"projection": "tree", "events": 8, "differences": []},
        {"projection": "notes", "events": 8, "differences": []},
        {"projection": "section", "events": 8, "differences": []},
        {"projection": "search", "events": 8, "differences": []},
    ]


def test_a_rebuild_of_one_projection_leaves_the_other(alice: Run, tmp_path: Path) -> None:
    assert alice("rebuild", "notes").lines == ["rebuilt the notes from 8 events: no difference"]
    assert not (tmp_path / "notes.db-index").exists()
    assert alice("rebuild", "search").lines == [
        "rebuilt the search indexes from the notes of 8 events"
    ]
    assert len(list((tmp_path / "notes.db-index").glob("*/*"))) == 2  # one for each scope


def test_a_rebuild_of_tables_that_drifted_repairs_them_and_exits_4(
    alice: Run, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(tmp_path / "notes.db")) as connection, connection:
        (live,) = connection.execute("SELECT live FROM notes_pointer").fetchone()
        connection.execute(f"UPDATE notes_{live} SET body = 'forged' WHERE slug = 'deploy-key'")

    assert alice("read", "deploy-key").out == b"forged"
    assert len(alice("search", "forged", "--all").lines) == 1
    ended = alice("rebuild")
    assert (ended.code, ended.lines[1]) == (
        4,
        "rebuilt the notes from 8 events: they differed and are right now",
    )
    assert alice("read", "deploy-key").out == b"Old."
    assert alice("search", "forged", "--all").lines == []
    assert alice("rebuild").code == 0


def test_reading_changes_no_byte(alice: Run, tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    before = path.read_bytes()

    for command in (
        *("read deploy-key", "list", "search key", "index"),
        *("log", "history deploy-key", "scopes", "stats"),
    ):
        assert alice(*command.split()).code == 0

    assert path.read_bytes() == before


def test_a_rebuild_shows_progress_on_a_terminal_when_it_is_long(
    alice: Run, run_on_terminal: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_on_terminal("rebuild", "notes").lines == [
        "rebuilt the notes from 8 events: no difference"
    ]

    monkeypatch.setattr("memlog.cli.progress._LONG_EVENTS", 8)
    assert "8/8" in alice("rebuild", terminal=True).err
    assert alice("rebuild").err == ""
