"""The file that proves one checkpoint to be a beginning of a later one.

    memlog-consistency/1
    old <decimal size> <base64 root>
    <base64 hash>                       PROOF(old size, D[size]) of RFC 9162, 2.1.4.1, in order
    ...

    <the signed checkpoint of the later log>

UTF-8, one base64 hash a line, none where the sizes are equal or the old one is 0, a blank line,
then the signed note as it is. It has one form: what is read, written again, gives the same bytes.
Whoever kept the old checkpoint compares its size and root with the second line.
"""

from __future__ import annotations

from base64 import b64encode
from binascii import a2b_base64
from collections.abc import Iterable
from typing import NamedTuple

from memlog.proof import (
    HASH_BYTES,
    Checkpoint,
    ConsistencyError,
    FormatError,
    OtherLogError,
    ProofError,
    SignedNote,
    VerifierKey,
    check_consistency,
    format_note,
    parse_checkpoint,
    parse_note,
    verify_note,
)

HEADER = "memlog-consistency/1"


class OtherCheckpointError(ProofError):
    """The proof begins at another checkpoint than the one that was kept: get the proof for that."""


class Consistency(NamedTuple):
    """A consistency proof, the older log that it starts from, and the signed later checkpoint."""

    old_size: int
    old_root: bytes
    hashes: tuple[bytes, ...]
    note: SignedNote


def format_consistency(proof: Consistency) -> bytes:
    """Return the bytes of a consistency proof."""
    old = f"old {proof.old_size} {b64encode(proof.old_root).decode()}"
    hashes = (b64encode(each).decode() for each in proof.hashes)
    return "\n".join((HEADER, old, *hashes, "", "")).encode() + format_note(proof.note)


def parse_consistency(proof_bytes: bytes) -> Consistency:
    """Return what a consistency proof says; its checkpoint is one, but not yet verified.

    Raises:
        FormatError: it has another form.
    """
    try:
        head, _, note = proof_bytes.partition(b"\n\n")
        _, old, *hashes = head.decode().split("\n")
        _, size, root = old.split(" ")
        proof = Consistency(
            int(size), a2b_base64(root), tuple(map(a2b_base64, hashes)), parse_note(note)
        )
        parse_checkpoint(proof.note.text)
    except ProofError:
        raise
    except ValueError as error:
        raise FormatError(str(error), proof_bytes) from None
    is_canonical = proof.old_size >= 0 and format_consistency(proof) == proof_bytes
    if len(proof.old_root) != HASH_BYTES or not is_canonical:
        raise FormatError(proof_bytes)
    return proof


def check_consistency_file(
    proof: Consistency, keys: Iterable[VerifierKey], *, old: Checkpoint | None = None
) -> tuple[VerifierKey, ...]:
    """Return the keys, of the trusted ones, that signed the later checkpoint.

    Args:
        proof: what `parse_consistency` gave.
        keys: whom the reader trusts.
        old: the checkpoint that the reader kept; without one the two of the file are compared.

    Raises:
        ProofError: it does not hold; the class says why.
    """
    keys = tuple(keys)
    signers = verify_note(proof.note, keys)
    origin, size, root = parse_checkpoint(proof.note.text)
    if old is not None and old.origin != origin:
        raise OtherLogError(old.origin, origin)
    if old is not None and old.size != proof.old_size:
        raise OtherCheckpointError(old.size, proof.old_size)
    if old is not None and old.root != proof.old_root:
        raise ConsistencyError(old.size, old.root.hex(), proof.old_root.hex())
    check_consistency(
        old_size=proof.old_size, old_root=proof.old_root, size=size, root=root, proof=proof.hashes
    )
    return signers
