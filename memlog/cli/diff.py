"""`memlog diff`: what is otherwise at one moment than at another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from memlog.audit.diff import Difference
from memlog.audit.moments import Moment
from memlog.cli import difftext, moments, output, rows
from memlog.cli.session import AsJson, Db, In, session
from memlog.cli.words import edge_words

_KIND_CELLS = 11


def diff(
    context: typer.Context,
    before: Annotated[
        str,
        typer.Argument(
            metavar="FROM",
            help="A seq, position:N, or a time such as 2026-11-30T19:15Z.",
            show_default=False,
        ),
    ],
    after: Annotated[
        str | None,
        typer.Argument(metavar="[TO]", help="The same; now when missing.", show_default=False),
    ] = None,
    *,
    db: Db = None,
    scope: In = None,
    as_json: AsJson = False,
) -> None:
    """Show what changed in a scope between two moments.

    Notes added, rewritten (with the lines that differ), pinned, linked and superseded. Into a pipe:
    what, the note and how, with tabs between them, and no lines of text.
    """
    asked = session(context, db=db, scope=scope, as_json=as_json)
    with asked.notes_for_reading() as memory:
        first = moments.past_of(memory, before)
        second = None if after is None else moments.past_of(memory, after)
        found = memory.diff(first, second)
    if asked.as_json:
        output.record(found)
    else:
        _show(found)


def _show(found: Difference) -> None:
    texts = {each.slug: each.text_diff for each in found.rewritten}
    columns = (rows.Column("", _KIND_CELLS),)
    if output.on_terminal():
        output.line(output.dim(f"from {_moment(found.before)} to {_moment(found.after)}"))
        if not found:
            output.line("no difference")
    for kind, slug, how in _lines(found):
        if not output.on_terminal():
            output.fields((kind, slug, how))
            continue
        rows.show(columns, "", [(kind, f"{slug} {how}".rstrip())], wrap_last=True, heading=False)
        if kind == "rewritten":
            difftext.show(texts[slug])


def _moment(moment: Moment) -> str:
    if not moment.seq:
        return "the beginning"
    return f"seq {moment.seq}, {output.moment(moment.time)}"


def _lines(found: Difference) -> Iterator[tuple[str, str, str]]:
    """Yield what happened, to which note, and how."""
    for note in found.added:
        yield "added", note.slug, f'"{note.title}"'
    for note in found.removed:
        yield "removed", note.slug, f'"{note.title}"'
    for each in found.rewritten:
        yield "rewritten", each.slug, f"({', '.join(each.changed)})"
    for slug in found.pinned:
        yield "pinned", slug, ""
    for slug in found.unpinned:
        yield "unpinned", slug, ""
    for link in found.linked:
        yield "linked", link.from_slug, f"to {link.to_slug} {edge_words(link)}"
    for link in found.unlinked:
        yield "unlinked", link.from_slug, f"from {link.to_slug} {edge_words(link)}"
    for each_old in found.superseded:
        yield "superseded", each_old.slug, f"by {each_old.superseded_by}"
    for slug in found.restored:
        yield "restored", slug, "(no longer superseded)"
