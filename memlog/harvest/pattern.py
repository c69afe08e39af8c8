"""One form of secrets, and the pieces that many forms share."""

from __future__ import annotations

import msgspec

QUOTE = r"""["'`]"""
TO_ITS_END = r"""[^\s"'`,;<>()\\]"""
"""A character of a secret that ends with a blank, a quote or a comma."""


class Pattern(msgspec.Struct, frozen=True):
    """One form of secrets.

    Attributes:
        kind: what it is, for the placeholder and the counts: lower case and `-`.
        regex: a regular expression; the group `secret`, if it has one, is what is masked, else the
            whole match.
        anchors: lower-case words with one of which every match begins, whatever its case; found
            much faster than the expression would be. Empty: it is looked for everywhere.
        digits_min: number of digits, with upper and lower case and much entropy, that make what is
            masked look random; 0 when its look does not matter.
    """

    kind: str
    regex: str
    anchors: tuple[str, ...] = ()
    digits_min: int = 0
