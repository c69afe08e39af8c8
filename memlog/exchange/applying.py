"""Write items and links into a scope, so that doing it again changes nothing.

Each item has an id `import:<what>:<content>:<n>` as its request id: an HMAC of its identity, one of
its content, both under the store's secret, and how many versions of it came in by now. So the log
itself tells which note an item became, and whether its file has changed since:

- no id with this identity: a new note, under a slug of its own;
- the latest one has this content: nothing, whatever became of the note here meanwhile;
- another content: the note is rewritten.

Links have `link:<edge>:<n>` in the same way, those between the parts of a long text
`part:<edge>:<n>`, so that a link that was taken away here does not come back, and one that left its
file goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from memlog import requests
from memlog.codec import canonical_json
from memlog.errors import InvalidRequestError, RuleError, format_error
from memlog.exchange import splitting
from memlog.exchange.items import Item, Kind
from memlog.exchange.portable import portable
from memlog.exchange.rehearsal import Rehearsal
from memlog.memory import Memory
from memlog.note import Link, Note
from memlog.requests import Origin, Write
from memlog.text import byte_length
from memlog.together import Together, keyed_hash

Long = Literal["split", "refuse"]
Edge = Literal["link", "part"]


class Refusal(Exception):  # noqa: N818  # never leaves the package: becomes a sentence of the report
    """An item or a link cannot come in; its text says why."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How items come in.

    Attributes:
        body_bytes_max: the largest body that one note may have.
        long: what becomes of a longer one.
        keep_pins: pin what memlog's own files say was pinned.
        actor: who asks, kept in the log.
    """

    body_bytes_max: int
    long: Long = "split"
    keep_pins: bool = False
    actor: str | None = None


class Became(msgspec.Struct, frozen=True, kw_only=True):
    """What an item became.

    Attributes:
        slugs: of its note, and of the further parts of a long one.
        kinds: what happened to each of them.
        remarks: sentences about it.
    """

    slugs: tuple[str, ...]
    kinds: tuple[Kind, ...]
    remarks: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether its file gave anything new."""
        return any(kind != "unchanged" for kind in self.kinds)


def prepared(item: Item, options: Options) -> tuple[Item, ...]:
    """Return an item, or the parts of a long one, each fit to be written.

    Raises:
        Refusal: it is too long and may not be split, or has a value that no note can have.
    """
    parts = _parts(item, options)
    for part in parts:
        try:
            _write(part, options, slug=None, pinned=False)
        except InvalidRequestError as error:
            raise Refusal(format_error(error)) from None
    return parts


def _parts(item: Item, options: Options) -> tuple[Item, ...]:
    size, bytes_max = byte_length(item.body), options.body_bytes_max
    if size <= bytes_max:
        return (item,)
    if options.long == "refuse":
        reason = f"its text has {size:,} bytes, a note at most {bytes_max:,}; let it be split"
        raise Refusal(reason)
    bodies = splitting.split(item.body, bytes_max=bytes_max)
    if bodies is None:
        reason = f"its text has {size:,} bytes and too long a stretch of white space to be split"
        raise Refusal(reason)
    return tuple(
        msgspec.structs.replace(
            item,
            identity=item.identity if number == 1 else f"{item.identity}\npart {number}",
            title=splitting.part_title(item.title, number, len(bodies)),
            body=body,
            extra=item.extra if number == 1 else {},
            slug=item.slug if number == 1 else None,
            base=None,
        )
        for number, body in enumerate(bodies, start=1)
    )


def _write(item: Item, options: Options, *, slug: str | None, pinned: bool) -> Write:
    return requests.write(
        title=item.title,
        body=item.body,
        topics=item.topics,
        confidence=item.confidence,
        source=item.source,
        extra=item.extra,
        slug=slug,
        pinned=pinned,
        provenance="import",
        max_body_bytes=options.body_bytes_max,
    )


class Applier:
    """Writes items and links of one import within one open transaction, or rehearses that."""

    def __init__(self, memory: Memory, open_: Together | Rehearsal, options: Options) -> None:
        self._memory, self._open, self._options = memory, open_, options

    # --- Items

    def put(self, parts: Sequence[Item]) -> Became:
        """Write a prepared item.

        Raises:
            Refusal: the note that it became is history by now.
        """
        all_parts = [self._put(part) for part in parts]
        became = Became(
            slugs=tuple(slug for each in all_parts for slug in each.slugs),
            kinds=tuple(kind for each in all_parts for kind in each.kinds),
            remarks=tuple(remark for each in all_parts for remark in each.remarks),
        )
        if became.changed:
            self._link_parts(parts[0], became.slugs)
        return became

    def _put(self, item: Item) -> Became:
        prefix = f"import:{keyed_hash(self._memory, 'item', item.identity)}:"
        content = keyed_hash(self._memory, "content", _content(item))
        known = self._open.remembered_under(prefix)
        if known is None:
            return self._first(item, f"{prefix}{content}:1")
        remembered, request_id, count = known
        next_id = f"{prefix}{content}:{count + 1}"
        if self._is_spare(remembered.slug):
            request = _write(item, self._options, slug=None, pinned=False)
            return Became(
                slugs=(self._open.write(request, self._origin(next_id)),), kinds=("created",)
            )
        if request_id.startswith(f"{prefix}{content}:"):
            return Became(slugs=(remembered.slug,), kinds=("unchanged",))
        return self._rewrite(item, remembered.slug, next_id)

    def _is_spare(self, slug: str) -> bool:
        """Tell whether a note is a part that an import retired when its text was shorter."""
        note = self._open.note(slug)
        if note is None or note.superseded_by is None:
            return False
        edge = self._edge(Link(note.superseded_by, slug, "supersedes"), "part")
        return self._open.remembered_under(edge) is not None

    def _first(self, item: Item, request_id: str) -> Became:
        """Write an item that never came in."""
        if item.base is not None and item.portable is not None and item.slug is not None:
            note = self._open.note(item.slug)
            if note is not None and self._base(item.portable) == item.base:
                return Became(slugs=(item.slug,), kinds=("unchanged",))  # A copy of ours.
            if note is not None and self._base(portable(note).marked) == item.base:
                return self._rewrite(item, item.slug, request_id)
        free = item.slug is not None and self._open.note(item.slug) is None
        pinned = item.pinned and item.may_pin and self._options.keep_pins
        remarks = ("it was pinned, and is not here",) if item.pinned and not pinned else ()
        request = _write(item, self._options, slug=item.slug if free else None, pinned=pinned)
        there = self._open.head
        slug = self._open.write(request, self._origin(request_id))
        kind: Kind = "created" if self._open.head > there else "unchanged"
        return Became(slugs=(slug,), kinds=(kind,), remarks=remarks)

    def _base(self, marked: str) -> str:
        return base(self._memory, marked)

    def _rewrite(self, item: Item, slug: str, request_id: str) -> Became:
        note = self._open.note(slug)
        if note is None or not note.live:
            by = "" if note is None else f", which {note.superseded_by!r} superseded"
            reason = f"it changed, but became the note {slug!r}{by}; change that one by hand"
            raise Refusal(reason)
        request = _write(item, self._options, slug=slug, pinned=False)
        remarks = _rewrite_remarks(note)
        self._open.write(request, self._origin(request_id))
        return Became(slugs=(slug,), kinds=("rewritten",), remarks=remarks)

    def _link_parts(self, item: Item, slugs: Sequence[str]) -> None:
        first, *others = slugs
        links = [
            Link(first, slug, "related", f"part {number} of {len(slugs)}")
            for number, slug in enumerate(others, start=2)
        ]
        for link in links:
            self.link(link, kind="part")
        self._retire_parts(item, len(slugs), first)
        self.unlink_others(first, links, kind="part")

    def _retire_parts(self, item: Item, count: int, by: str) -> None:
        """Let the first part supersede the parts that an edited file needs no more."""
        number = count + 1
        while True:
            part = keyed_hash(self._memory, "item", f"{item.identity}\npart {number}")
            known = self._open.remembered_under(f"import:{part}:")
            if known is None:
                return
            note = self._open.note(known[0].slug)
            if note is not None and note.live and note.slug != by:
                self.link(Link(by, note.slug, "supersedes"), kind="part")
            number += 1

    # --- Links

    def link(self, link: Link, *, kind: Edge = "link", new: bool = True) -> bool:
        """Add a link; return whether it was added.

        Args:
            link: the edge.
            kind: `link` for one that the file has, `part` for one between the parts of a long text.
            new: the file changed: add it even if it was here and was taken away.

        Raises:
            Refusal: the rules forbid it.
        """
        prefix = self._edge(link, kind)
        known = self._open.remembered_under(prefix)
        if known is not None and not new:
            return False
        count = 0 if known is None else known[2]
        request = requests.add_link(link.from_slug, link.to_slug, link.rel, label=link.label)
        try:
            return self._open.ask(request, self._origin(f"{prefix}{count + 1}"))
        except RuleError as error:
            raise Refusal(format_error(error)) from None

    def unlink_others(self, slug: str, kept: Sequence[Link], *, kind: Edge = "link") -> int:
        """Take away the links that an import added to a note and its file has no more.

        Parts that were not needed for a while stay superseded: others took their place.
        """
        note = self._open.note(slug)
        assert note is not None
        gone = 0
        for link in self._open.links(note):
            stays = link in kept or (kind == "part" and link.rel == "supersedes")
            prefix = self._edge(link, kind)
            known = None if stays else self._open.remembered_under(prefix)
            if known is not None:
                request = requests.remove_link(
                    link.from_slug, link.to_slug, link.rel, label=link.label
                )
                gone += self._open.ask(request, self._origin(f"{prefix}{known[2] + 1}"))
        return gone

    def _edge(self, link: Link, kind: Edge) -> str:
        parts = (link.from_slug, link.to_slug, link.rel, canonical_json(link.label).decode())
        return f"{kind}:{keyed_hash(self._memory, 'link', *parts)}:"

    def _origin(self, request_id: str) -> Origin:
        return Origin(actor=self._options.actor, request_id=request_id)


def _content(item: Item) -> str:
    """Return what makes two versions of an item differ; not the path that led to it."""
    source = {name: value for name, value in item.source.items() if name != "artifact"}
    whole = [item.title, item.body, item.topics, item.confidence, source, item.extra]
    return canonical_json(whole).decode()


def base(memory: Memory, marked: str) -> str:
    """Return the mark of a note's content in memlog's own Markdown files."""
    return keyed_hash(memory, "base", marked)


def _rewrite_remarks(note: Note) -> tuple[str, ...]:
    remarks = []
    if note.provenance != "import":
        remarks.append(f"the note {note.slug!r} was written here since; its history keeps that")
    if note.pinned:
        remarks.append(f"the note {note.slug!r} was pinned and is not any more")
    return tuple(remarks)
