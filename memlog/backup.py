"""Back up a log while it is written, and restore it, after looking whether it is good and recent.

A backup is a store in one SQLite file, whichever engine the log is on: it can be opened, verified
and searched as it is. Of an SQLite log it is the engine's own online copy, of one in PostgreSQL
what `memlog.copying` makes. It appears under its name when it is whole and verified.

A restored store that is older than what others have seen forks the log: positions that were handed
out, followed, signed or indexed would be given to other events. So a restore is refused where a
checkpoint, a position or a search index shows that the log was longer.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import msgspec

from memlog import codec
from memlog import log as logs
from memlog.copying import Copied, copy_log
from memlog.errors import (
    CorruptStoreError,
    InvalidRequestError,
    ReadOnlyError,
    StoreFullError,
    StoreNotFoundError,
)
from memlog.searching import index_dir
from memlog.settings import Settings
from memlog.store import faults, files
from memlog.store.connecting import open_connection
from memlog.store.location import check_location, index_dir_of, is_postgres, sqlite_path
from memlog.verify.opening import verify_file
from memlog.verify.report import Verification
from memlog.verify.run import Asked, verifier_keys

Progress = Callable[[int, int], None]
_BESIDE = ("", "-lock", "-wal", "-shm")
_PENDING = ("-wal", "-journal")  # Writes that the engine would put into any file of that name.
# What a file system says that knows no second name of a file, such as that of a USB stick.
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})
_INDEX = ("index",)  # Made anew where the store will be.


class BackedUp(msgspec.Struct, frozen=True, kw_only=True):
    """A backup or a restored store, verified.

    Attributes:
        log_id: the log.
        target: the new store.
        events: number of its events.
        root: of the Merkle tree over them, hex.
    """

    log_id: str
    target: str
    events: int
    root: str


class _Cursor(msgspec.Struct):
    """How far a search index got."""

    seq: int = 0
    event_id: str = ""


class _Manifest(msgspec.Struct):
    """What a search index says of itself; the rest of it does not matter here."""

    stream: str
    cursor: _Cursor


def back_up(
    source: str | os.PathLike[str],
    path: Path,
    *,
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> BackedUp:
    """Write a log as it is at this moment into a new file; writers go on meanwhile.

    Args:
        source: as for `memlog.open`.
        path: the new file; an existing one is refused.
        settings: say how long to wait for a lock.
        progress: called with (events done, events to do) while the backup is verified.

    Raises:
        InvalidRequestError: there is something at `path`.
        CorruptStoreError: the log is damaged, so that its copy does not verify.
        TargetError, RetryError, DamageError: as for `memlog.open`.
    """
    chosen = settings or Settings()
    of_file = None if is_postgres(source) else _existing(source)
    with _beside(_new_place(path), source=of_file or path) as beside:
        if of_file is None:
            copy_log(source, beside, settings=chosen)
        else:
            _copy_file(of_file, beside, chosen)
        found = _verified(beside, chosen, {}, (), progress)
        _publish(beside, path)
    return _backed_up(found, str(path))


def restore(  # noqa: D417  # `progress` is that of `back_up`
    path: Path,
    target: str | os.PathLike[str],
    *,
    checkpoints: Mapping[str, bytes] | None = None,
    keys: Sequence[str] = (),
    position: int = 0,
    allow_older: bool = False,
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> BackedUp:
    """Make a store from a backup, if the backup verifies and nothing shows that the log was longer.

    Args:
        path: the backup; not changed.
        target: as for `memlog.open`: a file that does not exist, or a PostgreSQL schema without
            events.
        checkpoints: signed checkpoints that were kept elsewhere, by name; the backup must reach and
            contain each.
        keys: vkeys, one of which must have signed each of those.
        position: one that a follower, a client or another copy has seen; the backup must reach it.
        allow_older: restore it although a checkpoint, the position or a search index is ahead; what
            was written since is lost, and search indexes make themselves anew.
        settings: for the new store.

    Raises:
        InvalidRequestError: the log was longer once, or there is a store at `target` already.
        CorruptStoreError: the backup is damaged, or is not what a checkpoint says.
    """
    chosen, path = settings or Settings(), _existing(path)
    anchors = {} if allow_older else dict(checkpoints or {})
    found = _verified(path, chosen, anchors, keys, progress)
    if not allow_older:
        if position > found.events:
            raise _older(path, found.events, f"position {position} was seen")
        _check_indexes(path, target, chosen, found)
    if is_postgres(target):
        copied = _restore_into_database(path, str(target), chosen)
        return _backed_up(found, copied.target)
    place = _new_place(_file(target))
    with _beside(place, source=path) as beside:
        _copy_file(path, beside, chosen)
        _publish(beside, place)
    return _backed_up(found, str(target))


def _restore_into_database(path: Path, target: str, settings: Settings) -> Copied:
    with logs.open(target, settings=settings) as log:
        if log.position():
            rule = "it holds events; name an empty schema"
            raise InvalidRequestError("target", log.target, rule)
    return copy_log(path, target, settings=settings)


def _backed_up(found: Verification, target: str) -> BackedUp:
    assert found.log_id is not None
    assert found.root is not None
    return BackedUp(log_id=found.log_id, target=target, events=found.events, root=found.root)


# --- Checks


def _older(path: Path, events: int, detail: str) -> InvalidRequestError:
    rule = f"it ends at position {events}, but {detail}; use a newer backup, or allow an older one"
    return InvalidRequestError("backup", str(path), rule)


def _verified(
    path: Path,
    settings: Settings,
    checkpoints: Mapping[str, bytes],
    keys: Sequence[str],
    progress: Progress | None,
) -> Verification:
    asked = Asked(
        target=str(path),
        skip=_INDEX,
        saved=checkpoints,
        keys=verifier_keys(keys),
        progress=progress,
    )
    found = verify_file(path, settings=settings, asked=asked)
    if found.ok:
        return found
    failed = [*found.failed, *(each for each in found.checks if each.outcome == "unreadable")]
    if [check.name for check in failed] == ["checkpoints"]:
        detail = failed[0].findings[0].detail if failed[0].findings else "a checkpoint differs"
        raise _older(path, found.events, detail)
    first = found.first
    detail = first.detail if first is not None else f"{failed[0].name} cannot be looked at"
    raise CorruptStoreError(str(path), detail)


def _check_indexes(
    path: Path, target: str | os.PathLike[str], settings: Settings, found: Verification
) -> None:
    """Look whether a search index at the target has seen more than the backup holds."""
    assert found.log_id is not None
    place = None if is_postgres(target) else index_dir_of(_file(target))
    directory = index_dir(settings, place)
    if directory is None:
        return
    with logs.open(path, settings=settings, read_only=True, create=False) as log:
        for manifest in _manifests(directory / found.log_id):
            cursor, scope = manifest.cursor, manifest.stream
            rows = log._store.stream_rows(  # noqa: SLF001  # an edge of ours
                scope, after=cursor.seq - 1, up_to=cursor.seq
            )
            row = next(iter(rows), None)
            if row is None or codec.decode_envelope(row.state).event_id != cursor.event_id:
                detail = (
                    f"a search index in {str(directory)!r} has seen seq {cursor.seq} of a scope"
                )
                raise _older(path, found.events, detail)


def _manifests(directory: Path) -> Iterator[_Manifest]:
    for path in sorted(directory.glob("*/manifest.json")):
        with suppress(OSError, msgspec.MsgspecError):  # A damaged index proves nothing.
            body = path.read_bytes().partition(b"\n")[0]  # A line with an HMAC follows.
            manifest = msgspec.json.decode(body, type=_Manifest)
            if manifest.cursor.seq:
                yield manifest


# --- Files


def _file(target: str | os.PathLike[str]) -> Path:
    path = sqlite_path(target)
    if path is None:
        raise InvalidRequestError("target", os.fspath(target), "name a file; memory would be gone")
    return path


def _existing(source: str | os.PathLike[str]) -> Path:
    path = _file(source)
    if not path.exists():
        raise StoreNotFoundError(str(path))
    return path


def _new_place(path: Path) -> Path:
    place = _file(path)
    with files.file_errors(place):
        if place.exists():
            rule = "there is a file already; name a new one, or move it away"
            raise InvalidRequestError("target", str(place), rule)
        check_location(place)
        for end in _PENDING:
            pending = place.with_name(f"{place.name}{end}")
            if pending.exists() and pending.stat().st_size:
                rule = "it holds writes of a store that was there before; move it away as well"
                raise InvalidRequestError("target", str(pending), rule)
    return place


@contextmanager
def _beside(place: Path, *, source: Path) -> Iterator[Path]:
    """Give a hidden name in the same directory; leave nothing under it, and name it in no error."""
    beside = place.with_name(f".{place.name[:100]}-{uuid.uuid4()}")
    try:
        yield beside
    except (CorruptStoreError, ReadOnlyError, StoreFullError) as error:
        if not error.target.startswith(str(beside)):
            raise
        # A copy is damaged where its source is.
        named = source if isinstance(error, CorruptStoreError) else place
        raise type(error)(str(named), *error.args[1:]) from error
    finally:
        for end in _BESIDE:
            with suppress(OSError):  # It is not there, or the medium cannot be written at all.
                beside.with_name(f"{beside.name}{end}").unlink()


def _copy_file(source: Path, copy: Path, settings: Settings) -> None:
    """Copy a store by the engine's own means: one consistent moment, whoever writes."""
    with files.file_errors(copy):
        files.make(copy)
    files.holds_log(source, timeout_s=settings.lock_timeout_s)
    name = files.uri(source, read_only=True, timeout_s=settings.lock_timeout_s)
    target = files.uri(copy, read_only=False, timeout_s=settings.lock_timeout_s)
    timeout_s = settings.lock_timeout_s
    try:
        with (
            closing(open_connection(name, timeout_s=timeout_s, read_only=True)) as reading,
            closing(open_connection(target, timeout_s=timeout_s, read_only=True)) as writing,
        ):
            reading.backup(writing)
    except sqlite3.Error as error:
        raise faults.translate(error, target=str(copy), timeout_s=timeout_s) from error


def _publish(beside: Path, place: Path) -> None:
    """Give a whole and durable file its name, never over one that came meanwhile."""
    with files.file_errors(place):
        with beside.open("rb+") as written:
            os.fsync(written.fileno())
        try:
            _name(beside, place)
        except FileExistsError:
            rule = "a file came there meanwhile; name a new one"
            raise InvalidRequestError("target", str(place), rule) from None
    files.sync_directory(place)


def _name(beside: Path, place: Path) -> None:
    try:
        os.link(beside, place)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        place.touch(mode=0o600, exist_ok=False)  # Nobody else's from here on.
        beside.replace(place)
