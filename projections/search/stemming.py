"""The English Snowball stemmer (Porter2), about 8 µs a word.

The algorithm is https://snowballstem.org/algorithms/english/stemmer.html in its classic form, as
whoosh ships it too, at half the speed. It is used for every language: a word it does not know
passes nearly unchanged.
"""

import re

_SPECIAL = {
    "skis": "ski", "skies": "sky", "dying": "die", "lying": "lie", "tying": "tie", "idly": "idl",
    "gently": "gentl", "ugly": "ugli", "early": "earli", "only": "onli", "singly": "singl",
    "sky": "sky", "news": "news", "howe": "howe", "atlas": "atlas", "cosmos": "cosmos",
    "bias": "bias", "andes": "andes",
}  # fmt: skip
_INVARIANT = frozenset(
    ["inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed"]
)

_LAST_LETTERS = tuple("cdegilmnrsty")
"""The last letters of all endings that any step looks for: other words are their own stems."""

_VOWEL = re.compile("[aeiouy]")
_REGION = re.compile("[aeiouy][^aeiouy]")
_Y_AFTER_VOWEL = re.compile("([aeiouy])y")  # from the left: a Y is no vowel for the next y
_SHORT_END = re.compile("(?:[^aeiouy][aeiouy][^aeiouywxY]|^[aeiouy][^aeiouy])$")
_DOUBLES = ("bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt")

_STEP_2 = {
    "ization": "ize", "ational": "ate", "fulness": "ful", "ousness": "ous", "iveness": "ive",
    "tional": "tion", "biliti": "ble", "lessli": "less", "entli": "ent", "ation": "ate",
    "alism": "al", "aliti": "al", "ousli": "ous", "iviti": "ive", "fulli": "ful", "enci": "ence",
    "anci": "ance", "abli": "able", "izer": "ize", "ator": "ate", "alli": "al", "bli": "ble",
}  # fmt: skip
_STEP_2_ENDS = tuple(sorted((*_STEP_2, "ogi", "li"), key=len, reverse=True))
_STEP_3 = {
    "ational": "ate", "tional": "tion", "alize": "al", "icate": "ic", "iciti": "ic", "ical": "ic",
    "ness": "", "ful": "",
}  # fmt: skip
_STEP_3_ENDS = tuple(sorted((*_STEP_3, "ative"), key=len, reverse=True))
_STEP_4_ENDS = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous",
    "ive", "ize", "ion", "al", "er", "ic",
)  # fmt: skip


def _after_region(word: str, start: int) -> int:
    """Return where the region begins that follows the first vowel + non-vowel after `start`."""
    found = _REGION.search(word, start)
    return found.end() if found else len(word)


def _regions(word: str) -> tuple[int, int]:
    if word.startswith(("gener", "arsen")):
        first = 5
    elif word.startswith("commun"):
        first = 6
    else:
        first = _after_region(word, 0)
    return first, _after_region(word, first)


def _without_plural(word: str) -> str:
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ied", "ies")):
        return word[:-2] if len(word) > 4 else word[:-1]  # noqa: PLR2004
    if (
        word.endswith("s")
        and not word.endswith(("us", "ss"))
        and _VOWEL.search(word, 0, len(word) - 2)
    ):
        return word[:-1]
    return word


def _without_participle(word: str, first: int) -> str:
    for ending in ("eedly", "eed"):
        if word.endswith(ending):
            return word[: -len(ending)] + "ee" if len(word) - len(ending) >= first else word
    for ending in ("ingly", "edly", "ing", "ed"):
        if word.endswith(ending):
            rest = word[: -len(ending)]
            return _repaired(rest, first) if _VOWEL.search(rest) else word
    return word


def _repaired(rest: str, first: int) -> str:
    """Return what stands before -ed or -ing as a word again: hop from hopp, hope from hop."""
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if rest.endswith(_DOUBLES):
        return rest[:-1]
    if first >= len(rest) and _SHORT_END.search(rest):
        return rest + "e"
    return rest


def _longest(word: str, endings: tuple[str, ...]) -> str:
    """Return the first of the endings, which stand by falling length, that the word has."""
    if not word.endswith(endings):
        return ""
    return next(filter(word.endswith, endings))


def _step_2(word: str, first: int) -> str:
    ending = _longest(word, _STEP_2_ENDS)
    rest = word[: len(word) - len(ending)]
    if not ending or len(rest) < first:
        return word
    if ending == "ogi":
        return word[:-1] if rest.endswith("l") else word
    if ending == "li":
        return rest if rest.endswith(tuple("cdeghkmnrt")) else word
    return rest + _STEP_2[ending]


def _step_3(word: str, first: int, second: int) -> str:
    ending = _longest(word, _STEP_3_ENDS)
    rest = word[: len(word) - len(ending)]
    if not ending or len(rest) < first:
        return word
    if ending == "ative":
        return rest if len(rest) >= second else word
    return rest + _STEP_3[ending]


def _step_4(word: str, second: int) -> str:
    ending = _longest(word, _STEP_4_ENDS)
    rest = word[: len(word) - len(ending)]
    if not ending or len(rest) < second or (ending == "ion" and not rest.endswith(("s", "t"))):
        return word
    return rest


def _step_5(word: str, first: int, second: int) -> str:
    rest = word[:-1]
    if word.endswith("e"):
        drop = len(rest) >= second or (len(rest) >= first and not _SHORT_END.search(rest))
        return rest if drop else word
    return rest if word.endswith("ll") and len(rest) >= second else word


def stem(word: str) -> str:
    """Return the stem of a lower-case word without apostrophes."""
    if len(word) <= 2 or word in _SPECIAL:  # noqa: PLR2004
        return _SPECIAL.get(word, word)
    if not word.endswith(_LAST_LETTERS):
        return word
    if "y" in word:
        word = _Y_AFTER_VOWEL.sub(r"\1Y", "Y" + word[1:] if word[0] == "y" else word)
    first, second = _regions(word)
    word = _without_plural(word)
    if word in _INVARIANT:
        return word
    word = _without_participle(word, first)
    if word.endswith(("y", "Y")) and len(word) > 2 and not _VOWEL.match(word[-2]):  # noqa: PLR2004
        word = word[:-1] + "i"
    word = _step_3(_step_2(word, first), first, second)
    return _step_5(_step_4(word, second), first, second).replace("Y", "y")
