"""One Markdown file as a note: basic-memory, Obsidian, Claude memory folders, memlog's own.

The title is the front matter's `title` or `name`, else the first heading, else the file's name. The
body is the text below the front matter, byte for byte, without the blank lines that begin it. Tags
and the type become topics, times and a web address go to the source, all else to `extra`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import PurePosixPath
from typing import Any

from memlog.exchange import frontmatter, placing, portable
from memlog.exchange.folders import Content
from memlog.exchange.items import FileRefusedError, Item, Parsed, Reference, Told, without_blanks
from memlog.exchange.marks import Marks, Mention, marks
from memlog.exchange.placing import Extra, Remark
from memlog.fields import SOURCE_TEXT_BYTES_MAX
from memlog.text import byte_length

SUFFIXES = (".md", ".markdown")
CHARACTERS_MAX = 4 * 1024 * 1024  # About five seconds of parsing, hostile or not.
_CREATED = ("created", "created_at", "date", "date_created", "createdAt")
_UPDATED = ("modified", "updated", "updated_at", "last_modified", "date_modified", "updatedAt")
_URLS = ("url", "resource", "source", "source_url")
_PLAIN_TYPE = "note"  # What basic-memory and OKF call everything.


def parse(content: Content) -> Parsed:
    """Return what a Markdown file gives.

    Raises:
        FileRefusedError: its front matter is no YAML, there is no text in it, or too much.
    """
    if len(content.text) > CHARACTERS_MAX:
        rule = f"it has more than {CHARACTERS_MAX:,} characters; split it, or import it as text"
        raise FileRefusedError(content.file, 0, rule)
    fields, below, first_line = frontmatter.split(content.text, file=content.file)
    remarks: list[Told] = []

    def remark(sentence: str) -> None:
        remarks.append(Told(file=content.file, line=1, reason=sentence))

    body, tail = portable.split_tail(below) if portable.KEY in fields else (below, "")
    own = portable.read(fields, body)
    if own is not None:
        item, references = _own(content, own, tail, remark)
        found = marks(body)
    else:
        found = marks(below)
        item = _item(content, fields, below, found=found, first_line=first_line, remark=remark)
        references = tuple(
            _reference(content, each, first_line - 1, told=each.relation) for each in found.mentions
        )
    return Parsed(
        file=content.file,
        items=(item,),
        references=references,
        remarks=tuple(remarks),
        observations=found.observations,
        relations=found.relations,
    )


def parse_plain(content: Content) -> Parsed:
    """Return what a file of plain text gives, as those of Anthropic's memory tool are.

    Raises:
        FileRefusedError: there is no text in it.
    """
    if not content.text.strip():
        raise FileRefusedError(content.file, 1, "it holds no text")
    remarks: list[Told] = []

    def remark(sentence: str) -> None:
        remarks.append(Told(file=content.file, line=1, reason=sentence))

    extra = Extra(remark)
    path = PurePosixPath(content.file)
    title = placing.title(path.name, extra, remark)
    item = Item(
        identity=f"file\n{content.identity}",
        title=title,
        body=content.text,
        source=_source(content, {}, extra, remark),
        extra=extra.strings,
        names=(title, path.stem),
    )
    return Parsed(file=content.file, items=(item,), remarks=tuple(remarks))


# --- A file of somebody else's


def _item(
    content: Content,
    fields: Mapping[str, Any],
    below: str,
    *,
    found: Marks,
    first_line: int,
    remark: Remark,
) -> Item:
    extra, stem = Extra(remark), PurePosixPath(content.file).stem
    rest = dict(fields)
    title_key = next((key for key in ("title", "name") if _is_words(rest.get(key))), None)
    given = rest.pop(title_key) if title_key else found.heading or stem
    names = [given, *_strings(rest.get("aliases")), *_strings(rest.get("alias"))]
    names += [name for name in (rest.get("permalink"), rest.get("name"), stem) if _is_words(name)]
    body = below.lstrip("\r\n")
    if not body.strip():
        described = rest.pop("description", None)
        if not _is_words(described):
            raise FileRefusedError(content.file, first_line, "it holds no text below its head")
        body = str(described)
    topics = placing.topics(_labels(rest), extra, remark)
    source = _source(content, rest, extra, remark)
    for key, value in rest.items():
        extra.add(key, value)
    return Item(
        identity=f"file\n{content.identity}",
        line=1,
        title=placing.title(placing.clean(given), extra, remark),
        body=body,
        topics=topics,
        source=source,
        extra=extra.strings,
        names=tuple(dict.fromkeys(names)),
    )


def _labels(rest: dict[str, Any]) -> Iterator[str]:
    """Yield tags and types, and take out what they say completely."""
    yield from _strings(rest.pop("tags", None), separators=", ")
    yield from _strings(rest.pop("tag", None), separators=", ")
    metadata = rest.get("metadata")
    kinds = (rest.get("type"), metadata.get("type") if isinstance(metadata, dict) else None)
    for kind in kinds:
        if isinstance(kind, str) and kind.strip() and kind != _PLAIN_TYPE:
            yield kind
    if isinstance(rest.get("type"), str):
        del rest["type"]


def _source(content: Content, rest: dict[str, Any], extra: Extra, remark: Remark) -> dict[str, str]:
    """Return where it came from, and take out what that says completely."""
    metadata = rest.get("metadata")
    fields = {**(metadata if isinstance(metadata, dict) else {}), **rest}
    source = placing.times(fields, _CREATED, _UPDATED, remark)
    for key in (*_CREATED, *_UPDATED):
        if placing.moment(rest.get(key), lambda _: None) in source.values():
            del rest[key]
    for key in _URLS:
        url = placing.url(rest.get(key))
        if url is not None:
            source["url"] = url
            del rest[key]
            break
    if "url" not in source:
        source.update(without_blanks({"url": _okf_source(rest.get("sources"))}))
    if byte_length(content.file) <= SOURCE_TEXT_BYTES_MAX:
        source["artifact"] = content.file
    else:
        extra.add("path", content.file)
    return source


def _okf_source(sources: object) -> str | None:
    entries = sources if isinstance(sources, list) else []
    addresses = (placing.url(each.get("resource")) for each in entries if isinstance(each, dict))
    return next(filter(None, addresses), None)


def _is_words(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _strings(value: object, *, separators: str = "") -> list[str]:
    """Return a list of labels as front matter writes it: a list, or words in one string."""
    if isinstance(value, str):
        for separator in separators:
            if separator in value:
                return [part for part in value.replace(",", separator).split(separator) if part]
        return [value] if value.strip() else []
    values = value if isinstance(value, list) else []
    return [each for each in values if isinstance(each, str) and each.strip()]


def _reference(content: Content, mention: Mention, lines_above: int, *, told: bool) -> Reference:
    name = mention.name
    if mention.path:
        name = _beside(content.file, name)
    return Reference(
        identity=f"file\n{content.identity}",
        line=mention.line + lines_above,
        name=name,
        label=placing.label(mention.label),
        told=told,
    )


def _beside(file: str, path: str) -> str:
    """Return a path that a file names, from the folder that was named; nothing is opened."""
    folder = PurePosixPath("/") / PurePosixPath(file).parent
    parts: list[str] = []
    for part in chain(() if path.startswith("/") else folder.parts[1:], path.split("/")):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)


# --- A file of memlog's own


def _own(
    content: Content, own: portable.Read, tail: str, remark: Remark
) -> tuple[Item, tuple[Reference, ...]]:
    kept = own.portable
    if not kept.body.strip():
        raise FileRefusedError(content.file, 1, "it holds no text below its head")
    extra = Extra(remark)
    all_extra = portable.extra_of(kept.extra, provenance=kept.provenance, written_at=own.written_at)
    for name, value in all_extra.items():
        extra.add(name, value)
    identity = f"file\n{content.identity}"
    item = Item(
        identity=identity,
        title=kept.title,
        body=kept.body,
        topics=kept.topics,
        confidence=kept.confidence,
        source=kept.source,
        extra=extra.strings,
        names=(portable.stem(kept.slug), kept.slug, kept.title),
        pinned=own.pinned,
        may_pin=kept.provenance not in ("web", "compaction") and "url" not in kept.source,
        slug=kept.slug,
        base=own.base,
        portable=kept.marked,
    )
    listed = [
        Reference(
            identity=identity,
            line=1,
            name=_beside(content.file, f"{portable.stem(slug)}.md"),
            rel=rel,
            label=label,
            told=True,
        )
        for slug, rel, label in own.links
    ]
    known = {portable.stem(slug) for slug, _, _ in own.links}
    added = [
        _reference(content, mention, 0, told=True)
        for mention in marks(tail).mentions
        if mention.relation and mention.name not in known
    ]
    return item, (*listed, *added)
