"""The demo's text: the help topics that every CPython ships, in parts that fit into a note."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

_HEADING_MARKS = "=-~"  # Python's documentation underlines its headings so, the title with "*".


class Topic(msgspec.Struct, frozen=True):
    """One of Python's help topics: its name and its text."""

    name: str
    text: str


def topics() -> list[Topic]:
    """Return the help topics of this Python, by name."""
    from pydoc_data.topics import topics as texts

    return [Topic(name, text) for name, text in sorted(texts.items()) if text.strip()]


def split(text: str, *, bytes_max: int, marks: str = _HEADING_MARKS) -> list[str]:
    """Return parts of at most `bytes_max`, or of one line; joined they are the text again.

    A text is cut at the headings underlined with the first of `marks`, and a part that is still too
    long at those of the next; where headings are missing, between paragraphs or lines.
    """
    if len(text.encode()) <= bytes_max:
        return [text]
    if not marks:
        return _packed(text, bytes_max=bytes_max)
    cuts = [match.start() for match in _headings(marks[0]).finditer(text) if match.start()]
    pieces = [text[start:end] for start, end in _spans(cuts, len(text))]
    return [part for each in pieces for part in split(each, bytes_max=bytes_max, marks=marks[1:])]


def _headings(mark: str) -> re.Pattern[str]:
    return re.compile(rf"^\S.*\n{re.escape(mark)}{{3,}}$", re.MULTILINE)


def _spans(cuts: Sequence[int], end: int) -> Iterator[tuple[int, int]]:
    yield from zip([0, *cuts], [*cuts, end], strict=True)


def _packed(text: str, *, bytes_max: int) -> list[str]:
    """Cut between paragraphs, and inside a paragraph that is too long between lines."""
    parts = [""]
    for paragraph in re.split(r"(?<=\n\n)", text):
        fits = len(paragraph.encode()) <= bytes_max
        for piece in [paragraph] if fits else paragraph.splitlines(keepends=True):
            if parts[-1] and len((parts[-1] + piece).encode()) > bytes_max:
                parts.append("")
            parts[-1] += piece
    return parts


def title_of(text: str) -> str:
    """Return the first line of a text that is not blank, without the marks of emphasis."""
    first = next(line for line in text.splitlines() if line.strip())
    return first.strip().replace("*", "").replace('"', "")
