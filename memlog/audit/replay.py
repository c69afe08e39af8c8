"""What a beginning of a scope's events adds up to, with all of them or without some. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from memlog import codec
from memlog.decide import violations
from memlog.errors import CorruptEventError
from memlog.events import Event
from projections.notes.fold import Fold

if TYPE_CHECKING:
    from memlog.audit.matching import Predicate
    from memlog.store.rows import StoredRow


class Refused(msgspec.Struct, frozen=True):
    """An event that was not applied, since it is illegal without those that were left out.

    Attributes:
        event: the event.
        reasons: each rule that it would break, a sentence each.
    """

    event: Event
    reasons: tuple[str, ...]


class Replayed(msgspec.Struct, frozen=True):
    """The outcome of a replay.

    Attributes:
        fold: what the applied events add up to.
        last: the last event that was applied, as it is stored; None when none was.
        left_out: the events that were to be left out, in order.
        refused: the events that then broke a rule, in order.
    """

    fold: Fold
    last: StoredRow | None
    left_out: tuple[Event, ...]
    refused: tuple[Refused, ...]

    @property
    def absent(self) -> frozenset[int]:
        """The seqs of all events that were not applied."""
        refused = (each.event for each in self.refused)
        return frozenset(event.seq for events in (self.left_out, refused) for event in events)


def replayed(rows: Iterable[StoredRow], *, without: Predicate | None = None) -> Replayed:
    """Fold the events of one scope from its first one on. About 15 µs an event.

    Args:
        rows: stored events by seq, from 1 on.
        without: leave out the events for which this is true.

    Raises:
        DamageError: an event cannot be read or is missing; without `without`, also one that breaks
            a rule.
    """
    fold = Fold()
    last = None
    left_out: list[Event] = []
    refused: list[Refused] = []
    for row, event in events_of(rows):
        if without is not None and without(event):
            left_out.append(event)
            continue
        reasons = () if without is None else violations(fold, event.payload)
        if reasons:
            refused.append(Refused(event, reasons))
            continue
        add(fold, event)
        last = row
    return Replayed(fold, last, tuple(left_out), tuple(refused))


def add(fold: Fold, event: Event) -> None:
    """Add the next event to a fold.

    Raises:
        CorruptEventError: it breaks a rule, or its time is none.
    """
    reasons = violations(fold, event.payload)
    if reasons:
        raise CorruptEventError(event.position, "; ".join(reasons))
    try:
        fold.add(event)
    except ValueError:
        detail = "recorded_at is not a time of the format"
        raise CorruptEventError(event.position, detail) from None


def events_of(rows: Iterable[StoredRow], *, first: int = 1) -> Iterator[tuple[StoredRow, Event]]:
    """Yield stored events of one scope with what they are, in a sequence without gaps.

    Types and fields are checked, canonical form is not: it is read to be folded.

    Args:
        rows: stored events by seq.
        first: the seq of the first one.

    Raises:
        DamageError: one cannot be read, is misfiled, or is missing.
    """
    for seq, row in enumerate(rows, start=first):
        record = codec.replayed(row.type, row.state, position=row.position)
        event = codec.event_of(record, position=row.position)
        if row.seq != seq:
            raise CorruptEventError(row.position, f"it is seq {row.seq}, but seq {seq} is missing")
        if (event.stream, event.seq) != (row.stream, row.seq):
            filed = f"event {row.seq} of {row.stream}"
            detail = f"filed as {filed}, but it is event {event.seq} of {event.stream}"
            raise CorruptEventError(row.position, detail)
        yield row, event
