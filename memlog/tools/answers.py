"""What the four tools answer: the structured content for programs, checked by a schema each.

Structured content reaches models too (through MCP), so all that a note says is harmless in it: a
body or a snippet is wrapped, a title, a label or a source is one defused line, and the standing
line comes first. `texts` makes the text for the model from the same values.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import BaseModel, ConfigDict

from memlog.defuse import STANDING_LINE, utc_date, wrap
from memlog.note import Link, Linked, Note, Reading, Similar, Source, Written
from projections.digest.headline import plain, quoted
from projections.search.protocol import Hit

LINKS_MAX = 50


class Answer(BaseModel):
    """The base: closed; `notice` is the standing line."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    notice: str = STANDING_LINE


class SimilarNote(BaseModel):
    """A live note whose title and topics share words with what was written."""

    slug: str
    title: str
    score: float


class WriteAnswer(Answer):
    """What `memory_write` answers.

    Attributes:
        slug: the note.
        created: it is new.
        changed: something was written.
        pinned: it is pinned now.
        pin_shown: its text has room in the index; null when it is not pinned.
        unpinned: this rewrite took its pin away.
        similar: best first, at most 5.
        same_fact: slug of the similar note that looks like the same fact, or null.
    """

    slug: str
    created: bool
    changed: bool
    pinned: bool
    pin_shown: bool | None
    unpinned: bool
    similar: list[SimilarNote]
    same_fact: str | None


class FoundNote(BaseModel):
    """A hit; `snippet` is wrapped."""

    slug: str
    title: str
    snippet: str
    topics: list[str]
    provenance: str
    confidence: float
    date: str
    pinned: bool
    superseded_by: str | None


class SearchAnswer(Answer):
    """What `memory_search` answers: best first, or newest first when no words were given."""

    notes: list[FoundNote]


class Edge(BaseModel):
    """A link from one note to another."""

    from_slug: str
    rel: str
    to_slug: str
    label: str | None


class Origin(BaseModel):
    """Where a note's content came from, as its writer said."""

    url: str | None
    artifact: str | None
    note: str | None
    created_at: str | None
    updated_at: str | None


class ReadAnswer(Answer):
    """What `memory_read` answers; `body` is wrapped.

    Attributes:
        links: what leaves the note, the newest 50.
        backlinks: what reaches it, the newest 50.
        links_left_out: how many more there are of both.
    """

    slug: str
    title: str
    body: str
    topics: list[str]
    provenance: str
    confidence: float
    date: str
    pinned: bool
    source: Origin
    superseded_by: str | None
    links: list[Edge]
    backlinks: list[Edge]
    links_left_out: int


class LinkedNote(BaseModel):
    """One end of a link, as it is now."""

    slug: str
    title: str
    provenance: str
    date: str
    superseded_by: str | None


class LinkAnswer(Answer):
    """What `memory_link` answers.

    Attributes:
        changed: the link is new.
        left_section: the older note was pinned, and has left the index.
    """

    changed: bool
    from_note: LinkedNote
    to_note: LinkedNote
    rel: str
    label: str | None
    left_section: bool


def of_write(written: Written, *, same_fact: str | None) -> WriteAnswer:
    """Return the answer to a write."""
    return WriteAnswer(
        slug=written.note.slug,
        created=written.created,
        changed=written.changed,
        pinned=written.note.pinned,
        pin_shown=written.pin_shown,
        unpinned=written.unpinned,
        similar=[_similar(each) for each in written.similar],
        same_fact=same_fact,
    )


def of_search(hits: Iterable[Hit]) -> SearchAnswer:
    """Return the answer to a search."""
    return SearchAnswer(
        notes=[
            FoundNote(
                slug=hit.slug,
                title=_short_title(hit.title),
                snippet=wrap(hit, hit.snippet),
                topics=_topics(hit.topics),
                provenance=hit.provenance,
                confidence=hit.confidence,
                date=utc_date(hit.written_at),
                pinned=hit.pinned,
                superseded_by=hit.superseded_by,
            )
            for hit in hits
        ]
    )


def of_read(reading: Reading) -> ReadAnswer:
    """Return the answer to a read. The title is whole: a rewrite needs it."""
    note = reading.note
    links, backlinks = reading.links[-LINKS_MAX:], reading.backlinks[-LINKS_MAX:]
    left_out = len(reading.links) + len(reading.backlinks) - len(links) - len(backlinks)
    return ReadAnswer(
        slug=note.slug,
        title=plain(note.title),
        body=wrap(note),
        topics=_topics(note.topics),
        provenance=note.provenance,
        confidence=note.confidence,
        date=utc_date(note.written_at),
        pinned=note.pinned,
        source=_origin(note.source),
        superseded_by=note.superseded_by,
        links=[_edge(link) for link in links],
        backlinks=[_edge(link) for link in backlinks],
        links_left_out=left_out,
    )


def of_link(linked: Linked) -> LinkAnswer:
    """Return the answer to a link."""
    return LinkAnswer(
        changed=linked.changed,
        from_note=_linked_note(linked.from_note),
        to_note=_linked_note(linked.to_note),
        rel=linked.rel,
        label=_line(linked.link.label),
        left_section=linked.left_section,
    )


def _linked_note(note: Note) -> LinkedNote:
    return LinkedNote(
        slug=note.slug,
        title=_short_title(note.title),
        provenance=note.provenance,
        date=utc_date(note.written_at),
        superseded_by=note.superseded_by,
    )


def _similar(similar: Similar) -> SimilarNote:
    return SimilarNote(
        slug=similar.slug, title=_short_title(similar.title), score=round(similar.score, 3)
    )


def _short_title(title: str) -> str:
    return quoted(title)[1:-1]


def _topics(topics: Sequence[str]) -> list[str]:
    return [plain(topic) for topic in topics]


def _edge(link: Link) -> Edge:
    return Edge(
        from_slug=link.from_slug, rel=link.rel, to_slug=link.to_slug, label=_line(link.label)
    )


def _origin(source: Source) -> Origin:
    return Origin(
        url=_line(source.url),
        artifact=_line(source.artifact),
        note=_line(source.note),
        created_at=source.created_at,
        updated_at=source.updated_at,
    )


def _line(text: str | None) -> str | None:
    return None if text is None else plain(text)
