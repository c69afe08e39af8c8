"""Which live notes look like a title and topics: exact Jaccard scores among few candidates. Pure.

Two sets of words with a Jaccard similarity of at least t share at least ceil(t * |x|) words, so
each similar note carries one of any |x| - ceil(t * |x|) + 1 words of x (prefix filtering:
Chaudhuri, Ganti, Kaushik, "A primitive operator for similarity joins", 2006). The rarest are taken,
and of each the 200 newest live notes, so that a write costs the same however many notes share its
words.
"""

from __future__ import annotations

import heapq
import math
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import reduce
from itertools import compress
from operator import or_

from memlog import text
from memlog.note import Similar
from projections.notes.lanes import BYTE_MAX, LANE_BYTES, at_least, shared_bits
from projections.notes.postings import OUTLINE_BITS, Window, bit_of

SIMILAR_MAX = 5
_READ_AT_ONCE = 8
_LEVELS_MAX = 16
_FEW = 32
_SIZES = 256  # An outline tells sizes up to 255.
_ROUNDING = 1e-9

# slug, title, topics
Names = tuple[str, str, tuple[str, ...]]

# -score or its bound, -seq: the lower the better
_Place = tuple[float, int]


def candidate_words(count: int, threshold: float) -> int:
    """Return how many of `count` words there are of which each similar note carries one."""
    return count - math.ceil(threshold * count - _ROUNDING) + 1


def similar_notes(
    words: frozenset[str],
    windows: Mapping[str, Window],
    *,
    threshold: float,
    names_of: Callable[[Sequence[int]], Mapping[int, Names]],
    without_seq: int | None = None,
) -> tuple[Similar, ...]:
    """Return the similar notes, best first (ties: the one touched last), at most 5.

    Args:
        words: what to compare with; not empty.
        windows: the newest postings of the rarest `candidate_words` of these.
        threshold: the lowest score that counts, above 0 and at most 1.
        names_of: reads slug, title and topics of the notes with these `updated_seq`s; asked only
            for those that their outlines do not rule out.
        without_seq: `updated_seq` of a note to leave out.
    """
    candidates = _Candidates(words, windows)
    waiting: list[_Place] = []
    best: list[tuple[float, int, Similar]] = []
    seen = set() if without_seq is None else {without_seq}
    levels = candidates.levels(threshold)
    step = max(1, -(-len(levels) // _LEVELS_MAX))
    for level in levels[::-step][::-1]:
        fresh = candidates.at(level, without=seen)
        seen.update(fresh)
        if step > 1 or len(fresh) <= _FEW:  # Not all of one level, or cheap to look at.
            waiting.extend((-candidates.bound(seq), -seq) for seq in fresh)
            heapq.heapify(waiting)
            fresh.clear()
        while batch := candidates.take(fresh, waiting, level, before=_last_place(best)):
            for seq, (slug, title, topics) in names_of(batch).items():
                score = text.jaccard(words, text.words(title, topics))
                if score >= threshold:
                    best.append((-score, -seq, Similar(slug, title, score)))
            best = sorted(best, key=lambda each: each[:2])[:SIMILAR_MAX]
        if _last_place(best) < (-level, 1):  # What has not been looked at is below the level.
            break
    return tuple(each[2] for each in best)


def _last_place(best: Sequence[tuple[float, int, Similar]]) -> _Place:
    """Return the place that a note must come before to be among the best."""
    return best[-1][:2] if len(best) == SIMILAR_MAX else (0, 0)


class _Candidates:
    """The notes of the windows, and what their outlines say about their similarity."""

    def __init__(self, words: frozenset[str], windows: Mapping[str, Window]) -> None:
        self._count = len(words)
        others = {word: bit_of(word) for word in words if word not in windows}
        carried = {word: bit_of(word) for word, window in windows.items() if window.seqs}
        self._other_count, self._other_bits = len(others), _union(others.values())
        self._bits = self._other_bits | _union(carried.values())
        self._hidden = len(others) + len(carried) - self._bits.bit_count()
        # From its first seq on a window tells who carries its word; before, the word's bit does.
        self._windows = [
            (0 if window.whole else window.seqs[0], window.seqs, window, carried.get(word, 0))
            for word, window in windows.items()
        ]
        self._seqs = array("I")
        for window in windows.values():
            self._seqs.extend(window.seqs)
        self._outlines = b"".join(window.outlines for window in windows.values())
        self._sizes = self._outlines[LANE_BYTES - 1 :: LANE_BYTES]
        self._sizes_found = frozenset(self._sizes)
        self._shared = shared_bits(self._outlines, self._bits)
        self._flags_of: dict[float, bytes] = {}

    def _flags(self, level: float) -> bytes:
        """Return for each posting something true where its note may have a score of `level`."""
        if level not in self._flags_of:
            self._flags_of[level] = self._new_flags(level)
        return self._flags_of[level]

    def _new_flags(self, level: float) -> bytes:
        share = level / (1 + level)
        needed = bytearray(_SIZES)
        for size in self._sizes_found:
            bits = math.ceil(share * (self._count + size) - _ROUNDING) - self._hidden
            needed[size] = min(max(bits, 0), BYTE_MAX)
        return at_least(self._shared, self._sizes.translate(needed))

    def levels(self, threshold: float) -> Sequence[float]:
        """Return the scores that may occur, from the best to the threshold; empty when none may.

        Where few notes may have any, it is the threshold alone.
        """
        flags = self._flags(threshold)
        flagged = len(flags) - flags.count(0)
        if flagged <= _FEW:
            return (threshold,) if flagged else ()
        both = (self._shared, self._sizes)
        found = {
            _bound(shared + self._hidden, size, self._count)
            for shared, size in set(zip(*(compress(each, flags) for each in both), strict=True))
        }
        return [*sorted((level for level in found if level > threshold), reverse=True), threshold]

    def at(self, level: float, *, without: AbstractSet[int]) -> list[int]:
        """Return the seqs of the other notes that may have a score of `level` or more, rising."""
        flags = self._flags(level)
        return sorted(set(compress(self._seqs, flags)).difference(without))

    def take(
        self, fresh: list[int], waiting: list[_Place], level: float, *, before: _Place
    ) -> list[int]:
        """Take the seqs of some notes of a level that may come before a place.

        Args:
            fresh: notes that by their outlines may have this score, but no better one; taken from
                its end. A note that cannot have it after all goes to those that wait.
            waiting: a heap of the places that notes may have, as exact as the windows tell.
            level: the score.
            before: the place.
        """
        batch: list[int] = []
        while len(batch) < _READ_AT_ONCE:
            if waiting and waiting[0][0] <= -level:
                place = heapq.heappop(waiting)
                if place < before:
                    batch.append(-place[1])
            elif fresh and (-level, -fresh[-1]) < before:
                seq = fresh.pop()
                bound = self.bound(seq)
                if bound >= level:
                    batch.append(seq)
                else:
                    heapq.heappush(waiting, (-bound, -seq))
            else:
                break
        return batch

    def bound(self, seq: int) -> float:
        """Return what a score is not above: windows that reach back so far tell it exactly."""
        carried, outline, bits, unsure = 0, 0, self._other_bits, self._other_count
        for known_from, seqs, window, bit in self._windows:
            if seq >= known_from:
                at = bisect_left(seqs, seq)
                if at < len(seqs) and seqs[at] == seq:
                    carried += 1
                    outline = outline or window.outline_at(at)
            else:
                bits |= bit
                unsure += 1
        shared = carried + (outline & bits).bit_count() + unsure - bits.bit_count()
        return _bound(shared, outline >> OUTLINE_BITS, self._count)


def _union(bits: Iterable[int]) -> int:
    return reduce(or_, bits, 0)


def _bound(common: int, size: int, count: int) -> float:
    """Return what the score of a note with at most `common` of the `count` words is not above."""
    common = min(common, count) if size == _SIZES - 1 else min(common, count, size)
    return common / (count + size - common)
