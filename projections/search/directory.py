"""A private directory, and a signed list of what lies in it.

Whoosh unpickles what it finds and takes flipped bits for text. So nothing in the directory is used
unless the manifest names it with its size and SHA-256, and the manifest carries an HMAC-SHA256
under a key that lies in the database. What was checked is what is used: the bytes are read once,
checked, and kept. The manifest is also the commit: it is replaced atomically and holds the cursor.
"""

import contextlib
import errno
import hashlib
import hmac
import os
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Struct

MANIFEST = "manifest.json"
FORMAT = 1
"""Raised whenever the files or what is written into them change their meaning."""

_LABEL = b"memlog search index\n"
_READERS_MAX = 4
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class StoredIndexError(Exception):
    """The stored index cannot be used, for the reason given; whoever gets this rebuilds it."""

    def __init__(self, what: str | Path, reason: str) -> None:
        super().__init__(what, reason)
        self.what, self.reason = what, reason

    def __str__(self) -> str:
        return f"{self.what} {self.reason}"


class Cursor(Struct, frozen=True):
    """The last event of a scope that an index has seen; seq 0 and no id before the first."""

    seq: int = 0
    event_id: str = ""


class FileEntry(Struct, frozen=True):
    """One file of a stored index; `sha256` is lower-case hex."""

    size: int
    sha256: str


class Manifest(Struct, frozen=True, forbid_unknown_fields=True):
    """What a committed index consists of, for which scope of which log, and how far it got."""

    format: int
    log: str
    stream: str
    cursor: Cursor
    toc: str
    files: dict[str, FileEntry]


def private_path(index_dir: Path, *, log_id: str, stream: str) -> Path:
    """Return the directory of one scope. Neither part can leave `index_dir`."""
    log = log_id if log_id.replace("-", "").isalnum() and log_id.isascii() else _hex(log_id)
    return index_dir / log / _hex(stream)


def _hex(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def make_private(path: Path) -> None:
    """Create the scope's and the log's directory for this user only.

    Raises:
        OSError: The directory cannot be made, or belongs to someone else.
    """
    path.parent.parent.mkdir(parents=True, exist_ok=True)
    for directory in (path.parent, path):
        with contextlib.suppress(FileExistsError):
            directory.mkdir(mode=0o700)
        with _opened(directory) as descriptor:
            status = os.fstat(descriptor)
            if status.st_uid != os.geteuid():
                raise PermissionError(errno.EPERM, "belongs to another user", str(directory))
            if status.st_mode & _OTHERS_WRITE:
                os.fchmod(descriptor, 0o700)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _check_private(descriptor: int, path: Path) -> None:
    status = os.fstat(descriptor)
    if status.st_uid != os.geteuid() or status.st_mode & _OTHERS_WRITE:
        raise StoredIndexError(path, "can be written by others")


def _read(name: str, *, directory: int) -> bytes:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(name, flags, dir_fd=directory)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise StoredIndexError(name, "is not a file")
        return file.read()


def _signature(body: bytes, *, key: bytes) -> bytes:
    return hmac.digest(key, _LABEL + body, "sha256").hex().encode()


def signed(manifest: Manifest, *, key: bytes) -> bytes:
    """Return the bytes of a manifest file: one line of JSON, one line of HMAC in hex."""
    body = msgspec.json.encode(manifest)
    return body + b"\n" + _signature(body, key=key) + b"\n"


def verified(content: bytes, *, key: bytes) -> Manifest:
    """Return what `signed` was given.

    Raises:
        StoredIndexError: The key did not sign these bytes, or their format is not ours.
    """
    body, _, rest = content.partition(b"\n")
    if not hmac.compare_digest(rest, _signature(body, key=key) + b"\n"):
        raise StoredIndexError(MANIFEST, "is not signed by this database")
    try:
        manifest = msgspec.json.decode(body, type=Manifest)
    except msgspec.MsgspecError as error:
        raise StoredIndexError(MANIFEST, f"has another form: {error}") from error
    if manifest.format != FORMAT:
        raise StoredIndexError(MANIFEST, f"has format {manifest.format}, not {FORMAT}")
    return manifest


def read_manifest(path: Path) -> bytes | None:
    """Return the manifest's bytes, unchecked; None when there is none.

    Raises:
        StoredIndexError: Others can write to the directory, or it cannot be read.
    """
    try:
        with _opened(path.parent) as log, _opened(path) as scope:
            _check_private(log, path.parent)
            _check_private(scope, path)
            return _read(MANIFEST, directory=scope)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoredIndexError(path, f"cannot be read: {error.strerror}") from error


def read_files(path: Path, manifest: Manifest) -> dict[str, bytes]:
    """Return the content of every file of the manifest, checked.

    Costs 1.3 ms a megabyte, less with a second processor: reading and hashing let others run.

    Raises:
        StoredIndexError: A file is missing or is not what the manifest says.
    """
    from concurrent.futures import ThreadPoolExecutor

    try:
        with _opened(path) as directory, ThreadPoolExecutor(_READERS_MAX) as readers:
            read = partial(_read_checked, directory=directory)
            contents = readers.map(read, manifest.files, manifest.files.values())
            return dict(zip(manifest.files, contents, strict=True))
    except OSError as error:
        raise StoredIndexError(error.filename, f"cannot be read: {error.strerror}") from error


def _read_checked(name: str, entry: FileEntry, *, directory: int) -> bytes:
    content = _read(name, directory=directory)
    if len(content) != entry.size or entry_of(content) != entry:
        raise StoredIndexError(name, "is damaged")
    return content


def entry_of(content: bytes) -> FileEntry:
    """Return what a manifest says of a file with this content."""
    return FileEntry(len(content), hashlib.sha256(content).hexdigest())
