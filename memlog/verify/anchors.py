"""Checkpoints held against the log: those in the store, and those that somebody kept elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from memlog.proof import (
    Checkpoint,
    NoCryptographyError,
    ProofError,
    UnknownSignerError,
    VerifierKey,
    parse_checkpoint,
    parse_note,
    parse_vkey,
    verify_note,
)
from memlog.shown import shown
from memlog.verify.report import Findings, Outcome, counted
from projections.checkpoints import Kept


class Anchor(msgspec.Struct, frozen=True):
    """One checkpoint to hold the log against.

    Attributes:
        name: what to call it.
        checkpoint: what it says; None when that cannot be read.
        fault: what is wrong with its own bytes or signature, or None.
    """

    name: str
    checkpoint: Checkpoint | None
    fault: str | None


def anchor(name: str, note_bytes: bytes, keys: Sequence[VerifierKey]) -> Anchor:
    """Return a checkpoint; its signature is checked when there are keys, else it is not."""
    try:
        note = parse_note(note_bytes)
        checkpoint = parse_checkpoint(note.text)
    except (ProofError, TypeError, AttributeError) as error:
        return Anchor(name, None, f"it is no checkpoint ({type(error).__name__})")
    try:
        if keys:
            verify_note(note, keys)
    except NoCryptographyError:
        pass  # It says less then, but what it says can be compared.
    except UnknownSignerError:
        return Anchor(name, checkpoint, "it is not signed by a key that is trusted")
    except ProofError as error:
        return Anchor(name, checkpoint, f"its signature does not hold ({type(error).__name__})")
    return Anchor(name, checkpoint, None)


def stored(kept: Iterable[Kept]) -> list[Anchor]:
    """Return the checkpoints of a store, each under the key that it was signed with."""
    return [_stored(each) for each in kept]


def _stored(kept: Kept) -> Anchor:
    name = f"checkpoint {kept.id}"
    try:
        key = parse_vkey(kept.vkey)
    except (ProofError, TypeError, AttributeError):
        return Anchor(name, None, f"its key {shown(kept.vkey)} is none")
    found = anchor(name, kept.note, [key])
    if found.checkpoint is not None and found.checkpoint.size != kept.size:
        fault = f"it is filed under size {shown(kept.size)}, and says {found.checkpoint.size}"
        return Anchor(name, found.checkpoint, found.fault or fault)
    return found


def sizes(anchors: Iterable[Anchor]) -> frozenset[int]:
    """Return the sizes at which a root is wanted."""
    return frozenset(each.checkpoint.size for each in anchors if each.checkpoint is not None)


def check_anchors(
    anchors: Sequence[Anchor],
    findings: Findings,
    *,
    log_id: str | None,
    events: int,
    roots: Mapping[int, bytes],
) -> None:
    """Check each checkpoint against the log.

    Args:
        anchors: the checkpoints.
        findings: where faults go.
        log_id: id of the log.
        events: the log's size.
        roots: the log's root at the size of each checkpoint, where it has one.
    """
    for each in anchors:
        fault = each.fault or _fault(each.checkpoint, log_id=log_id, events=events, roots=roots)
        if fault is not None:
            size = None if each.checkpoint is None else each.checkpoint.size
            position = None if size is None else min(size, events + 1)
            findings.add("checkpoints", position or None, f"{each.name}: {fault}")
    outcome: Outcome = "ok" if anchors else "absent"
    looked_at = counted(len(anchors), "checkpoint") if anchors else "there is none"
    findings.looked_at("checkpoints", looked_at, outcome=outcome)


def _fault(
    checkpoint: Checkpoint | None, *, log_id: str | None, events: int, roots: Mapping[int, bytes]
) -> str | None:
    if checkpoint is None:
        return "it cannot be read"
    origin, size, root = checkpoint
    if origin.rpartition("/")[2] != log_id:
        return f"it is of another log, {shown(origin)}"
    if size > events:
        return f"it says {size:,} events, the log has {events:,}: an older copy, or a cut one"
    if size not in roots:
        return "an envelope before it cannot be read, so its root cannot be made"
    if roots[size] != root:
        return f"its root is not that of the first {counted(size, 'event')}: another history"
    return None
