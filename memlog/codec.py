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
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from memlog import wellformed
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
SEQ_MAX = 2**63 - 1
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


class Envelope(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
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


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """The content of one event's `state`, decoded but not yet checked against its bytes."""

    envelope: Envelope
    salt: str
    payload: Payload


class Parts(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The stored bytes of one event, taken apart but not changed.

    Attributes:
        envelope: the bytes of the envelope object as they stand in `state`: the Merkle leaf.
        salt: 32 bytes.
        payload: the bytes of the payload object as they stand in `state`.
    """

    envelope: bytes
    salt: bytes
    payload: bytes


class Encoded(msgspec.Struct, frozen=True):
    """An event as it is stored.

    Attributes:
        envelope: the bytes of its envelope: the Merkle leaf.
        state: all of it.
    """

    envelope: bytes
    state: bytes


class _Versioned(msgspec.Struct, frozen=True):
    v: int


_ENVELOPE, _SALT, _PAYLOAD, _END = b'{"envelope":', b',"salt":"', b'","payload":', b"}"
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_encode_json = msgspec.json.Encoder(order="deterministic").encode
_decode_stored = msgspec.json.Decoder(_Stored).decode
_decode_envelope = msgspec.json.Decoder(Envelope).decode
_decode_version = msgspec.json.Decoder(_Versioned).decode
_decode_record: dict[str, Callable[[bytes], Any]] = {
    type_: msgspec.json.Decoder(
        msgspec.defstruct(
            f"Record[{type_}]", [("payload", payload_class)], bases=(Record,), frozen=True, gc=False
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
    """Return the `state` bytes of an event; see `encoded`."""
    return encoded(event, log_id=log_id, salt=salt).state


def encoded(event: Event, *, log_id: str, salt: bytes) -> Encoded:
    """Return the `state` bytes of an event, and its envelope's. Its position is part of neither.

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
    envelope_bytes = _encode_json(envelope)
    return Encoded(envelope_bytes, _join(envelope_bytes, salt.hex(), payload))


def _join(envelope: bytes, salt_hex: str, payload: bytes) -> bytes:
    return b"".join((_ENVELOPE, envelope, _SALT, salt_hex.encode(), _PAYLOAD, payload, _END))


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
        record: Record = decode_record(state)
    except _UNREADABLE as error:
        raise CorruptEventError(position, f"not a {type_} event: {_told(error)}") from None
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
    record, _ = examined(type_, state, position=position)
    return event_of(record, position=position)


def examined(type_: str, state: bytes, *, position: int) -> tuple[Record, Parts]:
    """Return what `state` holds, and its bytes taken apart; arguments as for `replayed`.

    Raises:
        UnknownEventTypeError, CorruptEventError: as for `decode`.
    """
    record = replayed(type_, state, position=position)
    envelope, payload = _encode_json(record.envelope), _encode_json(record.payload)
    if _join(envelope, record.salt, payload) != state:
        raise CorruptEventError(position, "its bytes are not in canonical form")
    if (fault := _fault(record)) is not None:
        raise CorruptEventError(position, fault)
    return record, Parts(envelope=envelope, salt=bytes.fromhex(record.salt), payload=payload)


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
    """Return what the types of the structs cannot say about an event, the first such fault."""
    envelope, fault = record.envelope, None
    if envelope.v != ENVELOPE_VERSION:
        fault = f"envelope version {envelope.v} is not known"
    elif not (
        wellformed.is_log_id(envelope.log)
        and wellformed.is_uuid(envelope.event_id)
        and wellformed.is_hash(record.salt)
        and wellformed.is_hash(envelope.commitment)
        and (envelope.request is None or wellformed.is_hash(envelope.request))
    ):
        fault = "log or event_id is not a UUID, or commitment, salt or request not 64 hex digits"
    elif not wellformed.is_time(envelope.recorded_at):
        fault = "recorded_at is not a time of the format"
    elif not 1 <= envelope.seq <= SEQ_MAX:
        fault = f"seq is not between 1 and {SEQ_MAX}"
    elif not wellformed.is_stream(envelope.stream):
        fault = "stream is not the name of a scope's"
    elif not (
        wellformed.is_opaque_id(envelope.actor)
        and wellformed.is_opaque_id(envelope.conversation_id)
        and wellformed.is_opaque_id(envelope.request_id)
    ):
        fault = "actor, conversation_id or request_id is no such id"
    elif not wellformed.is_payload(record.payload):
        fault = "payload has a value that no event can have"
    return fault


def split(state: bytes, *, position: int = 0) -> Parts:
    """Return the stored bytes of envelope, salt and payload, unchanged.

    Raises:
        CorruptEventError: `state` is not an object of these three.
    """
    stored = _stored(state, position)
    if not wellformed.is_hash(stored.salt):
        raise CorruptEventError(position, "salt is not 64 lower-case hex digits")
    return Parts(
        envelope=bytes(stored.envelope),
        salt=bytes.fromhex(stored.salt),
        payload=bytes(stored.payload),
    )


def decode_envelope(state: bytes, *, position: int = 0) -> Envelope:
    """Return the envelope in `state`, as far as it is one.

    Raises:
        CorruptEventError: there is no envelope in it, or one of a newer version.
    """
    stored = _stored(state, position)
    try:
        return _decode_envelope(stored.envelope)
    except _UNREADABLE as error:
        newer = _newer_version(stored.envelope)
        if newer is not None:
            raise CorruptEventError(position, f"envelope version {newer} is not known") from None
        raise CorruptEventError(position, f"not an envelope: {_told(error)}") from None


def _stored(state: bytes, position: int) -> _Stored:
    try:
        return _decode_stored(state)
    except _UNREADABLE as error:
        raise CorruptEventError(position, f"not an event: {_told(error)}") from None


def _newer_version(envelope: msgspec.Raw) -> int | None:
    """Return the version of an envelope that is not of this one."""
    try:
        version = _decode_version(envelope).v
    except _UNREADABLE:
        return None
    return None if version == ENVELOPE_VERSION else version


def _told(error: Exception) -> str:
    """Return what a decoder says, without characters of the data that a terminal would obey."""
    return ascii(str(error))[1:-1]


def check_commitment(parts: Parts, envelope: Envelope, *, position: int = 0) -> None:
    """Check that the payload is the one that the envelope commits to.

    Raises:
        CorruptEventError: it is another one.
    """
    if commitment(parts.salt, parts.payload) != envelope.commitment:
        raise CorruptEventError(position, "its payload is not the one its commitment was made for")
