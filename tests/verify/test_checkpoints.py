"""What is signed verifies and continues what was signed; what is proven is checked elsewhere."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import memlog
from memlog.consistency import check_consistency_file, format_consistency, parse_consistency
from memlog.errors import InvalidRequestError, ReadOnlyError, UnsignableError
from memlog.proof import (
    FormatError,
    ProofError,
    check_bundle,
    check_inclusion,
    leaf_hash,
    parse_bundle,
    parse_checkpoint,
    parse_note,
    parse_proof,
    parse_vkey,
    verify_note,
)
from memlog.signing import SigningKey
from memlog.testing import tampering, tampering_tables
from tests.verify.stores import copied, fill, verified


@pytest.fixture
def store(signed_store: Path, tmp_path: Path) -> Path:
    return copied(signed_store, tmp_path / "copy")


@pytest.fixture
def key(store: Path) -> SigningKey:
    return SigningKey.load(store.with_name("key"))


def write_one(store: Path) -> int:
    with memlog.open(store) as log:
        return log.scope("global").write(title="One more", body=f"{log.position()}").position


def sign(store: Path, *, full: bool = False) -> bytes:
    with memlog.open(store) as log:
        return log.checkpoint(store.with_name("key"), full=full)


def beside(store: Path) -> Path:
    (found,) = store.parent.glob("key.*.checkpoint")
    return found


# --- Signing


def test_a_checkpoint_says_size_and_root_under_the_name_and_the_log(
    store: Path, key: SigningKey
) -> None:
    position = write_one(store)

    note = parse_note(sign(store))

    checkpoint = parse_checkpoint(note.text)
    found = verified(store)
    assert verify_note(note, [key.verifier]) == (key.verifier,)
    assert checkpoint.origin == f"example.org/notes/{found.log_id}"
    assert (checkpoint.size, checkpoint.root.hex()) == (position, found.root)


def test_a_key_that_is_named_after_the_log_gives_its_name_as_origin(
    store: Path, tmp_path: Path
) -> None:
    with memlog.open(store) as log:
        name = f"example.org/notes/{log.log_id}"
        SigningKey.generate(name).save(tmp_path / "own")
        note = parse_note(log.checkpoint(tmp_path / "own"))

    assert parse_checkpoint(note.text).origin == name == note.signatures[0][0]


def test_both_copies_are_kept_and_private(store: Path) -> None:
    write_one(store)

    note = sign(store)

    assert beside(store).read_bytes() == note
    assert stat.S_IMODE(beside(store).stat().st_mode) == 0o600
    assert verified(store, saved={"beside": note}).ok


def test_where_nothing_was_appended_the_last_one_is_given_again(store: Path) -> None:
    before = store.read_bytes()

    assert sign(store) == sign(store) == store.with_name("last.note").read_bytes()
    assert store.read_bytes() == before


@pytest.mark.parametrize("full", [False, True])
def test_damage_since_the_last_checkpoint_is_not_signed(store: Path, *, full: bool) -> None:
    position = write_one(store)
    with tampering.by_hand(store) as db:
        state = tampering.State(db, position)
        state.content["salt"] = "00" * 32
        state.store()
    before = beside(store).read_bytes()

    with pytest.raises(UnsignableError, match=f"position {position} .commitments"):
        sign(store, full=full)

    assert beside(store).read_bytes() == before


@pytest.mark.parametrize(
    "damage",
    [tampering.seq, tampering.position, tampering.last, tampering.last_and_head],
)
def test_a_changed_log_is_not_signed(damage: object, store: Path) -> None:
    assert callable(damage)
    write_one(store)
    damage(store)

    with pytest.raises(memlog.DamageError):
        sign(store)


def test_damage_before_the_last_checkpoint_is_found_with_full(store: Path) -> None:
    tampering_tables.notes_row(store)
    write_one(store)

    with pytest.raises(UnsignableError, match="notes"):
        sign(store, full=True)
    assert sign(store), "what came since is as it should be"


def test_a_first_checkpoint_verifies_everything(store: Path, tmp_path: Path) -> None:
    tampering_tables.link_row(store)
    SigningKey.generate("another").save(tmp_path / "another")

    with memlog.open(store) as log, pytest.raises(UnsignableError, match="links"):
        log.checkpoint(tmp_path / "another")


def test_a_proof_over_a_damaged_tree_is_not_made(store: Path) -> None:
    where = tampering_tables.tree_leaf(store).position
    assert where is not None
    with memlog.open(store, read_only=True) as log, pytest.raises(memlog.DamageError):
        log.prove(where - 1)  # It takes the hash of its neighbour.


@pytest.mark.parametrize(
    "damage", [tampering_tables.older_copy, tampering_tables.rewritten_history]
)
def test_another_history_than_the_signed_one_is_not_signed(damage: object, store: Path) -> None:
    assert callable(damage)
    damage(store)
    before = beside(store).read_bytes()

    with pytest.raises(UnsignableError, match=r"older copy|another history"):
        sign(store)

    assert beside(store).read_bytes() == before


def test_a_link_to_the_key_finds_the_same_copy(store: Path) -> None:
    link = store.with_name("link")
    link.symlink_to(store.with_name("key"))
    tampering_tables.older_copy(store)

    with memlog.open(store) as log, pytest.raises(UnsignableError, match="older copy"):
        log.checkpoint(link)

    assert [*store.parent.glob("link.*")] == []


def test_the_copy_in_the_store_counts_as_well(store: Path) -> None:
    beside(store).unlink()
    tampering_tables.checkpoint(store)
    write_one(store)

    with pytest.raises(UnsignableError, match="signature"):
        sign(store)


def test_a_crash_between_the_two_copies_is_mended_by_the_next(store: Path) -> None:
    write_one(store)
    note = sign(store)
    with tampering.by_hand(store) as db:
        db.execute("DELETE FROM checkpoints WHERE id = (SELECT max(id) FROM checkpoints)")

    assert sign(store) == note
    assert verified(store).ok


def test_a_log_that_is_open_for_reading_is_not_signed(store: Path) -> None:
    write_one(store)
    with memlog.open(store, read_only=True) as log, pytest.raises(ReadOnlyError):
        log.checkpoint(store.with_name("key"))


# --- Proofs


def test_every_event_is_proven(store: Path, key: SigningKey) -> None:
    with memlog.open(store, read_only=True) as log:
        for event in log.events():
            bundle = parse_bundle(log.prove(event.position))

            assert check_bundle(bundle, [key.verifier]) == (key.verifier,)
            assert bundle.proof.leaf_index == event.position - 1
            assert bundle.opened is not None


def test_a_withheld_payload_is_in_no_byte_of_the_bundle(store: Path, key: SigningKey) -> None:
    with memlog.open(store, read_only=True) as log:
        proof = log.prove(2, withhold=True)

    assert check_bundle(parse_bundle(proof), [key.verifier])
    assert b"Steep it" not in proof


def test_a_tlog_proof_leads_from_the_envelope_to_the_checkpoint(store: Path) -> None:
    with memlog.open(store, read_only=True) as log:
        bundle = parse_bundle(log.prove(3))
        index, hashes, note = parse_proof(log.prove(3, form="tlog-proof"))

    _, size, root = parse_checkpoint(note.text)
    check_inclusion(leaf_hash(bundle.envelope), index=index, size=size, proof=hashes, root=root)


def test_an_event_that_nobody_signed_yet_is_not_proven(store: Path) -> None:
    position = write_one(store)
    with memlog.open(store, read_only=True) as log:
        with pytest.raises(InvalidRequestError, match="sign one first"):
            log.prove(position)
        with pytest.raises(InvalidRequestError, match=f"the log ends at position {position}"):
            log.prove(position + 1)
        with pytest.raises(InvalidRequestError):
            log.prove(0)


def test_an_older_checkpoint_can_be_proven_under(store: Path, key: SigningKey) -> None:
    old = store.with_name("first.note").read_bytes()
    with memlog.open(store, read_only=True) as log:
        bundle = parse_bundle(log.prove(1, checkpoint=old))
        with pytest.raises(InvalidRequestError):
            log.prove(2, checkpoint=old)
        with pytest.raises(InvalidRequestError):
            log.prove(1, checkpoint=b"no checkpoint")

    assert check_bundle(bundle, [key.verifier])
    assert parse_checkpoint(bundle.proof.note.text).size == 1


@pytest.mark.parametrize("damage", [tampering.payload, tampering.payload_and_commitment])
def test_a_proof_that_nobody_could_check_is_not_made(damage: object, store: Path) -> None:
    assert callable(damage)
    where = damage(store).position
    with memlog.open(store, read_only=True) as log, pytest.raises(memlog.DamageError):
        log.prove(where)


def test_the_program_of_proof_py_alone_checks_a_bundle(
    store: Path, key: SigningKey, tmp_path: Path
) -> None:
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(str(memlog.proof.__file__), alone / "proof.py")
    with memlog.open(store, read_only=True) as log:
        (alone / "bundle.json").write_bytes(log.prove(4))

    def check(name: str) -> int:
        command = [sys.executable, "proof.py", "check", name, "--key", str(key.verifier)]
        environ = {**os.environ, "PYTHONPATH": ""}
        return subprocess.run(
            command, cwd=alone, env=environ, capture_output=True, check=False
        ).returncode

    (alone / "forged.json").write_bytes(
        (alone / "bundle.json").read_bytes().replace(b"Steep", b"Sleep")
    )
    assert check("bundle.json") == 0
    assert check("forged.json") == 1


# --- Consistency


def test_a_log_is_proven_to_continue_each_older_one(store: Path, key: SigningKey) -> None:
    olds = [store.with_name("first.note").read_bytes()]
    for _ in range(5):
        write_one(store)
        olds.append(sign(store))
    with memlog.open(store, read_only=True) as log:
        for old in olds:
            proof = parse_consistency(log.prove_consistency(old))
            kept = parse_checkpoint(parse_note(old).text)

            assert format_consistency(proof) == log.prove_consistency(old)
            assert check_consistency_file(proof, [key.verifier], old=kept) == (key.verifier,)


def test_no_changed_consistency_proof_holds(store: Path, key: SigningKey) -> None:
    old = store.with_name("first.note").read_bytes()
    kept = parse_checkpoint(parse_note(old).text)
    with memlog.open(store, read_only=True) as log:
        whole = log.prove_consistency(old)

    for place in range(len(whole)):
        changed = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
        with pytest.raises(ProofError):
            check_consistency_file(parse_consistency(changed), [key.verifier], old=kept)
    for cut in (b"", whole[:-1], whole + b"\n", whole.replace(b"\n\n", b"\n", 1)):
        with pytest.raises(FormatError):
            parse_consistency(cut)


def test_a_consistency_proof_is_of_the_log_and_the_checkpoint_that_the_reader_kept(
    store: Path, key: SigningKey
) -> None:
    old = store.with_name("first.note").read_bytes()
    kept = parse_checkpoint(parse_note(old).text)
    with memlog.open(store, read_only=True) as log:
        proof = parse_consistency(log.prove_consistency(old))

    for other in (
        kept._replace(root=bytes(32)),
        kept._replace(size=2),
        kept._replace(origin="example.org/notes/another"),
    ):
        with pytest.raises(ProofError):
            check_consistency_file(proof, [key.verifier], old=other)
    with pytest.raises(ProofError):
        check_consistency_file(proof, [SigningKey.generate("x").verifier], old=kept)


def test_a_checkpoint_of_another_history_has_no_proof(store: Path, tmp_path: Path) -> None:
    other = fill(tmp_path / "other.db", seed=1)
    SigningKey.generate("example.org/notes", new_seed=bytes).save(tmp_path / "key")
    with memlog.open(other) as log:
        note = log.checkpoint(tmp_path / "key")
    tampering_tables.rewritten_history(store)
    with memlog.open(store) as log:
        SigningKey.generate("another").save(tmp_path / "another")
        log.checkpoint(tmp_path / "another")
        with pytest.raises(memlog.DamageError):
            log.prove_consistency(store.with_name("last.note").read_bytes())
        with pytest.raises(InvalidRequestError):
            log.prove_consistency(note + b"x")


# --- Checkpoints that were kept elsewhere


def test_a_kept_checkpoint_must_be_signed_by_the_given_key(store: Path, key: SigningKey) -> None:
    saved = {"kept": store.with_name("first.note").read_bytes()}
    with memlog.open(store, read_only=True) as log:
        assert log.verify(checkpoints=saved, keys=[str(key.verifier)]).ok
        stranger = str(SigningKey.generate("x").verifier)
        first = log.verify(checkpoints=saved, keys=[stranger]).first
        assert first is not None
        assert first.check == "checkpoints"
        with pytest.raises(InvalidRequestError):
            log.verify(keys=["no key"])
        with pytest.raises(InvalidRequestError):
            log.verify(skip=["bytes"])
    assert parse_vkey(str(key.verifier)) == key.verifier


@pytest.mark.parametrize("old", ["text", b"bytes", b"", None, 5])
def test_what_is_no_checkpoint_is_refused(old: object, store: Path) -> None:
    with memlog.open(store, read_only=True) as log:
        with pytest.raises(InvalidRequestError, match="give a signed checkpoint"):
            log.prove_consistency(old)  # type: ignore[arg-type]
        if old is not None:
            with pytest.raises(InvalidRequestError, match="give a signed checkpoint"):
                log.prove(1, checkpoint=old)  # type: ignore[arg-type]
