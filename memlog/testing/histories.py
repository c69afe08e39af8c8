"""Histories as values: payloads to events, to the state that they add up to, to stored bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from memlog import codec
from memlog.events import Event, Payload
from memlog.memory import Memory
from memlog.step import append
from memlog.testing.determinism import LOG_ID, START, CountingIds
from memlog.text import utc_text
from projections.notes.fold import Fold
from projections.notes.reader import live_set
from projections.notes.writer import Writer

if TYPE_CHECKING:
    from memlog.store.transaction import Transaction

STREAM = "owner/alice"


def event(
    payload: Payload,
    *,
    seq: int,
    position: int | None = None,
    stream: str = STREAM,
    recorded_at: datetime | None = None,
    request_id: str | None = None,
) -> Event:
    """Return a payload as the event at a seq.

    Args:
        payload: what happened.
        seq: place in the scope; the event's id is made from the position.
        position: place in the log; `seq` when None.
        stream: name of the scope's stream.
        recorded_at: when; a minute for each position after `START` when None.
        request_id: by which request; the event then looks like that request's second one.
    """
    position = seq if position is None else position
    return Event(
        position=position,
        seq=seq,
        stream=stream,
        type=codec.type_of(payload),
        recorded_at_text=utc_text(recorded_at or START + timedelta(minutes=position)),
        event_id=CountingIds(position).new_id(),
        request_id=request_id,
        payload=payload,
    )


def events(*payloads: Payload, stream: str = STREAM) -> tuple[Event, ...]:
    """Return payloads as the events of a log with this one scope, in order."""
    return tuple(event(each, seq=seq, stream=stream) for seq, each in enumerate(payloads, start=1))


def given(*payloads: Payload) -> Fold:
    """Return the state that these payloads add up to, in order; each must be legal."""
    return Fold.of(events(*payloads))


def states(history: Iterable[Event], *, log_id: str = LOG_ID) -> list[bytes]:
    """Return the stored bytes of events, each with a salt of its own that its position gives."""
    return [
        codec.encode(each, log_id=log_id, salt=CountingIds(each.position).new_salt())
        for each in history
    ]


def record(memory: Memory, payloads: Sequence[Payload]) -> tuple[Event, ...]:
    """Append payloads to a scope as they are, without asking the rules, and project them.

    The way to put into a log what no call writes: a harvest, or an event that breaks a rule.
    """
    store, ids = memory._store, memory._ids  # noqa: SLF001  # there is no public way, on purpose
    with store.transaction() as transaction:
        writer = Writer(transaction.cursor, live_set(transaction.cursor), memory.scope.stream)
        appended = tuple(
            _next(transaction, writer, payload, index=index, event_id=ids.event_id())
            for index, payload in enumerate(payloads)
        )
        append(transaction, appended, [ids.salt() for _ in appended])
        for each in appended:
            writer.apply(each)
        writer.flush()
    return appended


def _next(
    transaction: Transaction, writer: Writer, payload: Payload, *, index: int, event_id: str
) -> Event:
    return Event(
        position=transaction.head + 1 + index,
        seq=writer.counters.last_seq + 1 + index,
        stream=writer._stream,  # noqa: SLF001  # as in `record`
        type=codec.type_of(payload),
        recorded_at_text=transaction.recorded_at,
        event_id=event_id,
        payload=payload,
    )
