"""How wide text is on a terminal, in cells: cut it, pad it, wrap it. Pure.

Measured as the C library's `wcwidth` does, which multiplexers and most terminals follow: wide and
full-width characters take two cells, marks that stand on another character none, spacing marks
(Devanagari vowels) one. Where terminals disagree this is the larger number, so that a line never
runs over.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache


@lru_cache(maxsize=65_536)
def _cells(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def width(text: str) -> int:
    """Return the number of cells of text that is fit for a terminal."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def cut(text: str, cells: int) -> str:
    """Return text of at most so many cells, with an ellipsis where something is missing."""
    return text if width(text) <= cells else text[: _fitting(text, cells - 1)] + "…"


def wrap(words: str, cells: int) -> list[str]:
    """Return words in lines of at most so many cells; a word that is longer is broken."""
    lines = [""]
    for word in words.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if width(longer) <= cells:
            lines[-1] = longer
        else:
            lines.extend(_broken(word, cells))
    return lines if lines[0] else lines[1:] or lines


def _broken(word: str, cells: int) -> list[str]:
    parts = []
    while width(word) > cells:
        end = max(1, _fitting(word, cells))
        parts.append(word[:end])
        word = word[end:]
    return [*parts, word]


def _fitting(text: str, cells: int) -> int:
    """Return how many characters from the start fit into so many cells."""
    for index, character in enumerate(text):
        cells -= _cells(character)
        if cells < 0:
            return index
    return len(text)
