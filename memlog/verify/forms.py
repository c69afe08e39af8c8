"""The rows of the notes projection in the form in which they are compared, held and due.

A form is a tuple that begins with the row's key as `memlog.verify.expected` has it. What a table
holds comes in pages; what is due is made from a key and its cell.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import msgspec

from memlog.note import NO_SOURCE
from memlog.store.protocol import Executor
from memlog.text import split_number
from memlog.verify import words
from memlog.verify.cells import Key
from memlog.verify.expected import LinkCell, NoteCell, RequestCell, ScopeCell, contents
from memlog.verify.paging import pages
from projections.notes.rows import LINK_COLUMNS
from projections.notes.tables import Names

Form = tuple[Any, ...]

COUNTERS = ("stream", *ScopeCell.__struct_fields__)
REQUESTS = ("stream", "request_id", *RequestCell.__struct_fields__)
NOTES = (
    "stream",
    "slug",
    "id",
    "pinned",
    "created_seq",
    "written_seq",
    "updated_seq",
    "created_at",
    "written_at",
    "superseded_by",
    "ever_untrusted",
    "stem or number",
    "content",
)

_values = msgspec.structs.astuple
_encode = msgspec.json.Encoder(order="deterministic").encode
_EMPTY_SOURCE = msgspec.Raw(_encode(NO_SOURCE))
_EMPTY_EXTRA = msgspec.Raw(b"{}")


def counters(cursor: Executor, names: Names) -> Iterator[list[Form]]:
    """Yield the row of each scope: `COUNTERS`."""
    columns = ", ".join(COUNTERS)
    return pages(cursor, f"SELECT {columns} FROM {names.scopes}", "stream")


def due_counters(key: Key, cell: ScopeCell) -> Form:
    """Return what the row of a scope must hold."""
    return (*key, *_values(cell))


def links(cursor: Executor, names: Names) -> Iterator[list[Form]]:
    """Yield the row of each edge: stream, the fields of the link, id."""
    statement = (
        f"SELECT n.id, s.stream, {LINK_COLUMNS} "
        f"FROM {names.links} n LEFT JOIN {names.scopes} s ON s.id = n.scope"
    )
    for page in pages(cursor, statement, "n.id"):
        yield [(*row[1:], row[0]) for row in page]


def due_link(key: Key, cell: LinkCell) -> Form:
    """Return what the row of an edge must hold."""
    return (*key, cell.id)


def requests(cursor: Executor, names: Names) -> Iterator[list[Form]]:
    """Yield what is remembered of each request: `REQUESTS`."""
    statement = (
        f"SELECT n.scope, request_id, s.stream, {', '.join(RequestCell.__struct_fields__)} "
        f"FROM {names.requests} n LEFT JOIN {names.scopes} s ON s.id = n.scope"
    )
    for page in pages(cursor, statement, "n.scope, request_id"):
        yield [(stream, request_id, *found) for _, request_id, stream, *found in page]


def due_request(key: Key, cell: RequestCell) -> Form:
    """Return what must be remembered of a request."""
    return (
        *key,
        cell.slug,
        int(cell.created),
        cell.first_position,
        cell.seq,
        cell.position,
    )


# --- Notes


def notes(cursor: Executor, names: Names) -> Iterator[list[Form]]:
    """Yield the rows of the notes, as they are in the table: `words.NOTE_COLUMNS`, stem."""
    return pages(cursor, f"SELECT {words.NOTE_COLUMNS}, stem FROM {names.notes} n", "n.id")


def held_notes(cursor: Executor, names: Names, page: Sequence[Form], secret: bytes) -> list[Form]:
    """Return the form of each row of a page of `notes`: `NOTES`; with the secret of `Expected`."""
    streams = _streams(cursor, names, {row[1] for row in page})
    found = contents([_payload_of(row) for row in page], secret)
    return [
        (streams.get(row[1]), row[3], row[0], *row[11:19], (row[19], row[2]), content)
        for row, content in zip(page, found, strict=True)
    ]


def due_note(key: Key, cell: NoteCell) -> Form:
    """Return what the row of a note must hold."""
    return (
        *key,
        cell.id,
        int(cell.pinned),
        cell.created_seq,
        cell.written_seq,
        cell.updated_seq,
        cell.created_at,
        cell.written_at,
        cell.superseded_by,
        int(cell.ever_untrusted),
        split_number(key[1]),  # type: ignore[arg-type]  # the slug
        cell.content,
    )


def _streams(cursor: Executor, names: Names, scopes: Collection[int]) -> dict[int, str]:
    """Return the stream of each of these scopes, as far as they exist; a page of notes at most."""
    marks = ", ".join("?" * len(scopes))
    statement = f"SELECT id, stream FROM {names.scopes} WHERE id IN ({marks})"
    return dict(cursor.execute(statement, [*scopes]).fetchall())


class _Content(msgspec.Struct, gc=False):
    """The payload that a notes row was made from: `NoteWritten`, its parts still encoded."""

    slug: str
    title: str
    body: str
    topics: msgspec.Raw
    confidence: float
    provenance: str
    source: msgspec.Raw
    extra: msgspec.Raw


def _payload_of(row: Form) -> bytes:
    """Return the bytes of the payload that a row was made from; none if it is from none."""
    _, _, _, slug, title, body, topics, confidence, provenance, source, extra, *_ = row
    try:
        return _encode(
            _Content(
                slug,
                title,
                body,
                msgspec.Raw(topics),
                confidence,
                provenance,
                msgspec.Raw(source) if source else _EMPTY_SOURCE,
                msgspec.Raw(extra) if extra else _EMPTY_EXTRA,
            )
        )
    except (AttributeError, TypeError, UnicodeEncodeError):
        return b""
