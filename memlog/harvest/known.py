"""Is a fact news? Compared by its words with what the agent is told anyway. Pure.

A fact repeats a text when at least four in five of its word triples stand in that text: three
neighbouring words (or characters of Chinese, Japanese and Korean), folded as everywhere. So
another order of sentences or a few other words do not make it news, while a changed name, number or
date of a short fact does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memlog.text import fold, is_cjk

_REPEATED_MIN = 0.8
_TRIPLE = 3
_WORD = re.compile(r"\w+")

Triples = frozenset[tuple[str, ...]]


def triples(text: str) -> Triples:
    """Return the runs of three words of a text; of a shorter one, all of it as one run."""
    words = list(_words(text))
    if len(words) <= _TRIPLE:
        return frozenset((tuple(words),)) if words else frozenset()
    return frozenset(zip(words, words[1:], words[2:], strict=False))


def _words(text: str) -> Iterator[str]:
    for run in _WORD.findall(fold(text)):
        if run.isascii() or not any(map(is_cjk, run)):
            yield run
        else:
            yield from run


def repeats(fact: Triples, text: Triples) -> bool:
    """Tell whether a fact says nothing that the text does not say. A fact without words does."""
    if not fact:
        return True
    return len(fact & text) >= _REPEATED_MIN * len(fact)
