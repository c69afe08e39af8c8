"""`memlog search`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

import memlog
from memlog.cli import cells, options, output
from memlog.cli.session import AsJson, Db, In, session
from memlog.cli.terminal import visible
from memlog.cli.words import counted, mark_words, state_mark, state_words
from memlog.shown import shown
from projections.search.protocol import Hit

_INDENT = "  "
_TITLE_CELLS_MIN = 16


def search(
    context: typer.Context,
    query: Annotated[
        list[str],
        typer.Argument(
            metavar="QUERY", help="Words, in any form; there is no syntax.", show_default=False
        ),
    ],
    *,
    topic: Annotated[
        str | None, typer.Option("--topic", metavar="TOPIC", help="Only notes with this topic.")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, help="At most so many.")
    ] = 10,
    all_notes: options.AllNotes = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show what each score is made of.")
    ] = False,
    db: Db = None,
    scope: In = None,
    as_json: AsJson = False,
) -> None:
    """Find notes.

    The best first; a blank QUERY lists the most recently written. Into a pipe: slug, state, time of
    writing, topics, title, provenance and snippet, with tabs between them; with --explain also
    score, relevance, recency and pin. The index lies beside the store, which is not changed.
    """
    asked = session(context, db=db, scope=scope, as_json=as_json)
    words = " ".join(query)
    with asked.notes_for_reading() as memory:
        hits = memory.search(words, limit=limit, topic=_stored(topic), include_superseded=all_notes)
        if not hits:
            output.notice(_nothing(words, topic=topic, all_notes=all_notes))
        show_hits(hits, explain=explain, limit=limit, all_notes=all_notes, as_json=asked.as_json)
        sys.stdout.flush()  # What follows is the index going to disk; nobody need wait for that.


def show_hits(
    hits: Sequence[Hit], *, explain: bool, limit: int, all_notes: bool, as_json: bool
) -> None:
    """Show what a search found."""
    if as_json:
        for hit in hits:
            output.record(hit)
    elif not output.on_terminal():
        for hit in hits:
            output.fields(_fields(hit, explain=explain))
    elif hits:
        _show_on_terminal(hits, explain=explain)
        output.line(output.dim(_foot(len(hits), limit=limit, all_notes=all_notes)))


def _stored(topic: str | None) -> str | None:
    """Return a topic as notes have it, so that what `write --topic` took is found."""
    return None if topic is None else next(iter(memlog.normalize_topics([topic])), topic)


def _nothing(query: str, *, topic: str | None, all_notes: bool) -> str:
    notes = "note" if topic is None else f"note on the topic {shown(topic)}"
    where = "" if all_notes else "; --all looks in superseded notes too"
    return f"no {notes}{f' fits {shown(query)}' if query.strip() else ''}{where}"


def _fields(hit: Hit, *, explain: bool) -> Sequence[str]:
    numbers = (hit.score, hit.relevance, hit.recency, hit.pin)
    return (
        hit.slug,
        state_words(pinned=hit.pinned, superseded_by=hit.superseded_by),
        output.moment(hit.written_at),
        ",".join(hit.topics),
        hit.title,
        hit.provenance,
        hit.snippet,
        *(f"{number:.6g}" for number in numbers if explain),
    )


def _show_on_terminal(hits: Sequence[Hit], *, explain: bool) -> None:
    room = output.width() - len(_INDENT)
    for hit in hits:
        _show_head(hit, room)
        for line in cells.wrap(visible(hit.snippet), room):
            output.line(_INDENT + line)
        for line in cells.wrap(visible(" · ".join(_facts(hit))), room):
            output.line(output.dim(_INDENT + line))
        if explain:
            output.line(output.dim(_INDENT + _formula(hit)))
        output.line()


def _show_head(hit: Hit, room: int) -> None:
    mark = state_mark(pinned=hit.pinned, superseded_by=hit.superseded_by)
    title, beside = visible(hit.title), room - len(hit.slug) - len(_INDENT)
    start = f"{mark:<{len(_INDENT)}}", output.bold(hit.slug)
    if beside < _TITLE_CELLS_MIN:
        output.line(*start)
        output.line(_INDENT + cells.cut(title, room))
    else:
        output.line(*start, _INDENT + cells.cut(title, beside))


def _facts(hit: Hit) -> Sequence[str]:
    facts = (
        output.moment(hit.written_at)[:10],
        "" if hit.provenance == "agent" else f"from {hit.provenance}",
        "" if hit.superseded_by is None else f"superseded by {hit.superseded_by}",
        ", ".join(hit.topics),
    )
    return [fact for fact in facts if fact]


def _formula(hit: Hit) -> str:
    score = f"score {hit.score:.4g} = relevance {hit.relevance:.4g}"
    return f"{score} × (1 + recency {hit.recency:.4g} + pin {hit.pin:.4g})"


def _foot(hit_count: int, *, limit: int, all_notes: bool) -> str:
    more = "  more: --limit" if hit_count == limit else ""
    return f"{counted(hit_count, 'note')}  {mark_words(all_notes=all_notes)}{more}"
