"""Which section a conversation was handed first, so that it gets the same bytes again.

A row points into the record of sections, and is kept like that: it is neither event nor projection.
A compaction takes the pointer away; the record keeps the section.
"""

from __future__ import annotations

import zlib

from projections.digest.tables import Digest, RenderSettings, record
from projections.notes.words import Executor


def ddl() -> tuple[str, ...]:
    """Return the statement that makes the table."""
    return (
        """
        CREATE TABLE conversations (
            stream TEXT NOT NULL,
            conversation_id TEXT NOT NULL,
            section_id INTEGER,
            compaction TEXT,
            PRIMARY KEY (stream, conversation_id)
        )
        """,
    )


def kept(cursor: Executor, stream: str, conversation_id: str) -> tuple[str, str] | None:
    """Return text and hash of the section that a conversation keeps, or None when it keeps none."""
    row = cursor.execute(
        "SELECT sections.text, sections.hash FROM conversations "
        "JOIN sections ON sections.id = conversations.section_id "
        "WHERE conversations.stream = ? AND conversations.conversation_id = ?",
        (stream, conversation_id),
    ).fetchone()
    return None if row is None else (zlib.decompress(row[0]).decode(), row[1])


def keep(  # noqa: D417  # the first five are those of `tables.record`
    cursor: Executor,
    stream: str,
    settings: RenderSettings,
    digest: Digest,
    *,
    conversation_id: str,
    handed_out_at: str,
) -> None:
    """Record a section as the one that a conversation keeps; it must keep none.

    Args:
        conversation_id: which conversation.
        handed_out_at: when it was first handed out.
    """
    record(
        cursor,
        stream,
        settings,
        digest,
        conversation_id=conversation_id,
        handed_out_at=handed_out_at,
    )
    newest = cursor.execute(
        "SELECT max(id) FROM sections WHERE stream = ? AND hash = ?", (stream, digest.hash)
    ).fetchone()[0]
    cursor.execute(
        "INSERT INTO conversations (stream, conversation_id, section_id) VALUES (?, ?, ?) "
        "ON CONFLICT (stream, conversation_id) DO UPDATE SET section_id = excluded.section_id",
        (stream, conversation_id, newest),
    )


def release(cursor: Executor, stream: str, conversation_id: str, *, compaction: str) -> None:
    """Let a conversation keep no section; the same compaction does so once.

    Args:
        cursor: of a write.
        stream: name of the scope's stream.
        conversation_id: which conversation.
        compaction: key of the compaction, not empty.
    """
    cursor.execute(
        "UPDATE conversations SET section_id = NULL, compaction = ? "
        "WHERE stream = ? AND conversation_id = ? AND coalesce(compaction, '') <> ?",
        (compaction, stream, conversation_id, compaction),
    )
