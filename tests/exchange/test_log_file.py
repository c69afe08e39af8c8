"""A log as a file: out and in without loss, and nothing else gets in."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st

import memlog
from memlog import codec, proof
from memlog.errors import InvalidRequestError
from memlog.events import Event, NotesLinked, NoteWritten
from memlog.exchange.items import FileRefusedError
from memlog.exchange.log_export import export_log
from memlog.exchange.log_import import import_log
from memlog.exchange.logfile import (
    LOG_FORMAT,
    Line,
    LogEnd,
    LogHead,
    LogLine,
    format_of,
    written,
)
from memlog.log import Log
from memlog.note import Scope
from memlog.signing import SigningKey, sign_note
from memlog.testing import events, open_log, record, states, strategies
from projections import tree
from tests.exchange.places import FEW

STREAMS = ("owner/alice", "global/")
LOG_ID = "11111111-2222-4333-8444-555555555555"
OTHER_ID = "99999999-2222-4333-8444-555555555555"


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    """Give a log with what a log can hold: rewrites, pins, links, two scopes, requests."""
    with open_log(tmp_path / "log.db", log_id=LOG_ID) as log:
        alice, everybody = log.scope("owner", "alice"), log.scope("global")
        alice.write(title="Tea", body='green \u2028 "é"', topics=["drink"], request_id="r-1")
        alice.write(title="Tea", body="black", slug="tea", pinned=True)
        everybody.write(title="Rule", body="be kind", provenance="user", pinned=True)
        alice.write(title="Old", body="x", actor="a", conversation_id="c")
        alice.link("tea", "old", "supersedes", label="because")
        alice.link("tea", "old", "related")
        alice.unlink("tea", "old", "related")
        yield log


def same(one: Log, other: Log) -> None:
    """Check that two logs say the same, by every means."""
    assert [*one.events()] == [*other.events()]
    assert one.log_id == other.log_id
    assert one.scopes() == other.scopes()
    for info in one.scopes():
        here, there = one.scope(info.scope), other.scope(info.scope)
        assert here.section() == there.section()
        assert here.fingerprint() == there.fingerprint()
        assert here.notes(limit=10_000) == there.notes(limit=10_000)
        for note in here.notes(limit=10_000):
            assert here.read(note.slug) == there.read(note.slug)


def test_out_in_and_out_again_is_byte_identical(log: Log, tmp_path: Path) -> None:
    exported = export_log(log, tmp_path / "one.jsonl")
    imported = import_log(tmp_path / "one.jsonl", tmp_path / "copy.db")

    assert (imported.created, imported.events, imported.root) == (True, 9, exported.root)
    with memlog.open(tmp_path / "copy.db") as copy:
        same(log, copy)
        assert copy.rebuild().differences == ()
        export_log(copy, tmp_path / "two.jsonl")
        again = copy.scope("owner", "alice").write(
            title="Tea", body='green \u2028 "é"', topics=["drink"], request_id="r-1"
        )
        assert again.replayed
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "copy.db",
        "copy.db-lock",
        "log.db",
        "log.db-lock",
        "log.db-shm",
        "log.db-wal",
        "one.jsonl",
        "two.jsonl",
    ]


@FEW
@for_all(strategies.histories(streams=STREAMS))
def test_any_legal_history_travels(history: tuple[Event, ...]) -> None:
    with TemporaryDirectory() as folder, open_log() as log:
        for event in history:
            record(log.scope(Scope.of_stream(event.stream)), [event.payload])
        file, copy = Path(folder) / "log.jsonl", Path(folder) / "copy.db"
        export_log(log, file)
        import_log(file, copy)

        with memlog.open(copy) as opened:
            same(log, opened)


def test_a_copy_is_continued_and_nothing_comes_twice(log: Log, tmp_path: Path) -> None:
    first = export_log(log, tmp_path / "first.jsonl")
    import_log(tmp_path / "first.jsonl", tmp_path / "copy.db")
    log.scope("owner", "alice").write(title="Later", body="z")
    export_log(log, tmp_path / "rest.jsonl", since=first.head)
    export_log(log, tmp_path / "overlap.jsonl", since=3)
    export_log(log, tmp_path / "whole.jsonl")

    assert import_log(tmp_path / "rest.jsonl", tmp_path / "copy.db").events == 1
    for name in ("first", "rest", "overlap", "whole"):
        assert import_log(tmp_path / f"{name}.jsonl", tmp_path / "copy.db").events == 0
    with memlog.open(tmp_path / "copy.db") as copy:
        same(log, copy)


def test_a_continuation_needs_a_copy_that_has_what_comes_before(log: Log, tmp_path: Path) -> None:
    export_log(log, tmp_path / "rest.jsonl", since=5)
    with pytest.raises(InvalidRequestError, match="no copy"):
        import_log(tmp_path / "rest.jsonl", tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()
    with pytest.raises(InvalidRequestError, match="ends at position 9"):
        export_log(log, tmp_path / "x.jsonl", since=10)


def test_a_log_never_gets_into_another_one(log: Log, tmp_path: Path) -> None:
    export_log(log, tmp_path / "foreign.jsonl")
    with open_log(tmp_path / "mine.db", log_id=OTHER_ID) as mine:
        memory = mine.scope("owner", "alice")
        memory.write(title="Mine", body="x")
        before, section = [*mine.events()], memory.section()

        with pytest.raises(InvalidRequestError, match="a copy of itself"):
            import_log(tmp_path / "foreign.jsonl", tmp_path / "mine.db")

        raw = (tmp_path / "foreign.jsonl").read_bytes().replace(LOG_ID.encode(), OTHER_ID.encode())
        (tmp_path / "forged.jsonl").write_bytes(raw)
        with pytest.raises(FileRefusedError):  # Other events than those of this log.
            import_log(tmp_path / "forged.jsonl", tmp_path / "mine.db")
        assert [*mine.events()] == before
        assert memory.section() == section


def test_a_diverged_copy_is_not_continued(log: Log, tmp_path: Path) -> None:
    export_log(log, tmp_path / "first.jsonl")
    import_log(tmp_path / "first.jsonl", tmp_path / "copy.db")
    log.scope("owner", "alice").write(title="Here", body="z")
    with memlog.open(tmp_path / "copy.db") as copy:
        copy.scope("owner", "alice").write(title="There", body="z")
    export_log(log, tmp_path / "whole.jsonl")
    export_log(log, tmp_path / "rest.jsonl", since=10)

    with pytest.raises(FileRefusedError, match="line 11: the store has another event"):
        import_log(tmp_path / "whole.jsonl", tmp_path / "copy.db")
    with pytest.raises((FileRefusedError, InvalidRequestError), match="line 1: up to where"):
        import_log(tmp_path / "rest.jsonl", tmp_path / "copy.db")


@pytest.mark.parametrize("line", range(10))
@settings(max_examples=8)
@for_all(st.data())
def test_a_changed_bit_is_refused_with_its_line_and_leaves_nothing(
    line: int, data: st.DataObject
) -> None:
    raw = bytearray(LINES[line])
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with TemporaryDirectory() as folder:
        file = Path(folder) / "log.jsonl"
        file.write_bytes(b"".join([*LINES[:line], bytes(raw), *LINES[line + 1 :]]))

        with pytest.raises((FileRefusedError, InvalidRequestError)) as refused:
            import_log(file, Path(folder) / "new.db")

        if isinstance(refused.value, FileRefusedError):  # Else it claims to continue a log.
            # A changed log id is seen in the first event.
            assert refused.value.line in ({1, 2} if line == 0 else {line + 1})
        assert [path.name for path in Path(folder).iterdir()] == ["log.jsonl"]


def _lines() -> list[bytes]:
    with TemporaryDirectory() as folder, open_log(log_id=LOG_ID) as log:
        for stream in ("owner/alice", "owner/bob"):
            memory = log.scope(Scope.of_stream(stream))
            memory.write(title="Tea", body="green", request_id="r")
            memory.write(title="Old", body="x")
            memory.link("tea", "old", "supersedes")
            memory.pin("tea")
        export_log(log, Path(folder) / "log.jsonl")
        return (Path(folder) / "log.jsonl").read_bytes().splitlines(keepends=True)


LINES = _lines()


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: lines[:-1],
        lambda lines: lines[:4],
        lambda _: [],
        lambda lines: [lines[0], *lines[2:]],
        lambda lines: [*lines[:3], lines[4], lines[3], *lines[5:]],
        lambda lines: [*lines[:3], lines[2], *lines[3:]],
        lambda lines: [*lines, lines[-1]],
        lambda lines: [*lines[:-1], lines[-1].rstrip(b"\n")],
        lambda lines: [lines[0].replace(b'","after', b'", "after'), *lines[1:]],
        lambda lines: [lines[0].replace(b"log/1", b"log/2"), *lines[1:]],
        lambda lines: [*lines[:2], b"\n", *lines[2:]],
        lambda lines: [*lines[:-2], lines[-1]],
    ],
)
def test_a_file_that_is_not_whole_and_in_order_is_refused(
    tmp_path: Path, change: Callable[[list[bytes]], list[bytes]]
) -> None:
    (tmp_path / "log.jsonl").write_bytes(b"".join(change(list(LINES))))

    with pytest.raises(FileRefusedError):
        import_log(tmp_path / "log.jsonl", tmp_path / "new.db")

    assert [path.name for path in tmp_path.iterdir()] == ["log.jsonl"]


@pytest.mark.parametrize(
    "before",
    [
        b'"body":"',
        b'"title":"',
        b'"salt":"',
        b'"event_id":"',
        b'"request_id":"',
        b'"request":"',
        b'"commitment":"',
        b'"stream":"owner/',
        b'"recorded_at":"202',
        b'"leaf":"',
        b'"position":',
    ],
)
def test_whatever_is_changed_in_an_event_is_found_in_its_line(
    tmp_path: Path, before: bytes
) -> None:
    changed = bytearray(LINES[1])
    changed[LINES[1].index(before) + len(before)] ^= 1
    (tmp_path / "log.jsonl").write_bytes(b"".join([LINES[0], bytes(changed), *LINES[2:]]))

    with pytest.raises(FileRefusedError, match="line 2"):
        import_log(tmp_path / "log.jsonl", tmp_path / "new.db")


def forged(history: Sequence[Event]) -> bytes:
    """Return a file of these events whose hashes and root all fit."""
    stored = states(history, log_id=LOG_ID)
    leaves = [proof.leaf_hash(codec.split(state).envelope) for state in stored]
    empty, root = proof.EMPTY_ROOT.hex(), tree.root_of(leaves).hex()
    lines: list[Line] = [
        LogLine(position=position, leaf=leaf.hex(), state=msgspec.Raw(state))
        for position, (leaf, state) in enumerate(zip(leaves, stored, strict=True), start=1)
    ]
    head = LogHead(format=LOG_FORMAT, log=LOG_ID, after=0, root=empty)
    end = LogEnd(events=len(lines), head=len(lines), root=root, checkpoint=None)
    return b"".join(written(line) for line in (head, *lines, end))


def test_a_forged_file_is_held_to_the_order_of_times_and_seqs(tmp_path: Path) -> None:
    history = events(*(NoteWritten(slug=slug, title="T", body="x") for slug in ("a", "b", "c")))
    file = tmp_path / "log.jsonl"
    file.write_bytes(forged(history))
    assert import_log(file, tmp_path / "good.db").events == 3

    earlier = msgspec.structs.replace(history[2], recorded_at_text="2020-01-01T00:00:00.000000Z")
    file.write_bytes(forged([*history[:2], earlier]))
    with pytest.raises(FileRefusedError, match="line 4: it was recorded before"):
        import_log(file, tmp_path / "new.db")

    gap = msgspec.structs.replace(history[2], seq=7)
    file.write_bytes(forged([*history[:2], gap]))
    with pytest.raises(FileRefusedError, match="line 4: its seq is 7, not 3"):
        import_log(file, tmp_path / "new.db")


def test_the_next_event_of_a_copy_is_not_before_its_last(log: Log, tmp_path: Path) -> None:
    export_log(log, tmp_path / "log.jsonl")
    import_log(tmp_path / "log.jsonl", tmp_path / "copy.db")

    with sqlite3.connect(tmp_path / "copy.db") as database:
        row = database.execute("SELECT position, recorded_at FROM log").fetchone()
    database.close()

    *_, last = log.events()
    assert row == (last.position, last.recorded_at_text)


def test_an_event_that_breaks_a_rule_is_refused(tmp_path: Path) -> None:
    with open_log() as log:
        memory = log.scope("owner", "alice")
        record(
            memory,
            [
                NoteWritten(slug="a", title="A", body="x"),
                NoteWritten(slug="b", title="B", body="x"),
                NotesLinked(from_slug="a", to_slug="b", rel="supersedes"),
                NotesLinked(from_slug="b", to_slug="a", rel="supersedes"),
            ],
        )
        export_log(log, tmp_path / "log.jsonl")

    with pytest.raises(FileRefusedError, match="line 5: it breaks a rule of the log"):
        import_log(tmp_path / "log.jsonl", tmp_path / "new.db")


def test_a_checkpoint_is_checked(log: Log, tmp_path: Path) -> None:
    key, other = (SigningKey("tests/log", bytes([n]) * 32) for n in (1, 2))
    root = export_log(log, tmp_path / "plain.jsonl").root
    text = proof.format_checkpoint(proof.Checkpoint(f"tests/{LOG_ID}", 9, bytes.fromhex(root)))
    note = sign_note(text, verifier=key.verifier, sign=key.sign)
    signed = proof.format_note(note).decode()
    export_log(log, tmp_path / "signed.jsonl", checkpoint=signed)

    imported = import_log(tmp_path / "signed.jsonl", tmp_path / "a.db", keys=[key.verifier])
    assert imported.signed
    with pytest.raises(FileRefusedError, match="checkpoint does not hold"):
        import_log(tmp_path / "signed.jsonl", tmp_path / "b.db", keys=[other.verifier])
    with pytest.raises(FileRefusedError, match="no signed checkpoint"):
        import_log(tmp_path / "plain.jsonl", tmp_path / "b.db", keys=[key.verifier])
    log.scope("global").write(title="Later", body="x")
    with pytest.raises(InvalidRequestError, match="not for this log at position 10"):
        export_log(log, tmp_path / "late.jsonl", checkpoint=signed)
    assert not (tmp_path / "b.db").exists()
    assert not (tmp_path / "late.jsonl").exists()


def test_an_import_that_is_interrupted_leaves_nothing(tmp_path: Path) -> None:
    with open_log() as log:
        memory = log.scope("owner", "alice")
        memory.write_many([{"title": f"N{n}", "body": "x"} for n in range(600)])
        export_log(log, tmp_path / "log.jsonl")

    def stop(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_log(tmp_path / "log.jsonl", tmp_path / "new.db", progress=stop)
    assert [path.name for path in tmp_path.iterdir()] == ["log.jsonl"]
    assert import_log(tmp_path / "log.jsonl", tmp_path / "new.db").events == 600


def test_the_first_line_says_what_a_file_is() -> None:
    assert format_of(LINES[0]) == LOG_FORMAT
    assert format_of(LINES[1]) is None
    assert format_of(b"\xff") is None
