"""How a moment, and what to leave out, are said on the command line."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from memlog.audit.matching import Predicate, matching
from memlog.cli.exits import UsageError
from memlog.shown import shown

if TYPE_CHECKING:
    from memlog.audit.past import Past
    from memlog.memory import Memory

_WHEN = re.compile(r"(?:(seq|position):)?([0-9]{1,18})", re.ASCII)
_TIME_RULE = "give a time with its zone, such as 2026-11-30T19:15Z"

Seq = Annotated[
    int | None, typer.Option("--seq", metavar="N", min=0, help="After this event of the scope.")
]
Time = Annotated[
    str | None,
    typer.Option("--time", metavar="TIME", help="At this time: 2026-11-30T19:15Z, inclusive."),
]
Position = Annotated[
    int | None,
    typer.Option("--position", metavar="N", min=0, help="After this event of the whole log."),
]

OfUrl = Annotated[
    str | None, typer.Option("--url", metavar="URL", help="Notes from this source, exactly.")
]
OfPosition = Annotated[
    int | None,
    typer.Option("--position", metavar="N", min=1, help="The event at this place of the log."),
]
OfProvenance = Annotated[
    str | None,
    typer.Option(
        "--provenance", metavar="WHO", help="Notes from agent, web, user, compaction or import."
    ),
]
OfConversation = Annotated[
    str | None,
    typer.Option("--conversation", metavar="ID", help="All that was done in this conversation."),
]
OfActor = Annotated[
    str | None, typer.Option("--actor", metavar="ID", help="All that this actor did.")
]

WithoutUrl = Annotated[
    str | None,
    typer.Option("--without-url", metavar="URL", help="What if: without notes from this source."),
]
WithoutPosition = Annotated[
    int | None,
    typer.Option("--without-position", metavar="N", min=1, help="Without this event of the log."),
]
WithoutProvenance = Annotated[
    str | None,
    typer.Option("--without-provenance", metavar="WHO", help="Without notes from web, user, ..."),
]
WithoutConversation = Annotated[
    str | None,
    typer.Option("--without-conversation", metavar="ID", help="Without this conversation."),
]
WithoutActor = Annotated[
    str | None,
    typer.Option("--without-actor", metavar="ID", help="Without what this actor did."),
]


def parse_time(words: str) -> datetime:
    """Return the aware time that is meant.

    Raises:
        UsageError: it is none, or has no zone.
    """
    try:
        time = datetime.fromisoformat(words) if words.isascii() else None
    except ValueError:
        time = None
    if time is None or time.utcoffset() is None:
        sentence = f"time {shown(words)} is not accepted: {_TIME_RULE}"
        raise UsageError(sentence)
    return time


def past_of(memory: Memory, words: str) -> Past:
    """Return the moment that `12`, `seq:12`, `position:40` or a time names.

    Raises:
        UsageError: it names none.
        InvalidRequestError: it lies beyond the head.
    """
    numbered = _WHEN.fullmatch(words)
    if numbered is None:
        return memory.at(time=parse_time(words))
    number = int(numbered[2])
    return memory.at(position=number) if numbered[1] == "position" else memory.at(seq=number)


def chosen(
    *,
    position: int | None,
    url: str | None,
    provenance: str | None,
    conversation: str | None,
    actor: str | None,
) -> Predicate | None:
    """Return which events are meant: those that fit all that was given; None for nothing."""
    given = (position, url, provenance, conversation, actor)
    if all(value is None for value in given):
        return None
    return matching(
        position=position,
        url=url,
        provenance=provenance,
        conversation_id=conversation,
        actor=actor,
    )
