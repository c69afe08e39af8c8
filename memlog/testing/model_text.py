"""Slugs, topics and words once more, in the plainest way, for the reference model.

Written from the sentences of the design; it shares no code with `memlog.text`.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

SLUG_CHARACTERS_MAX = 80
_NUMBER_DIGITS_MAX = 15
_CJK_NAMES = (
    "CJK UNIFIED",
    "CJK COMPATIBILITY IDEO",
    "IDEOGRAPHIC",
    "HENTAIGANA",
    "HIRAGANA",
    "KATAKANA",
    "COMBINING KATAKANA-HIRAGANA",
    "HANGUL",
)


def slug(title: str) -> str:
    """Return the slug that a title gives."""
    decomposed = unicodedata.normalize("NFKD", title)
    plain = [c for c in decomposed if unicodedata.category(c)[0] != "M"]
    words = re.sub("[^a-z0-9]+", " ", "".join(plain).lower()).split()
    if not words:
        name = unicodedata.normalize("NFC", title).encode()
        return "n-" + hashlib.sha256(name).hexdigest()[:10]
    made = words[0][:SLUG_CHARACTERS_MAX]
    for word in words[1:]:
        if len(made) + 1 + len(word) > SLUG_CHARACTERS_MAX:
            break
        made += "-" + word
    return made


def numbered(stem: str, number: int) -> str:
    """Return a stem with a number, the stem cut so that both fit."""
    suffix = f"-{number}"
    return stem[: SLUG_CHARACTERS_MAX - len(suffix)].rstrip("-._") + suffix


def number(name: str, stem: str) -> int | None:
    """Return the number that a slug gives a stem, or None when it is not a numbered one of it."""
    before, dash, digits = name.rpartition("-")
    counts = dash and re.fullmatch("[1-9][0-9]*", digits) and digits != "1"
    if not counts or len(digits) > _NUMBER_DIGITS_MAX:
        return None
    cuts = {
        stem[: SLUG_CHARACTERS_MAX - 1 - width].rstrip("-._")
        for width in range(1, _NUMBER_DIGITS_MAX + 1)
    }
    return int(digits) if before in cuts else None


def topics(raw: Iterable[str]) -> tuple[str, ...]:
    """Return topics normalised, without empty ones and repeats, in their order."""
    normal = []
    for topic in raw:
        folded = unicodedata.normalize("NFC", unicodedata.normalize("NFKC", topic).casefold())
        marked = "".join(c if _in_word(c) or c in "._-" else "\0" for c in folded)
        kept = re.sub("\0+", "-", marked).strip("-")
        if kept and kept not in normal:
            normal.append(kept)
    return tuple(normal)


@lru_cache(maxsize=10_000)
def words(title: str, topics: tuple[str, ...]) -> frozenset[str]:
    """Return the words of a title and topics; Chinese, Japanese and Korean as bigrams."""
    text = unicodedata.normalize("NFKC", " ".join([title, *topics])).casefold()
    text = unicodedata.normalize("NFC", text)
    parts = [""]
    for character in text:
        if not _in_word(character):
            parts.append("")
        elif parts[-1] and _is_cjk(parts[-1][-1]) != _is_cjk(character):
            parts.append(character)
        else:
            parts[-1] += character
    pieces = [_bigrams(part) if part and _is_cjk(part[0]) else [part] for part in parts]
    return frozenset(piece for group in pieces for piece in group if piece)


def _bigrams(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[i : i + 2] for i in range(len(run) - 1)]


def _in_word(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] in "LM" or category == "Nd" or character == "\u3007"  # ideographic zero


@lru_cache(maxsize=10_000)
def _is_cjk(character: str) -> bool:
    return unicodedata.name(character, "").startswith(_CJK_NAMES)
