"""Events of a scope in their order, each with what it changed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from memlog.audit.replay import add
from memlog.events import Event
from memlog.note import Provenance
from projections.notes.fold import Fold, subject
from projections.notes.history import changed


class TimelineEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a scope, and what the notes were after it.

    Attributes:
        event: the event, with its place, time, actor and conversation.
        slug: the note that it is about: the newer one of a link, "" for a harvest.
        changed: names of what it changed of that note, such as `("body", "topics")`; `("created",)`
            for a new one, the relation for a link.
        provenance: who the note's content came from after it; None for a harvest.
        fingerprint: that of the scope after it.
    """

    event: Event
    slug: str
    changed: tuple[str, ...]
    provenance: Provenance | None
    fingerprint: str


def entries(events: Iterable[Event], *, after: int) -> Iterator[TimelineEntry]:
    """Yield an entry for each event with a seq above `after`.

    Args:
        events: those of one scope, from its first one on.
        after: the last seq that is only needed for what follows.

    Raises:
        CorruptEventError: an event breaks a rule.
    """
    fold = Fold()
    for event in events:
        slug = subject(event.payload)
        before = fold.note(slug)
        add(fold, event)
        if event.seq > after:
            note = fold.note(slug)
            yield TimelineEntry(
                event=event,
                slug=slug,
                changed=() if note is None else changed(before, note, event.payload),
                provenance=None if note is None else note.provenance,
                fingerprint=fold.fingerprint,
            )
