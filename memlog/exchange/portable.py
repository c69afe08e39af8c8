"""A note as a Markdown file of memlog's own, and back: the front matter, the mark, the relations.

    ---
    type: note
    title: Deploy key rotates
    tags: [deploy]
    permalink: deploy-key-rotates
    sources: [{resource: https://…}]
    generated: {by: agent, at: 2026-11-30T19:15:00.000000Z}
    verified: []
    status: stable
    memlog: {slug: …, provenance: …, confidence: …, pinned: …, source: {…}, extra: {…},
             links: [{to: …, rel: …, label: …}], base: …}
    ---
    The body, byte for byte.

    <!-- memlog: what follows is not part of the note -->

    ## Relations

    - supersedes [[old]] ([old](old.md))

`type` to `status` are those of the Open Knowledge Format, `permalink` and the relations those of
basic-memory, the wikilinks Obsidian's; `memlog` holds what only memlog has, and is what it reads
back. `base` is an HMAC of the note's content under the secret of the store that wrote the file. A
file that still fits its mark is a copy of a note of this very scope and brings nothing; a file
whose mark fits the note as it is now was edited since, and rewrites that note. Any other file is
somebody else's, or both sides changed: it becomes a new note.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from memlog import text
from memlog.codec import canonical_json
from memlog.errors import InvalidRequestError
from memlog.fields import source as checked_source
from memlog.note import PROVENANCES, RELS, Link, Note, Rel

KEY = "memlog"
_OWN_BYTES_MAX = 1_000  # Escaped six times as much, which still leaves room in `extra`.
TAIL = "<!-- memlog: what follows is not part of the note -->"
_TAIL_START = f"\n\n{TAIL}\n"
_RESERVED = frozenset(
    {"con", "prn", "aux", "nul", "index", "log"}
    | {f"{device}{number}" for device in ("com", "lpt") for number in range(10)}
)


class Portable(msgspec.Struct, frozen=True, kw_only=True):
    """What a note takes with it; two of the same content are equal.

    Attributes:
        slug: its name where it was written down.
        title: as in `memlog.note.Note`, like the next five.
        body: see above.
        topics: see above.
        confidence: see above.
        source: the fields that are set.
        extra: without what an import added.
        provenance: the original one, also of a note that was imported from memlog's own files.
    """

    slug: str
    title: str
    body: str
    topics: tuple[str, ...]
    confidence: float
    source: dict[str, str]
    extra: dict[str, str]
    provenance: str

    @property
    def marked(self) -> str:
        """The form that the mark `base` is made of."""
        return canonical_json(msgspec.to_builtins(self)).decode()


class Origin(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an imported note keeps of the one that it was, as JSON in its `extra`, under `KEY`.

    Attributes:
        provenance: of that note.
        written_at: when it was written, as the log writes times; "" when that is not told.
        extra: what that note had under `KEY` itself, if it was no imported one.
    """

    provenance: str
    written_at: str
    extra: str | None = None


def portable(note: Note) -> Portable:
    """Return what a note takes with it."""
    imported, whence = origin_of(note), origin(note)
    source = msgspec.structs.asdict(note.source)
    extra: dict[str, str | None] = {**note.extra}
    if imported is not None:
        extra[KEY] = imported.extra
    return Portable(
        slug=note.slug,
        title=note.title,
        body=note.body,
        topics=note.topics,
        confidence=note.confidence,
        source={name: value for name, value in source.items() if value is not None},
        extra={name: value for name, value in extra.items() if value is not None},
        provenance=whence.provenance,
    )


def origin_of(note: Note) -> Origin | None:
    """Return what an imported note says about the one that it was, or None."""
    kept = note.extra.get(KEY)
    if kept is None or note.provenance != "import":
        return None
    try:
        return msgspec.json.decode(kept, type=Origin)
    except msgspec.DecodeError:
        return None


def origin(note: Note) -> Origin:
    """Return the origin of a note: its own, or the one that it was imported with."""
    written_at = text.utc_text(note.written_at)
    return origin_of(note) or Origin(provenance=note.provenance, written_at=written_at)


def extra_of(kept: Mapping[str, str], *, provenance: str, written_at: str) -> dict[str, str]:
    """Return the `extra` of an imported note: its origin first, since there may be no room."""
    others = {**kept}
    own = others.pop(KEY, None)
    if own is not None and text.byte_length(own) > _OWN_BYTES_MAX:
        others[f"{KEY}_"], own = own, None
    whence = Origin(provenance=provenance, written_at=written_at, extra=own)
    return {KEY: msgspec.json.encode(whence).decode(), **others}


def stem(slug: str) -> str:
    """Return a file name, without `.md`, that every system takes and no other slug has.

    A slug is lower case and at most 80 characters, so only names that Windows or OKF reserve need
    care; no slug begins with `_`.
    """
    return f"_{slug}" if slug.partition(".")[0] in _RESERVED else slug


def front_matter(note: Note, links: Sequence[Link], *, base: str) -> dict[str, Any]:
    """Return the front matter of a note's file."""
    kept, written_at = portable(note), origin(note).written_at
    untold = kept.provenance in ("web", "compaction")
    status = "deprecated" if not note.live else "draft" if untold else "stable"
    by = "human:user" if kept.provenance == "user" else kept.provenance
    ours: dict[str, Any] = {
        "slug": kept.slug,
        "provenance": kept.provenance,
        "confidence": kept.confidence,
        "pinned": note.pinned,
        "source": kept.source,
        "extra": kept.extra,
        "links": [_link_fields(link) for link in links],
        "base": base,
    }
    url = kept.source.get("url")
    return {
        "type": "note",
        "title": kept.title,
        "tags": list(kept.topics),
        "permalink": stem(note.slug),
        "sources": [] if url is None else [{"resource": url}],
        "generated": {"by": by, "at": written_at},
        "verified": [{"by": by, "at": written_at}] if kept.provenance == "user" else [],
        "status": status,
        KEY: {name: value for name, value in ours.items() if value not in ({}, [], False)},
    }


def _link_fields(link: Link) -> dict[str, str]:
    label = {} if link.label is None else {"label": link.label}
    return {"to": link.to_slug, "rel": link.rel, **label}


def tail(body: str, links: Sequence[Link]) -> str:
    """Return what stands below the body; nothing when nothing needs to."""
    if not links:
        return _TAIL_START if TAIL in body else ""
    lines = "".join(f"- {_rel_words(link)} {_shown(link.to_slug)}\n" for link in links)
    return f"{_TAIL_START}\n## Relations\n\n{lines}"


def _rel_words(link: Link) -> str:
    words = " ".join((link.label or link.rel).split())
    if link.rel != "related" or any(mark in words for mark in '[]"`*_<\\#'):
        return link.rel
    return f'"{words}"' if " " in words else words


def _shown(slug: str) -> str:
    name = stem(slug)
    return f"[[{name}]] ([{name}]({name}.md))"


def split_tail(content: str) -> tuple[str, str]:
    """Return the body of a file of memlog's own, and what stands below it."""
    body, mark, below = content.rpartition(_TAIL_START)
    return (body, below) if mark else (content, "")


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """What a file of memlog's own says about its note.

    Attributes:
        portable: the note's content.
        pinned: its body was in the section.
        written_at: when it was written, as the log writes times; "" when that is not told.
        links: edges that left it: slug, rel, label.
        base: the mark.
    """

    portable: Portable
    pinned: bool
    written_at: str
    links: tuple[tuple[str, Rel, str | None], ...]
    base: str


def read(fields: Mapping[str, Any], body: str) -> Read | None:
    """Return what the front matter of memlog's own files says, or None when it is no such one.

    Every value is somebody's word and checked: what does not fit makes it an ordinary file.
    """
    ours = fields.get(KEY)
    if not isinstance(ours, dict):
        return None
    try:
        kept = Portable(
            slug=_slug(ours.get("slug")),
            title=_string(fields.get("title")),
            body=body,
            topics=tuple(_strings(fields.get("tags") or [])),
            confidence=round(float(_string(ours.get("confidence", "1.0"))), 3) + 0.0,
            source=_mapping(ours.get("source") or {}),
            extra=_mapping(ours.get("extra") or {}),
            provenance=_one_of(ours.get("provenance"), PROVENANCES),
        )
        checked_source(kept.source)
        links = tuple(_link(each) for each in ours.get("links") or [])
        generated = fields.get("generated")
        written_at = generated.get("at") if isinstance(generated, dict) else None
        return Read(
            portable=kept,
            pinned=ours.get("pinned") == "true",
            written_at=written_at if isinstance(written_at, str) else "",
            links=links,
            base=_string(ours.get("base", "-")),
        )
    except (ValueError, TypeError, AttributeError, InvalidRequestError):
        return None


def _string(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError
    return value


def _slug(value: object) -> str:
    if not isinstance(value, str) or not text.is_slug(value):
        raise ValueError
    return value


def _strings(value: object) -> list[str]:
    if not isinstance(value, list):
        raise TypeError
    return [_string(each) for each in value]


def _mapping(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise TypeError
    if not all(isinstance(part, str) for pair in value.items() for part in pair):
        raise TypeError
    return dict(value)


def _one_of(value: object, known: Sequence[str]) -> str:
    if value not in known:
        raise ValueError
    return str(value)


def _link(value: object) -> tuple[str, Rel, str | None]:
    fields = _mapping(value)
    rel: Any = _one_of(fields.get("rel"), RELS)
    return _slug(fields.get("to")), rel, fields.get("label")
