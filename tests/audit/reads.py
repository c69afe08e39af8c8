"""All that the reads of a scope answer, as one value that can be compared."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from memlog.errors import NoteNotFoundError
from memlog.events import Event
from memlog.log import Log
from memlog.note import Scope
from memlog.reads import Reads
from memlog.testing import FixedClock, open_log, record, strategies

STREAMS = ("owner/alice", "global/")
QUERIES = ("", "green tea", "oolong hot", "茶の湯", "black")


def everything(reads: Reads, *, now: datetime) -> dict[str, Any]:
    """Return what every read answers; searches at the same `now`."""
    notes = reads.notes(limit=100)
    return {
        "fingerprint": reads.fingerprint(),
        "notes": notes,
        "live notes": reads.notes(live_only=True, limit=2),
        "got": {slug: reads.get(slug) for slug in strategies.SLUGS},
        "read": {note.slug: reads.read(note.slug) for note in notes},
        "missing": missing(reads, "teee"),
        "history": {note.slug: reads.history(note.slug) for note in notes},
        "events": list(reads.events()),
        "similar": [reads.similar(title, topics=["Hot"]) for title in strategies.TITLES],
        "found": [reads.search(query, now=now) for query in QUERIES],
        "found with history": reads.search("tea", now=now, include_superseded=True, topic="hot"),
        "section": reads.section(),
    }


def missing(reads: Reads, slug: str) -> tuple[str, ...]:
    """Return what is offered instead of a note that is not there."""
    try:
        reads.read(slug)
    except NoteNotFoundError as error:
        return error.near
    raise AssertionError(slug)


def add(log: Log, history: Sequence[Event], *, clock: FixedClock) -> None:
    """Append the payloads of a history, one transaction each; the clock moves with most of them."""
    for event in history:
        clock.advance(event.position % 3)
        record(log.scope(Scope.of_stream(event.stream)), [event.payload])


def recorded(history: Sequence[Event]) -> Log:
    """Return a log of a history; the same one gives the same bytes."""
    clock = FixedClock()
    log = open_log(clock=clock)
    add(log, history, clock=clock)
    return log
