"""docs/FORMAT.md says what the bytes are: made anew here with json and hashlib only.

Then the store is asked for the same events: it must give the bytes of the page.
"""

import hashlib
import json
import re
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import memlog
from memlog import codec

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "FORMAT.md").read_text("utf-8")
LOG_ID = "5b0c1f7e-8a52-4c0e-9f0b-3c6d2a1e7f44"
EVENT_IDS = ("3f2b8c1e-9a4d-4e57-b0c6-5d1a7e9f2c38", "a7c4d2e9-1b6f-4f83-8e0d-92c5b7f4613a")
SALTS = (bytes(range(32)), bytes(range(32, 64)))


def blocks(language: str) -> list[str]:
    """Return the fenced blocks of the page in a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)\n```$", PAGE, re.MULTILINE | re.DOTALL)


STATES = (blocks("json")[0], blocks("json")[3])
PAYLOAD, REQUEST = blocks("json")[1:3]
(PROGRAM,) = blocks("python")


def dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def sha256(*parts: bytes) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()


def state_of(envelope: dict[str, object], payload: dict[str, object], salt: bytes) -> str:
    """Return a state as the page describes it."""
    committed = {**envelope, "commitment": sha256(salt, dumps(payload).encode())}
    return dumps({"envelope": committed, "salt": salt.hex(), "payload": payload})


def checked(state: str) -> subprocess.CompletedProcess[str]:
    """Run the page's program, in an interpreter that sees no package of ours."""
    command = [sys.executable, "-I", "-S", "-X", "utf8", "-c", PROGRAM]
    return subprocess.run(command, input=state, capture_output=True, check=False, encoding="utf-8")


# --- The worked example


def test_the_states_of_the_example_are_made_of_what_the_page_says() -> None:
    source = {
        "url": None,
        "artifact": "tea.md",
        "note": None,
        "created_at": None,
        "updated_at": None,
    }
    request = {
        "arguments": {
            "allow_pin_untrusted": False,
            "body": "Steep at 80 °C.\nNever\tboil it.",
            "confidence": 0.9,
            "extra": {},
            "if_seq": None,
            "pinned": True,
            "provenance": None,
            "slug": None,
            "source": dict(sorted(source.items())),
            "title": 'Tea "first flush"',
            "topics": ["Hot Drinks"],
        },
        "method": "write",
    }
    envelope: dict[str, object] = {
        "v": 1,
        "log": LOG_ID,
        "event_id": EVENT_IDS[0],
        "type": "note_written/1",
        "stream": "owner/alice",
        "seq": 1,
        "recorded_at": "2026-11-30T19:15:00.000000Z",
        "actor": "agent:a1",
        "conversation_id": "c-17",
        "request_id": "r-1",
        "request": sha256(SALTS[0], dumps(request).encode()),
    }
    payload: dict[str, object] = {
        "slug": "tea-first-flush",
        "title": 'Tea "first flush"',
        "body": "Steep at 80 °C.\nNever\tboil it.",
        "topics": ["hot-drinks"],
        "confidence": 0.9,
        "provenance": "agent",
        "source": source,
        "extra": {},
    }
    second = {
        **envelope,
        "event_id": EVENT_IDS[1],
        "type": "note_pinned/1",
        "seq": 2,
        "request": None,
    }
    pin: dict[str, object] = {"slug": "tea-first-flush", "untrusted_allowed": False}

    assert dumps(request) == REQUEST
    assert dumps(payload) == PAYLOAD
    assert state_of(envelope, payload, SALTS[0]) == STATES[0]
    assert state_of(second, pin, SALTS[1]) == STATES[1]


def test_the_hashes_that_the_prose_cuts_short_are_those_of_the_example() -> None:
    hashes = [sha256(SALTS[0], PAYLOAD.encode()), sha256(SALTS[0], REQUEST.encode())]

    assert re.findall(r"`([0-9a-f]{8}\.\.\.[0-9a-f]{8})`", PAGE) == [
        f"{each[:8]}...{each[-8:]}" for each in hashes
    ]
    assert f"Its payload bytes, {len(PAYLOAD.encode())} of them:" in PAGE


def test_the_store_writes_the_bytes_of_the_example(tmp_path: Path) -> None:
    ids, salts = iter(EVENT_IDS), iter(SALTS)
    path = tmp_path / "notes.db"
    with memlog.open(
        path,
        clock=lambda: datetime(2026, 11, 30, 19, 15, tzinfo=UTC),
        new_id=lambda: next(ids),
        new_salt=lambda: next(salts),
    ) as log:
        log.scope("owner", "alice").write(
            title='Tea "first flush"',
            body="Steep at 80 °C.\nNever\tboil it.",
            topics=["Hot Drinks"],
            confidence=0.9,
            pinned=True,
            source={"artifact": "tea.md"},
            actor="agent:a1",
            conversation_id="c-17",
            request_id="r-1",
        )
        log_id = log.log_id

    rows = _rows(path, "SELECT * FROM stored_events ORDER BY rowid")

    assert [row[:4] for row in rows] == [
        (1, "owner/alice", 1, "note_written/1"),
        (2, "owner/alice", 2, "note_pinned/1"),
    ]
    # The id of a new log is random, and no other byte of the example is.
    assert [row[4].decode().replace(log_id, LOG_ID) for row in rows] == list(STATES)


@pytest.mark.parametrize("state", STATES)
def test_the_codec_reads_the_example(state: str) -> None:
    event = codec.decode(state.encode())

    assert codec.encode(event, log_id=LOG_ID, salt=SALTS[event.seq - 1]) == state.encode()


# --- The program of the page


@pytest.mark.parametrize(
    ("state", "first_line"), [(STATES[0], "note_written/1 1"), (STATES[1], "note_pinned/1 2")]
)
def test_the_program_of_the_page_accepts_the_example(state: str, first_line: str) -> None:
    envelope = codec.split(state.encode()).envelope

    done = checked(state)

    assert done.stderr == ""
    assert done.stdout.splitlines() == [first_line, sha256(envelope)]


@pytest.mark.parametrize(
    ("old", "new"),
    [("80 °C", "90 °C"), ('"salt":"00', '"salt":"01'), ('"seq":1', '"seq": 1'), ("°", "\\u00b0")],
)
def test_the_program_of_the_page_refuses_what_was_changed(old: str, new: str) -> None:
    assert old in STATES[0]

    done = checked(STATES[0].replace(old, new))

    assert done.returncode != 0
    assert "AssertionError" in done.stderr


# --- Escaping and numbers


def test_a_string_is_escaped_as_the_page_says_for_every_character() -> None:
    short = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
    short |= {'"': '\\"', "\\": "\\\\"}
    surrogates = range(0xD800, 0xE000)

    for code in range(0x110000):
        if code in surrogates:
            continue
        character = chr(code)
        expected = short.get(character, f"\\u00{code:02x}" if code < 0x20 else character)
        assert codec.canonical_json(character) == f'"{expected}"'.encode()


def test_every_confidence_is_stored_as_the_page_says() -> None:
    for thousandths in range(1001):
        digits = f"{thousandths // 1000}.{thousandths % 1000:03}".rstrip("0")
        expected = digits + "0" if digits.endswith(".") else digits

        assert codec.canonical_json(thousandths / 1000) == expected.encode()


# --- Tables, triggers, registry


def _rows(path: Path, sql: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def _definitions(rows: Sequence[Sequence[object]]) -> dict[object, str]:
    return {name: re.sub(r"\s+|(?<=\()\s*|\s*(?=\))", "", str(sql)) for name, sql in rows}


def test_tables_and_triggers_are_those_of_the_page(tmp_path: Path) -> None:
    described = sqlite3.connect(":memory:")
    described.executescript("\n".join(blocks("sql")))
    select = (
        "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL "
        "AND tbl_name IN ('stored_events', 'log', 'tree_nodes', 'checkpoints') ORDER BY name"
    )
    expected = described.execute(select).fetchall()
    described.close()
    path = tmp_path / "notes.db"
    memlog.open(path).close()

    assert _definitions(_rows(path, select)) == _definitions(expected)
    assert _rows(path, "PRAGMA application_id") == [(0x6D656D6C,)]
    assert _rows(path, "PRAGMA user_version") == [(1,)]
    ((row_id, position, recorded_at, secret_bytes),) = _rows(
        path, "SELECT id, position, recorded_at, length(secret) FROM log"
    )
    assert (row_id, position, secret_bytes) == (1, 0, 32)
    assert recorded_at == "0001-01-01T00:00:00.000000Z"


def test_the_page_names_every_field_of_the_envelope_in_order() -> None:
    section = PAGE[PAGE.index("### Envelope") : PAGE.index("### Salt")]

    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == [
        *codec.Envelope.__struct_fields__
    ]


def test_the_page_names_every_type_and_the_fields_of_its_payload_in_order() -> None:
    section = PAGE[PAGE.index("### Types") : PAGE.index("## The SQLite file")]
    described = re.split(r"^\*\*`(\w+/\d+)`\*\*", section, flags=re.MULTILINE)[1:]

    assert described[::2] == [*codec.TYPES]
    for type_, prose in zip(described[::2], described[1::2], strict=True):
        fields = codec.TYPES[type_].__struct_fields__
        first_mention = [prose.find(f"`{field}`") for field in fields]
        assert -1 not in first_mention
        assert first_mention == sorted(first_mention)
