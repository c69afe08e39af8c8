"""Read a file, or the files below a folder, without ever leaving it.

Folders are walked by descriptor and files opened with O_NOFOLLOW relative to it, so that a link
that is put there meanwhile is refused as well. What is no regular file is never opened for long: a
pipe does not block. Order is by name, so that the same folder gives the same notes anywhere.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from memlog.errors import InvalidRequestError
from memlog.exchange.items import FileRefusedError, Told

FILE_BYTES_MAX = 64 * 1024 * 1024
DEPTH_MAX = 64
OTHER_KIND = "it is of a kind that is not read; see --format"
_IN_HIDDEN = "it lies in a hidden folder; name it itself to read it"
_PIECE_BYTES = 1 << 20
_KEPT_HIDDEN = (".claude", "memory")  # Where Claude Code keeps a project's memories.


class Content(msgspec.Struct, frozen=True, kw_only=True):
    """One file that was read.

    Attributes:
        file: its path below the folder that was named, with that folder's own name before it.
        identity: its resolved path; the same file gives the same, however it is named.
        text: its content without a byte order mark.
    """

    file: str
    identity: str
    text: str


def read_file(path: Path) -> Content:
    """Return a file that was named itself.

    Raises:
        FileRefusedError: it is no text of UTF-8, or too large.
        OSError: it cannot be read.
    """
    resolved = Path(os.path.realpath(path, strict=True))
    descriptor = os.open(resolved, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    return _content(descriptor, file=resolved.name, identity=str(resolved))


Wanted = Callable[[str], bool]
"""Tells from a file's path whether it is to be read."""

Found = Content | FileRefusedError | Told


def walk(folder: Path, *, wanted: Wanted) -> Iterator[Found]:
    """Yield the files below a folder, in order of their names.

    A `FileRefusedError` is a file that cannot come in, a `Told` one that is hidden or not wanted.
    Symbolic links are refused, wherever they lead; the folder that was named may be one.

    Raises:
        OSError: the folder itself cannot be read.
        InvalidRequestError: its name is not UTF-8.
    """
    root = Path(os.path.realpath(folder, strict=True))
    if not _is_utf8(str(root)):
        raise InvalidRequestError("path", str(root), "its name is not UTF-8; rename it")
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    place = _Place(file=root.name or "/", identity=str(root), depth=0)
    yield from _walk(descriptor, place, wanted, only=None)


class _Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where an entry lies: its path from the named folder, its resolved path, how deep."""

    file: str
    identity: str
    depth: int

    def below(self, name: str) -> _Place:
        """Return the place of an entry of this folder."""
        file, identity = f"{self.file}/{name}", f"{self.identity}/{name}"
        return _Place(file=file, identity=identity, depth=self.depth + 1)


def _walk(descriptor: int, place: _Place, wanted: Wanted, *, only: str | None) -> Iterator[Found]:
    """Walk an open folder, and close it; `only` is the one entry that is looked at."""
    try:
        for name in sorted(os.listdir(descriptor)):
            if only in (None, name):
                yield from _entry(descriptor, name, place.below(name), wanted)
            else:
                yield Told(file=_shown(place.below(name).file), line=0, reason=_IN_HIDDEN)
    finally:
        os.close(descriptor)


def _entry(folder: int, name: str, place: _Place, wanted: Wanted) -> Iterator[Found]:
    file = place.file
    if not _is_utf8(name):
        yield FileRefusedError(_shown(file), 0, "its name is not UTF-8; rename it")
        return
    try:
        kind = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISLNK(kind):
            yield FileRefusedError(file, 0, "it is a symbolic link; put the file itself there")
        elif stat.S_ISDIR(kind):
            yield from _folder(folder, name, place, wanted)
        elif name.startswith("."):
            yield Told(file=file, line=0, reason="it is hidden")
        elif not wanted(file):
            yield Told(file=file, line=0, reason=OTHER_KIND)
        else:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
            descriptor = os.open(name, flags, dir_fd=folder)
            yield _content(descriptor, file=file, identity=place.identity)
    except FileRefusedError as refused:
        yield refused
    except OSError as error:
        yield FileRefusedError(file, 0, f"it cannot be read: {error.strerror}")


def _folder(folder: int, name: str, place: _Place, wanted: Wanted) -> Iterator[Found]:
    file = place.file
    only = None
    if name.startswith("."):
        if name != _KEPT_HIDDEN[0]:
            yield Told(file=file, line=0, reason="it is a hidden folder; name it itself to read it")
            return
        only = _KEPT_HIDDEN[1]
    if place.depth > DEPTH_MAX:
        yield FileRefusedError(file, 0, f"it lies more than {DEPTH_MAX} folders deep")
        return
    descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
    yield from _walk(descriptor, place, wanted, only=only)


def _content(descriptor: int, *, file: str, identity: str) -> Content:
    """Read an open file, and close it."""
    with os.fdopen(descriptor, "rb", closefd=True) as opened:
        found = os.fstat(opened.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise FileRefusedError(file, 0, "it is no regular file")
        pieces, size = [], 0
        while piece := opened.read(_PIECE_BYTES):
            size += len(piece)
            if size > FILE_BYTES_MAX:
                rule = f"it has more than {FILE_BYTES_MAX // 2**20} MB; split it"
                raise FileRefusedError(file, 0, rule)
            pieces.append(piece)
    return Content(file=file, identity=identity, text=decoded(b"".join(pieces), file=file))


def decoded(raw: bytes, *, file: str) -> str:
    """Return the text of a file, without a byte order mark.

    Raises:
        FileRefusedError: it is not UTF-8, or holds NUL characters.
    """
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileRefusedError(file, 1, "it is UTF-16; save it as UTF-8")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The place is counted behind a byte order mark, whose three bytes hold no line feed.
        line = raw.count(b"\n", 0, error.start) + 1
        raise FileRefusedError(file, line, "it is not UTF-8; save it as UTF-8") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise FileRefusedError(file, line, "it holds a NUL character; it is no text")
    return text


def _shown(file: str) -> str:
    return file.encode(errors="surrogateescape").decode(errors="backslashreplace")


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
