"""Which values an event can hold, beyond their types: ids, hashes, times, streams, payloads. Pure.

These run for every event that a log is verified by, so they are made to be cheap: what comes again
event after event is remembered, and what does not is checked without a pattern where that is
quicker. `are_...` answer for many values at once, in a small part of the time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from functools import lru_cache

from memlog import text
from memlog.errors import InvalidRequestError
from memlog.events import (
    CompactionHarvested,
    NotePinned,
    NotesLinked,
    NotesUnlinked,
    NoteUnpinned,
    NoteWritten,
    Payload,
)
from memlog.note import ID_BYTES_MAX, Scope

_HASH_DIGITS = 64
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\.[0-9]{6}Z"
_DATE_CHARACTERS = 10
_IS_UUID = re.compile(_UUID).fullmatch
_IS_TIME = re.compile(_TIME).fullmatch
_ARE_UUIDS = re.compile(rf"(?:{_UUID}\n)*").fullmatch
_ARE_TIMES = re.compile(rf"(?:{_TIME}\n)*").fullmatch


def is_uuid(value: str) -> bool:
    """Tell whether this is a UUID in lower case."""
    return _IS_UUID(value) is not None


def are_uuids(values: Sequence[str]) -> bool:
    """Tell whether `is_uuid` holds for each."""
    return _ARE_UUIDS(text.lines_of(values)) is not None


@lru_cache(maxsize=256)
def is_log_id(value: str) -> bool:
    """Tell whether this is a UUID in lower case, as `is_uuid`, for one that comes again."""
    return is_uuid(value)


def is_hash(value: str) -> bool:
    """Tell whether this is 64 lower-case hex digits."""
    try:
        return len(value) == _HASH_DIGITS and bytes.fromhex(value).hex() == value
    except ValueError:
        return False


def are_hashes(values: Sequence[str]) -> bool:
    """Tell whether `is_hash` holds for each."""
    if not {*map(len, values)} <= {_HASH_DIGITS}:
        return False
    joined = "".join(values)
    try:
        return bytes.fromhex(joined).hex() == joined
    except ValueError:
        return False


def is_time(value: str) -> bool:
    """Tell whether this is a time as `text.utc_text` writes it."""
    return _IS_TIME(value) is not None and _is_date(value[:_DATE_CHARACTERS])


def are_times(values: Sequence[str]) -> bool:
    """Tell whether `is_time` holds for each."""
    dates = {value[:_DATE_CHARACTERS] for value in values}
    return _ARE_TIMES(text.lines_of(values)) is not None and all(map(_is_date, dates))


@lru_cache(maxsize=256)
def _is_date(value: str) -> bool:
    try:
        return bool(date.fromisoformat(value))
    except ValueError:
        return False


@lru_cache(maxsize=4096)
def is_stream(value: str) -> bool:
    """Tell whether this is the name of a scope's stream."""
    try:
        return Scope.of_stream(value).stream == value
    except InvalidRequestError:
        return False


@lru_cache(maxsize=4096)
def is_opaque_id(value: str | None) -> bool:
    """Tell whether this is none, or 1 to 256 bytes without control characters."""
    return value is None or (
        1 <= text.byte_length(value) <= ID_BYTES_MAX and not text.has_control_character(value)
    )


@lru_cache(maxsize=2048)
def _is_confidence(value: str) -> bool:
    return 0 <= float(value) <= 1 and value == repr(round(float(value), 3) + 0.0)


def is_payload(payload: Payload) -> bool:
    """Tell whether names and numbers are such as any release ever wrote."""
    match payload:
        case NoteWritten():
            return text.is_slug(payload.slug) and _is_confidence(repr(payload.confidence))
        case NotePinned() | NoteUnpinned():
            return text.is_slug(payload.slug)
        case NotesLinked() | NotesUnlinked():
            return text.is_slug(payload.from_slug) and text.is_slug(payload.to_slug)
        case CompactionHarvested():
            return all(map(text.is_slug, payload.slugs))


def are_payloads(payloads: Sequence[Payload]) -> bool:
    """Tell whether `is_payload` holds for each."""
    written = [payload for payload in payloads if type(payload) is NoteWritten]
    return (
        text.are_slugs([payload.slug for payload in written])
        and all(map(_is_confidence, {repr(payload.confidence) for payload in written}))
        and all(is_payload(payload) for payload in payloads if type(payload) is not NoteWritten)
    )
