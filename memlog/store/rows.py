"""One event as it lies in the table, and the event that it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from memlog import codec
from memlog.errors import CorruptEventError
from memlog.events import Event

EVENTS_TABLE = "stored_events"


class StoredRow(NamedTuple):
    """One event as it lies in the table."""

    position: int
    stream: str
    seq: int
    type: str
    state: bytes


row_of: Callable[[Sequence[Any]], StoredRow] = partial(tuple.__new__, StoredRow)
"""Returns a row of the table's five columns as one; without a look at their number, so quickly."""


def decoded(row: StoredRow) -> Event:
    """Return a row as an event.

    Raises:
        CorruptEventError: its bytes are not canonical, or it is filed under another stream, seq or
            type than its envelope says.
        UnknownEventTypeError: its type or version is not known here.
    """
    event = codec.decode(row.state, position=row.position)
    if (event.stream, event.seq, event.type) != (row.stream, row.seq, row.type):
        filed = f"{row.type} {row.seq} of {row.stream}"
        detail = f"filed as {filed}, but it is {event.type} {event.seq} of {event.stream}"
        raise CorruptEventError(row.position, detail)
    return event
