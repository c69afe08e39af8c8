"""A page is found in order exactly when each of its events is."""

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memlog import codec
from memlog.errors import DamageError
from memlog.events import Event
from memlog.proof import leaf_hash
from memlog.store.rows import StoredRow
from memlog.testing import strategies
from memlog.verify import examining

LOG_ID = "11111111-1111-4111-8111-111111111111"
AFTER_TIME = "2000-01-01T00:00:00.000000Z"

HISTORIES = strategies.histories(streams=["owner/alice", "global/"], max_requests=10).filter(len)


def rows_of(history: Sequence[Event]) -> list[StoredRow]:
    return [
        StoredRow(
            event.position,
            event.stream,
            event.seq,
            event.type,
            codec.encode(event, log_id=LOG_ID, salt=bytes([event.position % 256]) * 32),
        )
        for event in history
    ]


def whole(rows: Sequence[StoredRow]) -> examining.Page | None:
    return examining.examined(rows, after=0, after_time=AFTER_TIME, log_id=LOG_ID)


@given(HISTORIES)
def test_a_legal_history_is_in_order(history: tuple[Event, ...]) -> None:
    rows = rows_of(history)

    page = whole(rows)

    assert page is not None
    parts = [codec.split(row.state) for row in rows]
    assert page.leaves == [leaf_hash(part.envelope) for part in parts]
    assert page.payloads == [part.payload for part in parts]
    assert [record.payload for record in page.records] == [event.payload for event in history]


def one_by_one(rows: Sequence[StoredRow]) -> bool:
    """Tell whether each event is in order, asked as the checks of a single event ask."""
    position, time = 0, AFTER_TIME
    for row in rows:
        try:
            record, parts = codec.examined(row.type, row.state, position=row.position)
        except DamageError:
            return False
        envelope = record.envelope
        position, before, time = position + 1, time, envelope.recorded_at
        if not (
            row.position == position
            and (row.stream, row.seq) == (envelope.stream, envelope.seq)
            and envelope.log == LOG_ID
            and before <= time
            and codec.commitment(parts.salt, parts.payload) == envelope.commitment
        ):
            return False
    return True


ODD_TEXTS = st.sampled_from(
    ["", "A", "a\n", "\n", "tea", "tea-1", "owner/alice\n", "0" * 64, "A" * 64, LOG_ID.upper()]
) | st.text(max_size=3)
ODD_VALUES: st.SearchStrategy[Any] = ODD_TEXTS | st.sampled_from(
    [None, True, 0, -1, 1, 2**63, 0.5, 0.1234, -0.0, [], {}]
)


@st.composite
def changed(draw: st.DrawFn) -> list[StoredRow]:
    """Draw a page of which one event was changed by somebody who knows how it is written."""
    rows = rows_of(draw(HISTORIES))
    at = draw(st.integers(0, len(rows) - 1))
    change = draw(
        st.sampled_from([_flipped, _another_value, _another_row, _another_time, _another_form])
    )
    rows[at] = change(draw, rows[at])
    return rows


def _flipped(draw: st.DrawFn, row: StoredRow) -> StoredRow:
    state = bytearray(row.state)
    state[draw(st.integers(0, len(state) - 1))] = draw(st.integers(0, 255))
    return row._replace(state=bytes(state))


def _another_value(draw: st.DrawFn, row: StoredRow) -> StoredRow:
    """Give one field another value; the commitment is made anew, as a forger would."""
    record: dict[str, Any] = json.loads(row.state)
    part = draw(st.sampled_from(["envelope", "payload", "salt"]))
    if part == "salt":
        record["salt"] = draw(ODD_VALUES)
    else:
        record[part][draw(st.sampled_from([*record[part], "more"]))] = draw(ODD_VALUES)
    return row._replace(state=_forged(record, is_committed=draw(st.booleans())))


def _another_time(draw: st.DrawFn, row: StoredRow) -> StoredRow:
    times = [
        "1999-12-31T23:59:59.999999Z",
        "2023-02-29T00:00:00.000000Z",
        "2024-02-29T24:00:00.000000Z",
        "٢٠٢٤-02-29T00:00:00.000000Z",
        "2024-02-29T00:00:00.000000Z\n",
        "9999-12-31T23:59:59.999999Z",
    ]
    record: dict[str, Any] = json.loads(row.state)
    record["envelope"]["recorded_at"] = draw(st.sampled_from(times))
    return row._replace(state=_forged(record, is_committed=True))


def _another_form(draw: st.DrawFn, row: StoredRow) -> StoredRow:
    """Say the same in other bytes, or in another version of the envelope."""
    record: dict[str, Any] = json.loads(row.state)
    forms: list[Callable[[], bytes]] = [
        lambda: json.dumps(record, ensure_ascii=False).encode(),
        lambda: _encoded({key: record[key] for key in sorted(record, reverse=True)}),
        lambda: row.state + b" ",
        lambda: _encoded({**record, "envelope": {**record["envelope"], "v": 2}}),
    ]
    return row._replace(state=draw(st.sampled_from(forms))())


def _forged(record: dict[str, Any], *, is_committed: bool) -> bytes:
    if is_committed and isinstance(record["salt"], str):
        payload = _encoded(record["payload"])
        try:
            salt = bytes.fromhex(record["salt"])
        except ValueError:
            salt = b""
        record["envelope"]["commitment"] = hashlib.sha256(salt + payload).hexdigest()
    return _encoded(record)


def _encoded(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _another_row(draw: st.DrawFn, row: StoredRow) -> StoredRow:
    changes: list[Callable[[], StoredRow]] = [
        lambda: row._replace(position=row.position + draw(st.sampled_from([-1, 1]))),
        lambda: row._replace(stream=draw(ODD_TEXTS)),
        lambda: row._replace(seq=row.seq + draw(st.sampled_from([-1, 1]))),
        lambda: row._replace(type=draw(st.sampled_from(["", "note_written", "note_pinned"]))),
    ]
    return draw(st.sampled_from(changes))()


@given(changed())
def test_a_page_is_in_order_when_each_event_is(rows: list[StoredRow]) -> None:
    assert (whole(rows) is not None) == one_by_one(rows)
