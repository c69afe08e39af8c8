"""Ed25519 keys that sign notes: make them, keep them in private files, sign with them.

A key file is one line in the form of golang.org/x/mod/sumdb/note, its base64 of 0x01 and the seed:

    PRIVATE+KEY+<name>+<hex key id>+<base64(0x01 || 32-byte seed)>

It is written with mode 0600, never over another file, and not read where others may read it. The
public key and its vkey follow from it: `str(key.verifier)`. Needs the package `cryptography`
(extra `sign`).
"""

from __future__ import annotations

import os
import stat
from base64 import b64encode
from binascii import a2b_base64
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from memlog.errors import InvalidRequestError
from memlog.proof import (
    FormatError,
    NoCryptographyError,
    SignedNote,
    VerifierKey,
    format_note,
    parse_note,
    parse_vkey,
)

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

SEED_BYTES = 32

_PREFIX = "PRIVATE+KEY+"
_KEY_FILE_BYTES_MAX = 4096
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class SigningKey:
    """A private key and the name it signs under. Neither `repr` nor an error shows the seed.

    Attributes:
        verifier: its public half; `str(key.verifier)` is the vkey to hand out.

    Raises:
        InvalidRequestError: the name is empty, or has white space, a `+` or a control character.
        NoCryptographyError: `cryptography` is not installed.
    """

    def __init__(self, name: str, seed: bytes) -> None:
        assert len(seed) == SEED_BYTES
        self._seed, self._private = seed, _private_key(seed)
        self.verifier = VerifierKey(name, self._private.public_key().public_bytes_raw())
        try:
            parse_vkey(str(self.verifier))
        except (FormatError, UnicodeEncodeError):
            rule = "not empty, no white space, no + and no control characters"
            raise InvalidRequestError("key_name", name, rule) from None

    @classmethod
    def generate(cls, name: str, *, new_seed: Callable[[int], bytes] = os.urandom) -> SigningKey:
        """Return a new key; `new_seed` gives that many random bytes."""
        return cls(name, new_seed(SEED_BYTES))

    @classmethod
    def parse(cls, line: str) -> SigningKey:
        """Return the key that a line holds; only its canonical form is accepted.

        Raises:
            FormatError: it is not the line of a key file; the error does not quote it.
            NoCryptographyError: `cryptography` is not installed.
        """
        try:
            name, _, type_and_seed = line.removeprefix(_PREFIX).split("+", 2)
            key = cls(name, _seed(type_and_seed))
        except (ValueError, InvalidRequestError) as error:
            if isinstance(error, NoCryptographyError):
                raise
            raise FormatError("private_key") from None
        if key.private_line() != line:
            raise FormatError("private_key")
        return key

    @classmethod
    def load(cls, path: Path) -> SigningKey:
        """Return the key in a key file.

        Raises:
            InvalidRequestError: the file is no key file, or others than its owner may use it.
            OSError: it cannot be read.
            NoCryptographyError: `cryptography` is not installed.
        """
        with open(path, "rb", opener=_open_at_once) as file:  # has no opener
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_mode & _OTHERS:
                rule = "it must be a regular file that only its owner can read; chmod 600 it"
                raise InvalidRequestError("key_file", str(path), rule)
            content = file.read(_KEY_FILE_BYTES_MAX)
        try:
            return cls.parse(content.decode().removesuffix("\n"))
        except (FormatError, UnicodeDecodeError):
            rule = "it does not hold one line PRIVATE+KEY+..."
            raise InvalidRequestError("key_file", str(path), rule) from None

    def save(self, path: Path) -> None:
        """Write a key file that only its owner can read; on return it is durable.

        Raises:
            FileExistsError: there is something of that name; it was left as it is.
            OSError: it cannot be written; nothing is left behind.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        descriptor = os.open(path, flags, mode=0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                os.fchmod(file.fileno(), 0o600)  # A umask may have taken bits from the owner.
                file.write(f"{self.private_line()}\n".encode())
                file.flush()
                os.fsync(file.fileno())
            _sync_directory(path.parent)
        except OSError:
            path.unlink()
            raise

    def private_line(self) -> str:
        """Return the line of the key file. It is the secret itself."""
        type_and_seed = b64encode(b"\x01" + self._seed).decode()
        return f"{_PREFIX}{self.verifier.name}+{self.verifier.key_id.hex()}+{type_and_seed}"

    def sign(self, message: bytes) -> bytes:
        """Return the Ed25519 signature (RFC 8032) of a message."""
        return self._private.sign(message)

    def __repr__(self) -> str:
        return f"<SigningKey {str(self.verifier)!r}>"


def sign_note(text: str, *, verifier: VerifierKey, sign: Callable[[bytes], bytes]) -> SignedNote:
    """Return a note with this text and one signature.

    Args:
        text: ends in a newline, has no other control character.
        verifier: the public half of the key.
        sign: makes the signature of the text's bytes; a key in hardware fits as well as a
            `SigningKey.sign`.

    Raises:
        FormatError: this text or name cannot be a note's.
    """
    signature = verifier.key_id + sign(text.encode())
    return parse_note(format_note(SignedNote(text, ((verifier.name, signature),))))


def _open_at_once(path: str, flags: int) -> int:
    """Open a file; a FIFO too, without a wait for its writer, so that it can be refused."""
    return os.open(path, flags | os.O_NONBLOCK)


def _seed(type_and_seed: str) -> bytes:
    seed = a2b_base64(type_and_seed)[1:]
    if len(seed) != SEED_BYTES:
        raise ValueError(len(seed))
    return seed


def _private_key(seed: bytes) -> Ed25519PrivateKey:
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ImportError:
        raise NoCryptographyError from None
    return Ed25519PrivateKey.from_private_bytes(seed)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)  # A new file's name is durable only once its directory is.
    finally:
        os.close(descriptor)
