"""`memlog link` and `memlog unlink`."""

from __future__ import annotations

from typing import Annotated

import typer

from memlog.cli import options, output
from memlog.cli.session import AsJson, Db, In, Session, session
from memlog.cli.words import edge_words
from memlog.note import Linked

_From = Annotated[
    str,
    typer.Argument(
        metavar="FROM",
        autocompletion=options.slugs,
        help="The note that the edge leaves: the newer one of 'supersedes'.",
        show_default=False,
    ),
]
_To = Annotated[
    str,
    typer.Argument(
        metavar="TO",
        autocompletion=options.slugs,
        help="The note that it reaches.",
        show_default=False,
    ),
]
_Rel = Annotated[
    str,
    typer.Argument(
        metavar="REL",
        autocompletion=options.rels,
        help="related, derived_from or supersedes.",
        show_default=False,
    ),
]
_Label = Annotated[
    str | None,
    typer.Option("--label", metavar="TEXT", help="A few words; part of the edge's identity."),
]


def link(
    context: typer.Context,
    from_slug: _From,
    to_slug: _To,
    rel: _Rel,
    *,
    label: _Label = None,
    actor: options.Actor = None,
    conversation: options.Conversation = None,
    request_id: options.RequestId = None,
    db: Db = None,
    scope: In = None,
    as_json: AsJson = False,
) -> None:
    """Link two notes of one scope.

    'memlog link NEW OLD supersedes' makes OLD history: it stays readable, but is no longer live.
    """
    asked = session(context, db=db, scope=scope, as_json=as_json)
    with asked.notes_for_writing() as memory:
        linked = memory.link(
            from_slug,
            to_slug,
            rel,
            label=label,
            actor=actor,
            conversation_id=conversation,
            request_id=request_id,
        )
    _tell(asked, linked, done="linked", joint="to", was="was there already")
    if linked.left_section and not asked.as_json:
        output.line(f"  {to_slug} was pinned, and left the section")


def unlink(
    context: typer.Context,
    from_slug: _From,
    to_slug: _To,
    rel: _Rel,
    *,
    label: _Label = None,
    actor: options.Actor = None,
    conversation: options.Conversation = None,
    request_id: options.RequestId = None,
    db: Db = None,
    scope: In = None,
    as_json: AsJson = False,
) -> None:
    """Take a link away again.

    It is the way to undo a wrong 'supersedes'.
    """
    asked = session(context, db=db, scope=scope, as_json=as_json)
    with asked.notes_for_writing() as memory:
        unlinked = memory.unlink(
            from_slug,
            to_slug,
            rel,
            label=label,
            actor=actor,
            conversation_id=conversation,
            request_id=request_id,
        )
    _tell(asked, unlinked, done="unlinked", joint="from", was="was not there")


def _tell(asked: Session, result: Linked, *, done: str, joint: str, was: str) -> None:
    edge = result.link
    ends = (
        output.bold(edge.from_slug),
        f" {joint} ",
        output.bold(edge.to_slug),
        f" {edge_words(edge)}",
    )
    if asked.as_json:
        output.record(result)
    elif result.replayed:
        output.line(f"done before: {done} ", *ends, f" (seq {result.seq})")
    elif result.changed:
        output.line(f"{done} ", *ends, f" (seq {result.seq})")
    else:
        output.line(f"unchanged: {edge.from_slug} {joint} {edge.to_slug} {edge_words(edge)} {was}")
