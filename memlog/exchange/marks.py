"""What a Markdown text says to others: its first heading, links, wikilinks, facts and relations.

Parsed by markdown-it-py (CommonMark), with one rule of ours for `[[wikilinks]]`, so that code is
never taken for a link. Facts and relations are the list items that basic-memory reads as such:

    - [decision] Tea at four #habit (since May)      an observation
    - relates_to [[Kettle]] (context)                a relation
    - "part of" [[Kitchen]]                          a relation of several words
    - [[Kettle]]                                     a relation without a name

Any words on the line of the item before its first wikilink name the relation, as in basic-memory,
unless there is code among them or they are longer than a label may be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import msgspec

from memlog.exchange.requirements import missing
from memlog.fields import LABEL_BYTES_MAX
from memlog.text import byte_length

if TYPE_CHECKING:
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

_WIKILINK_CHARACTERS_MAX = 1_000
_OBSERVATION = re.compile(r"\[([^\[\]()\n]+)\]\s+\S")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_TASKS = ("[ ]", "[x]", "[X]", "[-]")


class Mention(msgspec.Struct, frozen=True, kw_only=True):
    """One link of a text.

    Attributes:
        name: what it names: a title, a file's path, a permalink.
        line: where it stands in the text, from 1.
        label: what the relation is called, or None.
        relation: it is a list item of its own, as basic-memory writes relations.
        path: `name` is a path relative to the file, not a title.
    """

    name: str
    line: int
    label: str | None = None
    relation: bool = False
    path: bool = False


class Marks(msgspec.Struct, frozen=True, kw_only=True):
    """What a text says to others.

    Attributes:
        heading: its first heading of level 1, or None.
        mentions: its links, in order.
        observations: how many list items are observations.
        relations: how many list items are relations.
    """

    heading: str | None
    mentions: tuple[Mention, ...]
    observations: int
    relations: int


def marks(text: str) -> Marks:
    """Return what a Markdown text says to others."""
    heading, observations = None, 0
    mentions: list[Mention] = []
    tokens = _parser().parse(text)
    in_items = 0
    for place, token in enumerate(tokens):
        in_items += {"list_item_open": 1, "list_item_close": -1}.get(token.type, 0)
        if token.type != "inline":
            continue
        before = tokens[place - 1]
        if heading is None and before.type == "heading_open" and before.tag == "h1":
            heading = " ".join(_plain(token.children or []).split()) or None
        line = (token.map or [0])[0] + 1
        found = list(_mentions(token, line, listed=in_items > 0))
        mentions.extend(found)
        if in_items and not any(each.relation for each in found):
            observations += _is_observation(token.content)
    return Marks(
        heading=heading,
        mentions=tuple(mentions),
        observations=observations,
        relations=sum(each.relation for each in mentions),
    )


def _is_observation(content: str) -> bool:
    return not content.startswith(_TASKS) and _OBSERVATION.match(content) is not None


def _plain(children: Sequence[Token]) -> str:
    return "".join(
        " " if child.type in {"softbreak", "hardbreak"} else child.content for child in children
    )


def _mentions(token: Token, line: int, *, listed: bool) -> Iterator[Mention]:
    before = ""
    first = True
    for child in token.children or []:
        if child.type == "wikilink":
            name, label = child.meta["name"], None
            relation = listed and first and child.level == 0 and _names_relation(before)
            if relation:
                label = before.strip().strip("\"'").strip() or None
            yield Mention(name=name, line=line, label=label, relation=relation)
            first = False
        elif child.type == "link_open":
            mention = _of_link(str(child.attrGet("href") or ""), line)
            if mention is not None:
                yield mention
            first = False
        elif child.type in {"softbreak", "hardbreak"}:
            line += 1
            first = False  # A relation is one line.
        else:
            first = first and child.type != "code_inline"
            before += child.content


def _names_relation(before: str) -> bool:
    """Tell whether the words before a wikilink name a relation: not those of a fact or a task."""
    return not before.lstrip().startswith("[") and byte_length(before) <= LABEL_BYTES_MAX


def _of_link(href: str, line: int) -> Mention | None:
    """Return a link to another note, or None when it leads elsewhere."""
    target = href.partition("#")[0].partition("?")[0]
    if target.startswith("memory://"):  # basic-memory's own addresses are permalinks.
        return Mention(name=unquote(target.removeprefix("memory://")), line=line)
    if not target or target.startswith("//") or _SCHEME.match(target):
        return None
    return Mention(name=unquote(target), line=line, path=True)


@cache
def _parser() -> Any:  # noqa: ANN401  # made late, since markdown-it-py is an extra
    try:
        from markdown_it import MarkdownIt
    except ModuleNotFoundError as error:
        raise missing("markdown-it-py") from error
    parser = MarkdownIt("commonmark").enable("table")
    parser.inline.ruler.before("link", "wikilink", _wikilink)
    parser.inline.add_terminator_char("[")
    return parser


def _wikilink(state: StateInline, silent: bool) -> bool:  # noqa: FBT001  # the parser calls it so
    """Read `[[target#heading|shown]]`; the heading and what is shown are not part of the name."""
    start = state.pos
    if not state.src.startswith("[[", start):
        return False
    end = state.src.find("]]", start + 2, start + _WIKILINK_CHARACTERS_MAX)
    inner = state.src[start + 2 : end] if end > 0 else ""
    if not inner.strip() or "\n" in inner or "[[" in inner:
        return False
    name = inner.partition("|")[0].partition("#")[0].partition("^")[0].strip().rstrip("\\")
    if not silent:
        token = state.push("wikilink", "", 0)
        token.content = inner
        token.meta = {"name": name}
    state.pos = end + 2
    return True
