"""From text to index terms: what of a note can be found, and by which words.

Word runs become stems whatever the language, Chinese, Japanese and Korean runs become character
bigrams, Thai, Lao, Myanmar and Khmer runs character trigrams. Neighbouring stems, 4-grams of words
and single characters are terms of their own fields, which a query weighs lower. Identifiers are
found whole and by their parts. Everything here is a pure function of its arguments.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from msgspec import Struct

from projections.search.stemming import stem

TERM_CHARS_MAX = 64
"""A word counts by its first 64 characters, so that base64 does not fill the index."""

_WORDS_CACHED_MAX = 32_768
_CAMEL_PART_MIN = 2

STOP_WORDS = frozenset(
    re.findall(
        r"\S+",
        """
        a about am an and any are as at be been being but by can could did do does done for from
        had has have he her him his how if in into is it its may might must no not of on or other
        our shall she should some such than that the their them then there these they this to us
        was we were what when where which who whom whose why will with would you your
        """,
    )
)
"""Function words, question words and auxiliaries: left out of queries, never of the index."""


class Terms(Struct, frozen=True):
    """The terms of a text, by field: term -> how often.

    `main` are stems, bigrams and trigrams, `pairs` two neighbouring stems without stop words
    ("a b") and whole identifiers, `grams` character 4-grams of ^word$, `singles` what is one
    shorter than the main term in scripts without spaces.
    """

    main: Mapping[str, int]
    pairs: Mapping[str, int]
    grams: Mapping[str, int]
    singles: Mapping[str, int]

    @property
    def length(self) -> int:
        """The number of main tokens: a document's length in ranking."""
        return sum(self.main.values())


class _Word(NamedTuple):
    """What one run of letters adds, whole and without stop words, and what an identifier adds."""

    stems: tuple[str, ...]
    grams: tuple[str, ...]
    content_stems: tuple[str, ...]
    content_grams: tuple[str, ...]
    camel_stems: tuple[str, ...]
    extra_pairs: tuple[str, ...]


_ASCII_BETWEEN = {
    code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) in "_'")
}
_ASCII_LOOSE_APOSTROPHES = re.compile(r"'(?:'+|(?![a-zA-Z0-9_])|(?<![a-zA-Z0-9_]'))")
_RUNS = re.compile(r"w+(?:'w+)*|c+|s+")
_CAMEL_WORD = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]{2}")
_CAMEL_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\WA-Z_]+")
_PLUS_OR_SHARP = re.compile(r"(?<!\w)(?:[a-z]\w*\+\+|[a-z]#)(?![\w+#])")
_DOT_INSIDE = re.compile(r"\.\w").search
_DOTTED = re.compile(r"(?<!\w)\w+(?:[.@]\w+)+")  # Not tried anew inside a word: linear.
_APOSTROPHES = str.maketrans("\u2018\u2019\u02bc\u201b", "''''", "\u200c\u200d")

# (first, last, class): scripts that are written without spaces between words.
_UNSPACED = (
    (0x0E01, 0x0E3E, "s"), (0x0E40, 0x0E4E, "s"), (0x0E50, 0x0E59, "s"),  # Thai
    (0x0E80, 0x0EFF, "s"),  # Lao
    (0x1000, 0x1049, "s"), (0x1050, 0x109F, "s"),  # Myanmar
    (0xA9E0, 0xA9FF, "s"), (0xAA60, 0xAA7F, "s"),  # Myanmar, extended
    (0x1780, 0x17D3, "s"), (0x17D7, 0x17D7, "s"), (0x17DC, 0x17F9, "s"),  # Khmer
    (0x1100, 0x11FF, "c"), (0x3130, 0x318F, "c"), (0xAC00, 0xD7FF, "c"),  # Hangul
    (0x2E80, 0x2FDF, "c"), (0x3005, 0x3007, "c"), (0x3400, 0x4DBF, "c"),  # Han
    (0x4E00, 0x9FFF, "c"), (0xF900, 0xFAFF, "c"), (0x20000, 0x3FFFF, "c"),  # Han
    (0x3041, 0x309F, "c"), (0x30A1, 0x30FA, "c"), (0x30FC, 0x30FF, "c"),  # kana
    (0x31F0, 0x31FF, "c"), (0x1B000, 0x1B16F, "c"),  # kana, extended
)  # fmt: skip


def _class_of(code: int) -> str:
    char = chr(code)
    if char == "'":
        return "'"
    for first, last, kind in _UNSPACED:
        if first <= code <= last:
            return kind
    word = char.isalnum() or char == "_" or unicodedata.category(char)[0] == "M"
    return "w" if word else " "


class _Classes(dict[int, str]):
    """For str.translate: each character becomes the class of its run."""

    def __missing__(self, code: int) -> str:
        kind = self[code] = _class_of(code)
        return kind


_CLASSES = _Classes()


def normalized(text: str) -> str:
    """Return the text in NFKC with plain apostrophes and without joiners; case is kept."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", text.translate(_APOSTROPHES)).translate(_APOSTROPHES)


def _without_accents(word: str) -> str:
    """Drop accents of Latin, Greek and Cyrillic, Hebrew points, harakat and tatweel."""
    kept, base = [], ""
    for char in unicodedata.normalize("NFD", word):
        if unicodedata.category(char)[0] != "M":
            base = char
            kept.append("" if char == "\u0640" else char)
        elif base >= "\u0590" and not "\u0590" <= char <= "\u06ff":
            kept.append(char)
    return unicodedata.normalize("NFC", "".join(kept))


def folded(word: str) -> str:
    """Return one word run as it is compared: case folded, without accents and apostrophes."""
    word = word.casefold()
    if not word.isascii():
        word = _without_accents(word)
    return word.removesuffix("'").removesuffix("'s").replace("'", "")


def _grams(word: str) -> tuple[str, ...]:
    marked = f"^{word}$"
    return tuple([marked[i : i + 4] for i in range(len(marked) - 3)])


def _camel_parts(run: str) -> list[str]:
    """Return get, user, name for getUserName, and nothing for mRNA, siRNA, pH or iPhone."""
    parts = _CAMEL_PART.findall(run) if _CAMEL_WORD.search(run) else []
    if not parts[1:] or min(map(len, parts)) < _CAMEL_PART_MIN:
        return []
    if parts[-1].isupper() and len(parts[0]) <= _CAMEL_PART_MIN:
        return []
    return [folded(part)[:TERM_CHARS_MAX] for part in parts]


def _analyzed(run: str) -> _Word:
    camel: list[str] = []
    if run[1:].islower() and run.isascii() and run.isalnum():  # most words
        word = run.lower()[:TERM_CHARS_MAX]
    else:
        word = folded(run)[: None if "_" in run else TERM_CHARS_MAX]
        camel = _camel_parts(run)
    if "_" in word or camel or not word:
        return _identifier(run, [part[:TERM_CHARS_MAX] for part in word.split("_") if part], camel)
    stems, grams = (stem(word),), _grams(word)
    if word in STOP_WORDS:
        return _Word(stems, grams, (), (), (), ())
    return _Word(stems, grams, stems, grams, (), ())


def _identifier(run: str, parts: Sequence[str], camel_parts: Sequence[str]) -> _Word:
    content = [part for part in parts if part not in STOP_WORDS]
    camel = tuple(map(stem, camel_parts))
    whole = (run.casefold().strip("_")[:TERM_CHARS_MAX],) if len(parts) > 1 else ()
    return _Word(
        stems=tuple(map(stem, parts)),
        grams=tuple(chain.from_iterable(map(_grams, parts))),
        content_stems=tuple(map(stem, content)),
        content_grams=tuple(chain.from_iterable(map(_grams, content))),
        camel_stems=camel,
        extra_pairs=(*(f"{a} {b}" for a, b in pairwise(camel)), *whole),
    )


class _Words(dict[str, _Word]):
    """Word run -> its analysis: a new word costs 15 µs, a look-up 0.05."""

    def __missing__(self, run: str) -> _Word:
        if len(self) >= _WORDS_CACHED_MAX:
            self.clear()
        word = self[run] = _analyzed(run)
        return word


_WORDS = _Words()


def _pieces(run: str, size: int) -> list[str]:
    """Return the character n-grams of a run; a shorter run stays whole."""
    return [run[i : i + size] for i in range(max(len(run) - size + 1, 1))]


class _Collector:
    """Takes the runs of one text in order and collects the terms of each field."""

    def __init__(self, *, stop_words: bool) -> None:
        self._stop_words = stop_words
        self._stretch: list[str] = []
        self.main: list[str] = []
        self.pairs: list[str] = []
        self.grams: list[str] = []
        self.singles: list[str] = []

    def words(self, runs: Sequence[str]) -> None:
        """Take neighbouring words."""
        if not runs:
            return
        stems, grams, content, content_grams, camel, extra_pairs = map(
            chain.from_iterable, zip(*map(_WORDS.__getitem__, runs), strict=True)
        )
        kept = list(content)
        self._stretch += kept
        self.main.extend(stems if self._stop_words else kept)
        self.grams.extend(grams if self._stop_words else content_grams)
        self.main.extend(camel)
        self.pairs.extend(extra_pairs)

    def unspaced(self, run: str, *, size: int) -> None:
        """Take a run of a script without spaces; words before and after are no neighbours."""
        self.main += _pieces(run, size)
        self.singles += _pieces(run, size - 1)
        self.end_stretch()

    def end_stretch(self) -> None:
        """Pair what has come since the last stretch ended."""
        self.pairs += map(" ".join, pairwise(self._stretch))
        self._stretch = []


def _ascii_words(text: str) -> list[str]:
    """Return the words of a text in ASCII: what `_RUNS` finds, in a fraction of the time."""
    text = text.translate(_ASCII_BETWEEN)
    if "'" in text:
        text = _ASCII_LOOSE_APOSTROPHES.sub(" ", text)
    return text.split()


def _collect_runs(collector: _Collector, text: str) -> None:
    if text.isascii():
        collector.words(_ascii_words(text))
        return
    words: list[str] = []
    for found in _RUNS.finditer(text.translate(_CLASSES)):
        run = text[found.start() : found.end()]
        kind = found[0][0]
        if kind == "w":
            words.append(run)
            continue
        collector.words(words)
        words = []
        collector.unspaced(run.casefold(), size=2 if kind == "c" else 3)
    collector.words(words)


def _has_punctuation(text: str) -> bool:
    """Tell whether a name that holds punctuation may be there."""
    return "+" in text or "#" in text or "@" in text or _DOT_INSIDE(text) is not None


def _collect_punctuated(collector: _Collector, text: str) -> None:
    """Take names that hold punctuation: C++, C#, CLAUDE.md, v1.2.3, bob@example.com."""
    text = text.casefold()
    if _has_punctuation(text):
        joined = " ".join(filter(_has_punctuation, text.split()))
        collector.main += [name[:TERM_CHARS_MAX] for name in _PLUS_OR_SHARP.findall(joined)]
        collector.pairs += [name[:TERM_CHARS_MAX] for name in _DOTTED.findall(joined)]


def _collected(text: str, *, stop_words: bool) -> _Collector:
    text = normalized(text)
    collector = _Collector(stop_words=stop_words)
    _collect_runs(collector, text)
    collector.end_stretch()
    _collect_punctuated(collector, text)
    return collector


def analyzed(text: str, *, stop_words: bool = True) -> Terms:
    """Return the terms of a text. About 0.2 ms a kilobyte.

    Args:
        text: Any string.
        stop_words: False leaves the words of `STOP_WORDS` out.
    """
    collected = _collected(text, stop_words=stop_words)
    return Terms(
        main=Counter(collected.main),
        pairs=Counter(collected.pairs),
        grams=Counter(collected.grams),
        singles=Counter(collected.singles) if collected.singles else {},
    )


def main_terms(text: str) -> list[str]:
    """Return the main terms of a text, in order."""
    return _collected(text, stop_words=True).main


def note_text(*, title: str, topics: Sequence[str], body: str) -> str:
    """Return what of a note is searched."""
    return "\n".join((title, " ".join(topics), body))


def words_of(text: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yield (start, end, main terms) of each word or run of a normalized text, in order."""
    for found in _RUNS.finditer(text.translate(_CLASSES)):
        run, kind = text[found.start() : found.end()], found[0][0]
        if kind == "w":
            yield found.start(), found.end(), _WORDS[run].stems
            continue
        size = 2 if kind == "c" else 3
        for at, piece in enumerate(_pieces(run.casefold(), size), start=found.start()):
            yield at, at + len(piece), (piece,)
