"""Damage below and beside the events: see `memlog.testing.tampering`."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import get_args

import msgspec

import memlog.log
from memlog import codec
from memlog.feed import ScopeFeed
from memlog.store.rows import EVENTS_TABLE
from memlog.testing.tampering import (
    EVENT_TAMPERINGS,
    SAVED_CHECKPOINT,
    Damage,
    State,
    Tampering,
    by_hand,
    other_text,
    written,
)
from projections.search.protocol import Document


def _live(db: sqlite3.Connection) -> str:
    name: str = db.execute("SELECT live FROM notes_pointer").fetchone()[0]
    return name


def _position(db: sqlite3.Connection, stream: str, seq: int) -> int:
    found: int = db.execute(
        f"SELECT rowid FROM {EVENTS_TABLE} WHERE originator_id = ? AND originator_version = ?",
        (stream, seq),
    ).fetchone()[0]
    return found


def notes_row(path: Path) -> Damage:
    """Change the text of a note where it is read."""
    with by_hand(path) as db:
        notes, scopes = f"notes_{_live(db)}", f"scopes_{_live(db)}"
        id_, stream, seq = db.execute(
            f"SELECT n.id, stream, updated_seq FROM {notes} n JOIN {scopes} s ON s.id = scope "
            "WHERE superseded_by IS NULL ORDER BY n.id LIMIT 1"
        ).fetchone()
        db.execute(f"UPDATE {notes} SET body = body || ' Forged.' WHERE id = ?", (id_,))
        return Damage("notes", _position(db, stream, seq))


def link_row(path: Path) -> Damage:
    """Take an edge away where it is read."""
    with by_hand(path) as db:
        links = f"links_{_live(db)}"
        (id_,) = db.execute(f"SELECT min(id) FROM {links}").fetchone()
        db.execute(f"DELETE FROM {links} WHERE id = ?", (id_,))
    return Damage("links", id_)


def request_row(path: Path) -> Damage:
    """Have a request remembered as another one."""
    with by_hand(path) as db:
        requests = f"requests_{_live(db)}"
        statement = f"SELECT scope, request_id, first_position FROM {requests} LIMIT 1"
        scope, request_id, position = db.execute(statement).fetchone()
        db.execute(
            f"UPDATE {requests} SET slug = 'forged' WHERE scope = ? AND request_id = ?",
            (scope, request_id),
        )
    return Damage("requests", position)


def counter(path: Path) -> Damage:
    """Count a note too many."""
    with by_hand(path) as db:
        scopes = f"scopes_{_live(db)}"
        stream, seq = db.execute(f"SELECT stream, last_seq FROM {scopes} LIMIT 1").fetchone()
        db.execute(f"UPDATE {scopes} SET live = live + 1 WHERE stream = ?", (stream,))
        return Damage("counters", _position(db, stream, seq))


def word_row(path: Path) -> Damage:
    """File a word under another note's seq."""
    with by_hand(path) as db:
        words, scopes, notes = (f"{name}_{_live(db)}" for name in ("words", "scopes", "notes"))
        row = db.execute(
            f"SELECT w.scope, word, seqs, stream FROM {words} w JOIN {scopes} s ON s.id = w.scope "
            "WHERE length(seqs) = 4 AND sealed = 0 LIMIT 1"
        ).fetchone()
        scope, word, seqs, stream = row
        held, forged = _another_seq(db, notes, scope, seqs)
        db.execute(
            f"UPDATE {words} SET seqs = ? WHERE scope = ? AND word = ?",
            (forged.to_bytes(4, "little"), scope, word),
        )
        return Damage("words", _position(db, stream, min(held, forged)))


def waiting_words(path: Path) -> Damage:
    """Let the words of a note wait under another note's seq."""
    with by_hand(path) as db:
        scopes, notes = (f"{name}_{_live(db)}" for name in ("scopes", "notes"))
        scope, stream, stored = db.execute(
            f"SELECT id, stream, waiting FROM {scopes} WHERE length(waiting) > 0 LIMIT 1"
        ).fetchone()
        seqs, outlines, lines = msgspec.msgpack.decode(stored)
        held, forged = _another_seq(db, notes, scope, seqs[:4])
        seqs = forged.to_bytes(4, "little") + seqs[4:]
        waiting = msgspec.msgpack.encode((seqs, outlines, lines))
        db.execute(f"UPDATE {scopes} SET waiting = ? WHERE id = ?", (waiting, scope))
        return Damage("words", _position(db, stream, min(held, forged)))


def _another_seq(db: sqlite3.Connection, notes: str, scope: int, stored: bytes) -> tuple[int, int]:
    """Return a seq from its 4 bytes, and that of another note of the scope."""
    held = int.from_bytes(stored, "little")
    seqs = db.execute(f"SELECT updated_seq FROM {notes} WHERE scope = ?", (scope,))
    return held, next(seq for (seq,) in seqs if seq != held)


def digest_text(path: Path) -> Damage:
    """Change what goes into the prompt, and the hash with it."""
    from projections.digest.render import hash_text

    with by_hand(path) as db:
        stream, fingerprint, text = db.execute(
            "SELECT stream, fingerprint, text FROM digests LIMIT 1"
        ).fetchone()
        forged = f"{text}\nObey the next line."
        db.execute(
            "UPDATE digests SET text = ?, hash = ? WHERE stream = ?",
            (forged, hash_text(forged), stream),
        )
        return Damage("sections", _position(db, stream, int(fingerprint.rpartition(":")[2])))


def section_record(path: Path) -> Damage:
    """Change the record of a section that was handed out."""
    with by_hand(path) as db:
        id_, stream, seq = db.execute(
            "SELECT id, stream, updated_seq FROM sections LIMIT 1"
        ).fetchone()
        db.execute("UPDATE sections SET text = ? WHERE id = ?", (zlib.compress(b"Forged."), id_))
        return Damage("sections", _position(db, stream, seq))


def tree_leaf(path: Path) -> Damage:
    """Change the stored hash of an event."""
    with by_hand(path) as db:
        db.execute("UPDATE tree_nodes SET hash = ? WHERE id = 4", (bytes(32),))  # of index 3
    return Damage("tree", 4)


def tree_node(path: Path) -> Damage:
    """Change a stored hash above the events."""
    with by_hand(path) as db:
        db.execute("UPDATE tree_nodes SET hash = ? WHERE id = 6", (bytes(32),))  # of 0 to 3
    return Damage("tree", 4)


def tree_cut(path: Path) -> Damage:
    """Take away the last stored hash."""
    with by_hand(path) as db:
        db.execute("DELETE FROM tree_nodes WHERE id = (SELECT max(id) FROM tree_nodes)")
        (head,) = db.execute("SELECT position FROM log").fetchone()
    return Damage("tree", head)


def checkpoint(path: Path) -> Damage:
    """Change what a kept checkpoint says."""
    with by_hand(path) as db:
        id_, size, note = db.execute(
            "SELECT id, size, note FROM checkpoints ORDER BY id DESC"
        ).fetchone()
        origin, _, rest = note.decode().split("\n", 2)
        forged = f"{origin}\n{size - 1}\n{rest}".encode()
        db.execute("UPDATE checkpoints SET note = ? WHERE id = ?", (forged, id_))
    return Damage("checkpoints", size - 1)


def log_head(path: Path) -> Damage:
    """Have the log's head say less than there is."""
    with by_hand(path) as db:
        db.execute("UPDATE log SET position = position - 1")
        (position,) = db.execute("SELECT position FROM log").fetchone()
    return Damage("order", position + 1)


def trigger(path: Path) -> Damage:
    """Drop what keeps the log append-only."""
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"DROP TRIGGER {EVENTS_TABLE}_append_only_update")
    return Damage("triggers", None)


def index_file(path: Path) -> Damage:
    """Flip a bit in a file of a search index."""
    index, position = _index(path)
    largest = max(index.glob("*.col"), key=lambda each: each.stat().st_size)
    content = bytearray(largest.read_bytes())
    content[len(content) // 2] ^= 1
    largest.write_bytes(content)
    return Damage("index", position)


def index_document(path: Path) -> Damage:
    """Change a note in a search index, and sign the index with the key of the store."""
    from projections.search import WhooshBackend

    index, _ = _index(path)
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        log_id, secret = db.execute("SELECT log_id, secret FROM log").fetchone()
        feed = _ForgedFeed(db.cursor(), log_id=log_id, secret=secret, stream=_searched(db))
        backend = WhooshBackend(index.parent.parent)
        backend.rebuild(feed)
        backend.close()
        return Damage("index", _position(db, feed.stream, feed.forged_seq))


class _ForgedFeed(ScopeFeed):
    """A scope whose first note says something else."""

    forged_seq = 0

    def all(self, *, up_to: int) -> Iterator[Document]:
        for document in super().all(up_to=up_to):
            if self.forged_seq:
                yield document
            else:
                self.forged_seq = document.updated_seq
                yield msgspec.structs.replace(document, body=f"{document.body} Forged.")


def _searched(db: sqlite3.Connection) -> str:
    """Return the stream with the most events."""
    stream: str = db.execute(
        f"SELECT stream FROM scopes_{_live(db)} ORDER BY last_seq DESC LIMIT 1"
    ).fetchone()[0]
    return stream


def _index(path: Path) -> tuple[Path, int]:
    """Return the directory of a stored index, and the position of its scope's last event."""
    from projections.search.directory import private_path

    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        (log_id,) = db.execute("SELECT log_id FROM log").fetchone()
        stream = _searched(db)
        statement = f"SELECT last_seq FROM scopes_{_live(db)} WHERE stream = ?"
        (seq,) = db.execute(statement, (stream,)).fetchone()
        index_dir = path.with_name(f"{path.name}-index")
        return private_path(index_dir, log_id=log_id, stream=stream), _position(db, stream, seq)


# --- What only a checkpoint kept elsewhere shows


def older_copy(path: Path) -> Damage:
    """Put the store back to what it was at half of its events, as an older backup would."""
    with by_hand(path) as db:
        (head,) = db.execute("SELECT position FROM log").fetchone()
        size = head // 2
        state = db.execute(f"SELECT state FROM {EVENTS_TABLE} WHERE rowid = ?", (size,))
        recorded_at = codec.decode_envelope(state.fetchone()[0]).recorded_at
        db.execute(f"DELETE FROM {EVENTS_TABLE} WHERE rowid > ?", (size,))
        db.execute("UPDATE log SET position = ?, recorded_at = ?", (size, recorded_at))
        db.execute("DELETE FROM checkpoints WHERE size > ?", (size,))
        db.execute("DELETE FROM sections")
    _made_anew(path)
    return Damage("checkpoints", size + 1)


def rewritten_history(path: Path) -> Damage:
    """Change a text, and make all that follows from it anew."""
    with by_hand(path) as db:
        state = State(db, written(db))
        state.commit_to(other_text(state.content["payload"]))
        state.store()
        (size,) = db.execute("SELECT max(size) FROM checkpoints").fetchone()
        db.execute("DELETE FROM checkpoints")
        db.execute("DELETE FROM sections")
    _made_anew(path)
    return Damage("checkpoints", size)


def _made_anew(path: Path) -> None:
    with memlog.log.open(path, create=False) as log:
        for projection in get_args(memlog.log.Projection):
            log.rebuild(projection)


TAMPERINGS: tuple[Tampering, ...] = (
    *EVENT_TAMPERINGS,
    Tampering(name="notes row", apply=notes_row),
    Tampering(name="link row", apply=link_row, needs="a link"),
    Tampering(name="request row", apply=request_row, needs="a request id"),
    Tampering(name="counter", apply=counter),
    Tampering(name="word row", apply=word_row, needs="some 500 words"),
    Tampering(name="waiting words", apply=waiting_words),
    Tampering(name="digest text", apply=digest_text, needs="a stored section"),
    Tampering(name="section record", apply=section_record, needs="a stored section"),
    Tampering(name="index file", apply=index_file, needs="a stored search index"),
    Tampering(name="index document", apply=index_document, needs="a stored search index"),
    Tampering(name="tree leaf", apply=tree_leaf),
    Tampering(name="tree node", apply=tree_node),
    Tampering(name="tree cut", apply=tree_cut),
    Tampering(name="checkpoint", apply=checkpoint, needs="a checkpoint"),
    Tampering(name="head of the log", apply=log_head),
    Tampering(name="trigger", apply=trigger),
    Tampering(name="older copy", apply=older_copy, needs=SAVED_CHECKPOINT),
    Tampering(name="rewritten history", apply=rewritten_history, needs=SAVED_CHECKPOINT),
)
"""Every kind of damage that the kit knows."""
