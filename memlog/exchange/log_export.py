"""Write a log, or one scope of it, into a file that others can check; see `logfile`."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec

from memlog import codec, fields
from memlog.errors import CorruptStoreError, InvalidRequestError
from memlog.exchange.logfile import (
    FIRST_LINE_BYTES,
    LOG_FORMAT,
    SCOPE_FORMAT,
    LogEnd,
    LogHead,
    LogLine,
    Progress,
    ScopeEnd,
    ScopeHead,
    ScopeLine,
    format_of,
    written,
)
from memlog.log import Log
from memlog.note import Scope
from memlog.proof import leaf_hash
from memlog.store.location import is_beside_a_store
from memlog.store.rows import StoredRow, decoded
from projections import tree

_PROGRESS_EVENTS = 500


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    """What an export wrote.

    Attributes:
        log_id: the log.
        events: how many events.
        head: position of the last event of the log.
        root: of the Merkle tree over the log up to there, hex.
    """

    log_id: str
    events: int
    head: int
    root: str


def export_log(
    log: Log,
    path: Path,
    *,
    since: int = 0,
    checkpoint: str | None = None,
    progress: Progress | None = None,
) -> Exported:
    """Write a log's events into a file, which appears when it is whole.

    Streams; every event's bytes are checked before they are written.

    Args:
        log: the log.
        path: where to; an earlier export there is replaced, nothing else.
        since: leave out the events up to this position; the file then continues a copy that has
            them.
        checkpoint: a signed note for the log as it is now; any other is refused.
        progress: called with (events done, events to do).

    Raises:
        InvalidRequestError: `since` is beyond the head, the checkpoint is of another state, or
            there is something at the path that is no export.
        DamageError: an event is not as it was written, or the tree is another.
        OSError: the file cannot be written.
    """
    head = log.position()
    if fields.whole("since", since) > head:
        rule = f"the log ends at position {head}"
        raise InvalidRequestError("since", since, rule)
    with _replacing(path) as file:
        stack: list[bytes] = []
        for position, leaf in _leaves(log, up_to=since):
            tree.push_leaf(stack, leaf, index=position - 1)
        root = tree.fold(stack).hex()
        file.write(written(LogHead(format=LOG_FORMAT, log=log.log_id, after=since, root=root)))
        for row in log._store.rows(after=since, up_to=head):  # noqa: SLF001  # an edge of ours
            leaf = _checked_leaf(log, row)
            tree.push_leaf(stack, leaf, index=row.position - 1)
            state = msgspec.Raw(row.state)
            file.write(written(LogLine(position=row.position, leaf=leaf.hex(), state=state)))
            if progress is not None and row.position % _PROGRESS_EVENTS == 0:
                progress(row.position - since, head - since)
        root = tree.fold(stack).hex()
        _check_tree(log, head, root)
        _check_given(log, checkpoint, head=head, root=root)
        end = LogEnd(events=head - since, head=head, root=root, checkpoint=checkpoint)
        file.write(written(end))
    return Exported(log_id=log.log_id, events=head - since, head=head, root=root)


def _leaves(log: Log, *, up_to: int) -> Iterator[tuple[int, bytes]]:
    for row in log._store.rows(up_to=up_to):  # noqa: SLF001  # an edge of ours
        yield row.position, _checked_leaf(log, row)


def _checked_leaf(log: Log, row: StoredRow) -> bytes:
    """Return the leaf hash of an event whose bytes are as the format wants them."""
    decoded(row)
    envelope = codec.decode_envelope(row.state, position=row.position)
    parts = codec.split(row.state, position=row.position)
    codec.check_commitment(parts, envelope, position=row.position)
    if envelope.log != log.log_id:
        detail = f"the event at position {row.position} is of the log {envelope.log}"
        raise CorruptStoreError(log.target, detail)
    return leaf_hash(parts.envelope)


def _check_tree(log: Log, size: int, root: str) -> None:
    """Compare with the tree that the log keeps."""
    with log._store.reading() as cursor:  # noqa: SLF001  # an edge of ours
        kept = tree.root(cursor, size=size).hex()
    if kept != root:
        detail = f"its Merkle tree has the root {kept}, its events give {root}"
        raise CorruptStoreError(log.target, detail)


def _check_given(log: Log, checkpoint: str | None, *, head: int, root: str) -> None:
    if checkpoint is None:
        return
    from memlog import proof

    try:
        found = proof.parse_checkpoint(proof.parse_note(checkpoint.encode()).text)
    except proof.ProofError as error:
        raise InvalidRequestError("checkpoint", checkpoint, str(error)) from None
    ours = proof.Checkpoint(found.origin, head, bytes.fromhex(root))
    if found != ours or found.origin.rpartition("/")[2] != log.log_id:
        rule = f"it is not for this log at position {head}; sign that first"
        raise InvalidRequestError("checkpoint", checkpoint, rule)


def export_scope(
    log: Log,
    scope: Scope,
    path: Path,
    *,
    checkpoint: str | None = None,
    progress: Progress | None = None,
) -> Exported:
    """Write one scope's events into a file, each with the proof that the log holds it.

    Args:
        log: the log.
        scope: whose events.
        path: where to; an earlier export there is replaced, nothing else.
        checkpoint: a signed note for the log as it is now; any other is refused.
        progress: called with (events done, events to do).

    Raises:
        InvalidRequestError: the scope has no events, the checkpoint is of another state, or there
            is something at the path that is no export.
        DamageError: an event is not as it was written, or the tree is another.
        OSError: the file cannot be written.
    """
    store = log._store  # noqa: SLF001  # an edge of ours
    known = {each.scope: each.last_seq for each in log.scopes()}
    if scope not in known:
        raise InvalidRequestError("scope", scope.stream, "it has no events")
    size, last_seq = log.position(), known[scope]
    with store.reading() as cursor:
        root = tree.root(cursor, size=size).hex()
    _check_given(log, checkpoint, head=size, root=root)
    head = ScopeHead(format=SCOPE_FORMAT, log=log.log_id, stream=scope.stream, size=size, root=root)
    count = 0
    with _replacing(path) as file:
        file.write(written(head))
        for row in store.stream_rows(scope.stream, up_to=last_seq):
            _checked_leaf(log, row)
            with store.reading() as cursor:
                hashes = tree.inclusion(cursor, index=row.position - 1, size=size)
            steps = tuple(each.hex() for each in hashes)
            line = ScopeLine(position=row.position, state=msgspec.Raw(row.state), proof=steps)
            file.write(written(line))
            count += 1
            if progress is not None:
                progress(count, last_seq)
        file.write(written(ScopeEnd(events=count, checkpoint=checkpoint)))
    return Exported(log_id=log.log_id, events=count, head=size, root=root)


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file beside a path; it takes the path's place when the block ends well."""
    _check_place(path)
    place = Path(os.path.realpath(path))
    temporary = place.with_name(f".{place.name[:100]}-{uuid.uuid4()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        with os.fdopen(os.open(temporary, flags, 0o600), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(place)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _check_place(path: Path) -> None:
    """Refuse to replace what is no export: a store, a device, a person's file."""
    if is_beside_a_store(Path(os.path.realpath(path))):
        rule = "files of such names belong to the store beside them; choose another name"
        raise InvalidRequestError("output", str(path), rule)
    if path.exists():
        if not (path.is_file() and _is_export(path)):
            rule = "there is something else than an export at this place; name a new file"
            raise InvalidRequestError("output", str(path), rule)
    elif not Path(os.path.realpath(path)).parent.is_dir():
        raise InvalidRequestError("output", str(path), "its folder does not exist; make that first")


def _is_export(path: Path) -> bool:
    """Tell whether a file is one that an export may replace: one of its own, or an empty one."""
    with path.open("rb") as opened:
        first = opened.readline(FIRST_LINE_BYTES)
    return format_of(first) in (LOG_FORMAT, SCOPE_FORMAT) or not first
