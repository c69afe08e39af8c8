"""`memlog pin` and `memlog unpin`."""

from __future__ import annotations

import typer

from memlog.cli import options, output
from memlog.cli.session import AsJson, Db, In, Session, session
from memlog.cli.words import NO_ROOM
from memlog.note import Pinned


def pin(
    context: typer.Context,
    slug: options.Slug,
    *,
    allow_pin_untrusted: options.AllowPinUntrusted = False,
    actor: options.Actor = None,
    conversation: options.Conversation = None,
    request_id: options.RequestId = None,
    db: Db = None,
    scope: In = None,
    as_json: AsJson = False,
) -> None:
    """Pin a note.

    Its body, not only its title, is then meant for the system prompt.
    """
    asked = session(context, db=db, scope=scope, as_json=as_json)
    with asked.notes_for_writing() as memory:
        pinned = memory.pin(
            slug,
            allow_pin_untrusted=allow_pin_untrusted,
            actor=actor,
            conversation_id=conversation,
            request_id=request_id,
        )
    _tell(asked, pinned, done="pinned", was="was pinned already")


def unpin(
    context: typer.Context,
    slug: options.Slug,
    *,
    actor: options.Actor = None,
    conversation: options.Conversation = None,
    request_id: options.RequestId = None,
    db: Db = None,
    scope: In = None,
    as_json: AsJson = False,
) -> None:
    """Unpin a note."""
    asked = session(context, db=db, scope=scope, as_json=as_json)
    with asked.notes_for_writing() as memory:
        unpinned = memory.unpin(
            slug, actor=actor, conversation_id=conversation, request_id=request_id
        )
    _tell(asked, unpinned, done="unpinned", was="was not pinned")


def _tell(asked: Session, result: Pinned, *, done: str, was: str) -> None:
    slug = output.bold(result.note.slug)
    if asked.as_json:
        output.record(result)
    elif result.replayed:
        output.line("done before: ", f"{done} ", slug, f" (seq {result.seq})")
    elif result.changed:
        output.line(f"{done} ", slug, f" (seq {result.seq})")
    else:
        output.line("unchanged: ", slug, f" {was}")
    if not asked.as_json and result.note.live and result.pin_shown is False:
        output.line(f"  {NO_ROOM}")
