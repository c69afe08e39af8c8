"""Render the section: a pure function of a scope's notes and three numbers.

    standing line, how to read the lines
    ## Pinned notes         whole notes, wrapped (`pins`)
    ## topic                the newest notes, filed under their first topic (`headline`);
                            what a topic has besides them is its pointer, the last line
    ## Other topics         pointers of the topics that show no note
    counts

Which notes are shown goes by age alone: with a note, each newer one is shown. Every note is in
exactly one place: shown, in the number of one pointer, or in the count of unlisted topics. No
clock, no locale, no hash order, no order of arguments has a part in it.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping

from memlog.defuse import STANDING_LINE
from memlog.note import Note
from memlog.text import byte_length
from projections.digest.headline import Headline, recency
from projections.digest.index import Title, index_part
from projections.digest.pins import Pins, pinned_part

RENDER_VERSION = f"1/{unicodedata.unidata_version}"
"""Raised with every change that can change a text; a stored digest of another version is stale.

The second half is the Unicode version of this Python, which decides what is unassigned.
"""

BYTES_PER_TOKEN = 4
BUDGET_TOKENS_MIN = 200
"""Room for the fixed lines and, at twenty digits a number, for all counts."""

_GUIDE = 'Newest first: slug (date, origin): "title". memory_read opens one by its slug.'
_EMPTY = f"{STANDING_LINE}\n\n0 of 0 shown. memory_write keeps the first one."
_GAP = "\n\n"


def hash_text(text: str) -> str:
    """Return the hash of a section: the first 16 hex digits of the SHA-256 of its UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def render(
    notes: Iterable[Headline],
    pinned: Iterable[Note],
    live_count: int,
    budget_tokens: int,
    pinned_body_bytes: int,
) -> str:
    """Return the section; it does not end in a line break.

    Args:
        notes: live notes that are not pinned, in any order.
        pinned: live notes that are pinned, in any order. Together with `notes` at most the 5,000
            most recently written: cost grows with them, the text does not.
        live_count: number of live notes of the scope, the ones that were not read included.
        budget_tokens: size in tokens of 4 UTF-8 bytes; at least 200 are used.
        pinned_body_bytes: where a pinned body is cut, in UTF-8 bytes.
    """
    newest_first = sorted(notes, key=recency, reverse=True)
    return assembled(
        ((note.topic, note.line()) for note in newest_first),
        Counter(note.topic for note in newest_first),
        pins_of(pinned, budget_tokens=budget_tokens, pinned_body_bytes=pinned_body_bytes),
        live_count=live_count,
        budget_tokens=budget_tokens,
    )


def assembled(
    titles: Iterable[Title],
    totals: Mapping[str, int],
    pins: Pins,
    *,
    live_count: int,
    budget_tokens: int,
) -> str:
    """Return the section from its parts, for whoever keeps those from one moment to the next.

    Args:
        titles: as for `index_part`, of the notes that are not pinned.
        totals: as for `index_part`.
        pins: the pinned part, of these settings.
        live_count: as for `render`.
        budget_tokens: as for `render`.
    """
    if not live_count:
        return _EMPTY
    head = _GAP.join(filter(None, [f"{STANDING_LINE}\n{_GUIDE}", pins.text]))
    closing_bytes = len(_GAP + _closing(shown=live_count - 1, live=live_count))
    space_bytes = _budget_bytes(budget_tokens) - byte_length(head) - closing_bytes
    index = index_part(titles, totals, space_bytes=space_bytes)
    closing = _closing(shown=len(pins.slugs) + index.shown, live=live_count)
    return _GAP.join([head, *index.blocks, "\n".join(filter(None, [index.unlisted, closing]))])


def shown_pins(
    pinned: Iterable[Note], *, budget_tokens: int, pinned_body_bytes: int
) -> tuple[str, ...]:
    """Return the slugs of the pinned notes that the section has room for, newest first."""
    return pins_of(pinned, budget_tokens=budget_tokens, pinned_body_bytes=pinned_body_bytes).slugs


def pins_of(pinned: Iterable[Note], *, budget_tokens: int, pinned_body_bytes: int) -> Pins:
    """Return the pinned part of a section; arguments as for `render`."""
    space_bytes = _budget_bytes(budget_tokens) // 2 - len(_GAP)
    return pinned_part(pinned, space_bytes=space_bytes, body_bytes_max=pinned_body_bytes)


def _budget_bytes(budget_tokens: int) -> int:
    return max(BUDGET_TOKENS_MIN, budget_tokens) * BYTES_PER_TOKEN


def _closing(*, shown: int, live: int) -> str:
    end = "." if shown == live else "; memory_search finds the rest."
    return f"{shown} of {live} shown{end}"
