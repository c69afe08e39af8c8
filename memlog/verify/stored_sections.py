"""Stored sections: their hash, and, where they are of the present notes, their text made anew."""

from __future__ import annotations

from memlog.errors import DamageError
from memlog.shown import shown
from memlog.store.protocol import Executor
from memlog.verify.expected import Expected, ScopeCell
from memlog.verify.paging import one_by_one
from memlog.verify.report import Findings, Outcome, counted
from memlog.verify.tables import position_of
from projections.digest import tables
from projections.digest.again import text_again
from projections.digest.render import hash_text
from projections.notes.reader import Counters
from projections.notes.tables import Names


def check_sections(cursor: Executor, names: Names, expected: Expected, findings: Findings) -> None:
    """Check the current section of each scope, and the record of those that were handed out."""
    current = _check_current(cursor, names, expected, findings)
    handed_out = _check_handed_out(cursor, expected, findings)
    looked_at = f"{current:,} current, {counted(handed_out, 'record')} of handed out ones"
    outcome: Outcome = "ok" if current or handed_out else "absent"
    findings.looked_at("sections", looked_at, outcome=outcome)


def _check_current(cursor: Executor, names: Names, expected: Expected, findings: Findings) -> int:
    statement = "SELECT stream, settings, fingerprint, text, hash FROM digests"
    count = 0
    rows = one_by_one(cursor, statement, "stream, settings")
    for stream, settings, fingerprint, text, hash_ in rows:
        count += 1
        scope = expected.scopes.get((stream,)) or ScopeCell(0)
        position = position_of(cursor, stream, _seq(fingerprint))
        fault = _hash_fault(text, hash_)
        if fault is None and fingerprint == scope.fingerprint:
            due = _rendered(cursor, names, scope, settings)
            fault = "it does not say what the notes say" if due not in (None, text) else None
        if fault is not None:
            findings.add("sections", position, f"the section of {shown(stream)}: {fault}")
        expected.scopes.make_room()
    return count


def _check_handed_out(cursor: Executor, expected: Expected, findings: Findings) -> int:
    count = 0
    statement = "SELECT id, stream, hash, updated_seq, settings, text FROM sections"
    for id_, stream, hash_, updated_seq, _, packed in one_by_one(cursor, statement, "id"):
        count += 1
        scope = expected.scopes.get((stream,)) or ScopeCell(0)
        fault = _hash_fault(tables.unpacked(packed), hash_)
        if fault is None and not _is_seq(updated_seq, scope):
            fault = f"it is of seq {shown(updated_seq)}, which {shown(stream)} has not reached"
        if fault is not None:
            position = position_of(cursor, stream, updated_seq)
            detail = f"record {id_} of a section of {shown(stream)}: {fault}"
            findings.add("sections", position, detail)
        expected.scopes.make_room()
    return count


def _hash_fault(text: object, hash_: str) -> str | None:
    if not isinstance(text, str):
        return "its text cannot be read"
    return None if hash_text(text) == hash_ else "its text does not have its hash"


def _is_seq(seq: object, scope: ScopeCell) -> bool:
    return isinstance(seq, int) and 0 <= seq <= scope.last_seq


def _seq(fingerprint: str) -> int:
    try:
        return int(fingerprint.rpartition(":")[2])
    except (AttributeError, ValueError):
        return 0


def _rendered(cursor: Executor, names: Names, scope: ScopeCell, settings: str) -> str | None:
    """Return the text that the notes give now; None for another render version, or damaged rows."""
    counters = Counters(
        scope_id=scope.id,
        live=scope.live,
        notes=scope.notes,
        last_seq=scope.last_seq,
        touched_seq=scope.touched_seq,
    )
    try:
        return text_again(cursor, names, counters, settings)
    except (DamageError, ValueError, AttributeError, TypeError):
        return None  # Damaged notes are the business of their own check.
