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
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache

from memlog import text
from memlog.note import Similar
from projections.notes.words import OUTLINE_BITS, Window, outline_of

SIMILAR_MAX = 5
_READ_AT_ONCE = 8
_SIZES = 256  # An outline tells sizes up to 255.
_ROUNDING = 1e-9

# slug, title, topics
Names = tuple[str, str, tuple[str, ...]]


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
        windows: the newest postings of the rarest `candidate_words` of these, without empty ones.
        threshold: the lowest score that counts, above 0 and at most 1.
        names_of: reads slug, title and topics of the notes with these `updated_seq`s; asked only
            for those that their outlines do not rule out.
        without_seq: `updated_seq` of a note to leave out.
    """
    bounds = _bounds(words, windows, threshold)
    heapq.heapify(bounds)
    best: list[tuple[float, int, Similar]] = []
    while bounds and (len(best) < SIMILAR_MAX or bounds[0] < best[-1][:2]):
        batch = [heapq.heappop(bounds)[1] for _ in range(min(_READ_AT_ONCE, len(bounds)))]
        wanted = [-negative_seq for negative_seq in batch if -negative_seq != without_seq]
        for seq, (slug, title, topics) in names_of(wanted).items():
            score = text.jaccard(words, text.words(title, topics))
            if score >= threshold:
                best.append((-score, -seq, Similar(slug, title, score)))
        best = sorted(best, key=lambda each: each[:2])[:SIMILAR_MAX]
    return tuple(each[2] for each in best)


def _bounds(
    words: frozenset[str], windows: Mapping[str, Window], threshold: float
) -> list[tuple[float, int]]:
    """Return (-bound, -seq) of each candidate that may be similar; its score is not above it."""
    outlines: dict[int, int] = {}
    for window in windows.values():
        outlines.update(zip(window.seqs, window.outlines, strict=True))
    count = len(words)
    bits, hidden = _bits(words)
    needed = _needed_bits(count, hidden, threshold)
    likely = [
        seq
        for seq, outline in outlines.items()
        if (outline & bits).bit_count() >= needed[outline >> OUTLINE_BITS]
    ]
    if not likely:
        return []
    # From `known_from` on the windows tell who carries their words, and the bits only the others.
    known_from = max((each.seqs[0] for each in windows.values() if not each.whole), default=0)
    carried: Counter[int] = Counter()
    for window in windows.values():
        carried.update(window.seqs)
    other_bits, other_hidden = _bits([word for word in words if word not in windows])
    found = []
    for seq in likely:
        outline = outlines[seq]
        common = (outline & bits).bit_count() + hidden
        if seq >= known_from:
            common = min(common, carried[seq] + (outline & other_bits).bit_count() + other_hidden)
        size = outline >> OUTLINE_BITS
        common = min(common, count) if size == _SIZES - 1 else min(common, size, count)
        bound = common / (count + size - common)
        if bound >= threshold:
            found.append((-bound, -seq))
    return found


def _bits(words: Collection[str]) -> tuple[int, int]:
    """Return the bits of some words, and how many of the words share theirs with another one."""
    bits = outline_of(words) & (1 << OUTLINE_BITS) - 1
    return bits, len(words) - bits.bit_count()


@lru_cache(maxsize=512)
def _needed_bits(count: int, hidden: int, threshold: float) -> tuple[int, ...]:
    """Return, by a note's number of words, the lowest number of shared bits that may do."""
    share = threshold / (1 + threshold)
    return tuple(math.ceil(share * (count + size) - _ROUNDING) - hidden for size in range(_SIZES))
