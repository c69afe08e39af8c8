"""The tables of the notes projection held against what the events add up to, row by row."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import msgspec

from memlog.errors import shown
from memlog.note import NO_SOURCE, Link
from memlog.store.protocol import Executor
from memlog.text import split_number
from memlog.verify import words
from memlog.verify.cells import Cells, Key
from memlog.verify.expected import Expected, NoteCell, ScopeCell, is_content, link_key
from memlog.verify.paging import in_pages, pages
from memlog.verify.report import FINDINGS_MAX, Findings, counted
from memlog.verify.words import WordSums
from projections.notes.rows import LINK_COLUMNS, NOTE_COLUMNS
from projections.notes.tables import Names

_LOOKED_FOR_AT_ONCE = 500
_REQUEST_COLUMNS = "slug, created, first_position, seq, position"

_encode = msgspec.json.Encoder(order="deterministic").encode
_EMPTY_SOURCE = msgspec.Raw(_encode(NO_SOURCE))
_EMPTY_EXTRA = msgspec.Raw(b"{}")


class _Content(msgspec.Struct):
    """The payload that a notes row was made from: `NoteWritten`, its parts still encoded."""

    slug: str
    title: str
    body: str
    topics: msgspec.Raw
    confidence: float
    provenance: str
    source: msgspec.Raw
    extra: msgspec.Raw


def check_counters(cursor: Executor, names: Names, expected: Expected, findings: Findings) -> None:
    """Check the row of each scope."""
    columns = "stream, id, live, notes, last_seq, touched_seq"
    matched = seen = 0
    for page in pages(cursor, f"SELECT {columns} FROM {names.scopes}", "stream"):
        expected.scopes.load((row[0],) for row in page)
        seen += len(page)
        for stream, *found in page:
            scope = expected.scopes.get((stream,))
            if scope is None:
                findings.add("counters", None, f"a scope without events: {shown(stream)}")
                continue
            matched += 1
            if found != (due := list(msgspec.structs.astuple(scope))):
                position = position_of(cursor, stream, scope.last_seq)
                wrong = _differences(ScopeCell, found, due)
                findings.add("counters", position, f"{shown(stream)}: {wrong}")
        expected.scopes.make_room()
    if matched != expected.scopes.count:
        _report_missing(cursor, names.scopes, "counters", expected.scopes, findings)
    findings.looked_at("counters", counted(seen, "scope"))


def position_of(cursor: Executor, stream: str, seq: int) -> int | None:
    """Return the position of the event at a seq of a stream, or None."""
    row = cursor.execute(
        "SELECT rowid FROM stored_events WHERE originator_id = ? AND originator_version = ?",
        (stream, seq),
    ).fetchone()
    return None if row is None else row[0]


def last_seq(cursor: Executor, stream: str, *, up_to: int) -> int:
    """Return the seq of a stream's last event up to a position, 0 when there is none."""
    row = cursor.execute(
        "SELECT max(originator_version) FROM stored_events WHERE originator_id = ? AND rowid <= ?",
        (stream, up_to),
    ).fetchone()
    return row[0] or 0


def check_notes(cursor: Executor, names: Names, expected: Expected, findings: Findings) -> WordSums:
    """Check the row of each note; return what their words add up to."""
    statement = f"SELECT {words.NOTE_COLUMNS}, stem FROM {names.notes} n"
    sums = WordSums()
    matched = seen = 0
    for page in pages(cursor, statement, "n.id"):
        stream_of = _streams(cursor, names, {row[1] for row in page})
        expected.notes.load((stream_of.get(row[1]), row[3]) for row in page)
        seen += len(page)
        for row in page:
            sums.add(row)
            id_, slug, stream = row[0], row[3], stream_of.get(row[1])
            note = expected.notes.get((stream, slug))
            if note is None or note.id != id_:
                detail = f"a row that no event gives: {shown(slug)} of {shown(stream)}"
                findings.add("notes", _position(id_), detail)
                continue
            matched += 1
            wrong = _note_faults(row, note)
            if wrong:
                findings.add("notes", note.position, f"{shown(slug)}: {', '.join(wrong)}")
        expected.notes.make_room()
    if matched != expected.notes.count:
        _report_missing(cursor, names.notes, "notes", expected.notes, findings)
    findings.looked_at("notes", counted(seen, "note"))
    return sums


def _streams(cursor: Executor, names: Names, scopes: Collection[int]) -> dict[int, str]:
    """Return the stream of each of these scopes, as far as they exist; a page of notes at most."""
    marks = ", ".join("?" * len(scopes))
    statement = f"SELECT id, stream FROM {names.scopes} WHERE id IN ({marks})"
    return dict(cursor.execute(statement, [*scopes]).fetchall())


def _note_faults(row: tuple[Any, ...], note: NoteCell) -> list[str]:
    """Return the names of the columns that are not what they should be."""
    found = (*row[11:19], (row[19], row[2]), _payload_has(row[3:11], note.content))
    due = (
        note.pinned,
        note.created_seq,
        note.written_seq,
        note.updated_seq,
        note.created_at,
        note.written_at,
        note.superseded_by,
        note.ever_untrusted,
        split_number(row[3]),
        True,
    )
    if found == due:
        return []
    names = [*NOTE_COLUMNS.split(", ")[8:], "stem or number", "content"]
    return [name for name, one, other in zip(names, found, due, strict=True) if one != other]


def _payload_has(columns: tuple[Any, ...], content: bytes) -> bool:
    """Tell whether a row was made from the payload that this content is of."""
    slug, title, body, topics, confidence, provenance, source, extra = columns
    try:
        payload = _encode(
            _Content(
                slug,
                title,
                body,
                msgspec.Raw(topics.encode()),
                confidence,
                provenance,
                msgspec.Raw(source.encode()) if source else _EMPTY_SOURCE,
                msgspec.Raw(extra.encode()) if extra else _EMPTY_EXTRA,
            )
        )
    except (AttributeError, TypeError, UnicodeEncodeError):
        return False
    return is_content(content, payload)


def check_links(cursor: Executor, names: Names, expected: Expected, findings: Findings) -> None:
    """Check the row of each edge."""
    statement = (
        f"SELECT n.id, s.stream, {LINK_COLUMNS} "
        f"FROM {names.links} n LEFT JOIN {names.scopes} s ON s.id = n.scope"
    )
    matched = seen = 0
    for page in pages(cursor, statement, "n.id"):
        expected.links.load(link_key(row[1], Link(*row[2:])) for row in page)
        seen += len(page)
        for row in page:
            link = expected.links.get(link_key(row[1], Link(*row[2:])))
            if link is None or link.id != row[0]:
                edge = " ".join(shown(value) for value in row[2:5])
                findings.add("links", _position(row[0]), f"a row that no event gives: {edge}")
            else:
                matched += 1
        expected.links.make_room()
    if matched != expected.links.count:
        _report_missing(cursor, names.links, "links", expected.links, findings)
    findings.looked_at("links", counted(seen, "link"))


def check_requests(cursor: Executor, names: Names, expected: Expected, findings: Findings) -> None:
    """Check what is remembered of each request."""
    statement = (
        f"SELECT n.scope, request_id, s.stream, {_REQUEST_COLUMNS} "
        f"FROM {names.requests} n LEFT JOIN {names.scopes} s ON s.id = n.scope"
    )
    matched = seen = 0
    for page in pages(cursor, statement, "n.scope, request_id"):
        expected.requests.load((row[2], row[1]) for row in page)
        seen += len(page)
        for _, request_id, stream, *found in page:
            request = expected.requests.get((stream, request_id))
            if request is None:
                detail = f"a row that no event gives: {shown(request_id)} of {shown(stream)}"
                findings.add("requests", _position(found[2]), detail)
                continue
            matched += 1
            if found != (due := list(msgspec.structs.astuple(request))):
                wrong = _differences(type(request), found, due)
                detail = f"{shown(request_id)}: {wrong}"
                findings.add("requests", request.first_position, detail)
        expected.requests.make_room()
    if matched != expected.requests.count:
        _report_missing_requests(cursor, names, expected, findings)
    findings.looked_at("requests", counted(seen, "request"))


def _differences(cell: type[msgspec.Struct], found: Iterable[Any], due: Iterable[Any]) -> str:
    names = cell.__struct_fields__
    return ", ".join(
        f"{name} is {shown(one)} instead of {shown(other)}"
        for name, one, other in zip(names, found, due, strict=True)
        if one != other
    )


def _position(value: object) -> int | None:
    return value if isinstance(value, int) else None


# --- What has no row


def _report_missing(
    cursor: Executor, table: str, check: str, cells: Cells[Any], findings: Findings
) -> None:
    for key, position in _missing(cursor, table, cells):
        what = " ".join(shown(part) for part in key[1:] or key)
        findings.add(check, position, f"there is no row for {what}")


def _missing(cursor: Executor, table: str, cells: Cells[Any]) -> Iterator[tuple[Key, int]]:
    for page in in_pages(cells.all()):
        for start in range(0, len(page), _LOOKED_FOR_AT_ONCE):
            ids = [cell.id for _, cell in page[start : start + _LOOKED_FOR_AT_ONCE]]
            marks = ", ".join("?" * len(ids))
            found = cursor.execute(f"SELECT id FROM {table} WHERE id IN ({marks})", ids)
            there = {row[0] for row in found}
            for key, cell in page[start : start + _LOOKED_FOR_AT_ONCE]:
                if cell.id not in there:
                    yield key, cell.id


def _report_missing_requests(
    cursor: Executor, names: Names, expected: Expected, findings: Findings
) -> None:
    for (stream, request_id), request in expected.requests.all():
        row = cursor.execute(
            f"SELECT 1 FROM {names.requests} n JOIN {names.scopes} s ON s.id = n.scope "
            "WHERE s.stream = ? AND request_id = ?",
            (stream, request_id),
        ).fetchone()
        if row is None:
            detail = f"there is no row for {shown(request_id)} of {shown(stream)}"
            findings.add("requests", request.first_position, detail)
        if findings.count("requests") >= FINDINGS_MAX:
            return
