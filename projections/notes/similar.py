"""Which live notes look like a title and topics: exact Jaccard scores among few candidates. Pure.

Two sets of words with a Jaccard similarity of at least t share at least ceil(t * |x|) words, so
each similar note carries one of any |x| - ceil(t * |x|) + 1 words of x (prefix filtering:
Chaudhuri, Ganti, Kaushik, "A primitive operator for similarity joins", 2006). The rarest are taken,
and of each the 200 newest live notes, so that a write costs the same however many notes share its
words.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping

import msgspec

from memlog.text import jaccard
from projections.notes.words import Window

SIMILAR_MAX = 5
_ROUNDING = 1e-9  # 0.56 * 25 is a little above 14, and 14 words must do.


class Match(msgspec.Struct, frozen=True, order=True):
    """A similar note: the better score first, then the one touched last."""

    negative_score: float
    negative_seq: int

    @property
    def score(self) -> float:
        """Jaccard similarity."""
        return -self.negative_score

    @property
    def seq(self) -> int:
        """The note's `updated_seq`."""
        return -self.negative_seq


def matches(
    words: frozenset[str],
    windows: Mapping[str, Window],
    *,
    threshold: float,
    words_of: Callable[[int], frozenset[str]],
    without_seq: int | None = None,
) -> list[Match]:
    """Return the similar notes, best first, at most 5.

    Args:
        words: what to compare with; not empty.
        windows: the newest postings of each of these words that somebody carries.
        threshold: the lowest score that counts, above 0 and at most 1.
        words_of: returns all words of the note with this `updated_seq`; asked only where the
            windows do not tell.
        without_seq: `updated_seq` of a note to leave out.
    """
    shared_min = math.ceil(threshold * len(words) - _ROUNDING)
    nobody_carries = len(words) - len(windows)
    chosen = sorted(windows.values(), key=_commonness)[
        : len(words) - shared_min + 1 - nobody_carries
    ]
    if not chosen:
        return []
    shared: Counter[int] = Counter()
    for window in windows.values():
        shared.update(window.seqs)
    # A window that is not whole does not tell whether older notes carry its word.
    horizons = [window.seqs[0] for window in windows.values() if not window.whole]
    known_from = max(horizons, default=0)
    likely_min = shared_min - len(horizons)
    likely = [
        (seq, common)
        for seq, common in shared.items()
        if common >= shared_min or (common >= likely_min and seq < known_from)
    ]
    sizes = _sizes(chosen) if likely else {}
    found: list[Match] = []
    uncertain: list[Match] = []
    for seq, known_common in likely:
        size = sizes.get(seq)
        if size is None or seq == without_seq:
            continue
        common = known_common
        if seq < known_from:
            common += sum(seq < horizon for horizon in horizons)
        score = common / (len(words) + size - common)
        if score >= threshold:
            (uncertain if seq < known_from else found).append(Match(-score, -seq))
    best = sorted(found)[:SIMILAR_MAX]
    for bound in sorted(uncertain):
        if len(best) == SIMILAR_MAX and best[-1] < bound:
            break
        score = jaccard(words, words_of(bound.seq))
        if score >= threshold:
            best = sorted([*best, Match(-score, -bound.seq)])[:SIMILAR_MAX]
    return best


def _sizes(windows: list[Window]) -> dict[int, int]:
    sizes: dict[int, int] = {}
    for window in windows:
        sizes.update(zip(window.seqs, window.sizes, strict=True))
    return sizes


def _commonness(window: Window) -> tuple[bool, int]:
    """Whole windows by their length; of the others, the rarer ones reach further back."""
    return (False, len(window.seqs)) if window.whole else (True, window.seqs[0])
