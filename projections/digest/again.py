"""A stored section made anew, from the settings that it is filed under."""

from __future__ import annotations

from projections.digest.render import RENDER_VERSION, render
from projections.digest.tables import newest_notes
from projections.notes.reader import Counters
from projections.notes.tables import Names
from projections.notes.words import Executor


def text_again(cursor: Executor, names: Names, scope: Counters, settings: str) -> str | None:
    """Return the section that the notes give now; None when another release rendered those.

    Args:
        cursor: reads the notes.
        names: which tables hold them.
        scope: the scope's counters.
        settings: the key of the render settings, as `RenderSettings.key` makes it.

    Raises:
        ValueError: that is no such key.
    """
    budget_tokens, pinned_body_bytes, version = settings.split(":", 2)
    if version != RENDER_VERSION:
        return None
    headlines, pinned = newest_notes(cursor, names, scope)
    return render(headlines, pinned, scope.live, int(budget_tokens), int(pinned_body_bytes))
