"""Stored bytes: each event has exactly one form, and whatever is not that form is refused."""

import hashlib
import json
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, strategies

from memlog import codec
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
from memlog.note import PROVENANCES, RELS, Source

LOG_ID = "0f0e0d0c-0b0a-4908-8706-050403020100"
EVENT_ID = "3f2b8c1e-9a4d-4e57-b0c6-5d1a7e9f2c38"
NOON = "2026-11-30T12:00:00.000000Z"
SALT = bytes(range(0xE0, 0x100))


def event(
    payload: Payload,
    *,
    seq: int = 1,
    actor: str | None = None,
    request_id: str | None = None,
    request: str | None = None,
) -> Event:
    """Return an event of the global scope, at a position that `decode` gives by default."""
    return Event(
        position=0,
        seq=seq,
        stream="global/",
        type=codec.type_of(payload),
        recorded_at_text=NOON,
        event_id=EVENT_ID,
        actor=actor,
        request_id=request_id,
        request=request,
        payload=payload,
    )


def stored(event: Event, *, salt: bytes = SALT) -> bytes:
    return codec.encode(event, log_id=LOG_ID, salt=salt)


RICH = event(
    NoteWritten(
        slug="tea",
        title='Tea \\ "é🍵"\n',
        body="g\x7f\0",
        topics=("hot", "茶"),
        confidence=0.5,
        provenance="web",
        source=Source(url="https://example.org", created_at=NOON),
        extra={"a": "1", "b": "2"},
    ),
    actor="agent:a",
    request_id="r-1",
    request="ab" * 32,
)
SMALL: list[Event] = [
    event(NoteWritten(slug="tea", title="Tea", body="green")),
    event(NotePinned(slug="tea", untrusted_allowed=True)),
    event(NoteUnpinned(slug="tea")),
    event(NotesLinked(from_slug="new", to_slug="tea", rel="supersedes", label="why")),
    event(NotesUnlinked(from_slug="new", to_slug="tea", rel="related")),
    event(
        CompactionHarvested(
            key="c-1",
            entries_sha256="0" * 64,
            model="m",
            slugs=("tea",),
            kept=1,
            dropped={"known": 2, "vague": 3},
        )
    ),
]
EXAMPLES = [RICH, *SMALL]


# --- Round trip

SLUGS = strategies.from_regex(r"[a-z0-9][a-z0-9._-]{0,79}", fullmatch=True)
NAMES = strategies.text(strategies.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=8)
IDENTITIES = strategies.none() | NAMES.filter(bool)
STREAMS = strategies.just("global/") | NAMES.map(
    lambda name: f"owner/{unicodedata.normalize('NFC', name).strip() or 'alice'}"
)
TIMES = strategies.datetimes().map(lambda moment: f"{moment.isoformat('T', 'microseconds')}Z")
SOURCES = strategies.builds(
    Source,
    url=strategies.none() | strategies.text(),
    artifact=strategies.none() | strategies.text(),
    note=strategies.none() | strategies.text(),
    created_at=strategies.none() | TIMES,
    updated_at=strategies.none() | TIMES,
)
PAYLOADS: strategies.SearchStrategy[Payload] = strategies.one_of(
    strategies.builds(
        NoteWritten,
        slug=SLUGS,
        title=strategies.text(),
        body=strategies.text(),
        topics=strategies.lists(strategies.text(), max_size=3).map(tuple),
        confidence=strategies.integers(0, 1000).map(lambda thousandths: thousandths / 1000),
        provenance=strategies.sampled_from(PROVENANCES),
        source=SOURCES,
        extra=strategies.dictionaries(strategies.text(), strategies.text(), max_size=4),
    ),
    strategies.builds(NotePinned, slug=SLUGS, untrusted_allowed=strategies.booleans()),
    strategies.builds(NoteUnpinned, slug=SLUGS),
    *(
        strategies.builds(
            kind,
            from_slug=SLUGS,
            to_slug=SLUGS,
            rel=strategies.sampled_from(RELS),
            label=strategies.none() | strategies.text(),
        )
        for kind in (NotesLinked, NotesUnlinked)
    ),
    strategies.builds(
        CompactionHarvested,
        key=strategies.text(),
        entries_sha256=strategies.binary(min_size=32, max_size=32).map(bytes.hex),
        model=strategies.text(),
        slugs=strategies.lists(SLUGS, max_size=3).map(tuple),
        kept=strategies.integers(0, 2**53),
        dropped=strategies.dictionaries(strategies.text(), strategies.integers(0, 9), max_size=4),
    ),
)
EVENTS = PAYLOADS.flatmap(
    lambda payload: strategies.builds(
        Event,
        position=strategies.integers(1, 2**63 - 1),
        seq=strategies.integers(1, 2**63 - 1),
        stream=STREAMS,
        type=strategies.just(codec.type_of(payload)),
        recorded_at_text=TIMES,
        event_id=strategies.uuids().map(str),
        actor=IDENTITIES,
        conversation_id=IDENTITIES,
        request_id=IDENTITIES,
        request=strategies.none() | strategies.binary(min_size=32, max_size=32).map(bytes.hex),
        payload=strategies.just(payload),
    )
)
SALTS = strategies.binary(min_size=32, max_size=32)


@given(EVENTS, strategies.uuids().map(str), SALTS)
def test_an_event_comes_back_from_its_bytes(written: Event, log_id: str, salt: bytes) -> None:
    state = codec.encode(written, log_id=log_id, salt=salt)

    assert codec.decode(state, position=written.position) == written
    parts = codec.split(state)
    envelope = codec.decode_envelope(state)
    assert parts.salt == salt
    assert envelope.log == log_id
    codec.check_commitment(parts, envelope)


@given(EVENTS, SALTS)
def test_the_bytes_are_those_of_the_standard_library_s_json(written: Event, salt: bytes) -> None:
    state = codec.encode(written, log_id=LOG_ID, salt=salt)

    text = state.decode()
    assert json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":")) == text


@given(EVENTS, SALTS)
def test_the_parts_stand_in_the_bytes_as_they_are(written: Event, salt: bytes) -> None:
    state = codec.encode(written, log_id=LOG_ID, salt=salt)

    parts = codec.split(state)

    assert state == b'{"envelope":%b,"salt":"%b","payload":%b}' % (
        parts.envelope,
        salt.hex().encode(),
        parts.payload,
    )


@given(EVENTS, SALTS)
def test_a_quick_replay_reads_what_decoding_reads(written: Event, salt: bytes) -> None:
    state = codec.encode(written, log_id=LOG_ID, salt=salt)

    record = codec.replayed(written.type, state, position=written.position)

    assert codec.event_of(record, position=written.position) == written


@given(strategies.binary() | strategies.text().map(str.encode))
def test_any_other_bytes_are_refused(junk: bytes) -> None:
    for read in (codec.decode, codec.split, codec.decode_envelope):
        with pytest.raises(CorruptEventError):
            read(junk)


def test_the_fields_stand_in_the_order_of_the_format_and_all_are_there() -> None:
    content = json.loads(stored(SMALL[0]))

    assert list(content) == ["envelope", "salt", "payload"]
    assert list(content["envelope"]) == [
        "v",
        "log",
        "event_id",
        "type",
        "stream",
        "seq",
        "recorded_at",
        "actor",
        "conversation_id",
        "request_id",
        "request",
        "commitment",
    ]
    assert content["payload"] == {
        "slug": "tea",
        "title": "Tea",
        "body": "green",
        "topics": [],
        "confidence": 1.0,
        "provenance": "agent",
        "source": {
            "url": None,
            "artifact": None,
            "note": None,
            "created_at": None,
            "updated_at": None,
        },
        "extra": {},
    }


def test_free_maps_are_stored_in_the_order_of_their_keys() -> None:
    extra = {"b": "", "🍵": "", "a": "", "\uffff": "", "é": ""}
    state = stored(event(NoteWritten(slug="tea", title="Tea", body="green", extra=extra)))

    assert list(json.loads(state)["payload"]["extra"]) == ["a", "b", "é", "\uffff", "🍵"]


@pytest.mark.parametrize("seq", [1, 2**63 - 1])
def test_a_seq_is_a_positive_number_of_64_bits(seq: int) -> None:
    written = event(NoteUnpinned(slug="tea"), seq=seq)

    assert codec.decode(stored(written)) == written


def test_the_position_is_no_part_of_the_bytes() -> None:
    assert codec.decode(stored(RICH), position=7).position == 7
    assert b"position" not in stored(RICH)


def test_a_salt_has_32_bytes() -> None:
    with pytest.raises(AssertionError):
        stored(RICH, salt=SALT[1:])


# --- Registry


def test_the_registry_is_closed_and_spelled_for_ever() -> None:
    assert {
        "note_written/1": NoteWritten,
        "note_pinned/1": NotePinned,
        "note_unpinned/1": NoteUnpinned,
        "notes_linked/1": NotesLinked,
        "notes_unlinked/1": NotesUnlinked,
        "compaction_harvested/1": CompactionHarvested,
    } == codec.TYPES


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_type_is_written_under_its_name(example: Event) -> None:
    assert json.loads(stored(example))["envelope"]["type"] == example.type


def test_every_type_has_an_example_here() -> None:
    assert {example.type for example in EXAMPLES} == set(codec.TYPES)


@pytest.mark.parametrize(
    "type_",
    [
        "note_written/2",
        "note_written",
        "note_eaten/1",
        "",
        "os:system",
        "memlog.events:NoteWritten",
    ],
)
def test_an_unknown_type_is_named_with_its_position(type_: str) -> None:
    state = stored(SMALL[0]).replace(b"note_written/1", type_.encode())

    for read in (
        lambda: codec.decode(state, position=7),
        lambda: codec.replayed(type_, state, position=7),
    ):
        with pytest.raises(UnknownEventTypeError) as caught:
            read()
        assert (caught.value.position, caught.value.type) == (7, type_)


def test_an_event_under_another_type_is_refused() -> None:
    linked = stored(SMALL[3])
    unlinked = linked.replace(b"notes_linked/1", b"notes_unlinked/1")

    assert isinstance(codec.decode(unlinked).payload, NotesUnlinked)
    with pytest.raises(CorruptEventError, match="filed as notes_unlinked/1, but it is 'notes_lin"):
        codec.replayed("notes_unlinked/1", linked, position=1)
    with pytest.raises(CorruptEventError, match="position 9 is damaged: not a note_pinned/1 event"):
        codec.replayed("note_pinned/1", linked, position=9)


# --- Hashes


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_commitment_is_the_hash_of_salt_and_payload(example: Event) -> None:
    text = stored(example).decode()
    payload = text[text.index(',"payload":') + len(',"payload":') : -1]

    expected = hashlib.sha256(SALT + payload.encode()).hexdigest()

    assert json.loads(text)["envelope"]["commitment"] == expected


def test_equal_payloads_under_other_salts_have_other_commitments() -> None:
    one, other = stored(RICH), stored(RICH, salt=bytes(32))

    assert codec.decode_envelope(one).commitment != codec.decode_envelope(other).commitment


@pytest.mark.parametrize(
    "tampered",
    [
        stored(RICH).replace(b"https://example.org", b"https://example.com"),
        stored(RICH).replace(SALT.hex().encode(), bytes(32).hex().encode()),
    ],
)
def test_another_payload_or_salt_is_not_what_the_envelope_commits_to(tampered: bytes) -> None:
    with pytest.raises(CorruptEventError) as caught:
        codec.check_commitment(codec.split(tampered), codec.decode_envelope(tampered), position=7)

    assert caught.value.position == 7


def test_a_request_is_hashed_with_the_salt_in_canonical_json() -> None:
    arguments = {"slug": "é", "pinned": True, "topics": ("b", "a"), "if_seq": None}
    canonical = (
        '{"arguments":{"if_seq":null,"pinned":true,"slug":"é","topics":["b","a"]},"method":"write"}'
    )

    assert codec.request_hash(SALT, "write", arguments) == (
        hashlib.sha256(SALT + canonical.encode()).hexdigest()
    )


@pytest.mark.parametrize(
    "other",
    [
        (bytes(32), "pin", {"slug": "tea"}),
        (SALT, "unpin", {"slug": "tea"}),
        (SALT, "pin", {"slug": "tea2"}),
        (SALT, "pin", {"slug": None}),
    ],
)
def test_another_request_has_another_hash(other: tuple[bytes, str, dict[str, Any]]) -> None:
    assert codec.request_hash(*other) != codec.request_hash(SALT, "pin", {"slug": "tea"})


def test_canonical_json_sorts_the_keys_of_every_level() -> None:
    value = {"b": [{"d": 1, "c": 0.5}], "a": "é\x1f/"}

    assert codec.canonical_json(value) == '{"a":"é\\u001f/","b":[{"c":0.5,"d":1}]}'.encode()


# --- One form only: bytes


def refused(state: bytes) -> None:
    """Assert that bytes are refused whole."""
    with pytest.raises((CorruptEventError, UnknownEventTypeError)):
        codec.decode(state)


def refused_or_another_event(original: bytes, changed: bytes) -> None:
    """Assert that bytes are refused, or show that they are not what was written.

    A change inside a string can give another event that is well formed. Then either the payload is
    not the one of the commitment, or the envelope, which is the Merkle leaf, differs.
    """
    try:
        codec.decode(changed)
    except (CorruptEventError, UnknownEventTypeError):
        return
    parts, envelope = codec.split(changed), codec.decode_envelope(changed)
    if parts.envelope == codec.split(original).envelope:
        with pytest.raises(CorruptEventError):
            codec.check_commitment(parts, envelope)
    else:
        assert envelope != codec.decode_envelope(original)


def test_every_change_of_one_byte_is_refused_or_shows() -> None:
    state = stored(RICH)
    for index, old in enumerate(state):
        before, after = state[:index], state[index + 1 :]
        for new in range(256):
            if new != old:
                refused_or_another_event(state, b"%b%c%b" % (before, new, after))


@pytest.mark.parametrize("example", SMALL)
def test_every_flipped_bit_is_refused_or_shows(example: Event) -> None:
    state = stored(example)
    for index, old in enumerate(state):
        for bit in range(8):
            changed = bytearray(state)
            changed[index] = old ^ (1 << bit)
            refused_or_another_event(state, bytes(changed))


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_lost_byte_is_refused_or_shows(example: Event) -> None:
    state = stored(example)
    for index in range(len(state)):
        refused_or_another_event(state, state[:index] + state[index + 1 :])


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_early_end_is_refused(example: Event) -> None:
    state = stored(example)
    for length in range(len(state)):
        refused(state[:length])


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize("added", [b" ", b"\n", b"\t", b"\r", b"\0", b",", b"0", b"\xef\xbb\xbf"])
def test_every_added_byte_is_refused_or_shows(example: Event, added: bytes) -> None:
    state = stored(example)
    for index in range(len(state) + 1):
        refused_or_another_event(state, state[:index] + added + state[index:])


@pytest.mark.parametrize("space", [" ", "\n", "\t", "\r\n"])
def test_white_space_between_tokens_is_refused(space: str) -> None:
    text = stored(SMALL[0]).decode()
    for token in ("{", "}", ":", ",", "[", "]"):
        refused(text.replace(token, token + space, 1).encode())
    refused(f"{space}{text}".encode())
    refused(f"{text}{space}".encode())


# --- One form only: fields


class _Pairs(list[tuple[str, Any]]):
    """A JSON object that may hold a key twice."""


def _dumped(value: object) -> str:
    if isinstance(value, _Pairs):
        fields = [f"{_dumped(key)}:{_dumped(item)}" for key, item in value]
        return f"{{{','.join(fields)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_dumped, value))}]"
    return json.dumps(value, ensure_ascii=False)


def _objects(value: object) -> Iterator[_Pairs]:
    if isinstance(value, _Pairs):
        yield value
        for _, item in value:
            yield from _objects(item)


def _edits(state: bytes, edit: Callable[[_Pairs], Iterator[list[tuple[str, Any]]]]) -> set[bytes]:
    """Return the bytes with each object, in turn, replaced by each of its edited forms."""
    content = json.loads(state, object_pairs_hook=_Pairs)
    assert _dumped(content).encode() == state
    edited = set()
    for object_ in list(_objects(content)):
        original = list(object_)
        for form in edit(object_):
            object_[:] = form
            edited.add(_dumped(content).encode())
            object_[:] = original
    return edited - {state}


def _swapped(pairs: _Pairs) -> Iterator[list[tuple[str, Any]]]:
    for index in range(len(pairs) - 1):
        form = list(pairs)
        form[index], form[index + 1] = form[index + 1], form[index]
        yield form


def _repeated(pairs: _Pairs) -> Iterator[list[tuple[str, Any]]]:
    for index, pair in enumerate(pairs):
        yield [*pairs[:index], pair, *pairs[index:]]
        yield [*pairs, pair]


def _added(pairs: _Pairs) -> Iterator[list[tuple[str, Any]]]:
    for index in range(len(pairs) + 1):
        yield [*pairs[:index], ("~new", None), *pairs[index:]]


def _dropped(pairs: _Pairs) -> Iterator[list[tuple[str, Any]]]:
    if {"a", "b"} <= dict(pairs).keys() or {"known"} <= dict(pairs).keys():
        return  # A free map without a key is another map.
    for index in range(len(pairs)):
        yield [*pairs[:index], *pairs[index + 1 :]]


def _renamed(pairs: _Pairs) -> Iterator[list[tuple[str, Any]]]:
    if {"a", "b"} <= dict(pairs).keys() or {"known"} <= dict(pairs).keys():
        return  # As for dropped keys.
    for index, (key, item) in enumerate(pairs):
        yield [*pairs[:index], (key.upper(), item), *pairs[index + 1 :]]


@pytest.mark.parametrize("edit", [_swapped, _repeated, _added, _dropped, _renamed])
@pytest.mark.parametrize("example", EXAMPLES)
def test_fields_in_another_order_twice_too_many_or_missing_are_refused(
    example: Event, edit: Callable[[_Pairs], Iterator[list[tuple[str, Any]]]]
) -> None:
    edited = _edits(stored(example), edit)

    assert edited
    for state in edited:
        refused(state)


def _of_another_type(pairs: _Pairs) -> Iterator[list[tuple[str, Any]]]:
    others: tuple[object, ...] = (None, True, 7, 0.25, "7", [], {})
    for index, (key, item) in enumerate(pairs):
        for other in others:
            if type(other) is not type(item) and not isinstance(item, _Pairs):
                yield [*pairs[:index], (key, other), *pairs[index + 1 :]]


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_value_of_another_type_is_refused_or_shows(example: Event) -> None:
    state = stored(example)
    for changed in _edits(state, _of_another_type):
        refused_or_another_event(state, changed)


# --- One form only: values


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # numbers
        (b'"seq":1,', b'"seq":1.0,'),
        (b'"seq":1,', b'"seq":01,'),
        (b'"seq":1,', b'"seq":+1,'),
        (b'"seq":1,', b'"seq":1e0,'),
        (b'"seq":1,', b'"seq":"1",'),
        (b'"seq":1,', b'"seq":0,'),
        (b'"seq":1,', b'"seq":-0,'),
        (b'"seq":1,', b'"seq":-1,'),
        (b'"v":1,', b'"v":2,'),
        (b'"v":1,', b'"v":0,'),
        (b'"v":1,', b'"v":true,'),
        (b'"confidence":0.5', b'"confidence":0.50'),
        (b'"confidence":0.5', b'"confidence":5e-1'),
        (b'"confidence":0.5', b'"confidence":5E-1'),
        (b'"confidence":0.5', b'"confidence":.5'),
        (b'"confidence":0.5', b'"confidence":00.5'),
        (b'"confidence":0.5', b'"confidence":0.5000000000000000001'),
        (b'"confidence":0.5', b'"confidence":1'),
        (b'"confidence":0.5', b'"confidence":0'),
        (b'"confidence":0.5', b'"confidence":1e400'),
        (b'"confidence":0.5', b'"confidence":NaN'),
        (b'"confidence":0.5', b'"confidence":null'),
        # escapes
        (b"Tea ", b"\\u0054ea "),
        (b"Tea ", b"\\/ "),
        (b"\\n", b"\\u000a"),
        (b"\\n", b"\n"),
        (b"\\u0000", b"\0"),
        (b"\x7f", b"\\u007f"),
        ("é".encode(), b"\\u00e9"),
        ("é".encode(), b"\\u00E9"),
        ("é".encode(), b"\xe9"),
        ("🍵".encode(), b"\\ud83c\\udf75"),
        ("🍵".encode(), b"\\ud83c"),
        ("🍵".encode(), b"\xed\xa0\xbc\xed\xbd\xb5"),
        (b"\x7f", b"\xc1\xbf"),
        (b'\\"', b"\\u0022"),
        (b"\\\\", b"\\u005c"),
        # hex
        (b"e0e1", b"E0E1"),
        (b"e0e1", b"e0 e1"),
        (b"e0e1", b"e1"),
        (b"e0e1", b"g0e1"),
        (b"abab", b"ABAB"),
        (b'"abab', b'"ab'),
        (b'"3f2b8c1e', b'"3F2B8C1E'),
        (b'"3f2b8c1e-', b'"3f2b8c1e'),
        (b'"3f2b8c1e', b'"{3f2b8c1e'),
        (b'"0f0e0d0c', b'"0F0E0D0C'),
        (b'"0f0e0d0c', b'"urn:uuid:0f0e0d0c'),
        # times
        (b"2026-11-30T12:00:00.000000Z", b"2026-11-30T12:00:00Z"),
        (b"2026-11-30T12:00:00.000000Z", b"2026-11-30T12:00:00.000Z"),
        (b"2026-11-30T12:00:00.000000Z", b"2026-11-30T12:00:00.0000000Z"),
        (b"2026-11-30T12:00:00.000000Z", b"2026-11-30T12:00:00.000000+00:00"),
        (b"2026-11-30T12:00:00.000000Z", b"2026-11-30 12:00:00.000000Z"),
        (b"2026-11-30T12:00:00.000000Z", b"2026-11-30t12:00:00.000000z"),
        (b"2026-11-30T12:00:00.000000Z", b"2026-11-30T12:00:00.000000"),
        (b"2026-11-30T12:00:00.000000Z", "٢026-11-30T12:00:00.000000Z".encode()),
        (b"2026-11-30T12:00:00.000000Z", b"2026-11-30T12:00:00.000000Z\\n"),
        # closed sets
        (b'"provenance":"web"', b'"provenance":"robot"'),
        # free maps
        (b'{"a":"1","b":"2"}', b'{"b":"2","a":"1"}'),
        (b'{"a":"1","b":"2"}', b'{"a":"1","a":"1","b":"2"}'),
    ],
)
def test_another_spelling_of_a_value_is_refused(old: bytes, new: bytes) -> None:
    state = stored(RICH)
    assert old in state

    refused(state.replace(old, new, 1))


@pytest.mark.parametrize("field", ["commitment", "request"])
@pytest.mark.parametrize("spell", [str.upper, lambda hex_: hex_[1:], lambda hex_: f"{hex_}0"])
def test_another_spelling_of_a_hash_is_refused(field: str, spell: Callable[[str], str]) -> None:
    state = stored(RICH)
    written: str = json.loads(state)["envelope"][field]

    refused(state.replace(written.encode(), spell(written).encode(), 1))


def test_an_unknown_relation_is_refused() -> None:
    refused(stored(SMALL[3]).replace(b'"supersedes"', b'"eats"'))


def test_damage_is_told_with_its_position() -> None:
    changed = stored(RICH) + b" "

    with pytest.raises(CorruptEventError) as caught:
        codec.decode(changed, position=7)

    assert str(caught.value) == (
        "the event at position 7 is damaged: its bytes are not in canonical form"
    )


def test_a_quick_replay_checks_types_and_fields() -> None:
    for changed in (
        stored(RICH).replace(b'"seq":1,', b'"seq":"1",'),
        stored(RICH).replace(b'"slug"', b'"snail"'),
        stored(RICH)[:-1],
        stored(RICH).replace("é".encode(), b"\xe9"),
    ):
        with pytest.raises(CorruptEventError) as caught:
            codec.replayed("note_written/1", changed, position=7)
        assert caught.value.position == 7


def test_splitting_keeps_raw_bytes_raw() -> None:
    state = b'{"envelope": { "v" : 1.0 } ,"salt":"%b","payload":[ 1, 2 ]}' % SALT.hex().encode()

    parts = codec.split(state)

    assert (parts.envelope, parts.salt, parts.payload) == (b'{ "v" : 1.0 }', SALT, b"[ 1, 2 ]")


# --- One form only: what a writer could have stored


@pytest.mark.parametrize("read", [codec.decode, codec.split, codec.decode_envelope])
def test_deeply_nested_bytes_are_refused(read: Callable[[bytes], object]) -> None:
    deep = b'{"envelope":' + b"[" * 100_000 + b"]" * 100_000 + b"}"

    with pytest.raises(CorruptEventError):
        read(deep)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"seq":1,', b'"seq":9223372036854775808,'),
        (b'"recorded_at":"2026-11-30', b'"recorded_at":"2026-13-45'),
        (b'"stream":"global/"', b'"stream":"global/alice"'),
        (b'"stream":"global/"', b'"stream":"team/alice"'),
        (b'"request":"%b"' % (b"ab" * 32), b'"request":""'),
        (b'"confidence":0.5', b'"confidence":-0.0'),
        (b'"confidence":0.5', b'"confidence":7.25'),
        (b'"confidence":0.5', b'"confidence":0.12345'),
    ],
)
def test_a_value_that_no_writer_could_have_stored_is_refused(old: bytes, new: bytes) -> None:
    state = stored(RICH)
    assert old in state

    refused(state.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"actor":"agent:a"', b'"actor":""'),
        (b'"actor":"agent:a"', b'"actor":"a\\nb"'),
        (b'"slug":"tea"', b'"slug":"../x"'),
    ],
)
def test_a_name_that_no_writer_could_have_stored_is_refused(old: bytes, new: bytes) -> None:
    state = stored(RICH)
    assert old in state

    refused(state.replace(old, new, 1))


def test_damage_is_told_in_one_printable_line() -> None:
    changed = stored(RICH).replace(b'"seq":', b'"se\\n\\u001b[31mq":')

    with pytest.raises(CorruptEventError) as caught:
        codec.decode(changed)

    assert str(caught.value).isprintable()


@pytest.mark.parametrize(("old", "new"), [(b"e0e1", b"E0E1"), (b"e0e1", b"e0 e1"), (b"e0e1", b"")])
def test_a_salt_is_split_off_in_its_one_form_only(old: bytes, new: bytes) -> None:
    with pytest.raises(CorruptEventError):
        codec.split(stored(RICH).replace(old, new, 1))


def test_a_newer_envelope_with_new_fields_is_told_as_newer() -> None:
    newer = stored(RICH).replace(b'"v":1,', b'"v":2,"device":"d",')

    with pytest.raises(CorruptEventError) as caught:
        codec.decode(newer)

    assert "version 2" in str(caught.value)
