"""Check proofs about a log from bytes alone, and write the files that hold them.

This file imports nothing of memlog: copy it anywhere and run `python proof.py check FILE --key
VKEY`. Signatures need the package `cryptography`, all else only the standard library. Each value
has one form: what a parser reads, written again, gives the same bytes, or it is refused.

- **Tree** (RFC 9162, 2.1; SHA-256): a leaf is the bytes of an event's envelope as they are stored,
  its index the event's position - 1. MTH() = SHA-256(""), MTH(d) = SHA-256(0x00 || d), MTH(D[n]) =
  SHA-256(0x01 || MTH(D[0:k]) || MTH(D[k:n])), k the largest power of two below n.
- **Signed note** (c2sp.org/signed-note): UTF-8 text that ends in a newline, a blank line, then 1 to
  100 lines `<U+2014> <name> <base64(key id || signature)>`. No control character but the newline.
  The text is what is signed. A name has no white space and no `+`. Key id = SHA-256(name || 0x0A
  || 0x01 || Ed25519 key)[:4]. A key's vkey is `<name>+<hex key id>+<base64(0x01 || key)>`.
- **Checkpoint** (c2sp.org/tlog-checkpoint): a signed note whose text is three lines: origin, size
  in decimal, base64(root). The origin ends in the log's id: `<name>/<log id>`.
- **.tlog-proof** (c2sp.org/tlog-proof): the line `c2sp.org/tlog-proof@v1`, `index <leaf index>`,
  the inclusion proof from leaf to root, one base64 hash a line, a blank line, the signed
  checkpoint. The optional `extra`, and extensions of a checkpoint, are refused.
- **Bundle**, the file for one event: one line of UTF-8 JSON, its own tokens without spaces:

    {"format":"memlog-proof/1","envelope":{...},"salt":"...","payload":{...},"proof":"..."}

  `envelope` and `payload` are the stored bytes, unchanged; no object in them repeats a key. `salt`
  is 64 lower-case hex digits; it and `payload` are null where withheld or erased. `proof` is the
  `.tlog-proof`, a JSON string that escapes only what JSON makes it escape. A bundle holds if a key
  that the reader trusts signed its checkpoint, the origin ends in the envelope's `log`, the
  envelope is the leaf at that index, and SHA-256(the salt's bytes || payload) its `commitment`.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from base64 import b64encode
from binascii import a2b_base64
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

HASH_BYTES = 32
EMPTY_ROOT = hashlib.sha256(b"").digest()

_ED25519, _KEY_ID_BYTES = b"\x01", 4
_SIGNATURES_MAX = 100  # As golang.org/x/mod/sumdb/note; the specification asks for 16 or more.
_MEMBERS = ('{"format":"memlog-proof/1","envelope":', ',"salt":', ',"payload":', ',"proof":')
_MEMBER_TYPES = ((dict, str, dict, str), (dict, type(None), type(None), str))
_SAID = ("proven", "log", "events", "root", "signed by", "envelope", "payload")
_IS_NAME = re.compile(r"[^\s+\x00-\x1f]+").fullmatch
_HAS_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]").search


class ProofError(ValueError):
    """Something is not proven; `args` are the values that do not fit."""

    def __str__(self) -> str:
        values = ", ".join(ascii(value)[:80] for value in self.args)
        return f"{type(self).__doc__} [{values}]"


class FormatError(ProofError):
    """Not the one form of a key, note, checkpoint, proof or bundle: get the file again."""


class ShapeError(ProofError):
    """Index, sizes and number of hashes do not fit each other, or a hash is not 32 bytes."""


class InclusionError(ProofError):
    """The leaf does not lead to the root: another event, place, proof or log."""


class ConsistencyError(ProofError):
    """The older tree is no prefix of the newer one: a rewritten history, or another log."""


class UnknownSignerError(ProofError):
    """No signature is by a key that the reader trusts."""


class BadSignatureError(ProofError):
    """A trusted key's signature does not fit the text."""


class OtherLogError(ProofError):
    """The checkpoint is of another log than the event."""


class CommitmentError(ProofError):
    """The payload is not the one that the envelope commits to."""


class NoCryptographyError(ProofError):
    """Signatures cannot be looked at: install the package `cryptography`."""


def leaf_hash(leaf: bytes) -> bytes:
    """Return the hash of a leaf's bytes (RFC 9162, 2.1.1)."""
    return hashlib.sha256(b"\x00" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of an inner node (RFC 9162, 2.1.1)."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def check_inclusion(
    leaf: bytes, *, index: int, size: int, proof: Sequence[bytes], root: bytes
) -> None:
    """Check that a tree has this leaf hash at this index (RFC 9162, 2.1.3.2).

    Raises:
        ShapeError, InclusionError: the values do not fit each other, or lead to another root.
    """
    if not 0 <= index < size:
        raise ShapeError(index, size)
    inner = (index ^ (size - 1)).bit_length()
    if _climb([leaf, *proof], path=index, inner=inner)[1] != root:
        raise InclusionError(index, size, leaf.hex(), root.hex())


def check_consistency(
    *, old_size: int, old_root: bytes, size: int, root: bytes, proof: Sequence[bytes]
) -> None:
    """Check that an older tree is a prefix of a newer one (RFC 9162, 2.1.4.2).

    The RFC leaves an older size of 0 open; here the empty tree is a prefix of every tree.

    Raises:
        ShapeError, ConsistencyError: the values do not fit each other, or lead to other roots.
    """
    if not 0 <= old_size <= size or (proof and old_size in (0, size)):
        raise ShapeError(old_size, size, len(proof))
    if old_size == size:
        found = (root, root) if size else (EMPTY_ROOT, EMPTY_ROOT)
    elif not old_size:
        found = EMPTY_ROOT, _climb([root], path=0, inner=0)[1]
    else:
        level = (old_size & -old_size).bit_length() - 1  # Of the older tree's last full subtree.
        path, last = (old_size - 1) >> level, (size - 1) >> level
        # If that subtree is the whole older tree, the proof leaves out its hash: it is old_root.
        hashes = [*proof] if path else [old_root, *proof]
        found = _climb(hashes, path=path, inner=(path ^ last).bit_length())
    if found != (old_root, root):
        raise ConsistencyError(old_size, size, old_root.hex(), root.hex())


def _climb(hashes: Sequence[bytes], *, path: int, inner: int) -> tuple[bytes, bytes]:
    """Return the root of the tree that ends with the first hash, and that of the whole tree.

    On the lowest `inner` levels the bits of the path say on which side the sibling stands; above,
    along the right edge, all are left ones. The shifts in RFC 9162, 2.1.3.2 come to the same.
    """
    count = 1 + inner + (path >> inner).bit_count()
    if len(hashes) != count or any(len(each) != HASH_BYTES for each in hashes):
        raise ShapeError(len(hashes), count, *(each.hex() for each in hashes))
    old = new = hashes[0]
    for level, sibling in enumerate(hashes[1:]):
        if level >= inner or path >> level & 1:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
        else:
            new = node_hash(new, sibling)
    return old, new


@contextmanager
def _parsing(form: str | bytes) -> Iterator[None]:
    """Turn what goes wrong with a form inside into a FormatError."""
    try:
        yield
    except (ValueError, RecursionError) as error:
        if isinstance(error, ProofError):
            raise
        raise FormatError(str(error), form) from None


def _require(fits: object, rule: str = "not in canonical form") -> None:
    if not fits:
        raise ValueError(rule)


class VerifierKey(NamedTuple):
    """A public Ed25519 key and the name it signs under; `str` gives its vkey."""

    name: str
    public: bytes

    @property
    def key_id(self) -> bytes:
        """The four bytes before each of its signatures."""
        named = self.name.encode() + b"\n" + _ED25519 + self.public
        return hashlib.sha256(named).digest()[:_KEY_ID_BYTES]

    def __str__(self) -> str:
        return f"{self.name}+{self.key_id.hex()}+{b64encode(_ED25519 + self.public).decode()}"


def parse_vkey(text: str) -> VerifierKey:
    """Return the key that a vkey stands for."""
    with _parsing(text):
        name, _, type_and_public = text.split("+", 2)
        key = VerifierKey(name, a2b_base64(type_and_public)[1:])
        _require(_IS_NAME(name) and len(key.public) == HASH_BYTES and str(key) == text)
        return key


class SignedNote(NamedTuple):
    """A text, and of each signature, not yet verified, the name and (key id || signature)."""

    text: str
    signatures: tuple[tuple[str, bytes], ...]


def format_note(note: SignedNote) -> bytes:
    """Return the bytes of a signed note."""
    lines = (f"\N{EM DASH} {name} {b64encode(each).decode()}\n" for name, each in note.signatures)
    return "".join((note.text, "\n", *lines)).encode()


def parse_note(note_bytes: bytes) -> SignedNote:
    """Return the text and signatures of a signed note; `verify_note` tells who signed."""
    with _parsing(note_bytes):
        head, _, tail = note_bytes.decode().rpartition("\n\n")
        fields = [line.split(" ") for line in tail.removesuffix("\n").split("\n")]
        note = SignedNote(f"{head}\n", tuple((name, a2b_base64(each)) for _, name, each in fields))
        _require(len(fields) <= _SIGNATURES_MAX and not _HAS_CONTROL(head), "not a note")
        for name, each in note.signatures:
            _require(_IS_NAME(name) and len(each) > _KEY_ID_BYTES, "not a name and a signature")
        _require(format_note(note) == note_bytes)
        return note


def verify_note(note: SignedNote, keys: Iterable[VerifierKey]) -> tuple[VerifierKey, ...]:
    """Return the keys, of those that the caller trusts, that signed the note; at least one.

    Raises:
        BadSignatureError: a signature in the name of such a key fails; no other makes up for it.
        UnknownSignerError: there is no signature by such a key.
        NoCryptographyError: nothing can be verified here.
    """
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError:
        raise NoCryptographyError from None
    signed = [
        (key, each[_KEY_ID_BYTES:])
        for key in keys
        for name, each in note.signatures
        if (name, each[:_KEY_ID_BYTES]) == (key.name, key.key_id)
    ]
    if not signed:
        raise UnknownSignerError(*(name for name, _ in note.signatures))
    for key, signature in signed:
        try:
            Ed25519PublicKey.from_public_bytes(key.public).verify(signature, note.text.encode())
        except InvalidSignature:
            raise BadSignatureError(str(key)) from None
    return tuple(dict(signed))


class Checkpoint(NamedTuple):
    """The size and the root that a log had."""

    origin: str
    size: int
    root: bytes


def format_checkpoint(checkpoint: Checkpoint) -> str:
    """Return a checkpoint's text, which is what is signed."""
    return f"{checkpoint.origin}\n{checkpoint.size}\n{b64encode(checkpoint.root).decode()}\n"


def parse_checkpoint(text: str) -> Checkpoint:
    """Return what the text of a note says as a checkpoint."""
    with _parsing(text):
        origin, size, root, _ = text.split("\n")
        checkpoint = Checkpoint(origin, int(size), a2b_base64(root))
        _require(origin and checkpoint.size >= 0, "an origin, and a size of 0 or more")
        _require(len(checkpoint.root) == HASH_BYTES and format_checkpoint(checkpoint) == text)
        return checkpoint


class TlogProof(NamedTuple):
    """An inclusion proof, and the signed checkpoint that it leads to."""

    leaf_index: int
    hashes: tuple[bytes, ...]
    note: SignedNote


def format_proof(proof: TlogProof) -> bytes:
    """Return the bytes of a `.tlog-proof`."""
    head = f"c2sp.org/tlog-proof@v1\nindex {proof.leaf_index}\n".encode()
    hashes = b"".join(b64encode(each) + b"\n" for each in proof.hashes)
    return head + hashes + b"\n" + format_note(proof.note)


def parse_proof(proof_bytes: bytes) -> TlogProof:
    """Return what a `.tlog-proof` says; its checkpoint is one, but not yet verified."""
    with _parsing(proof_bytes):
        head, _, note = proof_bytes.partition(b"\n\n")
        _, index, *hashes = head.decode().split("\n")
        proof = TlogProof(int(index[6:]), tuple(map(a2b_base64, hashes)), parse_note(note))
        parse_checkpoint(proof.note.text)
        _require(proof.leaf_index >= 0 and format_proof(proof) == proof_bytes)
        return proof


class Bundle(NamedTuple):
    """All that proves one event; `opened` is its salt and payload, None where withheld."""

    envelope: bytes
    opened: tuple[bytes, bytes] | None
    proof: TlogProof


def format_bundle(bundle: Bundle) -> bytes:
    """Return the bytes of a bundle."""
    salt, payload = bundle.opened or (b"", b"null")
    salt_json = json.dumps(salt.hex() if bundle.opened else None).encode()
    proof = json.dumps(format_proof(bundle.proof).decode(), ensure_ascii=False).encode()
    pairs = zip(_MEMBERS, (bundle.envelope, salt_json, payload, proof), strict=True)
    return b"".join(name.encode() + value for name, value in pairs) + b"}\n"


def parse_bundle(bundle_bytes: bytes) -> Bundle:
    """Return the parts of a bundle; nothing of what they say is checked yet."""
    with _parsing(bundle_bytes):
        text, end, raw, values = bundle_bytes.decode(), 0, [], []
        for name in _MEMBERS:
            start = end + len(name)
            value, end = _JSON.raw_decode(text, start)
            values.append(value)
            raw.append(text[start:end].encode())
        _require(tuple(map(type, values)) in _MEMBER_TYPES, "a member of another type")
        opened = None if values[1] is None else (bytes.fromhex(values[1]), raw[2])
        _require(opened is None or len(opened[0]) == HASH_BYTES, "a salt has 32 bytes")
        bundle = Bundle(raw[0], opened, parse_proof(values[3].encode()))
        _require(format_bundle(bundle) == bundle_bytes)
        return bundle


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    _require(len(members) == len(pairs), "a repeated key")
    return members


_JSON = json.JSONDecoder(object_pairs_hook=_without_repeats)


def check_bundle(bundle: Bundle, keys: Iterable[VerifierKey]) -> tuple[VerifierKey, ...]:
    """Return the keys, of the trusted ones, that signed a bundle; raise the first ProofError."""
    leaf, (index, hashes, note) = bundle.envelope, bundle.proof
    signers = verify_note(note, keys)
    origin, size, root = parse_checkpoint(note.text)
    with _parsing(leaf):
        _require(leaf.startswith(b'{"v":1,'), "not an envelope of version 1")
        envelope = _JSON.decode(leaf.decode())
    if origin.rpartition("/")[2] != envelope.get("log"):
        raise OtherLogError(origin, envelope.get("log"))
    check_inclusion(leaf_hash(leaf), index=index, size=size, proof=hashes, root=root)
    commitment = envelope.get("commitment")
    if bundle.opened and hashlib.sha256(b"".join(bundle.opened)).hexdigest() != commitment:
        raise CommitmentError(commitment)
    return signers


def main(arguments: Sequence[str] | None = None) -> None:
    """Check a bundle. Exits with 1 if it does not hold, with 2 if nobody could look."""
    import argparse

    parser = argparse.ArgumentParser(prog="proof.py", description="Check the proof of one event.")
    parser.add_argument("command", choices=["check"])
    parser.add_argument("file", type=Path, help="a bundle")
    parser.add_argument("--key", type=parse_vkey, action="append", required=True, help="a vkey")
    given = parser.parse_args(arguments)
    try:
        bundle = parse_bundle(given.file.read_bytes())
        signers = check_bundle(bundle, given.key)
    except (OSError, NoCryptographyError) as error:
        parser.exit(2, f"cannot look: {error}\n")
    except ProofError as error:
        parser.exit(1, f"not proven: {type(error).__name__}: {error}\n")
    origin, size, root = parse_checkpoint(bundle.proof.note.text)
    proven = f"the event at position {bundle.proof.leaf_index + 1} is in the log"
    payload = bundle.opened[1].decode() if bundle.opened else "withheld"
    signed_by = ", ".join(map(str, signers))
    said = (proven, origin, str(size), root.hex(), signed_by, bundle.envelope.decode(), payload)
    for name, text in zip(_SAID, said, strict=True):
        shown = re.sub("[^ -~]", lambda found: ascii(found[0])[1:-1], text)
        sys.stdout.write(f"{name}: {shown}\n")


if __name__ == "__main__":
    main()
