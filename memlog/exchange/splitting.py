"""Cut a long body into parts that make it up again, byte for byte. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memlog.exchange import placing
from memlog.fields import TITLE_BYTES_MAX
from memlog.text import byte_length

# Where a cut hurts least, best first: before a heading, a blank line, a line, a word.
_PLACES = (
    re.compile(r"\n(?=#{1,6} )"),
    re.compile(r"\n\r?\n(?=\S)"),
    re.compile(r"\n(?=.*\S)"),
    re.compile(r"[ \t](?=\S)"),
)
_SHARE_MIN = 4  # A place in the first quarter would make parts too small.


def split(body: str, *, bytes_max: int) -> tuple[str, ...] | None:
    """Return the body in parts of at most so many bytes of UTF-8; None when none can be made.

    Joined, the parts are the body. Each holds a visible character, which a note must: where white
    space alone fills a whole part, there is no way.
    """
    parts = tuple(_parts(body, bytes_max))
    return parts if all(part.strip() for part in parts) else None


def _parts(body: str, bytes_max: int) -> Iterator[str]:
    while byte_length(body) > bytes_max:
        fitting = body.encode()[:bytes_max].decode(errors="ignore")
        end = _end(fitting)
        yield body[:end]
        body = body[end:]
    if body:
        yield body


def _end(fitting: str) -> int:
    """Return where the part ends that begins with this text."""
    for place in _PLACES:
        ends = [match.end() for match in place.finditer(fitting)]
        if ends and ends[-1] >= len(fitting) // _SHARE_MIN:
            return ends[-1]
    return len(fitting) - fitting.endswith("\r")  # Never between CR and LF.


def part_title(title: str, number: int, count: int) -> str:
    """Return the title of one part: `Title (2 of 9)`."""
    suffix = f" ({number} of {count})"
    return placing.cut(title, TITLE_BYTES_MAX - byte_length(suffix)) + suffix
