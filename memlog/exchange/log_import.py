"""Read a log's file into a new store, or into a copy of the same log; see `logfile`.

Nothing of another log ever gets into a log: the events are of one log id, and so is the store. What
is read is checked line by line before anybody can see it: a new store is made beside its place and
renamed when all of it held, a copy grows by one transaction.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from memlog import codec
from memlog import log as logs
from memlog.decide import violations
from memlog.errors import DamageError, InvalidRequestError, format_error
from memlog.events import Event
from memlog.exchange.logfile import (
    LOG_FORMAT,
    Lines,
    LogEnd,
    LogHead,
    LogLine,
    Progress,
    check_checkpoint,
    hash_of,
)
from memlog.log import Log
from memlog.proof import VerifierKey, leaf_hash
from memlog.settings import Settings
from memlog.step import append
from memlog.store.files import sync_directory
from memlog.store.location import is_postgres, sqlite_path
from projections import tree
from projections.notes.reader import live_set
from projections.notes.writer import Writer

if TYPE_CHECKING:
    from memlog.store.transaction import Transaction

_BATCH_EVENTS = 500


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """What an import of a log did.

    Attributes:
        log_id: the log.
        created: a new store was made.
        events: how many events were added.
        head: position of the last event by now.
        root: of the Merkle tree over all events, hex.
        signed: a key of the reader's signed this very root.
    """

    log_id: str
    created: bool
    events: int
    head: int
    root: str
    signed: bool


def import_log(
    path: Path,
    target: str | os.PathLike[str],
    *,
    settings: Settings | None = None,
    keys: Iterable[VerifierKey] = (),
    progress: Progress | None = None,
) -> Imported:
    """Read a log's file into the store at a place.

    Args:
        path: the file.
        target: as for `memlog.open`: a store that does not exist yet (on PostgreSQL: that is
            empty), or a copy of the same log whose events begin as the file's do, or end where they
            begin.
        settings: for the store.
        keys: one of them must have signed the file's checkpoint, if any are given.
        progress: called with (bytes read, bytes to read).

    Raises:
        FileRefusedError: the file is not what an export wrote; names the line. Nothing came in.
        InvalidRequestError: the store holds another log, or ends before the file begins.
        TargetError, RetryError, DamageError: as for `memlog.open` and a write.
        OSError: a file cannot be read or written.
    """
    with path.open("rb") as opened:
        lines = Lines(opened, file=path.name)
        reading = _Reading(lines, list(keys), total=path.stat().st_size, progress=progress)
        if is_postgres(target):
            return _into_database(reading, str(target), settings)
        place = sqlite_path(target)
        if place is None:
            raise InvalidRequestError("target", str(target), "name a file; memory would be gone")
        if place.exists():
            with logs.open(place, settings=settings, create=False) as log:
                return reading.into(log, created=False)
        if reading.head.after:
            rule = f"{path.name} continues a log at position {reading.head.after}; there is no copy"
            raise InvalidRequestError("target", str(target), f"{rule} here to continue")
        return _new(reading, place, settings)


def _into_database(reading: _Reading, target: str, settings: Settings | None) -> Imported:
    """Read into a database, which cannot be renamed: an empty log takes the id while it lasts."""
    with logs.open(target, settings=settings) as log:
        own, is_new = log.log_id, log.position() == 0 and not reading.head.after
        if is_new:
            _adopt(log, reading.head.log)
    try:
        with logs.open(target, settings=settings, create=False) as log:
            return reading.into(log, created=is_new)
    except BaseException:
        if is_new:
            with logs.open(target, settings=settings, create=False) as log:
                _adopt(log, own)
        raise


def _adopt(log: Log, log_id: str) -> None:
    """Give a log without events the id of the one that it will be a copy of."""
    with log._store.transaction() as write:  # noqa: SLF001  # an edge of ours
        write.cursor.execute("UPDATE log SET log_id = ? WHERE position = 0", (log_id,))


def _new(reading: _Reading, target: Path, settings: Settings | None) -> Imported:
    """Make a store beside its place, and rename it when all of it held."""
    beside = target.with_name(f".{target.name[:100]}-{uuid.uuid4()}")
    try:
        with logs.open(beside, settings=settings) as log:
            _adopt(log, reading.head.log)
        with logs.open(beside, settings=settings, create=False) as log:
            imported = reading.into(log, created=True)
        assert not beside.with_name(f"{beside.name}-wal").exists(), "the last handle empties it"
        os.link(beside, target)  # Never over a store that came meanwhile.
        sync_directory(target)
    finally:
        for end in ("", "-lock", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                beside.with_name(f"{beside.name}{end}").unlink()
    return imported


class _Reading:
    """One file while it is read."""

    def __init__(
        self,
        lines: Lines,
        keys: list[VerifierKey],
        *,
        total: int,
        progress: Progress | None,
    ) -> None:
        self._lines, self._keys = lines, keys
        self._total, self._progress = total, progress
        self.head = lines.head(LogHead)
        if self.head.format != LOG_FORMAT:
            raise lines.refused(f"its format is {self.head.format!a}, not {LOG_FORMAT}")
        if self.head.after < 0:
            raise lines.refused("it begins before the first event")
        self._root = hash_of(self.head.root, lines)

    def into(self, log: Log, *, created: bool) -> Imported:
        """Add the events that a store of the same log lacks; all of them, or none."""
        head = self.head
        if log.log_id != head.log:
            rule = (
                f"it holds the log {log.log_id}, the file is of {head.log}; a log goes into a new "
                "store only, or into a copy of itself"
            )
            raise InvalidRequestError("target", log.target, rule)
        with log._store.transaction() as transaction:  # noqa: SLF001  # an edge of ours
            before = transaction.head
            if before < head.after:
                rule = f"it ends at position {before}, the file begins behind {head.after}"
                raise InvalidRequestError("target", log.target, rule)
            if tree.root(transaction.cursor, size=head.after) != self._root:
                raise self._lines.refused("up to where it begins, this store has another root")
            end = self._events(transaction, log.log_id)
            root = tree.root(transaction.cursor, size=end.head)
            if end.root != root.hex():
                raise self._lines.refused(f"its root is {end.root}, its events give {root.hex()}")
            signed = check_checkpoint(
                end.checkpoint,
                log_id=log.log_id,
                size=end.head,
                root=root,
                keys=self._keys,
                lines=self._lines,
            )
            return Imported(
                log_id=log.log_id,
                created=created,
                events=transaction.head - before,
                head=transaction.head,
                root=tree.root(transaction.cursor, size=transaction.head).hex(),
                signed=signed,
            )

    def _events(self, transaction: Transaction, log_id: str) -> LogEnd:
        adding = _Adding(transaction, self._lines, log_id)
        position = self.head.after
        for line in self._lines.rest(LogLine, LogEnd):
            if isinstance(line, LogEnd):
                adding.flush()
                if (line.events, line.head) != (position - self.head.after, position):
                    told = f"{line.events} events up to position {line.head}"
                    found = f"{position - self.head.after} up to {position}"
                    raise self._lines.refused(f"it tells of {told}, there are {found}")
                return line
            position += 1
            if line.position != position:
                raise self._lines.refused(f"its position is {line.position}, not {position}")
            adding.add(position, bytes(line.state), leaf=line.leaf)
            if self._progress is not None and position % _BATCH_EVENTS == 0:
                self._progress(self._lines.bytes, self._total)
        raise AssertionError  # `rest` raises before it ends without an end.


def _leaf(state: bytes) -> str:
    return leaf_hash(codec.split(state).envelope).hex()


class _Adding:
    """Checks events one by one, and appends them in batches."""

    def __init__(self, transaction: Transaction, lines: Lines, log_id: str) -> None:
        self._transaction, self._lines, self._log_id = transaction, lines, log_id
        self._start = transaction.head
        self._recorded_at = ""
        if self._start:
            state = transaction.state_at(self._start)
            self._recorded_at = codec.decode_envelope(state, position=self._start).recorded_at
        self._events: list[Event] = []
        self._salts: list[bytes] = []
        self._writers: dict[str, Writer] = {}

    def add(self, position: int, state: bytes, *, leaf: str) -> None:
        """Take the next event; one that the store has must be the same."""
        if position <= self._start:
            if self._transaction.state_at(position) != state or leaf != _leaf(state):
                raise self._lines.refused(f"the store has another event at position {position}")
            return
        event, salt = self._checked(position, state, leaf)
        writer = self._writers.get(event.stream)
        if writer is None:
            cursor = self._transaction.cursor
            writer = self._writers[event.stream] = Writer(cursor, live_set(cursor), event.stream)
        if event.seq != writer.counters.last_seq + 1:
            expected = writer.counters.last_seq + 1
            raise self._lines.refused(f"its seq is {event.seq}, not {expected}")
        broken = violations(writer, event.payload)
        if broken:
            raise self._lines.refused(f"it breaks a rule of the log: {broken[0]}")
        writer.apply(event)
        self._recorded_at = event.recorded_at_text
        self._events.append(event)
        self._salts.append(salt)
        if len(self._events) >= _BATCH_EVENTS:
            self.flush()

    def _checked(self, position: int, state: bytes, leaf: str) -> tuple[Event, bytes]:
        try:
            event = codec.decode(state, position=position)
            envelope = codec.decode_envelope(state, position=position)
            parts = codec.split(state, position=position)
            codec.check_commitment(parts, envelope, position=position)
        except DamageError as error:
            raise self._lines.refused(format_error(error)) from None
        if leaf_hash(parts.envelope).hex() != leaf:
            raise self._lines.refused(f"the event at position {position} is not the one exported")
        if envelope.log != self._log_id:
            raise self._lines.refused(f"the event is of the log {envelope.log}")
        if event.recorded_at_text < self._recorded_at:
            raise self._lines.refused("it was recorded before the event above it")
        return event, parts.salt

    def flush(self) -> None:
        """Append what was checked. Its bytes come out as they went in: they were canonical."""
        for writer in self._writers.values():
            writer.flush()
        self._writers.clear()
        if self._events:
            append(self._transaction, self._events, self._salts)
            self._transaction.recorded_at = self._recorded_at
        self._events, self._salts = [], []
