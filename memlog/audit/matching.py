"""Which events are meant: predicates over events, for what-if and taint."""

from __future__ import annotations

from collections.abc import Callable

from memlog import fields
from memlog.errors import InvalidRequestError
from memlog.events import Event, NoteWritten
from memlog.note import PROVENANCES

Predicate = Callable[[Event], bool]


def matching(
    *,
    position: int | None = None,
    url: str | None = None,
    provenance: str | None = None,
    conversation_id: str | None = None,
    actor: str | None = None,
) -> Predicate:
    """Return a predicate for the events that fit everything given; at least one thing is.

    Args:
        position: the event at this place in the log.
        url: writes of a note with exactly this source URL.
        provenance: writes of a note of this provenance.
        conversation_id: everything that was done in this conversation.
        actor: everything that this actor did.

    Raises:
        InvalidRequestError: nothing was given, or it can fit no event.
    """
    if position is not None:
        fields.whole("position", position, low=1)
    if provenance is not None and provenance not in PROVENANCES:
        raise InvalidRequestError("provenance", provenance, f"use one of {', '.join(PROVENANCES)}")
    texts = {"url": url, "conversation_id": conversation_id, "actor": actor}
    for name, value in texts.items():
        if value is not None:
            fields.string(name, value)
    if position is None and provenance is None and not any(v is not None for v in texts.values()):
        rule = "give at least one of position, url, provenance, conversation_id and actor"
        raise InvalidRequestError("matching", None, rule)

    def matches(event: Event) -> bool:
        return (
            position in (None, event.position)
            and conversation_id in (None, event.conversation_id)
            and actor in (None, event.actor)
            and (url is None or _written_from(event, url))
            and (provenance is None or _written_by(event, provenance))
        )

    return matches


def _written_from(event: Event, url: str) -> bool:
    return isinstance(event.payload, NoteWritten) and event.payload.source.url == url


def _written_by(event: Event, provenance: str) -> bool:
    return isinstance(event.payload, NoteWritten) and event.payload.provenance == provenance
