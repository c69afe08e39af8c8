"""How `v1/` was made. It is run once for a release, and never again: see `test_corpus.py`.

    python -m tests.corpus.write_v1 tests/corpus/v1
    (cd tests/corpus/v1 && sha256sum * > ../v1.sha256)

Writes a log of every event type with the fixed clock, ids and salts of `memlog.testing`, and beside
it what it must read as: `notes.db`, `events.jsonl`, `expected.json`.
"""

import hashlib
import json
import sqlite3
import sys
from pathlib import Path
from typing import Any

import msgspec

from memlog import Log, Note, Scope
from memlog.events import CompactionHarvested
from memlog.testing import CountingIds, FixedClock, open_log, record

SCOPES = (Scope("global"), Scope("owner", "alice"), Scope("owner", "Zoë/../ñ"))


def fill(log: Log, clock: FixedClock) -> None:
    """Ask for everything that makes an event, with every field in use."""
    alice = log.scope("owner", "alice")
    alice.write(
        title="Deploy key rotates",
        body="On the first of each month.\r\n\tAsk ops.\n",
        topics=["Deploy", "चाय", "ops"],
        confidence=0.91249,
        pinned=True,
        source={
            "artifact": "ticket 7",
            "note": "said so",
            "created_at": "2026-01-01T00:00:00+01:00",
            "updated_at": "2026-01-02T03:04:05.678901Z",
        },
        extra={"b": "2", "a": "\u2028é"},
        actor="agent:claude",
        conversation_id="c-17",
        request_id="r-1",
    )
    clock.advance(1.5)
    alice.write(
        title="茶の湯", body="\U0001f375 \u202e <memory> </MEMORY> \x1b[31m", slug="tea.1_b"
    )
    alice.write(title="Deploy key rotates", body="On the second.", request_id="r-2")
    alice.link("deploy-key-rotates-2", "deploy-key-rotates", "supersedes", request_id="ρ 3")
    alice.link("deploy-key-rotates-2", "tea.1_b", "derived_from", label="warum\nnicht")
    alice.link("tea.1_b", "deploy-key-rotates-2", "related")
    alice.unlink("tea.1_b", "deploy-key-rotates-2", "related", actor="person")
    clock.advance(-3_600)
    web: dict[str, Any] = {
        "title": "From the web",
        "body": "said a page",
        "source": {"url": "https://e.example/"},
    }
    alice.write(**web, pinned=True, allow_pin_untrusted=True)
    alice.write(**{**web, "body": "says it otherwise"}, slug="from-the-web")
    alice.write(title="A fact", body="kept", provenance="compaction", confidence=0.3)
    harvest = CompactionHarvested(
        key="k-1",
        entries_sha256="0" * 64,
        model="fast",
        slugs=("a-fact",),
        kept=1,
        dropped={"repeats a note": 2, "known": 1},
    )
    record(alice, [harvest])
    clock.advance(7_200)
    for scope in (SCOPES[0], SCOPES[2]):
        log.scope(scope).write(title="!!!", body="x", provenance="user", pinned=True)
        log.scope(scope).write(title="!!!", body="y", provenance="import")
    log.scope("global").unpin(log.scope("global").notes()[-1].slug, request_id="r-1")


def expected(log: Log) -> dict[str, Any]:
    """Return what every scope must read as, in plain JSON types."""
    return {
        each.scope.stream: {
            "fingerprint": log.scope(each.scope).fingerprint(),
            "notes": [reading_of(log, each.scope, note) for note in log.scope(each.scope).notes()],
        }
        for each in log.scopes()
    }


def reading_of(log: Log, scope: Scope, note: Note) -> Any:  # noqa: ANN401  # plain JSON
    reading = log.scope(scope).read(note.slug)
    history = [[each.seq, each.type, *each.changed] for each in log.scope(scope).history(note.slug)]
    return {**msgspec.to_builtins(reading), "history": history}


def lines(path: Path) -> list[str]:
    """Return a JSON line for each stored event: its place, and the SHA-256 of its bytes."""
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT * FROM stored_events ORDER BY rowid").fetchall()
    connection.close()
    names = ("position", "stream", "seq", "type")
    return [
        json.dumps(
            {
                **dict(zip(names, row[:4], strict=True)),
                "sha256": hashlib.sha256(row[4]).hexdigest(),
            },
            ensure_ascii=False,
        )
        for row in rows
    ]


def main(directory: Path) -> None:
    """Write the three files; refuse to touch what is there."""
    directory.mkdir(parents=True, exist_ok=True)
    path, clock = directory / "notes.db", FixedClock()
    if path.exists():
        sys.exit(f"{path} is there already, and a corpus is never made again")
    with open_log(path, clock=clock, ids=CountingIds()) as log:
        fill(log, clock)
        content = json.dumps(expected(log), ensure_ascii=False, indent=1, sort_keys=True)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=DELETE")  # One file, without -wal and -shm.
    connection.execute("VACUUM")
    connection.close()
    (directory / "notes.db-lock").unlink()
    (directory / "events.jsonl").write_text("\n".join(lines(path)) + "\n", encoding="utf-8")
    (directory / "expected.json").write_text(content + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
