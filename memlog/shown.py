"""Values as error sentences show them."""

from __future__ import annotations

_SHOWN_CHARACTERS_MAX = 80
_PRIVATE_KEY = "PRIVATE+KEY+"  # How the line of a key file begins: `memlog.signing`.


def shown(value: object) -> str:
    """Return `repr(value)` in ASCII, cut to 80 characters, fit for an error sentence.

    A key that signs is not shown: it is easily given where its public half is meant.
    """
    text = ascii(value)
    if _PRIVATE_KEY in text:
        return f"'{_PRIVATE_KEY}***'"
    if len(text) <= _SHOWN_CHARACTERS_MAX:
        return text
    return f"{text[: _SHOWN_CHARACTERS_MAX - 3]}..."
