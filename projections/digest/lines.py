"""Which notes stand behind each line of a section. Pure.

A section is read from its first line on, by the structure that `render` gives it, never by looking
for a pattern anywhere: a pinned body may hold lines that look like any other line, but none that
closes its wrapper, and all other text of notes is kept to the end of a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

Kind = Literal["fixed", "pinned", "note", "topic", "more", "topics", "count"]

_PINNED_HEADING = "## Pinned notes"
_OTHERS_HEADING = "## Other topics: "
_OPENING = re.compile(r"<MEMORY\[([a-z0-9][a-z0-9._-]{0,79})\] ")
_HEADLINE = re.compile(r"- ([a-z0-9][a-z0-9._-]{0,79}) \(")
_MORE = re.compile(r"- [0-9]+ more: memory_search")
_COUNT = re.compile(r"[0-9]+ of [0-9]+ shown[.;]|Not listed: [0-9]+ note")
_ENTRY = re.compile(r"(no topic|[^ ]+) \(([0-9]+)\)(?:, |,$|$)")


class Line(msgspec.Struct, frozen=True):
    """One line of a section.

    Attributes:
        text: the line.
        kind: what it is: `fixed` (the same in every section), `pinned` (of the title or text of a
            pinned note), `note` (a title), `topic` (a heading), `more` (what a topic has besides),
            `topics` (topics that show no note), `count` (a count of notes).
        slug: the note that it shows, for `pinned` and `note`.
        labels: the topics that it names, as the section writes them.
    """

    text: str
    kind: Kind
    slug: str | None = None
    labels: tuple[str, ...] = ()


def lines_of(section: str) -> list[Line]:
    """Return the lines of a section, each with what it shows."""
    lines = section.split("\n")
    return [*_fixed(lines[:2]), *_rest(lines[2:])]


def shown_slugs(section: str) -> tuple[str, ...]:
    """Return the notes whose title or text a section shows, in its order."""
    return tuple(dict.fromkeys(line.slug for line in lines_of(section) if line.slug is not None))


def _fixed(lines: list[str]) -> list[Line]:
    return [Line(text, "fixed") for text in lines]


def _rest(lines: list[str]) -> Iterator[Line]:
    at = 0
    if lines[1:2] == [_PINNED_HEADING]:
        yield from _fixed(lines[:2])
        at = 2
        while at < len(lines) and lines[at]:
            end = _pin_end(lines, at)
            slug = _slug(_OPENING, lines[at + 1]) if end > at + 1 else None
            for text in lines[at:end]:
                yield Line(text, "count" if slug is None else "pinned", slug)
            at = end
    yield from _index(lines[at:])


def _pin_end(lines: list[str], at: int) -> int:
    """Return where the pinned note that begins here ends; the next line when none does."""
    slug = _slug(_OPENING, lines[at + 1]) if at + 1 < len(lines) else None
    if slug is None:
        return at + 1
    closing = f"</MEMORY[{slug}]>"
    return next((end + 1 for end in range(at + 2, len(lines)) if lines[end] == closing), at + 1)


def _slug(pattern: re.Pattern[str], line: str) -> str | None:
    found = pattern.match(line)
    return None if found is None else found[1]


def _index(lines: list[str]) -> Iterator[Line]:
    label, in_others = "", False
    for text in lines:
        if text.startswith(_OTHERS_HEADING):
            in_others = True
            yield Line(text, "fixed")
        elif text.startswith("## "):
            label = text.removeprefix("## ")
            yield Line(text, "topic", labels=(label,))
        elif _COUNT.match(text):
            yield Line(text, "count")
        elif in_others and text:
            yield Line(text, "topics", labels=tuple(found[1] for found in _ENTRY.finditer(text)))
        elif _MORE.match(text):
            yield Line(text, "more", labels=(label,))
        else:
            slug = _slug(_HEADLINE, text)
            yield Line(text, "fixed" if slug is None else "note", slug)
