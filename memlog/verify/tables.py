"""The tables of the notes projection held against what the events add up to, row by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from memlog.shown import shown
from memlog.store.protocol import Executor
from memlog.verify import forms
from memlog.verify.cells import Cells, Key
from memlog.verify.expected import Expected
from memlog.verify.forms import Form
from memlog.verify.paging import in_pages
from memlog.verify.report import FINDINGS_MAX, Findings, counted
from memlog.verify.words import WordSums
from projections.notes.tables import Names

_LOOKED_FOR_AT_ONCE = 500


def check_counters(cursor: Executor, names: Names, expected: Expected, findings: Findings) -> None:
    """Check the row of each scope."""
    matched = seen = 0
    for page in forms.counters(cursor, names):
        expected.scopes.load(row[:1] for row in page)
        seen += len(page)
        for row in page:
            scope = expected.scopes.get(row[:1])
            if scope is None:
                findings.add("counters", None, f"a scope without events: {shown(row[0])}")
                continue
            matched += 1
            if row != (due := forms.due_counters(row[:1], scope)):
                position = position_of(cursor, row[0], scope.last_seq)
                wrong = _differences(forms.COUNTERS, row, due)
                findings.add("counters", position, f"{shown(row[0])}: {wrong}")
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
    sums = WordSums()
    matched = seen = 0
    for page in forms.notes(cursor, names):
        sums.add(page)
        held = forms.held_notes(cursor, names, page, expected.secret)
        expected.notes.load(row[:2] for row in held)
        seen += len(page)
        for row in held:
            key, id_ = row[:2], row[2]
            note = expected.notes.get(key)
            if note is None or note.id != id_:
                detail = f"a row that no event gives: {shown(key[1])} of {shown(key[0])}"
                findings.add("notes", _position(id_), detail)
                continue
            matched += 1
            if row != (due := forms.due_note(key, note)):
                wrong = ", ".join(_different(forms.NOTES, row, due))
                findings.add("notes", note.position, f"{shown(key[1])}: {wrong}")
        expected.notes.make_room()
    if matched != expected.notes.count:
        _report_missing(cursor, names.notes, "notes", expected.notes, findings)
    findings.looked_at("notes", counted(seen, "note"))
    return sums


def check_links(cursor: Executor, names: Names, expected: Expected, findings: Findings) -> None:
    """Check the row of each edge."""
    matched = seen = 0
    for page in forms.links(cursor, names):
        expected.links.load(row[:-1] for row in page)
        seen += len(page)
        for row in page:
            link = expected.links.get(row[:-1])
            if link is None or link.id != row[-1]:
                edge = " ".join(shown(value) for value in row[1:4])
                findings.add("links", _position(row[-1]), f"a row that no event gives: {edge}")
            else:
                matched += 1
        expected.links.make_room()
    if matched != expected.links.count:
        _report_missing(cursor, names.links, "links", expected.links, findings)
    findings.looked_at("links", counted(seen, "link"))


def check_requests(cursor: Executor, names: Names, expected: Expected, findings: Findings) -> None:
    """Check what is remembered of each request."""
    matched = seen = 0
    for page in forms.requests(cursor, names):
        expected.requests.load(row[:2] for row in page)
        seen += len(page)
        for row in page:
            key = row[:2]
            request = expected.requests.get(key)
            if request is None:
                detail = f"a row that no event gives: {shown(key[1])} of {shown(key[0])}"
                findings.add("requests", _position(row[4]), detail)
                continue
            matched += 1
            if row != (due := forms.due_request(key, request)):
                wrong = _differences(forms.REQUESTS, row, due)
                findings.add("requests", request.first_position, f"{shown(key[1])}: {wrong}")
        expected.requests.make_room()
    if matched != expected.requests.count:
        _report_missing_requests(cursor, names, expected, findings)
    findings.looked_at("requests", counted(seen, "request"))


def _different(names: Sequence[str], found: Form, due: Form) -> list[str]:
    return [name for name, one, other in zip(names, found, due, strict=True) if one != other]


def _differences(names: Sequence[str], found: Form, due: Form) -> str:
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
