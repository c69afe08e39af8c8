"""Arguments and options that several commands share, and what a shell may complete in them."""

from __future__ import annotations

from typing import Annotated

import typer

from memlog.cli.exits import UsageError
from memlog.cli.session import session
from memlog.errors import MemlogError
from memlog.note import RELS

_COMPLETED_NOTES_MAX = 1_000


def slugs(context: typer.Context) -> list[str]:
    """Return slugs to choose from, the newest notes first; none when they cannot be read."""
    given = context.params
    asked = session(context, db=given.get("db"), scope=given.get("scope"))
    try:
        with asked.notes_for_reading() as memory:
            notes = memory.notes(limit=_COMPLETED_NOTES_MAX)
    except (MemlogError, UsageError, OSError):  # A shell shows no errors while it completes.
        return []
    return [note.slug for note in notes]  # typer drops those that do not fit.


def rels() -> list[str]:
    """Return the relations to choose from."""
    return list(RELS)


Slug = Annotated[
    str, typer.Argument(metavar="SLUG", autocompletion=slugs, help="The note.", show_default=False)
]
AllNotes = Annotated[bool, typer.Option("--all", help="Superseded notes too, which are history.")]

Actor = Annotated[
    str | None, typer.Option("--actor", metavar="ID", help="Who asks; kept for ever, so opaque.")
]
Conversation = Annotated[
    str | None, typer.Option("--conversation", metavar="ID", help="In which conversation.")
]
RequestId = Annotated[
    str | None,
    typer.Option("--request-id", metavar="ID", help="The same id and request is done only once."),
]
AllowPinUntrusted = Annotated[
    bool,
    typer.Option("--allow-pin-untrusted", help="Pin even what came from the web or a compaction."),
]
