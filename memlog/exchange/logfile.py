"""The files in which a log, or one scope of it, travels: JSON Lines, UTF-8, each line ends in LF.

A log, lossless:

    {"format":"memlog-log/1","log":"<log id>","after":0,"root":"<hex>"}
    {"position":1,"leaf":"<hex>","state":{"envelope":{…},"salt":"…","payload":{…}}}
    …
    {"events":2,"head":2,"root":"<hex>","checkpoint":null}

`after` is the position that the events follow, 0 for a whole log, and the first `root` that of the
Merkle tree over the events up to there. `state` are the stored bytes, unchanged, `leaf` their hash
in that tree, so that a change is found in its own line and not only in the last root. The last line
counts the events, and names the last position and the root over all events up to it; `checkpoint`
is a signed note for exactly these, or null.

A scope, to hand over:

    {"format":"memlog-scope/1","log":"<log id>","stream":"owner/alice","size":2,"root":"<hex>"}
    {"position":1,"state":{…},"proof":["<hex>",…]}
    …
    {"events":1,"checkpoint":null}

Each event comes with the proof that the log of that size and root holds it at its position. That
none is missing follows from the seqs, which have no gaps; that none came later cannot be shown.

Each line has one form: what is read, written again, gives the same bytes, or the line is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import IO, TypeVar

import msgspec

from memlog import proof
from memlog.exchange.items import FileRefusedError
from memlog.proof import HASH_BYTES, Checkpoint, VerifierKey

LOG_FORMAT = "memlog-log/1"
SCOPE_FORMAT = "memlog-scope/1"
LINE_BYTES_MAX = 32 * 1024 * 1024
FIRST_LINE_BYTES = 4_096
"""Enough of a file to see what it is."""

Progress = Callable[[int, int], None]


class LogHead(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first line of a log's file."""

    format: str
    log: str
    after: int
    root: str


class LogLine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An event of a log's file; `state` are its stored bytes, `leaf` their hash in the tree."""

    position: int
    leaf: str
    state: msgspec.Raw


class LogEnd(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The last line of a log's file."""

    events: int
    head: int
    root: str
    checkpoint: str | None


class ScopeHead(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first line of a scope's file."""

    format: str
    log: str
    stream: str
    size: int
    root: str


class ScopeLine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An event of a scope's file, with its inclusion proof, leaf to root."""

    position: int
    state: msgspec.Raw
    proof: tuple[str, ...]


class ScopeEnd(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The last line of a scope's file."""

    events: int
    checkpoint: str | None


Line = LogHead | LogLine | LogEnd | ScopeHead | ScopeLine | ScopeEnd


T = TypeVar("T", bound=Line)
U = TypeVar("U", bound=Line)


class _Format(msgspec.Struct, frozen=True):
    format: str


def written(line: Line) -> bytes:
    """Return the one form of a line."""
    return msgspec.json.encode(line) + b"\n"


def format_of(first_line: bytes) -> str | None:
    """Return which of the two formats a file's first line names, or None."""
    try:
        named = msgspec.json.decode(first_line, type=_Format).format
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return named if named.startswith("memlog-") else None


class Lines:
    """The lines of a file, one after the other, with the number of the last one.

    Attributes:
        file: its name, for what is refused.
        number: of the line that was read last, from 1.
        bytes: how many bytes were read.
    """

    def __init__(self, opened: IO[bytes], *, file: str) -> None:
        self._opened, self.file = opened, file
        self.number = self.bytes = 0

    def refused(self, reason: str) -> FileRefusedError:
        """Return the error for the line that was read last."""
        return FileRefusedError(self.file, self.number, reason)

    def head(self, type_: type[T]) -> T:
        """Return the first line."""
        return self._as(type_, self._next() or b"")

    def rest(self, line_type: type[T], end_type: type[U]) -> Iterator[T | U]:
        """Yield the other lines; the last one is the end, and nothing follows it."""
        while True:
            raw = self._next()
            if raw is None:
                self.number += 1
                raise self.refused("the file ends here, before its last line; get all of it")
            if raw.startswith(b'{"position":'):
                yield self._as(line_type, raw)
                continue
            end = self._as(end_type, raw)
            if self._next() is not None:
                raise self.refused("there is something behind the last line")
            yield end
            return

    def _next(self) -> bytes | None:
        raw = self._opened.readline(LINE_BYTES_MAX + 1)
        if not raw:
            return None
        self.number += 1
        self.bytes += len(raw)
        if len(raw) > LINE_BYTES_MAX:
            raise self.refused(f"it has more than {LINE_BYTES_MAX:,} bytes")
        return raw

    def _as(self, type_: type[T], raw: bytes) -> T:
        try:
            line = msgspec.json.decode(raw, type=type_)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            told = ascii(str(error))[1:-1]
            raise self.refused(f"it is no {_NAMES[type_]}: {told}") from None
        if written(line) != raw:
            raise self.refused(f"it is not in the one form of a {_NAMES[type_]}")
        return line


_NAMES: dict[type, str] = {
    LogHead: "head of a log",
    LogLine: "event of a log",
    LogEnd: "end of a log",
    ScopeHead: "head of a scope",
    ScopeLine: "event of a scope",
    ScopeEnd: "end of a scope",
}


def hash_of(text: str, lines: Lines) -> bytes:
    """Return the hash that 64 lower-case hex digits stand for."""
    try:
        found = bytes.fromhex(text)
    except ValueError:
        found = b""
    if len(found) != HASH_BYTES or found.hex() != text:
        raise lines.refused("a hash has 64 lower-case hex digits")
    return found


def check_checkpoint(
    checkpoint: str | None,
    *,
    log_id: str,
    size: int,
    root: bytes,
    keys: Iterable[VerifierKey],
    lines: Lines,
) -> bool:
    """Check what a file's checkpoint says, and who signed it; return whether a signature counts.

    Raises:
        FileRefusedError: it is of another log, size or root, no key of the reader's signed it, or
            there is none although the reader asks for a signature.
    """
    trusted = list(keys)
    if checkpoint is None:
        if trusted:
            raise lines.refused("it has no signed checkpoint, and a signature was asked for")
        return False
    try:
        note = proof.parse_note(checkpoint.encode())
        found = proof.parse_checkpoint(note.text)
        if trusted:
            proof.verify_note(note, trusted)
    except proof.ProofError as error:
        raise lines.refused(f"its checkpoint does not hold: {error}") from None
    if found != Checkpoint(found.origin, size, root) or found.origin.rpartition("/")[2] != log_id:
        raise lines.refused("its checkpoint is of another log, size or root")
    return bool(trusted)
