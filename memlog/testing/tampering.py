"""Damage for a store: each kind of byte and row changed by hand, as somebody with the file could.

    from memlog.testing.tampering_tables import TAMPERINGS    # all of them

    for tampering in TAMPERINGS:
        copy = fresh_copy_of(a_closed_store)
        expected = tampering.apply(copy)
        found = memlog.verify.opening.verify_file(copy, ...).first
        assert (found.check, found.position) == (expected.check, expected.position)

The store is an SQLite file that nobody has open, of at least 8 events of one scope, with what the
tampering needs: see `Tampering.needs`. The triggers that keep it append-only are put back
afterwards, so that nothing shows but the damage itself. What a store alone cannot show, an older
copy of it and a history that was rewritten whole, needs a checkpoint that was kept elsewhere
(`needs == SAVED_CHECKPOINT`).
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from memlog.store.rows import EVENTS_TABLE

SAVED_CHECKPOINT = "a checkpoint kept elsewhere"

_POSITION = 5
_STRANGER = "5b0c1f7e-8a52-4c0e-9f0b-3c6d2a1e7f44"


class Damage(msgspec.Struct, frozen=True):
    """What a verification must name first: the check, which is the kind, and the position."""

    check: str
    position: int | None


class Tampering(msgspec.Struct, frozen=True, kw_only=True):
    """One way to change a store by hand.

    Attributes:
        name: what is changed.
        apply: changes the closed store in a file, and returns what must be found.
        needs: what the store must have beside events and notes, or `SAVED_CHECKPOINT`.
    """

    name: str
    apply: Callable[[Path], Damage]
    needs: str = ""


@contextmanager
def by_hand(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a store without its triggers; they are put back, and all is in the one file, after."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        triggers = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
        kept = triggers.fetchall()
        for name, _ in kept:
            db.execute(f'DROP TRIGGER "{name}"')
        yield db
        for _, sql in kept:
            db.execute(sql)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


# --- Events


class State:
    """The stored bytes of one event, to be changed in canonical form."""

    def __init__(self, db: sqlite3.Connection, position: int) -> None:
        self._db, self._position = db, position
        row = db.execute(f"SELECT state FROM {EVENTS_TABLE} WHERE rowid = ?", (position,))
        self.content: dict[str, Any] = json.loads(row.fetchone()[0])

    @property
    def envelope(self) -> dict[str, Any]:
        """The envelope; change it in place."""
        envelope: dict[str, Any] = self.content["envelope"]
        return envelope

    def commit_to(self, payload: dict[str, Any]) -> None:
        """Replace the payload, and make the commitment that fits it."""
        self.content["payload"] = payload
        salt = bytes.fromhex(self.content["salt"])
        self.envelope["commitment"] = hashlib.sha256(salt + _dumps(payload)).hexdigest()

    def store(self) -> None:
        """Write it back, over itself."""
        self._db.execute(
            f"UPDATE {EVENTS_TABLE} SET state = ? WHERE rowid = ?",
            (_dumps(self.content), self._position),
        )


def _dumps(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _head(db: sqlite3.Connection) -> int:
    position: int = db.execute(f"SELECT max(rowid) FROM {EVENTS_TABLE}").fetchone()[0]
    return position


def written(db: sqlite3.Connection) -> int:
    """Return the position of a `note_written`, not the first event and not the last."""
    position: int = db.execute(
        f"SELECT rowid FROM {EVENTS_TABLE} WHERE rowid > 1 AND topic = 'note_written/1' LIMIT 1"
    ).fetchone()[0]
    return position


def other_text(payload: dict[str, Any]) -> dict[str, Any]:
    """Return the payload of a `note_written` with another body."""
    return {**payload, "body": f"{payload['body']} Forged."}


def payload(path: Path) -> Damage:
    """Change a text, and nothing else."""
    with by_hand(path) as db:
        state = State(db, position := written(db))
        state.content["payload"] = other_text(state.content["payload"])
        state.store()
    return Damage("commitments", position)


def salt(path: Path) -> Damage:
    """Change a salt."""
    with by_hand(path) as db:
        state = State(db, _POSITION)
        state.content["salt"] = "00" * 32
        state.store()
    return Damage("commitments", _POSITION)


def commitment(path: Path) -> Damage:
    """Change a commitment."""
    with by_hand(path) as db:
        state = State(db, _POSITION)
        state.envelope["commitment"] = "00" * 32
        state.store()
    return Damage("commitments", _POSITION)


def payload_and_commitment(path: Path) -> Damage:
    """Change a text, and its commitment with it."""
    with by_hand(path) as db:
        state = State(db, position := written(db))
        state.commit_to(other_text(state.content["payload"]))
        state.store()
    return Damage("tree", position)


def envelope(path: Path) -> Damage:
    """Change who did it."""
    with by_hand(path) as db:
        state = State(db, _POSITION)
        state.envelope["actor"] = "somebody-else"
        state.store()
    return Damage("tree", _POSITION)


def form(path: Path) -> Damage:
    """Add a space between two tokens."""
    with by_hand(path) as db:
        db.execute(
            f"UPDATE {EVENTS_TABLE} SET state = replace(state, '{{\"v\":1', '{{\"v\": 1') "
            "WHERE rowid = ?",
            (_POSITION,),
        )
        db.execute(
            f"UPDATE {EVENTS_TABLE} SET state = CAST(state AS BLOB) WHERE rowid = ?", (_POSITION,)
        )
    return Damage("bytes", _POSITION)


def type_beside(path: Path) -> Damage:
    """File an event under another type."""
    with by_hand(path) as db:
        statement = f"UPDATE {EVENTS_TABLE} SET topic = 'notes_unlinked/1' WHERE rowid = ?"
        db.execute(statement, (_POSITION,))
    return Damage("filing", _POSITION)


def order(path: Path) -> Damage:
    """Let two events of one scope change places."""
    with by_hand(path) as db:
        for before, after in ((_POSITION, -1), (_POSITION + 1, _POSITION), (-1, _POSITION + 1)):
            db.execute(f"UPDATE {EVENTS_TABLE} SET rowid = ? WHERE rowid = ?", (after, before))
    return Damage("order", _POSITION)


def swapped(path: Path) -> Damage:
    """Let two events change their content, each under the other's name."""
    with by_hand(path) as db:
        statement = f"SELECT topic, state FROM {EVENTS_TABLE} WHERE rowid IN (?, ?) ORDER BY rowid"
        contents = db.execute(statement, (_POSITION, _POSITION + 1)).fetchall()
        for position, content in zip((_POSITION + 1, _POSITION), contents, strict=True):
            db.execute(
                f"UPDATE {EVENTS_TABLE} SET topic = ?, state = ? WHERE rowid = ?",
                (*content, position),
            )
    return Damage("order", _POSITION)


def seq(path: Path) -> Damage:
    """Change a seq, beside the bytes and in them."""
    with by_hand(path) as db:
        state = State(db, position := _head(db))
        state.envelope["seq"] += 7
        state.store()
        statement = f"UPDATE {EVENTS_TABLE} SET originator_version = ? WHERE rowid = ?"
        db.execute(statement, (state.envelope["seq"], position))
    return Damage("order", position)


def seq_beside(path: Path) -> Damage:
    """Change a seq beside the bytes only."""
    with by_hand(path) as db:
        statement = (
            f"UPDATE {EVENTS_TABLE} SET originator_version = originator_version + 7 WHERE rowid = ?"
        )
        db.execute(statement, (position := _head(db),))
    return Damage("filing", position)


def position(path: Path) -> Damage:
    """Move the last event further on."""
    with by_hand(path) as db:
        last = _head(db)
        db.execute(f"UPDATE {EVENTS_TABLE} SET rowid = rowid + 7 WHERE rowid = ?", (last,))
    return Damage("order", last)


def _deleted(path: Path, choose: Callable[[sqlite3.Connection], int]) -> Damage:
    with by_hand(path) as db:
        chosen = choose(db)
        db.execute(f"DELETE FROM {EVENTS_TABLE} WHERE rowid = ?", (chosen,))
    return Damage("order", chosen)


def last(path: Path) -> Damage:
    """Delete the last event."""
    return _deleted(path, _head)


def last_and_head(path: Path) -> Damage:
    """Delete the last event, and have the log's head say so."""
    with by_hand(path) as db:
        gone = _head(db)
        db.execute(f"DELETE FROM {EVENTS_TABLE} WHERE rowid = ?", (gone,))
        recorded_at = State(db, gone - 1).envelope["recorded_at"]
        db.execute("UPDATE log SET position = ?, recorded_at = ?", (gone - 1, recorded_at))
    return Damage("tree", gone)


def middle(path: Path) -> Damage:
    """Delete an event between others."""
    return _deleted(path, lambda _: _POSITION)


def first(path: Path) -> Damage:
    """Delete the first event."""
    return _deleted(path, lambda _: 1)


def duplicate(path: Path) -> Damage:
    """Append an event once more."""
    with by_hand(path) as db:
        added = _head(db) + 1
        db.execute(
            f"INSERT INTO {EVENTS_TABLE} SELECT ?, originator_id, (SELECT 1 + "
            f"max(originator_version) FROM {EVENTS_TABLE} e WHERE e.originator_id = "
            f"o.originator_id), topic, state FROM {EVENTS_TABLE} o WHERE rowid = ?",
            (added, _POSITION),
        )
        db.execute("UPDATE log SET position = ?", (added,))
    return Damage("order", added)


def splice(path: Path) -> Damage:
    """Put an event of another log in the place of one."""
    with by_hand(path) as db:
        state = State(db, _POSITION)
        state.envelope["log"] = _STRANGER
        state.store()
    return Damage("log", _POSITION)


def time_back(path: Path) -> Damage:
    """Have an event recorded before the one before it."""
    with by_hand(path) as db:
        state = State(db, _POSITION)
        state.envelope["recorded_at"] = "2001-01-01T00:00:00.000000Z"
        state.store()
    return Damage("time", _POSITION)


def illegal(path: Path) -> Damage:
    """Have a note pinned that does not exist."""
    with by_hand(path) as db:
        position: int = db.execute(
            f"SELECT rowid FROM {EVENTS_TABLE} WHERE topic = 'note_pinned/1' LIMIT 1"
        ).fetchone()[0]
        state = State(db, position)
        state.commit_to({**state.content["payload"], "slug": "no-such-note"})
        state.store()
    return Damage("rules", position)


EVENT_TAMPERINGS: tuple[Tampering, ...] = (
    Tampering(name="payload", apply=payload),
    Tampering(name="salt", apply=salt),
    Tampering(name="commitment", apply=commitment),
    Tampering(name="payload and commitment", apply=payload_and_commitment),
    Tampering(name="envelope", apply=envelope),
    Tampering(name="form of the bytes", apply=form),
    Tampering(name="type beside the bytes", apply=type_beside),
    Tampering(name="order", apply=order),
    Tampering(name="swapped", apply=swapped),
    Tampering(name="seq", apply=seq),
    Tampering(name="seq beside the bytes", apply=seq_beside),
    Tampering(name="position", apply=position),
    Tampering(name="last deleted", apply=last),
    Tampering(name="last deleted, head too", apply=last_and_head),
    Tampering(name="middle deleted", apply=middle),
    Tampering(name="first deleted", apply=first),
    Tampering(name="duplicate", apply=duplicate),
    Tampering(name="splice", apply=splice),
    Tampering(name="time back", apply=time_back),
    Tampering(name="rule", apply=illegal, needs="a pin"),
)
