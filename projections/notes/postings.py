"""Postings of one word as they are stored: seqs, and outlines of words that bound a similarity.

A posting is a note's `updated_seq` and the outline of its words: their number, and a bit for each,
from which a bound on the similarity follows without reading the note.
"""

from __future__ import annotations

import sys
import zlib
from array import array
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

import msgspec

OUTLINE_BITS = 56
SEQ_BYTES = 4
OUTLINE_BYTES = 8
_SIZE_MAX = 0xFF


class Part(msgspec.Struct):
    """Some postings of one word, oldest first, as they are stored.

    Attributes:
        seqs: the `updated_seq` of each note, 4 bytes little-endian.
        outlines: the outline of each note, 8 bytes little-endian.
        sealed: key of the part before this one, 0 when there is none.
    """

    seqs: bytes = b""
    outlines: bytes = b""
    sealed: int = 0

    def __len__(self) -> int:
        """Return the number of postings."""
        return len(self.seqs) // SEQ_BYTES

    def seq_at(self, index: int) -> int:
        """Return the seq of one posting."""
        return int.from_bytes(self.seqs[SEQ_BYTES * index :][:SEQ_BYTES], "little")

    @property
    def newest(self) -> int:
        """The seq of the newest posting, 0 when there is none."""
        return int.from_bytes(self.seqs[-SEQ_BYTES:], "little")

    def without_seq(self, seq: int) -> Part:
        """Return the part without the posting of a seq, which it must hold."""
        at = numbers("I", self.seqs).index(seq)
        seqs = without(self.seqs, at, SEQ_BYTES)
        return Part(seqs, without(self.outlines, at, OUTLINE_BYTES), self.sealed)


def without(items: bytes, at: int, size: int) -> bytes:
    """Return items of one size without one of them."""
    return items[: size * at] + items[size * (at + 1) :]


def numbers(code: Literal["I", "Q"], little_endian: bytes) -> array[int]:
    """Return stored numbers as an array of unsigned 4-byte (`I`) or 8-byte (`Q`) integers."""
    found = array(code, little_endian)
    if sys.byteorder == "big":
        found.byteswap()
    return found


@lru_cache(maxsize=4096)
def bit_of(word: str) -> int:
    """Return the bit of a word, one of 56."""
    return 1 << zlib.crc32(word.encode()) % OUTLINE_BITS


def outline_of(words: Iterable[str]) -> int:
    """Return the outline of a set of words: their number (at most 255) above 56 bits.

    Each word sets one of the bits, so a shared word is a shared bit.
    """
    bits = size = 0
    for word in words:
        bits |= bit_of(word)
        size += 1
    return min(size, _SIZE_MAX) << OUTLINE_BITS | bits


class Window(msgspec.Struct, frozen=True):
    """The newest postings of one word, at most 200.

    Attributes:
        seqs: oldest first.
        outlines: the outline of each of these notes, 8 bytes little-endian.
        whole: whether these are all postings of the word.
    """

    seqs: array[int]
    outlines: bytes
    whole: bool

    def outline_at(self, index: int) -> int:
        """Return the outline of one note."""
        return int.from_bytes(self.outlines[OUTLINE_BYTES * index :][:OUTLINE_BYTES], "little")
