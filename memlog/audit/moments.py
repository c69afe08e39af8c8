"""Which events of a scope a moment includes: a seq, a time or a position of the log."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

import msgspec

from memlog import codec, fields, text
from memlog.errors import CorruptEventError, InvalidRequestError
from projections.notes.reader import counters, live_set

if TYPE_CHECKING:
    from memlog.store.protocol import Store
    from memlog.store.rows import StoredRow

_Key = TypeVar("_Key", int, datetime)

BEGINNING = datetime.min.replace(tzinfo=UTC)


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """A moment of one scope.

    Attributes:
        seq: the last event of the scope that it includes, 0 before the first.
        position: the place of that event in the log, 0 before the first.
        time: when it is: the time that was asked for, or when the event at the seq or position
            that was asked for was recorded; aware UTC, the year 1 before the first event.
    """

    seq: int
    position: int
    time: datetime


def head(store: Store, stream: str) -> int:
    """Return the seq of the scope's last event, 0 when it has none."""
    with store.reading() as cursor:
        return counters(cursor, live_set(cursor), stream).last_seq


def moment_of(
    store: Store,
    stream: str,
    *,
    seq: int | None,
    time: datetime | None,
    position: int | None,
    now: Callable[[], datetime],
) -> Moment:
    """Return the moment that exactly one of `seq`, `time` (inclusive) and `position` names.

    Costs a point read for a seq, and one for each halving of the scope for the other two.

    Raises:
        InvalidRequestError: not exactly one was given, a value has the wrong shape, or it lies
            beyond the head: an event that is not there, or a time that has not come.
    """
    given = {"seq": seq, "time": time, "position": position}
    if sum(value is not None for value in given.values()) != 1:
        chosen = {name: value for name, value in given.items() if value is not None}
        rule = "give exactly one of seq, time and position"
        raise InvalidRequestError("moment", chosen or None, rule)
    if seq is not None:
        return _at_seq(store, stream, seq)
    if time is not None:
        return _at_time(store, stream, time, now)
    assert position is not None
    return _at_position(store, stream, position)


def _at_seq(store: Store, stream: str, seq: int) -> Moment:
    last = head(store, stream)
    if fields.whole("seq", seq) > last:
        raise InvalidRequestError("seq", seq, f"the scope's last event is seq {last}")
    if not seq:
        return Moment(seq=0, position=0, time=BEGINNING)
    row = _row(store, stream, seq)
    return Moment(seq=seq, position=row.position, time=_recorded_at(row))


def _at_position(store: Store, stream: str, position: int) -> Moment:
    fields.whole("position", position)
    with store.reading() as cursor:
        (last,) = cursor.execute("SELECT position FROM log").fetchone()
    if position > last:
        raise InvalidRequestError("position", position, f"the log's last event is position {last}")
    if not position:
        return Moment(seq=0, position=0, time=BEGINNING)
    moment = _last_where(store, stream, lambda row: row.position, position)
    at = next(iter(store.rows(after=position - 1, up_to=position)), None)
    if at is None:
        raise CorruptEventError(position, "it is missing")
    return msgspec.structs.replace(moment, time=_recorded_at(at))


def _at_time(store: Store, stream: str, time: datetime, now: Callable[[], datetime]) -> Moment:
    wanted = _utc_text("time", time)
    with store.reading() as cursor:
        (last,) = cursor.execute("SELECT recorded_at FROM log").fetchone()
    if wanted > last and wanted > text.utc_text(now()):
        rule = f"it has not come yet; the log's last event is of {last}"
        raise InvalidRequestError("time", time.isoformat(), rule)
    moment = _last_where(store, stream, _recorded_at, time)
    return msgspec.structs.replace(moment, time=time.astimezone(UTC))


def _utc_text(field: str, time: object) -> str:
    try:
        return text.utc_text(fields.aware(field, time))
    except OverflowError:
        raise InvalidRequestError(field, time, "give a time in the years 1 to 9999") from None


def _last_where(
    store: Store, stream: str, key: Callable[[StoredRow], _Key], wanted: _Key
) -> Moment:
    """Return the moment of the scope's last event whose key, which rises, is not above `wanted`."""
    seqs = range(1, head(store, stream) + 1)
    seq = bisect_right(seqs, wanted, key=lambda each: key(_row(store, stream, each)))
    position = _row(store, stream, seq).position if seq else 0
    return Moment(seq=seq, position=position, time=BEGINNING)


def _row(store: Store, stream: str, seq: int) -> StoredRow:
    row = next(iter(store.stream_rows(stream, after=seq - 1, up_to=seq)), None)
    if row is None:
        raise CorruptEventError(0, f"event {seq} of {stream} is missing")
    return row


def _recorded_at(row: StoredRow) -> datetime:
    recorded_at = codec.decode_envelope(row.state, position=row.position).recorded_at
    try:
        return text.utc_moment(recorded_at).astimezone(UTC)
    except (ValueError, OverflowError):
        detail = "recorded_at is not a time of the format"
        raise CorruptEventError(row.position, detail) from None
