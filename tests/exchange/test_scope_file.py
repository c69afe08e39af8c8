"""One scope of a log, handed over: every event proven, taken in as notes and never as a log."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st

from memlog import proof
from memlog.errors import InvalidRequestError
from memlog.exchange import importing, scope_import
from memlog.exchange.items import FileRefusedError
from memlog.exchange.log_export import export_scope
from memlog.exchange.log_import import import_log
from memlog.exchange.portable import portable
from memlog.log import Log
from memlog.note import Scope
from memlog.signing import SigningKey, sign_note
from memlog.testing import open_log
from tests.exchange.places import all_notes, edges, scope

LOG_ID = "11111111-2222-4333-8444-555555555555"


@pytest.fixture
def log() -> Iterator[Log]:
    with filled() as log:
        yield log


def filled() -> Log:
    log = open_log(log_id=LOG_ID)
    alice, bob = log.scope("owner", "alice"), log.scope("owner", "bob")
    alice.write(title="Tea", body="green", topics=["drink"], confidence=0.5)
    bob.write(title="Secret", body="of bob")
    alice.write(title="Tea", body="black", slug="tea", pinned=True)
    bob.write(title="More", body="of bob")
    alice.write(title="Old", body="x", extra={"k": "v"})
    alice.link("tea", "old", "supersedes")
    alice.link("tea", "old", "related", label="once")
    return log


def test_its_notes_come_in_as_new_ones_with_what_they_were(log: Log, tmp_path: Path) -> None:
    file = tmp_path / "alice.jsonl"
    exported = export_scope(log, Scope("owner", "alice"), file)
    handed = scope_import.read_scope(file)
    assert b"bob" not in file.read_bytes()
    assert (handed.events, handed.stream, handed.signed) == (exported.events, "owner/alice", False)

    with scope() as memory:
        memory.write(title="Tea", body="mine")
        report = importing.run(memory, [scope_import.parsed(handed, file)])

        assert (report.created, report.links) == (2, 2)
        notes = all_notes(memory)
        assert {note.provenance for slug, note in notes.items() if slug != "tea"} == {"import"}
        assert notes["tea"].body == "mine"
        assert (notes["tea-2"].body, notes["tea-2"].pinned) == ("black", False)
        assert portable(notes["tea-2"]).provenance == "agent"
        assert portable(notes["old"]).extra == {"k": "v"}
        assert edges(memory) == {
            ("tea-2", "old", "supersedes", None),
            ("tea-2", "old", "related", "once"),
        }
        again = importing.run(memory, [scope_import.parsed(handed, file)])
        assert not again.changed


def test_as_a_log_it_is_refused_by_name(log: Log, tmp_path: Path) -> None:
    export_scope(log, Scope("owner", "alice"), tmp_path / "alice.jsonl")

    with pytest.raises(FileRefusedError, match="line 1: it is no head of a log"):
        import_log(tmp_path / "alice.jsonl", tmp_path / "new.db")

    assert not (tmp_path / "new.db").exists()


def test_a_scope_without_events_is_not_handed_over(log: Log, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match="no events"):
        export_scope(log, Scope("owner", "carol"), tmp_path / "carol.jsonl")


def test_the_signature_of_a_trusted_key_is_asked_for(log: Log, tmp_path: Path) -> None:
    key, other = (SigningKey("tests/log", bytes([n]) * 32) for n in (1, 2))
    alice, file = Scope("owner", "alice"), tmp_path / "alice.jsonl"
    exported = export_scope(log, alice, file)
    checkpoint = proof.Checkpoint(f"x/{LOG_ID}", exported.head, bytes.fromhex(exported.root))
    note = sign_note(proof.format_checkpoint(checkpoint), verifier=key.verifier, sign=key.sign)
    export_scope(log, alice, file, checkpoint=proof.format_note(note).decode())

    assert scope_import.read_scope(file, keys=[key.verifier]).signed
    with pytest.raises(FileRefusedError, match="checkpoint does not hold"):
        scope_import.read_scope(file, keys=[other.verifier])


def _lines() -> list[bytes]:
    with TemporaryDirectory() as folder, filled() as log:
        file = Path(folder) / "alice.jsonl"
        export_scope(log, Scope("owner", "alice"), file)
        return file.read_bytes().splitlines(keepends=True)


LINES = _lines()


@settings(max_examples=200)
@for_all(st.data())
def test_a_changed_bit_is_refused_with_its_line(data: st.DataObject) -> None:
    line = data.draw(st.integers(0, len(LINES) - 1))
    raw = bytearray(LINES[line])
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with TemporaryDirectory() as folder:
        file = Path(folder) / "alice.jsonl"
        file.write_bytes(b"".join([*LINES[:line], bytes(raw), *LINES[line + 1 :]]))

        with pytest.raises(FileRefusedError) as refused:
            scope_import.read_scope(file)

    assert refused.value.line in ({1, 2} if line == 0 else {line + 1})


@pytest.mark.parametrize("missing", range(1, len(LINES)))
def test_an_event_that_is_left_out_is_noticed(missing: int, tmp_path: Path) -> None:
    file = tmp_path / "alice.jsonl"
    file.write_bytes(b"".join([*LINES[:missing], *LINES[missing + 1 :]]))

    with pytest.raises(FileRefusedError):
        scope_import.read_scope(file)


def test_what_nobody_signed_cannot_rewrite_what_came_from_another_file(tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_bytes(b"".join(LINES))
    with open_log(log_id=LOG_ID) as forger, scope() as memory:
        forger.scope("owner", "alice").write(title="Tea", body="forged")
        export_scope(forger, Scope("owner", "alice"), tmp_path / "two.jsonl")
        for name in ("one.jsonl", "two.jsonl"):
            file = tmp_path / name
            parsed = scope_import.parsed(scope_import.read_scope(file), file)
            importing.run(memory, [parsed])

        assert memory.read("tea").note.body == "black"
        assert memory.read("tea-2").note.body == "forged"
