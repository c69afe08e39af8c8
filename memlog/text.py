"""Slugs, topics, words and times as text: pure functions over strings.

Everything here is deterministic across processes, locales and hash seeds: only Unicode tables of
`unicodedata` decide, never the locale.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import groupby, pairwise

from memlog.errors import InvalidRequestError

SLUG_CHARACTERS_MAX = 80
SLUG_NUMBER_MAX = 10**15 - 1  # Fits a 64-bit column, also after adding one.

_SLUG = re.compile(r"[a-z0-9][a-z0-9._-]{0,79}")
_SLUGS = re.compile(rf"(?:{_SLUG.pattern}\n)*")
_SLUG_WORDS = re.compile(r"[a-z0-9]+")
_DIGITS = "0123456789"
_NUMBERED = re.compile(r"(.+)-([1-9][0-9]{0,14})")
_UNCUT_STEM_MAX = SLUG_CHARACTERS_MAX - len(f"-{SLUG_NUMBER_MAX}")
_IDEOGRAPHIC_ZERO = "\u3007"  # A letter number (Nl) to Unicode, a character of words to people.
_ASCII_TOPIC_GAP = re.compile(r"[^a-z0-9._-]+")
_ASCII_WORDS = re.compile(r"[a-z0-9]+")


def byte_length(text: str) -> int:
    """Return the number of UTF-8 bytes of `text` (which must hold no lone surrogate)."""
    return len(text) if text.isascii() else len(text.encode())


def has_lone_surrogate(text: str) -> bool:
    """Tell whether `text` has no UTF-8 form."""
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def has_control_character(text: str) -> bool:
    """Tell whether `text` holds a character of category Cc (C0, DEL, C1)."""
    if text.isascii():
        return not text.isprintable()
    return any(unicodedata.category(character) == "Cc" for character in text)


# --- Slugs


def is_slug(text: str) -> bool:
    """Tell whether `text` is a slug: `[a-z0-9][a-z0-9._-]{0,79}`, nothing before or after."""
    return _SLUG.fullmatch(text) is not None


def are_slugs(texts: Sequence[str]) -> bool:
    """Tell whether `is_slug` holds for each; for many at once it takes a tenth of the time."""
    return _SLUGS.fullmatch(lines_of(texts)) is not None


def lines_of(texts: Sequence[str]) -> str:
    """Return texts as lines, for a pattern of lines; only an empty one if a text has a newline."""
    lines = "\n".join([*texts, ""])
    return lines if lines.count("\n") == len(texts) else "\n"


def slugify(title: str) -> str:
    """Return the slug that a title gives.

    NFKD, marks dropped, lower case, runs of `[a-z0-9]` joined by `-`, cut at 80 characters between
    words. A title without any such run gives `n-` and 10 hex digits of the SHA-256 of its NFC form.

    Raises:
        InvalidRequestError: it is no string, or none that has a UTF-8 form.
    """
    if not isinstance(title, str):
        raise InvalidRequestError("title", title, "give a string")
    if has_lone_surrogate(title):
        raise InvalidRequestError("title", title, "give valid Unicode, without lone surrogates")
    if title.isascii():
        plain = title
    else:
        decomposed = unicodedata.normalize("NFKD", title)
        plain = "".join(c for c in decomposed if not unicodedata.category(c).startswith("M"))
    words = _SLUG_WORDS.findall(plain.lower())
    if not words:
        return hashed_slug(unicodedata.normalize("NFC", title))
    return _cut_at_word("-".join(words), SLUG_CHARACTERS_MAX)


def hashed_slug(name: str) -> str:
    """Return `n-` and the first 10 hex digits of the SHA-256 of a name's UTF-8 bytes."""
    return f"n-{hashlib.sha256(name.encode()).hexdigest()[:10]}"


def _cut_at_word(slug: str, length_max: int) -> str:
    if len(slug) <= length_max:
        return slug
    whole_words, dash, _ = slug[: length_max + 1].rpartition("-")
    return whole_words if dash else slug[:length_max]


def split_number(slug: str) -> tuple[str, int]:
    """Return a slug's stem and number: `tea-7` gives `("tea", 7)`, `tea` gives `("tea", 1)`.

    One-to-one: the number 1 is never written, so `tea-1` is a stem of its own.
    """
    if slug[-1:] not in _DIGITS:  # As most; a pattern takes five times as long to say so.
        return slug, 1
    match = _NUMBERED.fullmatch(slug)
    if match is None or match[2] == "1":
        return slug, 1
    return match[1], int(match[2])


def numbered_slug(stem: str, number: int) -> str:
    """Return the slug of a stem and a number of at least 2, the stem cut so that both fit."""
    suffix = f"-{number}"
    return stem[: SLUG_CHARACTERS_MAX - len(suffix)].rstrip("-._") + suffix


def numbering_stems(stem: str) -> tuple[str, ...]:
    """Return each stem under which numbered slugs of `stem` are filed, the uncut one first."""
    if len(stem) <= _UNCUT_STEM_MAX and stem[-1] not in "-._":
        return (stem,)
    cuts = (
        split_number(numbered_slug(stem, 10 ** (digits - 1) + 1))[0]
        for digits in range(1, len(str(SLUG_NUMBER_MAX)) + 1)
    )
    return tuple(dict.fromkeys(cuts))


# --- Topics and words


@lru_cache(maxsize=4096)
def _is_word_character(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] in "LM" or category == "Nd" or character == _IDEOGRAPHIC_ZERO


def fold(text: str) -> str:
    """Return the form in which two strings are compared: NFKC, casefolded, NFC."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKC", text).casefold())


def normalize_topics(topics: Iterable[str]) -> tuple[str, ...]:
    """Return topics in their stored form, in the order given, without blanks and repeats.

    Folded; each run of anything but letters, marks, digits, `.`, `_` and `-` becomes one `-`; outer
    `-` go. Counts and lengths are the caller's to check.

    Raises:
        InvalidRequestError: it is one string, whose characters would become the topics, or one of
            them is none.
    """
    if isinstance(topics, str) or not isinstance(topics, Iterable):
        raise InvalidRequestError("topics", topics, "give a list of strings")
    return tuple(dict.fromkeys(topic for topic in map(_topic, topics) if topic))


def _topic(raw: str) -> str:
    if not isinstance(raw, str):
        raise InvalidRequestError("topics", raw, "give a list of strings")
    folded = fold(raw)
    if folded.isascii():
        return _ASCII_TOPIC_GAP.sub("-", folded).strip("-")
    runs = groupby(folded, key=lambda c: _is_word_character(c) or c in "._-")
    return "".join("".join(run) if kept else "-" for kept, run in runs).strip("-")


def is_cjk(character: str) -> bool:
    """Tell whether a character is written without spaces between words: Han, kana or Hangul."""
    code = ord(character)
    return any(low <= code <= high for low, high in _CJK_RANGES)


_CJK_RANGES = (
    (0x1100, 0x11FF),  # Hangul jamo
    (0x3005, 0x3007),  # iteration marks, ideographic zero
    (0x302A, 0x302F),  # tone marks
    (0x3041, 0x30FF),  # kana
    (0x3131, 0x318E),  # Hangul compatibility jamo
    (0x31F0, 0x31FF),  # kana extensions
    (0x3400, 0x4DBF),  # Han, extension A
    (0x4E00, 0x9FFF),  # Han
    (0xA960, 0xA97F),  # Hangul jamo, extended A
    (0xAC00, 0xD7FF),  # Hangul syllables, jamo extended B
    (0xF900, 0xFAFF),  # Han, compatibility
    (0x1AFF0, 0x1B16F),  # kana, supplementary plane
    (0x20000, 0x3FFFF),  # Han, supplementary planes
)


def words(title: str, topics: Iterable[str]) -> frozenset[str]:
    """Return the words by which two notes are compared: those of the title and of the topics.

    Folded runs of letters, marks and digits; runs of Han, kana and Hangul as character bigrams (a
    single character stays whole). Independent of any search engine.
    """
    return _words_again(" ".join((title, *topics)))


def words_once(title: str, topics: Iterable[str]) -> frozenset[str]:
    """Return `words`, for whoever goes through many notes and asks for each once."""
    return _words_in(" ".join((title, *topics)))


def _words_in(text: str) -> frozenset[str]:
    folded = fold(text)
    if folded.isascii():
        return frozenset(_ASCII_WORDS.findall(folded))
    return frozenset(_words_of(folded))


# A write asks for its own words thrice, and for those of its likes.
_words_again = lru_cache(maxsize=1024)(_words_in)


def _words_of(text: str) -> Iterator[str]:
    for kept, characters in groupby(text, key=_is_word_character):
        if kept:
            for cjk, run in groupby(characters, key=is_cjk):
                word = "".join(run)
                yield from _bigrams(word) if cjk else (word,)


def _bigrams(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for first, second in pairwise(run):
        yield first + second


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    """Return |left and right| / |left or right|, 0.0 when both are empty."""
    common = len(left & right)
    return common / (len(left) + len(right) - common) if common else 0.0


# --- Times


def utc_text(moment: datetime) -> str:
    """Return an aware datetime as `2026-11-30T19:15:00.000000Z`: UTC, always six digits.

    Texts of this form sort as the moments do.
    """
    return moment.astimezone(UTC).isoformat(timespec="microseconds")[:-6] + "Z"


def utc_moment(text: str) -> datetime:
    """Return the aware datetime that `utc_text` wrote."""
    return datetime.fromisoformat(text)
