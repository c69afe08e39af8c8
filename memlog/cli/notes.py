"""`memlog read` and `memlog list`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Annotated

import typer

from memlog.cli import cells, options, output, rows
from memlog.cli.session import AsJson, Db, In, session
from memlog.cli.terminal import visible
from memlog.cli.words import (
    counted,
    edge_words,
    mark_words,
    scope_name,
    state_mark,
    state_words,
)
from memlog.note import Note, Reading, Scope
from memlog.reads import Reads

_PAGE_NOTES = 500
_SLUG_CELLS_MIN = 12
_SLUG_SHARE = 0.4  # of a terminal's columns
_LABEL_CELLS = 15


# --- read


def read(
    context: typer.Context,
    slug: options.Slug,
    *,
    db: Db = None,
    scope: In = None,
    as_json: AsJson = False,
) -> None:
    """Read a note.

    On a terminal: what is known about it, then its body, with control characters shown as escapes.
    Into a pipe or file: the exact bytes of the body and nothing else.
    """
    asked = session(context, db=db, scope=scope, as_json=as_json)
    with asked.notes_for_reading() as memory:
        show_note(memory, slug, as_json=asked.as_json)


def show_note(reads: Reads, slug: str, *, as_json: bool) -> None:
    """Show one note, as it is now or was then."""
    reading = reads.read(slug)
    if as_json:
        output.record(reading)
        return
    if output.on_terminal():
        _show_head(reading, reads.scope)
    output.body(reading.note.body)


def _show_head(reading: Reading, scope: Scope) -> None:
    output.line(output.bold(reading.note.title))
    for label, words in _head(reading, scope):
        first, *more = cells.wrap(visible(words), output.width() - _LABEL_CELLS)
        output.line(output.dim(f"  {label:<{_LABEL_CELLS - 2}}"), first)
        for part in more:
            output.line(" " * _LABEL_CELLS + part)
    output.line()


def _head(reading: Reading, scope: Scope) -> Iterator[tuple[str, str]]:
    note, source = reading.note, reading.note.source
    yield "note", f"{note.slug} in {scope_name(scope)}"
    if note.superseded_by is not None:
        yield "history", f"superseded by {note.superseded_by}"
    if note.pinned:
        yield "pinned", "yes"
    if note.topics:
        yield "topics", ", ".join(note.topics)
    yield "from", f"{note.provenance}, confidence {note.confidence:g}"
    given = (source.url, source.artifact, source.note, source.created_at, source.updated_at)
    if any(given):
        yield "source", " · ".join(part for part in given if part)
    yield "written", f"{output.moment(note.written_at)} UTC (seq {note.written_seq})"
    if note.created_seq != note.written_seq:
        yield "created", f"{output.moment(note.created_at)} UTC (seq {note.created_seq})"
    if note.updated_seq != note.written_seq:
        yield "touched", f"last by seq {note.updated_seq}"
    for link in reading.links:
        yield "links to", f"{link.to_slug} {edge_words(link)}"
    for link in reading.backlinks:
        yield "linked from", f"{link.from_slug} {edge_words(link)}"


# --- list


def list_notes(
    context: typer.Context,
    *,
    all_notes: options.AllNotes = False,
    limit: Annotated[
        int | None,
        typer.Option("--limit", metavar="N", min=1, help="At most so many.", show_default="all"),
    ] = None,
    db: Db = None,
    scope: In = None,
    as_json: AsJson = False,
) -> None:
    """List the notes of a scope.

    The most recently written first. Into a pipe: slug, state, time of writing, topics and title,
    with tabs between them.
    """
    asked = session(context, db=db, scope=scope, as_json=as_json)
    with asked.notes_for_reading() as memory:
        show_notes(memory, all_notes=all_notes, limit=limit, as_json=asked.as_json)


def show_notes(reads: Reads, *, all_notes: bool, limit: int | None, as_json: bool) -> None:
    """Show the notes of a scope, as they are now or were then."""
    notes = islice(_pages(reads, live_only=not all_notes), limit)
    if as_json:
        for note in notes:
            output.record(note)
    elif output.on_terminal():
        _show_on_terminal(notes, hint=mark_words(all_notes=all_notes))
    else:
        for note in notes:
            output.fields(_fields(note))


def _pages(reads: Reads, *, live_only: bool) -> Iterator[Note]:
    before = None
    while page := reads.notes(limit=_PAGE_NOTES, before=before, live_only=live_only):
        yield from page
        before = page[-1].written_seq


def _fields(note: Note) -> Sequence[str]:
    state = state_words(pinned=note.pinned, superseded_by=note.superseded_by)
    return note.slug, state, output.moment(note.written_at), ",".join(note.topics), note.title


def _show_on_terminal(notes: Iterator[Note], *, hint: str) -> None:
    first_page = list(islice(notes, _PAGE_NOTES))
    longest = max((len(note.slug) for note in first_page), default=0)
    slug_cells = max(_SLUG_CELLS_MIN, min(longest, int(output.width() * _SLUG_SHARE)))
    columns = (
        rows.Column("", 1),
        rows.Column("WRITTEN", 10),
        rows.Column("SLUG", slug_cells, whole=True),
    )
    note_count = rows.show(columns, "TITLE", _marked([*first_page], notes))
    output.line(output.dim(f"{counted(note_count, 'note')}  {hint}"))


def _marked(first_page: Iterable[Note], rest: Iterable[Note]) -> Iterator[Sequence[str]]:
    for notes in (first_page, rest):
        for note in notes:
            mark = state_mark(pinned=note.pinned, superseded_by=note.superseded_by)
            yield mark, output.moment(note.written_at)[:10], note.slug, note.title
