"""Which proof a file holds, checked, and what it says in words."""

from __future__ import annotations

from collections.abc import Sequence

from memlog.cli.exits import UsageError
from memlog.consistency import HEADER, check_consistency_file, parse_consistency
from memlog.proof import (
    Checkpoint,
    VerifierKey,
    check_bundle,
    check_inclusion,
    leaf_hash,
    parse_bundle,
    parse_checkpoint,
    parse_note,
    parse_proof,
    verify_note,
)

_BUNDLE = b'{"format":'
_TLOG_PROOF = b"c2sp.org/tlog-proof@"


def checked(
    content: bytes,
    keys: Sequence[VerifierKey],
    *,
    leaf: bytes | None = None,
    old: bytes | None = None,
) -> dict[str, object]:
    """Return what a file proves, by name, in the order to read it.

    Args:
        content: a bundle, a `.tlog-proof`, a consistency proof or a signed checkpoint.
        keys: whom the reader trusts.
        leaf: the envelope that a `.tlog-proof` is about.
        old: the signed checkpoint that the reader kept, for a consistency proof.

    Raises:
        ProofError: it does not hold.
        UsageError: a `.tlog-proof` without the event's bytes.
    """
    if content.startswith(_BUNDLE):
        return _bundle(content, keys)
    if content.startswith(_TLOG_PROOF):
        return _tlog_proof(content, keys, leaf)
    if content.startswith(HEADER.encode()):
        return _consistency(content, keys, old)
    return _checkpoint(content, keys)


def _bundle(content: bytes, keys: Sequence[VerifierKey]) -> dict[str, object]:
    bundle = parse_bundle(content)
    signers = check_bundle(bundle, keys)
    return {
        "proven": f"the event at position {bundle.proof.leaf_index + 1} is in the log",
        **_said(parse_checkpoint(bundle.proof.note.text), signers),
        "envelope": bundle.envelope.decode(),
        "payload": bundle.opened[1].decode() if bundle.opened else "withheld",
    }


def _tlog_proof(
    content: bytes, keys: Sequence[VerifierKey], leaf: bytes | None
) -> dict[str, object]:
    if leaf is None:
        sentence = "a .tlog-proof says nothing about which event: give its bytes with --envelope"
        raise UsageError(sentence)
    index, hashes, note = parse_proof(content)
    signers = verify_note(note, keys)
    checkpoint = parse_checkpoint(note.text)
    check_inclusion(
        leaf_hash(leaf), index=index, size=checkpoint.size, proof=hashes, root=checkpoint.root
    )
    return {
        "proven": f"the envelope is at position {index + 1} of the log",
        **_said(checkpoint, signers),
    }


def _consistency(
    content: bytes, keys: Sequence[VerifierKey], old: bytes | None
) -> dict[str, object]:
    proof = parse_consistency(content)
    kept = None
    if old is not None:
        note = parse_note(old)
        verify_note(note, keys)
        kept = parse_checkpoint(note.text)
    signers = check_consistency_file(proof, keys, old=kept)
    of = "" if kept is not None else f", if the root was {proof.old_root.hex()}"
    return {
        "proven": f"the first {proof.old_size:,} events are those of the older log{of}",
        **_said(parse_checkpoint(proof.note.text), signers),
    }


def _checkpoint(content: bytes, keys: Sequence[VerifierKey]) -> dict[str, object]:
    note = parse_note(content)
    signers = verify_note(note, keys)
    return {"proven": "the checkpoint is signed", **_said(parse_checkpoint(note.text), signers)}


def _said(checkpoint: Checkpoint, signers: Sequence[VerifierKey]) -> dict[str, object]:
    return {
        "log": checkpoint.origin,
        "events": checkpoint.size,
        "root": checkpoint.root.hex(),
        "signed by": ", ".join(str(key) for key in signers),
    }
