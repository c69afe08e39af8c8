"""`memlog write`, `pin`, `unpin`, `link` and `unlink`."""

import json
from pathlib import Path
from typing import Any

import pytest

import memlog
from tests.cli.running import Run


def as_json(run: Run, *arguments: str, stdin: bytes = b"") -> dict[str, Any]:
    ended = run(*arguments, "--json", stdin=stdin)
    assert (ended.code, len(ended.lines)) == (0, 1), ended
    record: dict[str, Any] = json.loads(ended.lines[0])
    return record


def test_a_write_says_what_became_of_it(alice: Run) -> None:
    written = alice("write", "Deploy key rotates", stdin=b"On the first.")

    assert written.out == b"created deploy-key-rotates in owner:alice (seq 1)\n"
    assert alice("write", "Tea", "--slug", "deploy-key-rotates", stdin=b"Oolong.").lines == [
        "rewrote deploy-key-rotates in owner:alice (seq 2)"
    ]
    assert alice("write", "Tea", "--slug", "deploy-key-rotates", stdin=b"Oolong.").lines == [
        "unchanged: deploy-key-rotates in owner:alice (seq 2)"
    ]


def test_a_first_write_says_where_and_only_the_first(alice: Run, tmp_path: Path) -> None:
    assert alice("write", "a", "--body", "x").err == f"a new log: {tmp_path / 'notes.db'}\n"
    assert alice("write", "b", "--body", "x").err == ""


def test_the_default_store_lies_in_the_users_data_directory(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "data" / "memlog" / "notes.db"

    assert run("write", "a", "--body", "x", "--scope", "global").err == f"a new log: {path}\n"
    assert run("stats").lines[0] == f"file\t{path}"


def test_every_option_of_a_write_reaches_the_note(alice: Run) -> None:
    written = as_json(
        alice,
        *("write", "Tea", "--slug", "tea", "--topic", "Hot Drinks", "--topic", "leaves"),
        *("--pinned", "--confidence", "0.25", "--allow-pin-untrusted", "--provenance", "import"),
        *("--source-url", "https://tea.example", "--source-artifact", "T-1"),
        *("--source-note", "overheard", "--source-created-at", "2026-01-02T03:04:05+01:00"),
        *("--source-updated-at", "2026-01-03T00:00:00Z", "--if-seq", "0"),
        *("--actor", "agent:a", "--conversation", "c-1", "--request-id", "r-1"),
        stdin=b"Oolong.",
    )
    note = written["note"]

    assert (note["title"], note["body"], note["slug"]) == ("Tea", "Oolong.", "tea")
    assert (note["topics"], note["confidence"]) == (["hot-drinks", "leaves"], 0.25)
    assert (note["pinned"], note["provenance"]) == (True, "import")
    assert note["source"] == {
        "url": "https://tea.example",
        "artifact": "T-1",
        "note": "overheard",
        "created_at": "2026-01-02T02:04:05.000000Z",
        "updated_at": "2026-01-03T00:00:00.000000Z",
    }
    (first, _) = map(json.loads, alice("log", "--json").lines)
    assert (first["actor"], first["conversation_id"], first["request_id"]) == (
        "agent:a",
        "c-1",
        "r-1",
    )


def test_the_same_request_id_is_done_once(alice: Run) -> None:
    arguments = ("write", "Tea", "--body", "Oolong.", "--request-id", "r-1")

    assert alice(*arguments).lines == ["created tea in owner:alice (seq 1)"]
    assert alice(*arguments).lines == ["done before: tea in owner:alice (seq 1)"]
    assert as_json(alice, *arguments)["replayed"] is True


def test_a_write_names_similar_notes_and_a_lost_pin(alice: Run) -> None:
    alice("write", "Deploy key rotates", "--body", "x", "--pinned")

    assert alice("write", "Deploy key rotates soon", "--body", "y").lines[1:] == [
        "  1 similar note:",
        "    deploy-key-rotates (75%): Deploy key rotates",
    ]
    assert "  unpinned, since the rewrite did not say --pinned" in (
        alice("write", "Rotation", "--slug", "deploy-key-rotates", "--body", "z").lines
    )


@pytest.mark.parametrize(
    "body",
    [
        b"no newline",
        b"one newline\n",
        b"\xef\xbb\xbfmark\r\n\r\n",
        b" \t x \n\n",
        b"\xf0\x9f\x8e\x89",
    ],
)
def test_a_body_from_standard_input_comes_back_byte_for_byte(
    body: bytes, run_process: Run, tmp_path: Path
) -> None:
    where = ("--db", str(tmp_path / "notes.db"), "--scope", "owner:a:b:c")

    assert run_process("write", "T", "--slug", "t", *where, stdin=body).code == 0
    assert run_process("read", "t", *where) == (0, body, "")


def test_a_body_that_is_not_utf_8_is_refused_and_no_log_is_made(alice: Run, tmp_path: Path) -> None:
    ended = alice("write", "T", stdin=b"caf\xe9 au lait")

    assert (ended.code, ended.out) == (1, b"")
    assert ended.err == (
        "memlog: body b'\\xe9 au' is not accepted: it is not UTF-8 from byte 3 on; "
        "convert it first\n"
    )
    assert not (tmp_path / "notes.db").exists()


def test_a_writer_without_standard_input_is_told_that_the_body_is_blank(alice: Run) -> None:
    assert alice("write", "T").err.endswith(
        "body '' is not accepted: give at least one visible character\n"
    )


def test_a_scope_is_an_owner_with_any_name_or_global(alice: Run, tmp_path: Path) -> None:
    alice("write", "T", "--body", "x", "--scope", "owner:team:blue")
    alice("write", "T", "--body", "x", "--scope", "global")

    with memlog.open(tmp_path / "notes.db") as log:
        assert [each.scope.stream for each in log.scopes()] == ["global/", "owner/team:blue"]


def test_the_common_options_may_stand_before_the_command(run: Run, tmp_path: Path) -> None:
    before = ("--db", str(tmp_path / "n.db"), "--scope", "owner:bob", "--json")

    written = run(*before, "write", "Tea", "--body", "x")

    assert json.loads(written.out)["note"]["slug"] == "tea"
    assert json.loads(run(*before, "log").out)["scope"] == "owner:bob"


def test_an_option_after_the_command_wins_over_one_before_and_the_environment(
    alice: Run, tmp_path: Path
) -> None:
    other = str(tmp_path / "other.db")
    alice("--scope", "owner:b", "write", "T", "--body", "x", "--scope", "owner:c", "--db", other)

    assert alice("scopes", "--db", other).lines == ["1\t1\t1\towner:c"]
    assert not (tmp_path / "notes.db").exists()


def test_pins_come_and_go(alice: Run) -> None:
    alice("write", "Tea", "--body", "x")

    assert alice("pin", "tea").lines == ["pinned tea (seq 2)"]
    assert alice("pin", "tea").lines == ["unchanged: tea was pinned already"]
    assert as_json(alice, "pin", "tea")["note"]["pinned"] is True
    assert alice("unpin", "tea", "--actor", "ann", "--request-id", "r").lines == [
        "unpinned tea (seq 3)"
    ]
    assert alice("unpin", "tea", "--actor", "ann", "--request-id", "r").lines == [
        "done before: unpinned tea (seq 3)"
    ]
    assert alice("unpin", "tea").lines == ["unchanged: tea was not pinned"]


NO_ROOM = "  it has no room in the section: pinned notes get half of it, the newest first"


def test_a_pin_that_the_section_has_no_room_for_is_told(
    alice: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMLOG_INDEX_TOKEN_BUDGET", "200")
    long = "x" * 1_000

    assert alice("write", "Long", "--pinned", "--body", long).lines == [
        "created long in owner:alice (seq 2)",
        "  pinned",
        NO_ROOM,
    ]
    assert alice("pin", "long").lines == ["unchanged: long was pinned already", NO_ROOM]
    assert as_json(alice, "pin", "long")["pin_shown"] is False
    assert alice("unpin", "long").lines == ["unpinned long (seq 3)"]
    assert alice("pin", "long").lines == ["pinned long (seq 4)", NO_ROOM]
    assert alice("write", "Short", "--pinned", "--body", "x").lines[1:] == ["  pinned"]


def test_a_note_that_became_history_is_not_said_to_lack_room(alice: Run) -> None:
    for slug in ("old", "new"):
        alice("write", "T", "--slug", slug, "--pinned", "--body", slug, "--request-id", slug)
    alice("link", "new", "old", "supersedes")

    again = alice("write", "T", "--slug", "old", "--pinned", "--body", "old", "--request-id", "old")
    assert again.lines[0].startswith("done before: old")
    assert NO_ROOM not in again.lines


def test_an_untrusted_note_is_pinned_only_on_demand(alice: Run) -> None:
    alice("write", "Tea", "--body", "x", "--source-url", "https://tea.example")

    assert alice("pin", "tea").code == 1
    assert alice("pin", "tea", "--allow-pin-untrusted").lines == ["pinned tea (seq 2)"]


def test_links_come_and_go(alice: Run) -> None:
    for title in ("Old", "New"):
        alice("write", title, "--body", "x")
    alice("pin", "old")

    assert alice("link", "new", "old", "supersedes", "--label", "v2").lines == [
        'linked new to old (supersedes, "v2") (seq 4)',
        "  old was pinned, and left the section",
    ]
    assert alice("link", "new", "old", "supersedes", "--label", "v2").lines == [
        'unchanged: new to old (supersedes, "v2") was there already'
    ]
    assert as_json(alice, "unlink", "new", "old", "supersedes", "--label", "v2")["link"] == {
        "from_slug": "new",
        "to_slug": "old",
        "rel": "supersedes",
        "label": "v2",
    }
    assert alice("unlink", "new", "old", "supersedes").lines == [
        "unchanged: new from old (supersedes) was not there"
    ]


@pytest.mark.parametrize(
    "command",
    [
        ("pin", "tea"),
        ("unpin", "tea"),
        ("link", "a", "b", "related"),
        ("unlink", "a", "b", "related"),
        ("rebuild",),
        ("read", "tea"),
        ("list",),
        ("history", "tea"),
        ("log",),
        ("scopes",),
        ("stats",),
    ],
    ids=" ".join,
)
def test_only_a_write_makes_a_log(command: tuple[str, ...], alice: Run, tmp_path: Path) -> None:
    ended = alice(*command)

    assert (ended.code, ended.out) == (2, b"")
    assert "check the name (a first write makes one)" in ended.err
    assert list(tmp_path.iterdir()) == []
