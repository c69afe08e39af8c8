"""The answers of the tools as text for a model.

Under the standing line, a line at a time; what a note says stands wrapped, or in quotes at the very
end of its line, so that nothing in it can pass for a slug, an origin or another line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from memlog.tools.answers import (
    Edge,
    FoundNote,
    LinkAnswer,
    LinkedNote,
    ReadAnswer,
    SearchAnswer,
    WriteAnswer,
)

_NAMED_PROVENANCES = ("web", "compaction", "import")


def of_write(answer: WriteAnswer, *, is_users: bool) -> str:
    """Return what `memory_write` says.

    Args:
        answer: the structured content.
        is_users: `same_fact` is a person's pinned note, which no tool can supersede.
    """
    lines = [_what_was_written(answer), *_pin_lines(answer)]
    if not answer.similar:
        return "\n".join(lines)
    listed = [f'- {each.slug} (score {each.score:.2f}): "{each.title}"' for each in answer.similar]
    return "\n".join(
        [answer.notice, *lines, "Similar notes:", *listed, *_same_fact(answer, is_users=is_users)]
    )


def _what_was_written(answer: WriteAnswer) -> str:
    if answer.created:
        return f"Kept as the new note {answer.slug}."
    if answer.changed:
        return f"Changed {answer.slug}."
    return f"Nothing to do: {answer.slug} says exactly this already."


def _pin_lines(answer: WriteAnswer) -> Iterator[str]:
    if answer.unpinned:
        yield "This took its pin away; to keep a pin, send pinned: true with each rewrite."
    if answer.pin_shown:
        yield "It is pinned: its text is part of the index."
    elif answer.pinned:
        yield "It is pinned, but the index has no room for its text: shorten it, or unpin others."


def _same_fact(answer: WriteAnswer, *, is_users: bool) -> Iterator[str]:
    if answer.same_fact is None:
        return
    looks = f"{answer.same_fact} looks like the same fact"
    if is_users:
        yield f"{looks}, but is a person's pinned note: if it is out of date, tell the person."
        return
    arguments = {"from_slug": answer.slug, "to_slug": answer.same_fact, "rel": "supersedes"}
    yield f"{looks}. If yours replaces it, call memory_link with {json.dumps(arguments)}."


def of_search(answer: SearchAnswer, *, by_words: bool) -> str:
    """Return what `memory_search` says.

    Args:
        answer: the structured content.
        by_words: it was asked for words, not for the newest notes.
    """
    if not answer.notes and not by_words:
        return "There is no note yet, or none of this topic."
    if not answer.notes:
        return "No note was found; try other words or fewer, and no topic."
    order = "best first" if by_words else "newest first"
    count = "1 note" if len(answer.notes) == 1 else f"{len(answer.notes)} notes, {order}"
    head = f"{answer.notice}\n{count}. memory_read opens one by its slug."
    return "\n\n".join([head, *map(_found, answer.notes)])


def _found(note: FoundNote) -> str:
    return "\n".join([f'"{note.title}"', note.snippet, *_facts(note)])


def _facts(note: FoundNote | ReadAnswer) -> Iterator[str]:
    if note.topics:
        yield f"topics: {', '.join(note.topics)}"
    if note.pinned:
        yield "pinned"
    if note.superseded_by is not None:
        yield f"superseded by {note.superseded_by}; read that one instead"


def of_read(answer: ReadAnswer) -> str:
    """Return what `memory_read` says."""
    edges = [*answer.links, *answer.backlinks]
    return "\n".join(
        [
            answer.notice,
            f'"{answer.title}"',
            answer.body,
            *_facts(answer),
            *_source_lines(answer),
            *(["Links:"] if edges else []),
            *map(_edge, edges),
            *([f"{answer.links_left_out} more links"] if answer.links_left_out else []),
        ]
    )


def _source_lines(answer: ReadAnswer) -> Iterator[str]:
    for name, value in answer.source:
        if value is not None:
            yield f'source {name}: "{value}"'


def _edge(edge: Edge) -> str:
    label = "" if edge.label is None else f': "{edge.label}"'
    return f"- {edge.from_slug} {edge.rel} {edge.to_slug}{label}"


def of_link(answer: LinkAnswer) -> str:
    """Return what `memory_link` says."""
    edge = Edge(
        from_slug=answer.from_note.slug,
        rel=answer.rel,
        to_slug=answer.to_note.slug,
        label=answer.label,
    )
    done = "Linked:" if answer.changed else "They were linked like this already:"
    left = f"{answer.to_note.slug} was pinned; its text has left the index."
    return "\n".join(
        [
            answer.notice,
            done,
            _edge(edge),
            "Their titles:",
            *_headlines([answer.from_note, answer.to_note]),
            *([left] if answer.left_section else []),
        ]
    )


def _headlines(notes: Iterable[LinkedNote]) -> Iterator[str]:
    for note in notes:
        origin = f", {note.provenance}" if note.provenance in _NAMED_PROVENANCES else ""
        yield f'- {note.slug} ({note.date}{origin}): "{note.title}"'
