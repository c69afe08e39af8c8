"""What a caller may ask of one scope. A request that exists is well formed.

Each function takes what the caller gave and returns a frozen request, or refuses it with the value
and the rule: shapes, sizes and alphabets are checked here and nowhere else. Whether a request is
allowed in the present state is `memlog.decide`'s question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from memlog import fields
from memlog.errors import SelfLinkError
from memlog.note import NO_SOURCE, Link, Provenance, Source


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks. All three stay in the log for ever, so use opaque ids."""

    actor: str | None = None
    conversation_id: str | None = None
    request_id: str | None = None


class Content(msgspec.Struct, frozen=True, kw_only=True):
    """What makes two versions of a note the same; see `note_written/1` for the fields."""

    title: str
    body: str
    topics: tuple[str, ...] = ()
    confidence: float = 1.0
    provenance: Provenance = "agent"
    source: Source = NO_SOURCE
    extra: dict[str, str] = msgspec.field(default_factory=dict)


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """The base of all requests.

    Attributes:
        method: the name of the call.
        given: its arguments as the caller gave them, as plain JSON types; what a `request_id`
            stands for.
    """

    method: str
    given: dict[str, Any]


class Write(Request, frozen=True, kw_only=True):
    """Write a note: make one, or replace the whole content of the one with this slug."""

    content: Content
    slug: str | None = None
    pinned: bool = False
    if_seq: int | None = None
    allow_pin_untrusted: bool = False


class Pin(Request, frozen=True, kw_only=True):
    """Put a note's body into the section."""

    slug: str
    allow_pin_untrusted: bool = False


class Unpin(Request, frozen=True, kw_only=True):
    """Take a note's body out of the section."""

    slug: str


class AddLink(Request, frozen=True, kw_only=True):
    """Add an edge between two notes."""

    link: Link


class RemoveLink(Request, frozen=True, kw_only=True):
    """Take an edge away."""

    link: Link


class Harvest(Request, frozen=True, kw_only=True):
    """Say what was harvested from a compaction; see `compaction_harvested/1` for the fields."""

    key: str
    entries_sha256: str
    model: str
    slugs: tuple[str, ...]
    dropped: dict[str, int]


AnyRequest = Write | Pin | Unpin | AddLink | RemoveLink | Harvest


def origin(
    *, actor: object = None, conversation_id: object = None, request_id: object = None
) -> Origin:
    """Return who asks.

    Raises:
        InvalidRequestError: an id is not 1 to 256 bytes of valid Unicode without control
            characters.
    """
    return Origin(
        actor=fields.opaque_id("actor", actor),
        conversation_id=fields.opaque_id("conversation_id", conversation_id),
        request_id=fields.opaque_id("request_id", request_id),
    )


def write(
    *,
    title: object,
    body: object,
    topics: object = (),
    pinned: object = False,
    confidence: object = 1.0,
    source: object = None,
    slug: object = None,
    extra: object = None,
    if_seq: object = None,
    provenance: object = None,
    allow_pin_untrusted: object = False,
    max_body_bytes: int,
) -> Write:
    """Return the request to write a note; the arguments are those of `Memory.write`.

    Raises:
        InvalidRequestError: a value does not fit; the error names it and what to send instead.
    """
    raw_topics = fields.raw_topics(topics)
    stored_source = fields.source(source)
    content = Content(
        title=fields.prose("title", title, bytes_max=fields.TITLE_BYTES_MAX),
        body=fields.prose("body", body, bytes_max=max_body_bytes),
        topics=fields.topics(raw_topics),
        confidence=fields.confidence(confidence),
        provenance=fields.provenance(provenance, stored_source),
        source=stored_source,
        extra=fields.extra_strings(extra),
    )
    chosen_slug = None if slug is None else fields.slug(slug)
    seen = fields.if_seq(if_seq, slug=chosen_slug)
    pin = fields.flag("pinned", pinned)
    allow = fields.flag("allow_pin_untrusted", allow_pin_untrusted)
    given = {
        "title": content.title,
        "body": content.body,
        "topics": raw_topics,
        "pinned": pin,
        "confidence": content.confidence,
        "source": msgspec.structs.asdict(content.source),
        "slug": chosen_slug,
        "extra": content.extra,
        "if_seq": seen,
        "provenance": provenance,
        "allow_pin_untrusted": allow,
    }
    return Write(
        method="write",
        given=given,
        content=content,
        slug=chosen_slug,
        pinned=pin,
        if_seq=seen,
        allow_pin_untrusted=allow,
    )


def pin(slug: object, *, allow_pin_untrusted: object = False) -> Pin:
    """Return the request to pin a note.

    Raises:
        InvalidRequestError: a value does not fit.
    """
    return Pin(
        method="pin",
        given={"slug": slug, "allow_pin_untrusted": allow_pin_untrusted},
        slug=fields.slug(slug),
        allow_pin_untrusted=fields.flag("allow_pin_untrusted", allow_pin_untrusted),
    )


def unpin(slug: object) -> Unpin:
    """Return the request to unpin a note.

    Raises:
        InvalidRequestError: the slug does not fit.
    """
    return Unpin(method="unpin", given={"slug": slug}, slug=fields.slug(slug))


def add_link(from_slug: object, to_slug: object, rel: object, *, label: object = None) -> AddLink:
    """Return the request to add an edge.

    Raises:
        InvalidRequestError: a value does not fit.
        SelfLinkError: both slugs are the same.
    """
    link = _link(from_slug, to_slug, rel, label=label)
    return AddLink(method="link", given=msgspec.to_builtins(link), link=link)


def remove_link(
    from_slug: object, to_slug: object, rel: object, *, label: object = None
) -> RemoveLink:
    """Return the request to take an edge away.

    Raises:
        InvalidRequestError: a value does not fit.
        SelfLinkError: both slugs are the same.
    """
    link = _link(from_slug, to_slug, rel, label=label)
    return RemoveLink(method="unlink", given=msgspec.to_builtins(link), link=link)


def harvest(
    *, key: str, entries_sha256: str, model: str, slugs: Sequence[str], dropped: Mapping[str, int]
) -> Harvest:
    """Return the request that ends a harvest; its writes came before it, in the same transaction.

    Args:
        key: which compaction.
        entries_sha256: SHA-256 of the masked entries, hex.
        model: the model that was asked.
        slugs: the notes that were written.
        dropped: number of facts that were not, by reason; zeros are left out.
    """
    return Harvest(
        method="harvest",
        given={"key": key},
        key=key,
        entries_sha256=entries_sha256,
        model=model,
        slugs=tuple(slugs),
        dropped={reason: count for reason, count in sorted(dropped.items()) if count},
    )


def _link(from_slug: object, to_slug: object, rel: object, *, label: object) -> Link:
    chosen = fields.rel(rel)
    start = fields.slug(from_slug, field="from_slug")
    end = fields.slug(to_slug, field="to_slug")
    if start == end:
        raise SelfLinkError(start)
    return Link(start, end, chosen, fields.short("label", label, bytes_max=fields.LABEL_BYTES_MAX))
