"""`memlog write`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from memlog.cli import options, output
from memlog.cli.session import AsJson, Db, In, session
from memlog.cli.words import NO_ROOM, counted, scope_name
from memlog.errors import InvalidRequestError
from memlog.note import Scope, Written

_SHOWN_BYTES = 4


def write(
    context: typer.Context,
    title: Annotated[str, typer.Argument(metavar="TITLE", help="Its title.", show_default=False)],
    *,
    body: Annotated[
        str | None,
        typer.Option("--body", metavar="TEXT", help="The body, instead of standard input."),
    ] = None,
    slug: Annotated[
        str | None,
        typer.Option(
            "--slug",
            metavar="SLUG",
            autocompletion=options.slugs,
            help="The note to make or rewrite; derived from the title when left out, and then "
            "never that of another note.",
        ),
    ] = None,
    topic: Annotated[
        list[str] | None,
        typer.Option(
            "--topic", metavar="TOPIC", help="May be repeated; the first one files the note."
        ),
    ] = None,
    pinned: Annotated[
        bool, typer.Option("--pinned", help="Pin it; a rewrite without this unpins.")
    ] = False,
    confidence: Annotated[
        float, typer.Option("--confidence", metavar="NUMBER", help="How sure you are, 0 to 1.")
    ] = 1.0,
    source_url: Annotated[
        str | None,
        typer.Option("--source-url", metavar="URL", help="Where it came from; makes it 'web'."),
    ] = None,
    source_artifact: Annotated[
        str | None,
        typer.Option("--source-artifact", metavar="TEXT", help="A file, ticket or other origin."),
    ] = None,
    source_note: Annotated[
        str | None,
        typer.Option("--source-note", metavar="TEXT", help="Free words about the origin."),
    ] = None,
    source_created_at: Annotated[
        str | None,
        typer.Option("--source-created-at", metavar="TIME", help="ISO 8601 with a time zone."),
    ] = None,
    source_updated_at: Annotated[
        str | None, typer.Option("--source-updated-at", metavar="TIME", help="As above.")
    ] = None,
    provenance: Annotated[
        str | None,
        typer.Option(
            "--provenance", metavar="ORIGIN", help="user, compaction or import; else agent or web."
        ),
    ] = None,
    if_seq: Annotated[
        int | None,
        typer.Option(
            "--if-seq",
            metavar="SEQ",
            help="Write only if the note's updated_seq is this (0: it must not exist).",
        ),
    ] = None,
    allow_pin_untrusted: options.AllowPinUntrusted = False,
    actor: options.Actor = None,
    conversation: options.Conversation = None,
    request_id: options.RequestId = None,
    db: Db = None,
    scope: In = None,
    as_json: AsJson = False,
) -> None:
    """Write a note, or rewrite one.

    With the slug of a note that exists, its whole content is replaced. The body is what comes in on
    standard input: UTF-8, kept exactly, to the last byte. So the line feed that echo adds is part
    of the note; printf '%s' or --body adds none.
    """
    asked = session(context, db=db, scope=scope, as_json=as_json)
    whose = asked.scope()
    source = {
        "url": source_url,
        "artifact": source_artifact,
        "note": source_note,
        "created_at": source_created_at,
        "updated_at": source_updated_at,
    }
    words = _standard_input() if body is None else body
    with asked.log_for_writing(create=True) as log:
        is_first = log.position() == 0
        written = log.scope(whose).write(
            title=title,
            body=words,
            topics=topic or (),
            pinned=pinned,
            confidence=confidence,
            source={name: part for name, part in source.items() if part is not None},
            slug=slug,
            if_seq=if_seq,
            provenance=provenance,
            allow_pin_untrusted=allow_pin_untrusted,
            actor=actor,
            conversation_id=conversation,
            request_id=request_id,
        )
        if is_first:
            output.notice(f"a new log: {log.target}")
    if asked.as_json:
        output.record(written)
    else:
        _tell(written, whose)


def _standard_input() -> str:
    if sys.stdin is None:  # Closed by the caller: `<&-`.
        return ""
    if sys.stdin.isatty():
        output.notice("the body, please; end it with Ctrl-D on a line of its own")
    given = sys.stdin.buffer.read()
    try:
        return given.decode("utf-8")
    except UnicodeDecodeError as error:
        wrong = given[error.start : error.start + _SHOWN_BYTES]
        rule = f"it is not UTF-8 from byte {error.start:,} on; convert it first"
        raise InvalidRequestError("body", wrong, rule) from None


def _tell(written: Written, scope: Scope) -> None:
    note = written.note
    verb = "created" if written.created else "rewrote" if written.changed else "unchanged:"
    if written.replayed:
        verb = "done before:"
    output.line(f"{verb} ", output.bold(note.slug), f" in {scope_name(scope)} (seq {written.seq})")
    if note.pinned:
        output.line("  pinned")
    if note.live and written.pin_shown is False:
        output.line(f"  {NO_ROOM}")
    if written.unpinned:
        output.line("  unpinned, since the rewrite did not say --pinned")
    if written.similar:
        output.line(f"  {counted(len(written.similar), 'similar note')}:")
    for similar in written.similar:
        output.line(f"    {similar.slug} ({similar.score:.0%}): {similar.title}")
