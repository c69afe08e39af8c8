"""A reader of what the tools say that shares no code with the writers, and trusts nothing.

As the reader of sections it sees a text after NFKC and casefolding, without format characters, and
a line that no tool writes is an error. So what a note smuggles into a result comes out as one.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.digest.section_parser import ANY_WRAPPER, STANDING, Wrapped, _wrappers, normalized

_SLUG = r"[a-z0-9][a-z0-9._-]*"
_QUOTED = re.compile(r'"(.*)"')
_FACT = re.compile(
    rf"topics: [^\s,]+(?:, [^\s,]+)*|pinned|superseded by {_SLUG}; read that one instead"
    r'|source (?:url|artifact|note|created_at|updated_at): ".*"|\d+ more links'
)
_EDGE = re.compile(rf'- ({_SLUG}) (related|derived_from|supersedes) ({_SLUG})(?:: "(.*)")?')
_HEADLINE = re.compile(
    rf'- ({_SLUG}) \(\d{{4}}-\d\d-\d\d(?:, (?:web|compaction|import))?\): "(.*)"'
)
_SIMILAR = re.compile(rf'- ({_SLUG}) \(score [01]\.\d\d\): "(.*)"')
_FOUND = re.compile(
    r"(\d+) notes?(?:, (?:best|newest) first)?\. memory_read opens one by its slug\."
)
_NOTHING = (
    "no note was found; try other words or fewer, and no topic.",
    "there is no note yet, or none of this topic.",
)
_WRITTEN = re.compile(
    rf"kept as the new note {_SLUG}\.|changed {_SLUG}\.|nothing to do: {_SLUG} says exactly this "
    r"already\.|this took its pin away; to keep a pin, send pinned: true with each rewrite\."
    r"|it is pinned: its text is part of the index\."
    r"|it is pinned, but the index has no room for its text: shorten it, or unpin others\."
)
_SAME = re.compile(
    rf"({_SLUG}) looks like the same fact(?:\. if yours replaces it, call memory_link with "
    rf'\{{"from_slug": "{_SLUG}", "to_slug": "{_SLUG}", "rel": "supersedes"\}}\.'
    r"|, but is a person's pinned note: if it is out of date, tell the person\.)"
)
_LEFT = re.compile(rf"{_SLUG} was pinned; its text has left the index\.")


@dataclass
class Said:
    """All that a result says."""

    wrapped: list[Wrapped] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    edges: list[tuple[str, ...]] = field(default_factory=list)


def parse(tool: str, text: str) -> Said:
    """Return what a result says; AssertionError on anything that the tool does not say."""
    seen = normalized(text)
    wrapped, lines = _wrappers(seen.split("\n"))
    if lines[0] == STANDING:
        lines = lines[1:]
    else:
        assert not wrapped, "a wrapper without the standing line above it"
    assert STANDING not in lines, "the standing line is there once"
    said = Said(wrapped=wrapped)
    for line in lines:
        assert _READERS[tool](line, said), f"no such line of {tool}: {line!r}"
    assert lines.count("<wrapped>") == len(wrapped)
    return said


def check_structured(structured: dict[str, Any]) -> None:
    """Hold structured content to the same: the notice first, bodies wrapped, all else one line."""
    assert next(iter(structured)) == "notice"
    assert normalized(structured["notice"]) == STANDING
    for name, text in _strings(structured):
        seen = normalized(text)
        if name in ("body", "snippet"):
            (_,), outside = _wrappers(seen.split("\n"))
            assert outside == ["<wrapped>"]
        elif name != "notice":
            assert "\n" not in seen
            assert not ANY_WRAPPER.search(seen)
            assert not re.search("[\x00-\x1f\x7f]", text)


def _strings(node: object, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(node, str):
        yield name, node
    elif isinstance(node, dict):
        for key, each in node.items():
            yield from _strings(each, key)
    elif isinstance(node, list):
        for each in node:
            yield from _strings(each, name)


def _read_search(line: str, said: Said) -> bool:
    return bool(not line or _FOUND.fullmatch(line) or line in _NOTHING or _note(line, said))


def _read_read(line: str, said: Said) -> bool:
    return line == "links:" or _edge(line, said) or _note(line, said)


def _read_link(line: str, said: Said) -> bool:
    fixed = ("linked:", "they were linked like this already:", "their titles:")
    if headline := _HEADLINE.fullmatch(line):
        said.titles.append(headline[2])
    return line in fixed or bool(headline or _LEFT.fullmatch(line)) or _edge(line, said)


def _read_write(line: str, said: Said) -> bool:
    if similar := _SIMILAR.fullmatch(line):
        said.titles.append(similar[2])
    fixed = line == "similar notes:" or _WRITTEN.fullmatch(line) or _SAME.fullmatch(line)
    return bool(fixed or similar)


def _note(line: str, said: Said) -> bool:
    if line == "<wrapped>":
        assert len(said.titles) > 0, "a title, then its wrapper"
        return True
    if title := _QUOTED.fullmatch(line):
        said.titles.append(title[1])
    return bool(title or _FACT.fullmatch(line))


def _edge(line: str, said: Said) -> bool:
    if edge := _EDGE.fullmatch(line):
        said.edges.append(edge.groups())
    return edge is not None


_READERS = {
    "memory_write": _read_write,
    "memory_search": _read_search,
    "memory_read": _read_read,
    "memory_link": _read_link,
}
