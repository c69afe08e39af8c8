"""Where a store is: what a target names, and whether that place can hold a log."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from memlog.errors import InvalidRequestError, UnsafeLocationError

MEMORY = ":memory:"

# SQLite's locks and shared memory do not work across machines (sqlite.org/howtocorrupt.html, 2.1).
_NETWORK_FILE_SYSTEMS = frozenset(
    {
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "davfs",
        "fuse.ceph-fuse",
        "fuse.gcsfuse",
        "fuse.glusterfs",
        "fuse.rclone",
        "fuse.s3fs",
        "fuse.sshfs",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "smb3",
        "smbfs",
    }
)
# What SQLite and memlog call the files beside a store: whoever puts something else there loses it.
_BESIDE_A_STORE = ("-lock", "-wal", "-shm", "-journal")
_LIBPQ_KEYWORDS = re.compile(
    r"\s*(?:host|hostaddr|port|dbname|user|password|passfile|service|sslmode)\s*="
)
_OCTAL_ESCAPE = re.compile(r"\\([0-7]{3})")


def is_postgres(target: object) -> bool:
    """Tell whether a target is the URL of a PostgreSQL database."""
    return isinstance(target, str) and target.startswith(("postgresql://", "postgres://"))


def sqlite_path(target: object) -> Path | None:
    """Return the resolved file that a target names, or None for `:memory:`.

    A target is a path, `sqlite:///relative`, `sqlite:////absolute` or `:memory:`.

    Raises:
        InvalidRequestError: it is a URL of another kind, empty, or no text.
    """
    name: object = os.fspath(target) if isinstance(target, str | os.PathLike) else None
    if not isinstance(name, str):
        raise InvalidRequestError("target", target, "give a path as text, or a pathlib.Path")
    if name in (MEMORY, "sqlite:///:memory:"):
        return None
    if name.startswith("sqlite:"):
        name = _url_path(name)
    elif "://" in name:  # A password may follow.
        shown = f"{name.partition('://')[0]}://***"
        rule = "give a path, sqlite:///PATH, postgresql://… or :memory:"
        raise InvalidRequestError("target", shown, rule)
    elif _LIBPQ_KEYWORDS.match(name):  # A password may follow.
        rule = "write it as postgresql://USER@HOST/DATABASE, or a file of that name as ./NAME"
        raise InvalidRequestError("target", f"{name.partition('=')[0]}=***", rule)
    if not name.strip() or "\0" in name:
        raise InvalidRequestError("target", target, "name a file")
    try:
        return Path(os.path.realpath(name))
    except UnicodeEncodeError:
        raise InvalidRequestError("target", target, "name a file") from None


def _url_path(url: str) -> str:
    parts = urlsplit(url)
    if parts.netloc or parts.query or parts.fragment or not parts.path.startswith("/"):
        raise InvalidRequestError("target", url, "write it as sqlite:///PATH")
    return unquote(parts.path[1:])


def index_dir_of(path: Path) -> Path:
    """Return where the search indexes of the store in a file lie, unless the settings say."""
    return path.with_name(f"{path.name}-index")


def is_beside_a_store(path: Path) -> bool:
    """Tell whether a file of this name is part of the store in another file."""
    return path.name.endswith(_BESIDE_A_STORE)


def check_location(path: Path) -> None:
    """Refuse a place that cannot hold a log.

    Raises:
        UnsafeLocationError: there is no such directory, something that is no file stands in the
            file's place, its name is that of a file beside another store, or it lies on a network
            file system.
        OSError: the place cannot be looked at.
    """
    if is_beside_a_store(path):
        ends = ", ".join(_BESIDE_A_STORE)
        why = f"names that end in {ends} are those of files beside a store; choose another"
        raise UnsafeLocationError(str(path), why)
    if path.is_dir():
        raise UnsafeLocationError(str(path), "it is a directory; name a file in it")
    if path.exists() and not path.is_file():  # Reading a pipe or a terminal would wait for ever.
        raise UnsafeLocationError(str(path), "it is a device or a pipe; name a file")
    if not path.parent.is_dir():
        raise UnsafeLocationError(str(path), f"there is no directory {str(path.parent)!r}; make it")
    kind = file_system(path.parent)
    if kind in _NETWORK_FILE_SYSTEMS:
        why = f"{kind} is a network file system, whose locks lose writes; use a local disk"
        raise UnsafeLocationError(str(path), why)


def file_system(directory: Path, *, mounts: Path = Path("/proc/self/mountinfo")) -> str | None:
    """Return the type of the file system that holds a directory; None where Linux does not tell.

    See proc_pid_mountinfo(5): field 5 is the mount point, its white space and backslashes in octal;
    the field after `-` is the type.
    """
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    best, kind = -1, None
    for line in lines:
        before, _, after = line.partition(" - ")
        mount_point = _OCTAL_ESCAPE.sub(lambda m: chr(int(m[1], 8)), before.split(" ")[4])
        if directory.is_relative_to(mount_point) and len(mount_point) >= best:
            best, kind = len(mount_point), after.split(" ")[0]
    return kind
