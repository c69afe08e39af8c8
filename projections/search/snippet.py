"""The part of a body that fits a query best, short enough for a list of hits."""

import unicodedata
from collections.abc import Sequence
from os.path import commonprefix

from projections.search.analysis import STOP_WORDS, normalized, words_of

CHARACTERS_MAX = 240
ELLIPSIS = "…"

_LEAD = 60
"""So much text before the first match tells what it is about."""
_SIGHTINGS_MAX = 8
_TERMS_MAX = 12
_STEM_CUT_MIN = 4
_WORD_MAX = 24


def needles(query: str) -> list[str]:
    """Return the beginnings of words that a snippet should show, at most 12.

    They are cut where the word and its stem part.
    """
    text = normalized(query)
    found: dict[str, None] = {}
    for start, end, terms in words_of(text):
        word = text[start:end].lower()
        for term in terms:
            needle = _common(word, term)
            if word not in STOP_WORDS:
                found[needle] = None
        if len(found) >= _TERMS_MAX:
            break
    return list(found)


def _common(word: str, stem: str) -> str:
    """Return what a word shares with its stem, and so with its other forms: "stud" of studies."""
    stem = stem.removesuffix("i") if len(stem) > _STEM_CUT_MIN else stem
    shared = commonprefix([word, stem])  # noqa: RUF071  # character by character is what we need
    return shared if len(shared) > 1 else stem


def _sightings(body: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """Return (place, number of the word) of the first sightings of each word, in order."""
    lowered = body.lower()
    if len(lowered) != len(body):  # "İ" becomes two characters: places would not fit
        lowered = body
    seen: list[tuple[int, int]] = []
    for number, word in enumerate(words):
        at = lowered.find(word)
        for _ in range(_SIGHTINGS_MAX):
            if at < 0:
                break
            if at == 0 or not (lowered[at - 1].isalnum() and word.isascii()):
                seen.append((at, number))
            at = lowered.find(word, at + len(word))
    return sorted(seen)


def _best_start(seen: Sequence[tuple[int, int]]) -> int:
    """Return the first of the sightings that has most words within a window after it."""
    best, best_start, possible = 0, 0, len({number for _, number in seen})
    for index, (start, _) in enumerate(seen):
        if best == possible:
            break
        within = {n for place, n in seen[index:] if place < start + CHARACTERS_MAX - _LEAD}
        if len(within) > best:
            best, best_start = len(within), start
    return best_start


def _joins(char: str) -> bool:
    """Tell whether a cut before this character would tear a character apart."""
    return (
        unicodedata.category(char)[0] == "M"
        or char in "\u200d\u200c"
        or char in "\u0e33\u0eb3"  # am of Thai and Lao: letters to Unicode, but never apart
        or "\U0001f3fb" <= char <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= char <= "\U000e007f"  # tags of a flag
    )


_VIRAMA = 9  # Its combining class: it binds the consonants of one character (UAX 29, GB9c).


def _is_boundary(text: str, at: int) -> bool:
    if at <= 0 or at >= len(text):
        return True
    if _joins(text[at]) or text[at - 1] == "\u200d":
        return False
    if unicodedata.combining(text[at - 1]) == _VIRAMA:
        return False
    return not (_is_indicator(text[at]) and _indicators_before(text, at) % 2)


def _is_indicator(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"  # two of them make a flag


def _indicators_before(text: str, at: int) -> int:
    start = at
    while start and _is_indicator(text[start - 1]):
        start -= 1
    return at - start


def _word_start(text: str, at: int) -> int:
    """Return where the word begins that `at` lies in; `at` itself if it is long or unspaced."""
    before = text[max(at - _WORD_MAX, 0) : at]
    if not before or before[-1].isspace():
        return at
    size = len(before.split()[-1])
    if size == len(before) < at:
        while not _is_boundary(text, at):
            at -= 1
        return at
    return at - size


def _word_end(text: str, at: int) -> int:
    """Return where the word ends that `at` lies in; `at` itself if it is long or unspaced."""
    after = text[at : at + _WORD_MAX]
    if not after or after[0].isspace():
        return at
    size = len(after.split()[0])
    if size == len(after) < len(text) - at:
        while not _is_boundary(text, at):
            at += 1
        return at
    return at + size


def snippet(body: str, words: Sequence[str]) -> str:
    """Return about 240 characters of a body around the best match, white space folded.

    `…` stands where text was left out. No word of usual length is cut, and no character is ever
    torn from its combining marks.

    Args:
        body: The body as it is stored.
        words: What to look for, from `needles`.
    """
    if len(body) <= CHARACTERS_MAX:
        return " ".join(body.split())
    start = _word_start(body, max(0, _best_start(_sightings(body, words)) - _LEAD))
    end = _word_end(body, min(start + CHARACTERS_MAX, len(body)))
    text = " ".join(body[start:end].split())
    before = ELLIPSIS if body[:start].strip() else ""
    after = ELLIPSIS if body[end:].strip() else ""
    return f"{before}{text}{after}"
