"""The stored sections: the current one of each scope, and a record of those handed out.

The first is a projection: a row holds for one fingerprint of the scope and is written over when the
section is rendered anew. The second is a record of what happened, kept when projections are
rebuilt: from the hash of a section that was handed out it gives back the exact text.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from datetime import datetime

import msgspec

from memlog.note import Note
from projections.digest.headline import Headline
from projections.digest.render import RENDER_VERSION
from projections.notes import rows
from projections.notes.reader import Counters
from projections.notes.tables import Names
from projections.notes.words import Executor

NOTES_MAX = 5_000
_NO_LIMIT = 2**62
_TEXT_BYTES_MAX = 64 * 1024 * 1024  # More than any model reads; a forged row may claim more.


class RenderSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What a section depends on beside the notes.

    Attributes:
        budget_tokens: its size in tokens of 4 bytes.
        pinned_body_bytes: where a pinned body is cut.
    """

    budget_tokens: int
    pinned_body_bytes: int

    @property
    def key(self) -> str:
        """The settings and the render version as one text; no two of them share a stored row."""
        return f"{self.budget_tokens}:{self.pinned_body_bytes}:{RENDER_VERSION}"


class Digest(msgspec.Struct, frozen=True):
    """A rendered section, and the fingerprint of the notes that it shows."""

    fingerprint: str
    text: str
    hash: str


class HandedOut(msgspec.Struct, frozen=True, kw_only=True):
    """The record of one section that was handed out.

    Attributes:
        id: place in the record.
        hash: its hash.
        updated_seq: the last event that had touched a note of the scope.
        settings: the key of its render settings.
        conversation_id: to which conversation, or None.
        handed_out_at: when, `2026-11-30T19:15:00.000000Z`.
        text: the exact text; None when what is stored cannot be read.
    """

    id: int
    hash: str
    updated_seq: int
    settings: str
    conversation_id: str | None
    handed_out_at: str
    text: str | None


def ddl() -> tuple[str, ...]:
    """Return the statements that make both tables."""
    return (
        """
        CREATE TABLE digests (
            stream TEXT NOT NULL,
            settings TEXT NOT NULL,
            fingerprint TEXT NOT NULL,
            text TEXT NOT NULL,
            hash TEXT NOT NULL,
            PRIMARY KEY (stream, settings)
        )
        """,
        """
        CREATE TABLE sections (
            id INTEGER PRIMARY KEY,
            stream TEXT NOT NULL,
            hash TEXT NOT NULL,
            updated_seq INTEGER NOT NULL,
            settings TEXT NOT NULL,
            conversation_id TEXT,
            handed_out_at TEXT NOT NULL,
            text BLOB NOT NULL
        )
        """,
        "CREATE INDEX sections_hash ON sections (stream, hash)",
    )


def current(cursor: Executor, stream: str, settings: RenderSettings) -> Digest | None:
    """Return the stored digest of a scope, whatever notes it is of, or None."""
    row = cursor.execute(
        "SELECT fingerprint, text, hash FROM digests WHERE stream = ? AND settings = ?",
        (stream, settings.key),
    ).fetchone()
    return None if row is None else Digest(*row)


def store(cursor: Executor, stream: str, settings: RenderSettings, digest: Digest) -> None:
    """Keep a digest as the current one of its scope and settings."""
    cursor.execute(
        "INSERT INTO digests (stream, settings, fingerprint, text, hash) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (stream, settings) DO UPDATE SET "
        "fingerprint = excluded.fingerprint, text = excluded.text, hash = excluded.hash",
        (stream, settings.key, digest.fingerprint, digest.text, digest.hash),
    )


def forget(cursor: Executor) -> None:
    """Drop every stored digest, so that the next section is rendered anew."""
    cursor.execute("DELETE FROM digests")


def record(  # noqa: D417  # the first three are those of `store`
    cursor: Executor,
    stream: str,
    settings: RenderSettings,
    digest: Digest,
    *,
    conversation_id: str | None,
    handed_out_at: str,
) -> None:
    """Record that a section was handed out.

    Args:
        conversation_id: to which conversation, if that is known.
        handed_out_at: when, as `memlog.text.utc_text` writes it.
    """
    updated_seq = int(digest.fingerprint.rpartition(":")[2])
    cursor.execute(
        "INSERT INTO sections "
        "(id, stream, hash, updated_seq, settings, conversation_id, handed_out_at, text) "
        "VALUES ((SELECT coalesce(max(id), 0) + 1 FROM sections), ?, ?, ?, ?, ?, ?, ?)",
        (
            stream,
            digest.hash,
            updated_seq,
            settings.key,
            conversation_id,
            handed_out_at,
            zlib.compress(digest.text.encode()),
        ),
    )


def handed_out(
    cursor: Executor, stream: str, section_hash: str, *, up_to_seq: int = _NO_LIMIT
) -> str | None:
    """Return the text of a section of this scope that was handed out, or None.

    Args:
        cursor: reads the table.
        stream: name of the scope's stream.
        section_hash: the section's hash.
        up_to_seq: only sections of notes that were touched by then.
    """
    if not (section_hash.isascii() and section_hash.isprintable()):
        # SQLite takes no lone surrogates, PostgreSQL no NUL.
        return None
    row = cursor.execute(
        "SELECT text FROM sections WHERE stream = ? AND hash = ? AND updated_seq <= ? "
        "ORDER BY id LIMIT 1",
        (stream, section_hash, up_to_seq),
    ).fetchone()
    return None if row is None else zlib.decompress(row[0]).decode()


def records(
    cursor: Executor, stream: str, *, section_hash: str | None = None
) -> Iterator[HandedOut]:
    """Yield the sections of a scope that were handed out, oldest first.

    Args:
        cursor: reads the table.
        stream: name of the scope's stream.
        section_hash: only those with this hash.
    """
    if section_hash is not None and not (section_hash.isascii() and section_hash.isprintable()):
        return  # As in `handed_out`.
    found = cursor.execute(
        "SELECT id, hash, updated_seq, settings, conversation_id, handed_out_at, text "
        "FROM sections WHERE stream = ? AND hash = coalesce(?, hash) ORDER BY id",
        (stream, section_hash),
    )
    for row in found:
        yield HandedOut(
            id=row[0],
            hash=row[1],
            updated_seq=row[2],
            settings=row[3],
            conversation_id=row[4],
            handed_out_at=row[5],
            text=unpacked(row[6]),
        )


def settings_used(cursor: Executor, stream: str) -> list[str]:
    """Return the keys of the settings with which sections of a scope were handed out."""
    found = cursor.execute(
        "SELECT DISTINCT settings FROM sections WHERE stream = ? ORDER BY settings", (stream,)
    )
    return [row[0] for row in found]


def unpacked(packed: bytes) -> str | None:
    """Return the text of a record; None when what is stored cannot be read."""
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(packed, _TEXT_BYTES_MAX).decode()
    except (zlib.error, UnicodeDecodeError, TypeError):
        return None
    return text if unpacker.eof else None


def newest_notes(
    cursor: Executor, names: Names, scope: Counters
) -> tuple[list[Headline], list[Note]]:
    """Return the 5,000 most recently written live notes: headlines, and the pinned ones whole."""
    found = cursor.execute(
        f"SELECT slug, pinned, title, topics, provenance, written_at, written_seq "
        f"FROM {names.notes} WHERE scope = ? AND superseded_by IS NULL "
        "ORDER BY written_seq DESC LIMIT ?",
        (scope.scope_id, NOTES_MAX),
    )
    headlines = [
        Headline(
            slug=slug,
            title=title,
            topics=rows.topics_of(topics),
            provenance=provenance,
            written_at=datetime.fromisoformat(written_at),
            written_seq=written_seq,
        )
        for slug, is_pinned, title, topics, provenance, written_at, written_seq in found
        if not is_pinned
    ]
    return headlines, pinned_notes(cursor, names, scope)


def pinned_notes(cursor: Executor, names: Names, scope: Counters) -> list[Note]:
    """Return the pinned live notes among the 5,000 most recently written live ones.

    Costs what is pinned; if one of those was written more than 5,000 events ago, also a walk over
    the newest 5,000 notes.
    """
    found = cursor.execute(
        f"SELECT {rows.NOTE_COLUMNS} FROM {names.notes} "
        "WHERE scope = ? AND pinned = 1 AND superseded_by IS NULL",
        (scope.scope_id,),
    )
    notes = [rows.note_of(row) for row in found]
    if all(note.written_seq > scope.last_seq - NOTES_MAX for note in notes):
        return notes
    oldest_seq = _oldest_seq(cursor, names, scope)
    return [note for note in notes if note.written_seq >= oldest_seq]


def _oldest_seq(cursor: Executor, names: Names, scope: Counters) -> int:
    """Return the `written_seq` of the last note that is read; 0 when all of them are."""
    if scope.live <= NOTES_MAX:
        return 0
    row = cursor.execute(
        f"SELECT written_seq FROM {names.notes} WHERE scope = ? AND superseded_by IS NULL "
        "ORDER BY written_seq DESC LIMIT 1 OFFSET ?",
        (scope.scope_id, NOTES_MAX - 1),
    ).fetchone()
    seq: int = row[0]
    return seq
