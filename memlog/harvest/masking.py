r"""Find secrets in text and put `[masked:KIND]` in their place. Pure.

What is a secret is said by `patterns`. Extend the set by handing over another one:
`(*PATTERNS, Pattern("badge", r"BADGE-\d{6}"))`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from memlog.harvest.pattern import Pattern
from memlog.harvest.patterns import PATTERNS

_RANDOM_BITS_MIN = 4.0


class Masked(NamedTuple):
    """Text without its secrets, and how many of each kind it had."""

    text: str
    counts: Counter[str]


def mask(text: str, patterns: Sequence[Pattern] = PATTERNS) -> Masked:
    """Return `text` with each secret replaced, and the counts by kind. Masking again finds none.

    Costs a pass over the text for each pattern.
    """
    counts: Counter[str] = Counter()
    for pattern in patterns:
        text = _masked(text, pattern, counts)
    return Masked(text, counts)


_PLACEHOLDER = re.compile(r"\[masked:[a-z0-9-]+\]")


def placeholder(kind: str) -> str:
    """Return what stands where a secret was."""
    return f"[masked:{kind}]"


@lru_cache(maxsize=256)
def _compiled(regex: str) -> re.Pattern[str]:
    return re.compile(regex)  # The set costs 30 ms: for those who harvest.


def _masked(text: str, pattern: Pattern, counts: Counter[str]) -> str:
    compiled = _compiled(pattern.regex)
    group = "secret" if "secret" in compiled.groupindex else 0
    pieces, end = [], 0
    for match in _matches(text, compiled, pattern.anchors, group):
        if not _looks_random(match[group], pattern.digits_min):
            continue
        counts[pattern.kind] += 1
        pieces += [text[end : match.start(group)], placeholder(pattern.kind)]
        end = match.end(group)
    return "".join([*pieces, text[end:]]) if pieces else text


def _matches(
    text: str, compiled: re.Pattern[str], anchors: Sequence[str], group: str | int
) -> Iterator[re.Match[str]]:
    """Yield the matches that do not overlap, from left to right, but for those masked already."""
    if not anchors:
        found = compiled.finditer(text)
        yield from (each for each in found if not _PLACEHOLDER.match(text, each.start(group)))
        return
    end = 0
    for start in _places(_lower(text), anchors):
        match = compiled.match(text, start) if start >= end else None
        if match is None:
            continue
        masked = _PLACEHOLDER.match(text, match.start(group))
        if masked is None:
            yield match
        end = match.end() if masked is None else masked.end()


def _places(lower: str, anchors: Sequence[str]) -> list[int]:
    places = set()
    for anchor in anchors:
        place = lower.find(anchor)
        while place >= 0:
            places.add(place)
            place = lower.find(anchor, place + 1)
    return sorted(places)


@lru_cache(maxsize=1)  # Nearly every pattern leaves the text as it was.
def _lower(text: str) -> str:
    """Return `text` in lower case, every character still in its place."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(each if len(each) == 1 else " " for each in map(str.lower, text))


def _looks_random(text: str, digits_min: int) -> bool:
    """Tell whether text has the mixture and the entropy (bits a character) of a random token."""
    if not digits_min:
        return True
    digits = sum(map(str.isdigit, text))
    if digits < digits_min or text.lower() == text or text.upper() == text:
        return False
    return _entropy_bits(text) >= _RANDOM_BITS_MIN


def _entropy_bits(text: str) -> float:
    length = len(text)
    return -sum(count / length * math.log2(count / length) for count in Counter(text).values())
