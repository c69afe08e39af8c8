"""Notes that wait to be filed under their words: a small index beside the parts of the words.

An auxiliary index as in Manning, Raghavan, Schuetze, "Introduction to Information Retrieval", 4.5:
one value in the scope's row, which `projections.notes.words` merges into the parts when it is full.
A word is looked for in its lines as they are stored, so that reading it makes no object a word.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate

import msgspec

from memlog.errors import DriftError
from projections.notes.postings import OUTLINE_BYTES, SEQ_BYTES, numbers, without


class Waiting(msgspec.Struct, array_like=True):
    """Notes that wait to be filed under their words, oldest first.

    Attributes:
        seqs: the `updated_seq` of each note, 4 bytes little-endian.
        outlines: the outline of each note, 8 bytes little-endian.
        lines: for each note a line of its words, each after a space, and a space at the end.
    """

    seqs: bytes = b""
    outlines: bytes = b""
    lines: bytes = b""

    @property
    def postings(self) -> int:
        """Number of words of all these notes."""
        return self.lines.count(b" ") - self.lines.count(b"\n")

    def add(self, words: Iterable[str], *, seq: int, outline: int) -> None:
        """Let one more note wait."""
        self.seqs += seq.to_bytes(SEQ_BYTES, "little")
        self.outlines += outline.to_bytes(OUTLINE_BYTES, "little")
        self.lines += b"".join([b" %b" % word.encode() for word in sorted(words)]) + b" \n"

    def remove(self, seq: int) -> bool:
        """Let a note wait no longer; False when it does not wait."""
        seqs = numbers("I", self.seqs)
        if seq not in seqs:
            return False
        at = seqs.index(seq)
        self.seqs = without(self.seqs, at, SEQ_BYTES)
        self.outlines = without(self.outlines, at, OUTLINE_BYTES)
        lines = self.lines.splitlines(keepends=True)
        self.lines = b"".join(lines[:at] + lines[at + 1 :])
        return True

    def count(self, word: str) -> int:
        """Return how many of these notes carry a word."""
        return self.lines.count(b" %b " % word.encode())

    def postings_of(self, words: Iterable[str]) -> dict[str, tuple[bytes, bytes]]:
        """Return for each word that is carried seqs and outlines of its notes, oldest first."""
        starts = {word: found for word in words if (found := self._starts(word))}
        if not starts:
            return {}
        ends = [*accumulate(map(len, self.lines.splitlines(keepends=True)))]
        postings = {}
        for word, found in starts.items():
            places = [bisect_right(ends, start) for start in found]
            seqs = [self.seqs[SEQ_BYTES * at :][:SEQ_BYTES] for at in places]
            outlines = [self.outlines[OUTLINE_BYTES * at :][:OUTLINE_BYTES] for at in places]
            postings[word] = (b"".join(seqs), b"".join(outlines))
        return postings

    def _starts(self, word: str) -> list[int]:
        """Return where a word stands in the lines."""
        needle = b" %b " % word.encode()
        found = []
        start = self.lines.find(needle)
        while start >= 0:
            found.append(start)
            start = self.lines.find(needle, start + 1)
        return found

    @property
    def newest(self) -> int:
        """The seq of the newest of these notes, 0 when there is none."""
        return int.from_bytes(self.seqs[-SEQ_BYTES:], "little")

    def __iter__(self) -> Iterator[tuple[list[str], bytes, bytes]]:
        """Yield words, seq and outline of each note, the latter two as they are stored."""
        for at, line in enumerate(self.lines.splitlines()):
            seq = self.seqs[SEQ_BYTES * at :][:SEQ_BYTES]
            yield line.decode().split(), seq, self.outlines[OUTLINE_BYTES * at :][:OUTLINE_BYTES]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Waiting).decode


def stored_form(waiting: Waiting) -> bytes:
    """Return how the notes that wait are stored: nothing when there are none."""
    return _encode(waiting) if waiting.seqs else b""


def waiting_of(stored: bytes) -> Waiting:
    """Return the notes that wait from how they are stored.

    Raises:
        DriftError: the value was changed by another hand.
    """
    if not stored:
        return Waiting()
    try:
        waiting = _decode(stored)
        waiting.lines.decode()
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DriftError("notes", f"the words that wait are damaged ({error})") from None
    count = waiting.lines.count(b"\n")
    if (len(waiting.seqs), len(waiting.outlines)) != (count * SEQ_BYTES, count * OUTLINE_BYTES):
        raise DriftError("notes", "the words that wait are damaged: their lengths differ")
    return waiting
