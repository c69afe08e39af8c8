"""Event to stored bytes and back: envelope, commitment, closed type registry, upcasting.

`state`, the stored bytes of one event, is compact UTF-8 JSON:

    {"envelope":{...},"salt":"<64 hex>","payload":{...}}

with every field present, in the order of the structs below, keys of free maps sorted, and nothing
else: whatever decodes is encoded again and compared, so that each event has exactly one form.
`commitment` in the envelope is SHA-256(salt bytes || payload bytes): the payload can be erased one
day while the envelope, and all that is proven about it, stays. `docs/FORMAT.md` is the byte
specification.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, cast

import msgspec

from memlog.errors import CorruptEventError, UnknownEventTypeError
from memlog.events import (
    CompactionHarvested,
    Event,
    NotePinned,
    NotesLinked,
    NotesUnlinked,
    NoteUnpinned,
    NoteWritten,
    Payload,
)

ENVELOPE_VERSION = 1
SALT_BYTES = 32

# The closed registry. A type's spelling is for ever; a changed payload gets the next number, a
# struct of its own and an upcast from the one before.
TYPES: dict[str, type[Payload]] = {
    "note_written/1": NoteWritten,
    "note_pinned/1": NotePinned,
    "note_unpinned/1": NoteUnpinned,
    "notes_linked/1": NotesLinked,
    "notes_unlinked/1": NotesUnlinked,
    "compaction_harvested/1": CompactionHarvested,
}
_TYPE_OF = {payload_class: type_ for type_, payload_class in TYPES.items()}

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_IS_UUID = re.compile(_UUID).fullmatch
_IS_HASH = re.compile(r"[0-9a-f]{64}").fullmatch
_IS_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII).fullmatch


class Envelope(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What stays for ever about an event, in the order of its bytes.

    Attributes:
        v: the envelope's version, 1.
        log: id of the log, a UUID.
        event_id: a random UUID.
        type: what happened, with the version of its payload: `note_written/1`.
        stream: name of the scope's stream.
        seq: place in the stream, from 1.
        recorded_at: `2026-11-30T19:15:00.000000Z`.
        actor: opaque id of who asked, or null.
        conversation_id: opaque id of the conversation, or null.
        request_id: the caller's id of the request, or null.
        request: on a request's first event, SHA-256(salt || canonical request), hex; else null.
        commitment: SHA-256(salt || payload bytes), hex.
    """

    v: int
    log: str
    event_id: str
    type: str
    stream: str
    seq: int
    recorded_at: str
    actor: str | None
    conversation_id: str | None
    request_id: str | None
    request: str | None
    commitment: str


class _Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    envelope: msgspec.Raw
    salt: str
    payload: msgspec.Raw


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of one event's `state`, decoded but not yet checked against its bytes."""

    envelope: Envelope
    salt: str
    payload: Payload


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """The stored bytes of one event, taken apart but not changed.

    Attributes:
        envelope: the bytes of the envelope object as they stand in `state`: the Merkle leaf.
        salt: 32 bytes.
        payload: the bytes of the payload object as they stand in `state`.
    """

    envelope: bytes
    salt: bytes
    payload: bytes


_encode_json = msgspec.json.Encoder(order="deterministic").encode
_decode_stored = msgspec.json.Decoder(_Stored).decode
_decode_envelope = msgspec.json.Decoder(Envelope).decode
_decode_record = {
    type_: msgspec.json.Decoder(
        msgspec.defstruct(
            f"Record[{type_}]", [("payload", payload_class)], bases=(Record,), frozen=True
        )
    ).decode
    for type_, payload_class in TYPES.items()
}


def type_of(payload: Payload) -> str:
    """Return the type that a payload has on disk."""
    return _TYPE_OF[type(payload)]


def commitment(salt: bytes, payload: bytes) -> str:
    """Return SHA-256(salt || payload), hex."""
    return hashlib.sha256(salt + payload).hexdigest()


def canonical_json(value: object) -> bytes:
    """Return the one compact JSON form of a value of plain types, keys sorted, UTF-8."""
    return _encode_json(value)


def request_hash(salt: bytes, method: str, arguments: Mapping[str, Any]) -> str:
    """Return SHA-256(salt || canonical JSON of the method and its arguments as given), hex."""
    return hashlib.sha256(
        salt + _encode_json({"method": method, "arguments": arguments})
    ).hexdigest()


def encode(event: Event, *, log_id: str, salt: bytes) -> bytes:
    """Return the `state` bytes of an event. Its position is not part of them.

    Args:
        event: what to store; its `type` must be the type of its payload.
        log_id: id of the log that it goes into.
        salt: 32 random bytes, never used twice.
    """
    assert len(salt) == SALT_BYTES
    payload = _encode_json(event.payload)
    envelope = Envelope(
        v=ENVELOPE_VERSION,
        log=log_id,
        event_id=event.event_id,
        type=event.type,
        stream=event.stream,
        seq=event.seq,
        recorded_at=event.recorded_at_text,
        actor=event.actor,
        conversation_id=event.conversation_id,
        request_id=event.request_id,
        request=event.request,
        commitment=commitment(salt, payload),
    )
    return _join(_encode_json(envelope), salt.hex(), payload)


def _join(envelope: bytes, salt_hex: str, payload: bytes) -> bytes:
    return b'{"envelope":%b,"salt":"%b","payload":%b}' % (envelope, salt_hex.encode(), payload)


def replayed(type_: str, state: bytes, *, position: int) -> Record:
    """Return what `state` holds, for folding: types and fields are checked, canonical form is not.

    A replay of a store reads bytes that the store itself made; `decode` is for everything else.

    Args:
        type_: the type beside the bytes; it must be the one inside.
        state: the stored bytes.
        position: where they stand in the log.

    Raises:
        UnknownEventTypeError: the type or its version is not in the registry.
        CorruptEventError: the bytes are not an event of this type.
    """
    decode_record = _decode_record.get(type_)
    if decode_record is None:
        raise UnknownEventTypeError(position, type_)
    try:
        record = cast("Record", decode_record(state))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorruptEventError(position, f"not a {type_} event: {error}") from None
    if record.envelope.type != type_:
        raise CorruptEventError(position, f"filed as {type_}, but it is {record.envelope.type!r}")
    return record


def decode(state: bytes, *, position: int = 0) -> Event:
    """Return the event that `state` holds; only its canonical bytes are accepted.

    The commitment and the log id are not checked here: see `check_commitment` and `split`.

    Args:
        state: the stored bytes.
        position: where they stand in the log, for the event and for errors.

    Raises:
        UnknownEventTypeError: the type or its version is not in the registry.
        CorruptEventError: anything else that the format does not allow.
    """
    type_ = decode_envelope(state, position=position).type
    record = replayed(type_, state, position=position)
    if _join(_encode_json(record.envelope), record.salt, _encode_json(record.payload)) != state:
        raise CorruptEventError(position, "its bytes are not in canonical form")
    fault = _fault(record)
    if fault is not None:
        raise CorruptEventError(position, fault)
    return event_of(record, position=position)


def event_of(record: Record, *, position: int) -> Event:
    """Return a record as the event at this position."""
    envelope = record.envelope
    return Event(
        position=position,
        seq=envelope.seq,
        stream=envelope.stream,
        type=envelope.type,
        recorded_at_text=envelope.recorded_at,
        event_id=envelope.event_id,
        actor=envelope.actor,
        conversation_id=envelope.conversation_id,
        request_id=envelope.request_id,
        request=envelope.request,
        payload=record.payload,
    )


def _fault(record: Record) -> str | None:
    """Return what the types of the structs cannot say about an envelope and its salt."""
    envelope = record.envelope
    faults = (
        (envelope.v != ENVELOPE_VERSION, f"envelope version {envelope.v} is not known"),
        (_IS_UUID(envelope.event_id) is None, "event_id is not a UUID"),
        (_IS_UUID(envelope.log) is None, "log is not a UUID"),
        (_IS_TIME(envelope.recorded_at) is None, "recorded_at is not a time of the format"),
        (_IS_HASH(envelope.commitment) is None, "commitment is not 64 lower-case hex digits"),
        (_IS_HASH(record.salt) is None, "salt is not 64 lower-case hex digits"),
        (_IS_HASH(envelope.request or "0" * 64) is None, "request is not 64 lower-case hex digits"),
        (envelope.seq < 1, "seq is below 1"),
    )
    return next((sentence for wrong, sentence in faults if wrong), None)


def split(state: bytes, *, position: int = 0) -> Parts:
    """Return the stored bytes of envelope, salt and payload, unchanged.

    Raises:
        CorruptEventError: `state` is not an object of these three.
    """
    try:
        stored = _decode_stored(state)
        salt = bytes.fromhex(stored.salt)
    except (msgspec.DecodeError, ValueError) as error:
        raise CorruptEventError(position, f"not an event: {error}") from None
    return Parts(envelope=bytes(stored.envelope), salt=salt, payload=bytes(stored.payload))


def decode_envelope(state: bytes, *, position: int = 0) -> Envelope:
    """Return the envelope in `state`, as far as it is one.

    Raises:
        CorruptEventError: there is no envelope in it.
    """
    try:
        return _decode_envelope(_decode_stored(state).envelope)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorruptEventError(position, f"not an envelope: {error}") from None


def check_commitment(parts: Parts, envelope: Envelope, *, position: int = 0) -> None:
    """Check that the payload is the one that the envelope commits to.

    Raises:
        CorruptEventError: it is another one.
    """
    if commitment(parts.salt, parts.payload) != envelope.commitment:
        raise CorruptEventError(position, "its payload is not the one its commitment was made for")
