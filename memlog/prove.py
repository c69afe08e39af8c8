"""Proofs made from a store: of one event, and of one checkpoint being a beginning of another.

Nothing leaves here that was not checked first: a proof that a reader could not check would be
damage found too late.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from memlog import codec
from memlog.consistency import Consistency, format_consistency
from memlog.errors import CorruptEventError, DriftError, InvalidRequestError
from memlog.proof import (
    Bundle,
    Checkpoint,
    ProofError,
    SignedNote,
    TlogProof,
    check_consistency,
    check_inclusion,
    format_bundle,
    format_proof,
    leaf_hash,
    parse_checkpoint,
    parse_note,
)
from memlog.store.protocol import Executor
from memlog.store.rows import EVENTS_TABLE
from projections import checkpoints, tree

Form = Literal["bundle", "tlog-proof"]

_SIGN_FIRST = "no signed checkpoint covers it; sign one first (memlog checkpoint --key-file FILE)"


class Signed(msgspec.Struct, frozen=True):
    """A signed checkpoint, and what it says."""

    note: SignedNote
    checkpoint: Checkpoint


def signed(note_bytes: bytes, *, log_id: str, field: str = "checkpoint") -> Signed:
    """Return a checkpoint of this log, whose signature is its reader's to check.

    Raises:
        InvalidRequestError: it is none.
    """
    try:
        note = parse_note(note_bytes)
        found = Signed(note, parse_checkpoint(note.text))
    except (ProofError, TypeError, AttributeError):  # The latter two where it is no bytes.
        raise InvalidRequestError(field, note_bytes, "give a signed checkpoint") from None
    if found.checkpoint.origin.rpartition("/")[2] != log_id:
        raise InvalidRequestError(field, found.checkpoint.origin, f"this log is {log_id}")
    return found


def prove_event(
    cursor: Executor,
    position: int,
    *,
    log_id: str,
    form: Form = "bundle",
    withhold: bool = False,
    checkpoint: bytes | None = None,
) -> bytes:
    """Return the proof of one event; see `Log.prove`."""
    under = _checkpoint(cursor, position, log_id=log_id, given=checkpoint)
    envelope, salt, payload = _event(cursor, position)
    size, root = under.checkpoint.size, under.checkpoint.root
    index = position - 1
    hashes = tree.inclusion(cursor, index=index, size=size)
    try:
        check_inclusion(leaf_hash(envelope), index=index, size=size, proof=hashes, root=root)
    except ProofError as error:
        raise DriftError("tree", f"position {position} does not lead to the checkpoint") from error
    proof = TlogProof(index, tuple(hashes), under.note)
    if form == "tlog-proof":
        return format_proof(proof)
    return format_bundle(Bundle(envelope, None if withhold else (salt, payload), proof))


def _checkpoint(cursor: Executor, position: int, *, log_id: str, given: bytes | None) -> Signed:
    if given is None:
        kept = checkpoints.last(cursor, size_min=position)
        if kept is None:
            raise InvalidRequestError("position", position, _why_not_covered(cursor, position))
        given = kept.note
    found = signed(given, log_id=log_id)
    if found.checkpoint.size < position:
        raise InvalidRequestError("position", position, _SIGN_FIRST)
    return found


def _why_not_covered(cursor: Executor, position: int) -> str:
    (head,) = cursor.execute("SELECT position FROM log").fetchone()
    return _SIGN_FIRST if position <= head else f"the log ends at position {head}"


def _event(cursor: Executor, position: int) -> tuple[bytes, bytes, bytes]:
    """Return the stored bytes of an event's envelope, salt and payload, which fit each other."""
    statement = f"SELECT state FROM {EVENTS_TABLE} WHERE rowid = ?"
    row = cursor.execute(statement, (position,)).fetchone()
    if row is None:
        raise CorruptEventError(position, "a checkpoint covers it, and it is not there")
    parts = codec.split(row[0], position=position)
    envelope = codec.decode_envelope(row[0], position=position)
    codec.check_commitment(parts, envelope, position=position)
    return parts.envelope, parts.salt, parts.payload


def prove_consistency(cursor: Executor, old: bytes, *, log_id: str) -> bytes:
    """Return the proof that an older checkpoint is a beginning of the last one."""
    older = signed(old, log_id=log_id, field="old").checkpoint
    kept = checkpoints.last(cursor)
    newer = None if kept is None else signed(kept.note, log_id=log_id)
    if newer is None or newer.checkpoint.size < older.size:
        raise InvalidRequestError("old", older.size, "no later checkpoint was signed here")
    size, root = newer.checkpoint.size, newer.checkpoint.root
    hashes = tree.consistency(cursor, old_size=older.size, size=size)
    try:
        check_consistency(
            old_size=older.size, old_root=older.root, size=size, root=root, proof=hashes
        )
    except ProofError as error:
        detail = f"the checkpoint of size {older.size} is no beginning of that of size {size}"
        raise DriftError("tree", detail) from error
    return format_consistency(Consistency(older.size, older.root, tuple(hashes), newer.note))
