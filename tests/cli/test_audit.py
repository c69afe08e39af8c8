"""`memlog at`, `diff`, `timeline`, `taint`, `prompt` and `history --diff`."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

import memlog
from memlog.cli import cells
from memlog.testing import START, FixedClock, open_log
from tests.cli.running import Run

BAD = "https://bad.example"


@pytest.fixture
def tour(alice: Run, tmp_path: Path) -> str:
    """Make a store for owner:alice with seven events; return the hash of a handed-out section."""
    del alice  # for its environment
    clock = FixedClock()
    with open_log(tmp_path / "notes.db", clock=clock) as log:
        memory = log.scope("owner", "alice")
        memory.write(title="Tea", body="green\nhot", actor="ana", conversation_id="c-1")
        clock.advance(60)
        log.scope("global").write(title="Elsewhere", body="x")
        memory.write(title="Tea", body="green\ncold", slug="tea")
        clock.advance(60)
        memory.write(title="A page", body="x", source={"url": BAD}, conversation_id="c-2")
        memory.link("tea", "a-page", "derived_from")
        memory.pin("tea")
        section = memory.section(conversation_id="c-3")
        clock.advance(60)
        memory.write(title="Cha", body="x")
        memory.link("cha", "a-page", "supersedes")
        return section.hash


def records(out: bytes) -> list[Any]:
    return [json.loads(line) for line in out.decode().splitlines()]


@pytest.mark.parametrize(
    ("when", "slugs"),
    [
        (("--seq", "1"), ["tea"]),
        (("--seq", "3"), ["a-page", "tea"]),
        (("--seq", "0"), []),
        (("--position", "4"), ["a-page", "tea"]),
        (("--position", "2"), ["tea"]),
        (("--time", "2026-11-30T19:15:00Z"), ["tea"]),
        (("--time", "2026-11-30T20:17:30+01:00"), ["a-page", "tea"]),
    ],
)
@pytest.mark.usefixtures("tour")
def test_at_lists_the_notes_of_then(run: Run, when: tuple[str, ...], slugs: list[str]) -> None:
    listed = run("at", *when, "--json")

    assert listed.code == 0
    assert [each["slug"] for each in records(listed.out)] == slugs
    assert [line.split("\t")[0] for line in run("at", *when).lines] == slugs


def test_at_reads_searches_and_renders_as_the_commands_of_now_do(tour: str, run: Run) -> None:
    assert run("at", "--seq", "1", "read", "tea").out == b"green\nhot"
    assert run("at", "--seq", "7", "read", "tea").out == run("read", "tea").out
    assert run("at", "--seq", "7", "--all").out == run("list", "--all").out
    assert run("at", "--seq", "7", "index").out == run("index").out
    assert run("at", "--seq", "7", "history", "tea").out == run("history", "tea").out
    assert run("at", "--seq", "5", "index", "--json").lines != run("index", "--json").lines
    assert json.loads(run("at", "--seq", "5", "index", "--json").out)["hash"] == tour
    found = run("at", "--seq", "3", "search", "green", "cold")
    assert [line.split("\t")[0] for line in found.lines] == ["tea"]
    nothing = run("at", "--seq", "0", "search", "green")
    assert (nothing.code, nothing.out) == (0, b"")
    assert "no note of then fits 'green'" in nothing.err


@pytest.mark.usefixtures("tour")
def test_what_if_leaves_out_and_tells_what_else_is_missing(run: Run) -> None:
    listed = run("at", "--seq", "7", "--without-url", BAD)
    missing = run("at", "--seq", "7", "--without-url", BAD, "missing")
    told = records(run("at", "--seq", "7", "--without-url", BAD, "missing", "--json").out)

    assert [line.split("\t")[0] for line in listed.lines] == ["cha", "tea"]
    assert listed.err == (
        "without 1 event, and without 2 more that would be illegal; 'missing' lists them\n"
    )
    assert [line.split("\t")[:2] for line in missing.lines] == [
        ["3", "left out"],
        ["4", "refused"],
        ["7", "refused"],
    ]
    assert [(each["seq"], each["refused"]) for each in told] == [
        (3, []),
        (4, ["there is no note 'a-page'"]),
        (7, ["there is no note 'a-page'"]),
    ]


WHAT_IF = {
    "--without-position": ("4", ["3"]),
    "--without-provenance": ("web", ["3"]),
    "--without-conversation": ("c-1", ["1"]),
    "--without-actor": ("ana", ["1"]),
}


@pytest.mark.parametrize("option", WHAT_IF)
@pytest.mark.usefixtures("tour")
def test_each_way_to_leave_something_out(run: Run, option: str) -> None:
    value, seqs = WHAT_IF[option]

    missing = run("at", "--seq", "7", option, value, "missing")

    left_out = [line.split("\t")[0] for line in missing.lines if "left out" in line]
    assert left_out == seqs


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("at",), 2, "when? give one of --seq N, --time TIME and --position N"),
        (("at", "--seq", "1", "--position", "1"), 2, "when? give one of"),
        (("at", "--seq", "1", "dance"), 2, "'dance' is no view: give list, read SLUG"),
        (("at", "--seq", "1", "read"), 2, "'read' is no view"),
        (("at", "--seq", "8"), 1, "seq 8 is not accepted: the scope's last event is seq 7"),
        (("at", "--position", "9"), 1, "the log's last event is position 8"),
        (("at", "--time", "2999-01-01T00:00Z"), 1, "it has not come yet"),
        (("at", "--time", "2026-11-30T19:15"), 2, "give a time with its zone, such as"),
        (("at", "--time", "Tuesday"), 2, "give a time with its zone, such as"),
        (("at", "--seq", "1", "read", "oolong"), 1, "no note 'oolong'"),
        (("at", "--seq", "1", "--without-provenance", "x"), 1, "use one of agent, web"),
        (("diff", "x"), 2, "give a time with its zone, such as"),
        (("diff", "1", "8"), 1, "the scope's last event is seq 7"),
        (("timeline", "--around", "8"), 1, "the scope's last event is seq 7"),
        (("taint",), 2, "what came from what? give --url"),
        (("prompt", "0" * 16), 1, f"no section of this scope had the hash '{'0' * 16}'"),
        (("prompt", "\x1b[31m"), 1, r"no section of this scope had the hash '\x1b[31m'"),
    ],
)
@pytest.mark.usefixtures("tour")
def test_what_cannot_be_answered_is_said_in_one_sentence(
    run: Run, arguments: tuple[str, ...], code: int, sentence: str
) -> None:
    ended = run(*arguments)

    assert (ended.code, ended.out) == (code, b"")
    assert ended.err.count("\n") == 1
    assert sentence in ended.err


@pytest.mark.usefixtures("tour")
def test_diff_tells_what_changed_between_two_moments(run: Run) -> None:
    assert [line.split("\t") for line in run("diff", "1").lines] == [
        ["added", "a-page", '"A page"'],
        ["added", "cha", '"Cha"'],
        ["rewritten", "tea", "(body)"],
        ["pinned", "tea", ""],
        ["linked", "tea", "to a-page (derived_from)"],
        ["linked", "cha", "to a-page (supersedes)"],
        ["superseded", "a-page", "by cha"],
    ]
    assert run("diff", "position:1", "2026-11-30T19:16:00Z").lines == ["rewritten\ttea\t(body)"]
    back = [line.split("\t")[0] for line in run("diff", "7", "seq:1").lines]
    assert back == [
        "removed",
        "removed",
        "rewritten",
        "unpinned",
        "unlinked",
        "unlinked",
        "restored",
    ]
    assert run("diff", "7").lines == []
    (told,) = records(run("diff", "1", "2", "--json").out)
    assert told["rewritten"][0]["text_diff"].splitlines()[2:] == [
        "@@ -1,2 +1,2 @@",
        " green",
        "-hot",
        "+cold",
    ]


@pytest.mark.usefixtures("tour")
def test_timeline_shows_the_events_around_one(run: Run) -> None:
    around = run("timeline", "--around", "3", "--before", "1", "--after", "1")

    rows = [line.split("\t") for line in around.lines]
    assert [row[:2] for row in rows] == [["2", "3"], ["3", "4"], ["4", "5"]]
    assert [row[3:] for row in rows] == [
        ["1:2", "rewrote tea (body)"],
        ["2:3", "created a-page in c-2, from web"],
        ["2:3", "linked tea to a-page (derived_from)"],
    ]
    assert len(run("timeline", "--json").lines) == 7


@pytest.mark.usefixtures("tour")
def test_history_shows_where_a_text_came_from_and_what_a_rewrite_changed(run: Run) -> None:
    assert run("history", "a-page").lines[0].endswith("created in c-2, from web")
    lines = run("history", "tea", "--diff").lines
    assert lines[0].endswith("created by ana in c-1")
    assert lines[2:7] == [
        "    --- tea (seq 1)",
        "    +++ tea (seq 2)",
        "    @@ -1,2 +1,2 @@",
        "     green",
        "    -hot",
    ]


def test_taint_names_notes_and_sections(tour: str, run: Run) -> None:
    found = run("taint", "--url", BAD)

    assert [line.split("\t") for line in found.lines] == [
        ["note", "a-page", "superseded by cha", "0", "written by seq 3"],
        ["note", "tea", "pinned", "1", "derived from a-page"],
        ["section", tour, "2026-11-30T19:17:00.000000Z", "c-3", "tea,a-page"],
    ]
    (told,) = records(run("taint", "--url", BAD, "--json").out)
    assert [each["note"]["slug"] for each in told["notes"]] == ["a-page", "tea"]
    assert run("taint", "--actor", "nobody").out == b""


def test_prompt_names_the_events_behind_each_line(tour: str, run: Run) -> None:
    found = run("prompt", tour)
    (told,) = records(run("prompt", tour, "--json").out)

    behind = {line.split("\t")[1]: line.split("\t")[0] for line in found.lines}
    assert behind["cold"] == "2, 5"
    assert behind['- a-page (2026-11-30, web): "A page"'] == "3"
    assert (told["agrees"], told["deliveries"][0]["conversation_id"]) == (True, "c-3")
    assert [each["position"] for each in told["events"]] == [3, 4, 6]
    assert told["text"] == "\n".join(line["text"] for line in told["lines"])


def test_prompt_exits_4_when_the_record_is_not_what_the_events_give(
    tour: str, run: Run, tmp_path: Path
) -> None:
    with memlog.open(tmp_path / "notes.db") as log, log._store.transaction() as transaction:  # noqa: SLF001  # nobody else has a reason to
        transaction.cursor.execute("UPDATE sections SET text = X'00'")

    ended = run("prompt", tour)

    assert ended.code == 4
    assert "a record of handing it out is not what the events give" in ended.err


def test_none_of_them_changes_the_store_or_leaves_an_index(
    tour: str, run: Run, tmp_path: Path
) -> None:
    before = (tmp_path / "notes.db").read_bytes()

    for arguments in (
        ("at", "--seq", "7", "search", "tea"),
        ("at", "--seq", "5", "index"),
        ("diff", "0"),
        ("timeline",),
        ("taint", "--url", BAD),
        ("prompt", tour),
        ("history", "tea", "--diff"),
        ("log",),
    ):
        assert run(*arguments).code == 0

    assert (tmp_path / "notes.db").read_bytes() == before
    assert not (tmp_path / "notes.db-index").exists()
    assert not any(path.stat().st_size for path in tmp_path.glob("notes.db-wal"))


def test_a_hostile_note_steers_no_terminal_and_no_line_is_too_wide(
    alice: Run, tmp_path: Path
) -> None:
    hostile = "\x1b[2J\u202eevil\u202c\x07 [bold]x[/bold] " + "long " * 40 + "茶" * 60
    with open_log(tmp_path / "notes.db", clock=FixedClock(START)) as log:
        memory = log.scope("owner", "alice")
        memory.write(title=hostile[:100], body="one\ntwo", slug="tea", actor="a" * 200)
        source = {"url": BAD}
        memory.write(title=hostile[:100], body=f"one\n{hostile}", slug="tea", source=source)
        memory.pin("tea", allow_pin_untrusted=True)
        memory.write(title="Other", body=hostile, slug="s" * 30, conversation_id="c" * 256)
        memory.link("s" * 30, "tea", "derived_from", label=hostile[:60])
        section = memory.section(conversation_id="\u202ec")

    for arguments in (
        ("at", "--seq", "5"),
        ("at", "--seq", "5", "read", "tea"),
        ("at", "--seq", "5", "search", "evil"),
        ("at", "--seq", "5", "--without-url", BAD, "missing"),
        ("diff", "0"),
        ("diff", "1", "2"),
        ("timeline",),
        ("taint", "--url", BAD),
        ("prompt", section.hash),
        ("history", "tea", "--diff"),
    ):
        shown = alice(*arguments, terminal=True)
        text = shown.out.decode()
        for style in ("\x1b[1m", "\x1b[2m", "\x1b[0m"):
            text = text.replace(style, "")
        assert shown.code == 0, (arguments, shown.err)
        assert not set(text) & {"\x1b", "\u202e", "\u202c", "\x07", "\u2028"}, arguments
        wide = {"read", "index"} & set(arguments)  # A body goes as it is; the terminal wraps it.
        assert wide or max(map(cells.width, text.splitlines())) <= 80, arguments


def test_on_a_terminal_a_moment_is_named(tour: str, run: Run) -> None:
    os.environ["NO_COLOR"] = "1"
    try:
        shown = run("at", "--seq", "3", terminal=True).lines
        marked = run("timeline", "--around", "2", terminal=True).lines
        traced = run("prompt", tour, terminal=True).lines
    finally:
        del os.environ["NO_COLOR"]

    assert shown[0] == "as of seq 3, 2026-11-30 19:17:00 UTC"
    assert [line[0] for line in marked] == [" ", " ", ">", " ", " ", " ", " ", " "]
    assert traced[:4] == [
        f"hash {tour}, 2000 tokens",
        "held at seq 5, since 2026-11-30 19:17:00 UTC",
        "handed out 2026-11-30 19:17:00 UTC to c-3: the same text",
        "rendered anew from 3 events: equal, byte for byte",
    ]


@pytest.mark.usefixtures("tour")
def test_an_event_has_one_form_in_json(run: Run) -> None:
    whole = {
        each["seq"]: each for each in records(run("log", "--scope", "owner:alice", "--json").out)
    }

    (tainted,) = records(run("taint", "--url", BAD, "--json").out)
    missing = records(run("at", "--seq", "7", "--without-url", BAD, "missing", "--json").out)

    for event in [
        *(each["event"] for each in records(run("timeline", "--json").out)),
        *tainted["events"],
        *({name: each[name] for name in each if name != "refused"} for each in missing),
    ]:
        assert event == whole[event["seq"]]


@pytest.mark.usefixtures("tour")
def test_what_came_from_the_event_of_another_scope_is_no_question(run: Run) -> None:
    ended = run("taint", "--position", "2")

    assert (ended.code, ended.out) == (2, b"")
    assert "position 2" in ended.err
