"""Any random legal history: every prefix is legal, and live = replay = rebuild = the tables."""

from collections.abc import Sequence
from pathlib import Path

from hypothesis import given as for_all
from hypothesis import strategies as st

from memlog import codec, requests
from memlog.decide import decide, violations
from memlog.errors import NoteNotFoundError, RequestError
from memlog.events import (
    Event,
    NotePinned,
    NotesLinked,
    NotesUnlinked,
    NoteUnpinned,
    NoteWritten,
    Payload,
)
from memlog.log import Log
from memlog.memory import Memory
from memlog.note import Note, Scope
from memlog.requests import AddLink, AnyRequest, Pin, RemoveLink, Unpin, Write
from memlog.testing import LOG_ID, open_log, record, states, strategies, tables_equal_fold
from projections.notes.fold import Fold, replay
from projections.notes.reader import Reader, live_set

STREAMS = ("owner/alice", "global/")
HISTORIES = strategies.histories(streams=STREAMS)
FEW_SLUGS = st.sampled_from(["tea", "tea-2", "oolong-tea"])


def recorded(history: Sequence[Event]) -> Log:
    """Return a log with these payloads in it, appended and projected one after the other."""
    log = open_log()
    for event in history:
        record(log.scope(Scope.of_stream(event.stream)), [event.payload])
    return log


# --- Legal


@for_all(HISTORIES)
def test_every_prefix_is_legal(history: tuple[Event, ...]) -> None:
    folds = {stream: Fold() for stream in STREAMS}
    for event in history:
        assert violations(folds[event.stream], event.payload) == ()
        folds[event.stream].add(event)


@for_all(HISTORIES)
def test_every_prefix_is_legal_by_the_words_of_the_design(history: tuple[Event, ...]) -> None:
    for stream in STREAMS:
        _walk([event for event in history if event.stream == stream])


def _walk(history: Sequence[Event]) -> None:
    """Check one scope with nothing but sets and dicts."""
    untrusted: dict[str, bool] = {}
    pinned: set[str] = set()
    edges: list[tuple[str, str, str, str | None]] = []

    for seq, event in enumerate(history, start=1):
        assert event.seq == seq
        older = {to_slug: from_slug for from_slug, to_slug, rel, _ in edges if rel == "supersedes"}
        payload = event.payload
        match payload:
            case NoteWritten():
                assert payload.slug not in older, "history is rewritten"
                from_the_web = payload.source.url is not None
                untrusted[payload.slug] = from_the_web or payload.provenance == "compaction"
            case NotePinned():
                assert payload.slug in untrusted, "a missing note is pinned"
                assert payload.slug not in older, "history is pinned"
                assert payload.slug not in pinned, "pinned twice"
                assert payload.untrusted_allowed == untrusted[payload.slug]
                pinned.add(payload.slug)
            case NoteUnpinned():
                pinned.remove(payload.slug)
            case NotesLinked(from_slug=from_slug, to_slug=to_slug, rel=rel, label=label):
                assert {from_slug, to_slug} <= set(untrusted), "a missing note is linked"
                assert from_slug != to_slug
                assert (from_slug, to_slug, rel, label) not in edges
                if rel == "supersedes":
                    assert to_slug not in older, "superseded twice"
                    end = from_slug
                    while end in older:
                        end = older[end]
                    assert end != to_slug, "a cycle"
                edges.append((from_slug, to_slug, rel, label))
            case NotesUnlinked(from_slug=from_slug, to_slug=to_slug, rel=rel, label=label):
                edges.remove((from_slug, to_slug, rel, label))
            case _:
                assert set(payload.slugs) <= set(untrusted)


@for_all(HISTORIES)
def test_no_prefix_shows_new_text_under_an_old_pin(history: tuple[Event, ...]) -> None:
    """Text under a pin is the text that was pinned, or one that the writer said stays pinned.

    The second may come without an event for the pin, but never when only an override allows it: the
    override was given for the text before.
    """
    text: dict[tuple[str, str], NoteWritten] = {}
    pins: dict[tuple[str, str], tuple[NoteWritten, NotePinned]] = {}
    for event in history:
        payload = event.payload
        match payload:
            case NoteWritten():
                text[event.stream, payload.slug] = payload
            case NotePinned():
                pins[event.stream, payload.slug] = (text[event.stream, payload.slug], payload)
            case NoteUnpinned():
                del pins[event.stream, payload.slug]
            case _:
                pass
        for place, (pinned_text, _) in pins.items():
            shown = text[place]
            if shown.source.url is not None or shown.provenance == "compaction":
                assert shown == pinned_text


@for_all(st.lists(strategies.requests(slugs=FEW_SLUGS), max_size=30))
def test_a_request_that_does_not_ask_for_the_pin_leaves_none_over_its_text(
    asked: list[AnyRequest],
) -> None:
    """Also not between its two events: the unpin comes first."""
    fold = Fold()
    for request in asked:
        for payload in _decided(fold, request):
            before = fold.notes.copy()
            _add(fold, payload)
            if isinstance(payload, NoteWritten) and isinstance(request, Write):
                pinned = fold.notes[payload.slug].pinned
                assert not pinned or (request.pinned and before[payload.slug].pinned)


def _decided(fold: Fold, request: AnyRequest) -> tuple[Payload, ...]:
    try:
        return decide(fold, request)
    except RequestError:
        return ()


def _add(fold: Fold, payload: Payload) -> None:
    seq = fold.last_seq + 1
    fold.apply(payload, position=seq, seq=seq, recorded_at="2026-11-30T00:00:00.000000Z")


# --- Live = replay = rebuild


@for_all(HISTORIES)
def test_recorded_live_a_history_gives_the_tables_that_its_fold_gives(
    history: tuple[Event, ...],
) -> None:
    with recorded(history) as log:
        assert tables_equal_fold(log)
        assert [event.payload for event in log.events()] == [event.payload for event in history]


@for_all(HISTORIES)
def test_rebuilding_gives_the_same_tables_and_finds_no_difference(
    history: tuple[Event, ...],
) -> None:
    with recorded(history) as log:
        before = _everything(log)
        for _ in range(2):
            rebuilt = log.rebuild()
            assert (rebuilt.events, rebuilt.differences) == (len(history), ())
            assert _everything(log) == before
        assert tables_equal_fold(log)


def _everything(log: Log) -> list[object]:
    return [
        [log.scope(stream).notes(), log.scope(stream).fingerprint(), log.scopes()]
        for stream in map(Scope.of_stream, STREAMS)
    ]


@for_all(HISTORIES)
def test_replaying_stored_bytes_gives_the_notes_that_are_read_live(
    history: tuple[Event, ...],
) -> None:
    with recorded(history) as log:
        store = log._store  # noqa: SLF001  # the raw rows have no public way
        for stream, fold in replay(store.rows()).items():
            memory = log.scope(Scope.of_stream(stream))
            assert {note.slug: note for note in memory.notes()} == fold.notes
            assert memory.fingerprint() == fold.fingerprint
            assert list(memory.events()) == [
                event for event in log.events() if event.stream == stream
            ]


@for_all(HISTORIES)
def test_a_history_survives_its_bytes(history: tuple[Event, ...]) -> None:
    for event, state in zip(history, states(history), strict=True):
        assert codec.decode(state, position=event.position) == event
        parts = codec.split(state)
        envelope = codec.decode_envelope(state)
        codec.check_commitment(parts, envelope)
        assert envelope.log == LOG_ID


# --- The rules on the fold and on the tables


@for_all(st.lists(strategies.requests(), min_size=1, max_size=25))
def test_the_rules_say_the_same_on_the_fold_and_on_the_tables(asked: list[AnyRequest]) -> None:
    with open_log() as log:
        memory = log.scope("owner", "alice")
        fold = Fold()
        for request in asked:
            on_tables = _on_tables(log, request)
            assert on_tables == _answer(fold, request)
            if isinstance(on_tables, tuple) and on_tables:
                for event in record(memory, on_tables):
                    fold.add(event)
        for note in fold.notes.values():
            again = _written_again(note)
            assert _on_tables(log, again) == _answer(fold, again)


def _written_again(note: Note) -> AnyRequest:
    """Return the write, without a slug, of what a note says: it may find a twin."""
    return requests.write(
        title=note.title,
        body=note.body,
        topics=note.topics,
        confidence=note.confidence,
        source=note.source,
        extra=note.extra,
        provenance=note.provenance,
        max_body_bytes=strategies.MAX_BODY_BYTES,
    )


def _on_tables(log: Log, request: AnyRequest) -> object:
    with log._store.reading() as cursor:  # noqa: SLF001  # the tables have no public way
        return _answer(Reader(cursor, live_set(cursor), STREAMS[0]), request)


def _answer(state: Fold | Reader, request: AnyRequest) -> object:
    """Return the payloads, or what the error says; near slugs are offers and may differ."""
    try:
        return decide(state, request)
    except NoteNotFoundError as error:
        return [type(error), error.slug]
    except RequestError as error:
        return [type(error), error.args]


@for_all(HISTORIES, strategies.histories(max_requests=5))
def test_violations_are_the_same_on_the_fold_and_on_the_tables(
    history: tuple[Event, ...], others: tuple[Event, ...]
) -> None:
    """Events of another history break rules of this one, and both states must see it alike."""
    here = [event for event in history if event.stream == STREAMS[0]]
    fold = Fold.of(here)
    with recorded(here) as log, log._store.reading() as cursor:  # noqa: SLF001  # as above
        reader = Reader(cursor, live_set(cursor), STREAMS[0])
        for event in others:
            assert violations(reader, event.payload) == violations(fold, event.payload)


# --- Two engines


def asked_of(memory: Memory, request: AnyRequest, number: int) -> None:
    """Ask the public call that a request stands for."""
    request_id = f"r-{number}" if number % 2 else None
    match request:
        case Write():
            memory.write(**request.given, request_id=request_id)
        case Pin():
            memory.pin(
                request.slug,
                allow_pin_untrusted=request.allow_pin_untrusted,
                request_id=request_id,
            )
        case Unpin():
            memory.unpin(request.slug, request_id=request_id)
        case AddLink(link=link):
            memory.link(
                link.from_slug, link.to_slug, link.rel, label=link.label, request_id=request_id
            )
        case RemoveLink(link=link):
            memory.unlink(
                link.from_slug, link.to_slug, link.rel, label=link.label, request_id=request_id
            )


def states_of(target: str | Path, asked: Sequence[AnyRequest]) -> list[bytes]:
    """Return the stored bytes of a fresh log after these requests."""
    with open_log(target) as log:
        for number, request in enumerate(asked):
            try:
                asked_of(log.scope("owner", "alice"), request, number)
            except RequestError:
                continue
        return [row.state for row in log._store.rows()]  # noqa: SLF001  # as above


@for_all(st.lists(strategies.requests(), max_size=10))
def test_two_logs_with_the_same_clock_and_ids_hold_the_same_bytes(asked: list[AnyRequest]) -> None:
    assert states_of(":memory:", asked) == states_of(":memory:", asked)


def test_a_log_in_a_file_and_one_in_memory_hold_the_same_bytes(tmp_path: Path) -> None:
    asked: list[AnyRequest] = [
        requests.write(title="Tea", body="green", pinned=True, max_body_bytes=100),
        requests.write(title="Tea", body="black", topics=["hot"], max_body_bytes=100),
        requests.add_link("tea-2", "tea", "supersedes", label="why"),
        requests.unpin("tea"),
    ]

    in_memory = states_of(":memory:", asked)

    assert len(in_memory) == 5
    assert states_of(tmp_path / "notes.db", asked) == in_memory
