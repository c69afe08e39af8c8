r"""Text made fit for a terminal: what could steer, colour or deceive it shows as an escape.

Shown as escapes are control characters (ESC and with it every colour and cursor sequence), format
characters (bidi overrides, zero-width space and joiners, tags), line and paragraph separators, lone
surrogates, and what Unicode calls default-ignorable (variation selectors, Hangul fillers): all that
takes no room, so that nothing can hide. Letters, marks and emoji of any script stay. Pure.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from memlog.defuse import is_invisible

_STEERING = frozenset({"Cc", "Cs", "Zl", "Zp"})
_NAMED = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}

_ASCII_END, _BMP_END = 0x100, 0x10000


def visible(text: str) -> str:
    r"""Return `text` on one line: line breaks and tabs show as `\n` and `\t`, the rest as above."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_NAMED.get(character) or _shown(character) for character in text)


def visible_lines(text: str) -> str:
    """Return `text` with its line feeds and tabs kept, the rest as `visible` shows it."""
    return "".join(
        character if character in "\n\t" else _NAMED.get(character) or _shown(character)
        for character in text
    )


def visible_json(document: str) -> str:
    """Return a JSON document of the same value in which nothing steers a terminal."""
    if document.isascii() and document.isprintable():
        return document
    return "".join(map(_shown_in_json, document))


@lru_cache(maxsize=65_536)
def steers(character: str) -> bool:
    """Tell whether a character is one of those that must not reach a terminal."""
    return unicodedata.category(character) in _STEERING or is_invisible(character)


def _shown(character: str) -> str:
    if not steers(character):
        return character
    code = ord(character)
    if code < _ASCII_END:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < _BMP_END else f"\\U{code:08x}"


def _shown_in_json(character: str) -> str:
    if not steers(character):
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
