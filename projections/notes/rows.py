"""A note as a row of its table, and back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from memlog import text
from memlog.codec import canonical_json
from memlog.errors import DriftError
from memlog.note import NO_SOURCE, Link, Note, Source

NOTE_COLUMNS = (
    "slug, title, body, topics, confidence, provenance, source, extra, pinned, created_seq, "
    "written_seq, updated_seq, created_at, written_at, superseded_by, ever_untrusted"
)
LINK_COLUMNS = "from_slug, to_slug, rel, label"

topics_of = msgspec.json.Decoder(tuple[str, ...]).decode
_replace = msgspec.structs.replace
_decode_source = msgspec.json.Decoder(Source).decode
_decode_extra = msgspec.json.Decoder(dict[str, str]).decode


def note_of(row: Sequence[Any]) -> Note:
    """Return the note of a row of `NOTE_COLUMNS`.

    Raises:
        DriftError: the row was changed by another hand, so that it is no note any more.
    """
    try:
        return _note_of(row)
    except (msgspec.DecodeError, ValueError, TypeError) as error:
        raise DriftError("notes", f"the row of {row[0]!r} is damaged ({error})") from None


def _note_of(row: Sequence[Any]) -> Note:
    superseded_by = row[14]
    note = Note(  # With 15 arguments by name; more would take four times as long.
        slug=row[0],
        title=row[1],
        body=row[2],
        topics=topics_of(row[3]),
        confidence=row[4],
        provenance=row[5],
        source=_decode_source(row[6]) if row[6] else NO_SOURCE,
        extra=_decode_extra(row[7]) if row[7] else {},
        pinned=bool(row[8]),
        created_seq=row[9],
        written_seq=row[10],
        updated_seq=row[11],
        created_at=datetime.fromisoformat(row[12]),
        written_at=datetime.fromisoformat(row[13]),
        ever_untrusted=bool(row[15]),
    )
    return note if superseded_by is None else _replace(note, superseded_by=superseded_by)


def row_of(note: Note) -> tuple[Any, ...]:
    """Return a note as a row of `NOTE_COLUMNS`; an empty source or extra is an empty text."""
    return (
        note.slug,
        note.title,
        note.body,
        canonical_json(note.topics).decode(),
        note.confidence,
        note.provenance,
        "" if note.source == NO_SOURCE else canonical_json(note.source).decode(),
        canonical_json(note.extra).decode() if note.extra else "",
        int(note.pinned),
        note.created_seq,
        note.written_seq,
        note.updated_seq,
        text.utc_text(note.created_at),
        text.utc_text(note.written_at),
        note.superseded_by,
        int(note.ever_untrusted),
    )


def link_of(row: Sequence[Any]) -> Link:
    """Return the edge of a row of `LINK_COLUMNS`."""
    return Link(*row)
