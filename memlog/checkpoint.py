"""Sign the size and root of a log, if it verifies and continues what was signed before.

The last checkpoint of a key is kept twice: in the store, and in a file beside the key, named
`<key file>.<log id>.checkpoint`. Somebody who puts an older or another store in place of this one
does not reach the second; both are compared with the log before anything is signed. The file is
written first, so after a crash it may be one ahead of the store, never behind it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import msgspec

from memlog.codec import decode_envelope
from memlog.errors import UnsignableError
from memlog.proof import Checkpoint, VerifierKey, format_checkpoint, format_note
from memlog.signing import SigningKey, sign_note
from memlog.store.protocol import Executor, Store
from memlog.verify import structure
from memlog.verify.anchors import Anchor, anchor, stored
from memlog.verify.events import EventChecks, Progress
from memlog.verify.expected import Expected
from memlog.verify.nodes import TreeCheck
from memlog.verify.report import Finding, Findings
from memlog.verify.run import Asked, stored_pages, verify
from memlog.verify.tables import last_seq
from projections import checkpoints, tree

_NOT_ASKED = ("index", "sections")


class Signing(msgspec.Struct, frozen=True, kw_only=True):
    """What is signed with, and where its last checkpoint is kept beside the store.

    Attributes:
        key: signs.
        key_file: where the key lies.
        full: verify the whole log again, not only what came since the last checkpoint.
        progress: called with (events done, events to do).
    """

    key: SigningKey
    key_file: Path
    full: bool = False
    progress: Progress | None = None

    def beside(self, log_id: str) -> Path:
        """Return the file that keeps the last checkpoint beside the key."""
        return self.key_file.with_name(f"{self.key_file.name}.{log_id}.checkpoint")


def origin_of(key: VerifierKey, log_id: str) -> str:
    """Return the origin of a log under a key: `<name>/<log id>`, or the name if that ends so."""
    return key.name if key.name.endswith(f"/{log_id}") else f"{key.name}/{log_id}"


def sign_checkpoint(store: Store, signing: Signing) -> bytes:
    """Return the signed checkpoint of the log as it is; see `Log.checkpoint`."""
    verifier, beside = signing.key.verifier, signing.beside(store.log_id)
    with store.reading() as cursor:
        last = _last(cursor, store, beside, verifier)
        checkpoint = _verified(cursor, store, signing, None if last is None else last[0])
    if last is not None and last[0] == checkpoint:
        note = last[1]
    else:
        text = format_checkpoint(checkpoint)
        note = format_note(sign_note(text, verifier=verifier, sign=signing.key.sign))
    with store.transaction() as transaction:
        kept = checkpoints.last(transaction.cursor, vkey=str(verifier))
        if kept is not None and kept.size > checkpoint.size:
            _refuse(store, f"another checkpoint, of size {kept.size}, was signed meanwhile")
        _write(beside, note)
        if kept is None or kept.note != note:
            size = checkpoint.size
            checkpoints.add(transaction.cursor, vkey=str(verifier), size=size, note=note)
    return note


def _refuse(store: Store, why: str) -> NoReturn:
    raise UnsignableError(store.target, why)


# --- What was signed before


def _last(
    cursor: Executor, store: Store, beside: Path, verifier: VerifierKey
) -> tuple[Checkpoint, bytes] | None:
    """Return the last checkpoint of a key, after holding both copies of it against the log."""
    found: list[tuple[Anchor, bytes]] = []
    kept = checkpoints.last(cursor, vkey=str(verifier))
    if kept is not None:
        found.append((stored([kept])[0], kept.note))
    with suppress(FileNotFoundError):
        note = beside.read_bytes()
        found.append(
            (anchor(f"the checkpoint beside the key, {beside.name}", note, [verifier]), note)
        )
    checked = [(_beginning(cursor, store, each, verifier), note) for each, note in found]
    return max(checked, key=lambda each: each[0].size, default=None)


def _beginning(cursor: Executor, store: Store, held: Anchor, verifier: VerifierKey) -> Checkpoint:
    """Return what a checkpoint says, if it is a beginning of the log."""
    checkpoint = held.checkpoint
    if held.fault is not None or checkpoint is None:
        _refuse(store, f"{held.name}: {held.fault}")
    if checkpoint.origin != origin_of(verifier, store.log_id):
        _refuse(store, f"{held.name} is of another log, {checkpoint.origin!a}")
    events = structure.highest_position(cursor)
    if checkpoint.size > events:
        why = f"{held.name} says {checkpoint.size} events, the log has {events}: an older copy"
        _refuse(store, why)
    if tree.root(cursor, size=checkpoint.size) != checkpoint.root:
        why = f"the first {checkpoint.size} events are not those of {held.name}: another history"
        _refuse(store, why)
    return checkpoint


# --- What is signed now


def _verified(
    cursor: Executor, store: Store, signing: Signing, last: Checkpoint | None
) -> Checkpoint:
    """Return the checkpoint of a log that verifies."""
    if signing.full or last is None:
        asked = Asked(target=store.target, skip=_NOT_ASKED, progress=signing.progress)
        found = verify(cursor, asked)
        _require_none(store, found.first)
        assert found.root is not None
        size, root = found.events, bytes.fromhex(found.root)
    else:
        size, root = _verified_since(cursor, store, signing, last.size)
    return Checkpoint(origin_of(signing.key.verifier, store.log_id), size, root)


def _require_none(store: Store, first: Finding | None) -> None:
    if first is not None:
        where = "" if first.position is None else f" at position {first.position}"
        _refuse(store, f"it does not verify{where} ({first.check}: {first.detail})")


def _verified_since(
    cursor: Executor, store: Store, signing: Signing, start: int
) -> tuple[int, bytes]:
    """Check the events after a size whose root is known; return the size and root now."""
    findings, expected = Findings(), Expected()
    checks = EventChecks(
        findings,
        expected,
        TreeCheck(cursor, findings, start=start),
        log_id=store.log_id,
        folds=False,
        start=start,
        start_time=_time_at(cursor, start),
        last_seq_of=lambda stream: last_seq(cursor, stream, up_to=start),
    )
    total = structure.highest_position(cursor) - start
    checks.run(stored_pages(cursor, after=start), total=total, progress=signing.progress)
    expected.close()
    head = structure.head(cursor, findings)
    if head is not None:
        structure.check_head(
            head, findings, last_position=checks.last_position, last_time=checks.last_time
        )
    _require_none(store, findings.first)
    root = checks.tree.root
    assert root is not None
    return start + checks.count, root


def _time_at(cursor: Executor, position: int) -> str:
    """Return when an event was recorded; "" for position 0."""
    page = next(stored_pages(cursor, after=position - 1), None) if position else None
    return "" if page is None else decode_envelope(page[0].state, position=position).recorded_at


def _write(path: Path, note: bytes) -> None:
    """Replace a file at once, so that a crash leaves the old content or the new, and sync it."""
    temporary = path.with_name(f"{path.name}.new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    with os.fdopen(os.open(temporary, flags, mode=0o600), "wb") as file:
        file.write(note)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
