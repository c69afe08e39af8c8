"""`memlog verify`, `keygen`, `checkpoint`, `prove` and `proof`, as they are called."""

import json
import os
import stat
from pathlib import Path

import pytest

from memlog.testing import tampering, tampering_tables
from tests.cli.running import Ended, Run


@pytest.fixture
def home(alice: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a log of some notes, `notes.db`, of which the first six are signed."""
    monkeypatch.chdir(tmp_path)
    for number in range(6):
        assert alice("write", f"Tea {number}", stdin=b"Steep it.").code == 0
    assert alice("keygen", "key", "--name", "example.org/notes").code == 0
    assert alice("checkpoint", "--key-file", "key", "--output", "first.note").code == 0
    assert alice("write", "Milk", stdin=b"Cold.").code == 0
    return tmp_path


def vkey(run: Run) -> str:
    """Return the vkey of a fresh key, whose file is `other`."""
    return run("keygen", "other", "--name", "example.org/other").out.decode().strip()


def key_of(home: Path) -> str:
    from memlog.signing import SigningKey

    return str(SigningKey.load(home / "key").verifier)


def rows(ended: Ended) -> dict[str, str]:
    return {line.split("\t")[0]: line.split("\t")[1] for line in ended.lines if "\t" in line}


# --- verify


def test_an_untouched_store_exits_with_0(alice: Run, home: Path) -> None:
    ended = alice("verify")

    assert ended.code == 0
    assert set(rows(ended).values()) <= {"ok", "absent"}
    assert ended.lines[-2] == "verified: 7 events"
    assert len(ended.lines[-1]) == len("root ") + 64
    assert (home / "notes.db").exists()


@pytest.mark.parametrize(
    "damage",
    [tampering.payload, tampering.last, tampering_tables.counter],
    ids=lambda d: d.__name__,
)
def test_damage_exits_with_1_and_is_named(damage: object, alice: Run, home: Path) -> None:
    assert callable(damage)
    expected = damage(home / "notes.db")

    ended = alice("verify")
    first = json.loads(alice("verify", "--json").lines[-1])["first"]

    assert ended.code == 1
    assert rows(ended)[expected.check] == "failed"
    assert f"at position {expected.position} ({expected.check}: " in ended.lines[-1]
    assert (first["check"], first["position"]) == (expected.check, expected.position)


def test_what_cannot_be_looked_at_exits_with_2(run: Run, tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database\n" * 1_000)

    for name in ("missing.db", "text.db"):
        ended = run("verify", "--db", str(tmp_path / name))
        assert ended.code == 2
        assert name in ended.err
    assert not (tmp_path / "missing.db").exists()


def test_an_index_that_others_can_write_is_not_opened(alice: Run, home: Path) -> None:
    assert alice("search", "tea").code == 0
    for directory in (home / "notes.db-index").rglob("*"):
        if directory.is_dir():
            directory.chmod(0o777)

    ended = alice("verify")

    assert ended.code == 2
    assert rows(ended)["index"] == "unreadable"
    assert ended.lines[-1] == "not all could be looked at: index"
    assert alice("verify", "--skip", "index").code == 0


def test_a_kept_checkpoint_shows_an_older_copy(alice: Run, home: Path) -> None:
    kept = ("--checkpoint", "first.note", "--key", key_of(home))
    assert alice("verify", *kept).code == 0
    tampering_tables.older_copy(home / "notes.db")

    assert alice("verify").code == 0
    ended = alice("verify", *kept)

    assert ended.code == 1
    assert "an older copy" in ended.lines[-1]


def test_a_wrong_option_is_told(alice: Run, home: Path) -> None:
    assert alice("verify", "--skip", "bytes").code == 2
    assert alice("verify", "--key", "nonsense").code == 2
    assert alice("verify", "--checkpoint", str(home / "none")).code == 2


def test_on_a_terminal_it_fits_into_80_columns(run_on_terminal: Run, home: Path) -> None:
    tampering.payload(home / "notes.db")

    ended = run_on_terminal("verify")

    assert ended.code == 1
    assert max(len(line) for line in ended.lines if "\x1b" not in line) <= 80
    assert any("POSITION  CHECK        WHAT IS WRONG" in line for line in ended.lines)


def test_json_is_one_line_a_check_and_one_for_all(alice: Run, home: Path) -> None:
    from memlog.verify.report import CHECKS

    *checks, whole = map(json.loads, alice("verify", "--json").lines)

    assert [each["name"] for each in checks] == list(CHECKS)
    assert whole["ok"] is True
    assert whole["events"] == 7
    assert len(whole["root"]) == 64
    assert Path(whole["target"]) == home / "notes.db"


# --- keygen and checkpoint


def test_a_key_is_private_and_replaces_no_other(alice: Run, home: Path) -> None:
    before = (home / "key").read_bytes()

    ended = alice("keygen", "key", "--name", "example.org/other")

    assert ended.code == 2
    assert (home / "key").read_bytes() == before
    assert stat.S_IMODE((home / "key").stat().st_mode) == 0o600
    assert alice("keygen", "new", "--name", "no good").code == 1
    assert not (home / "new").exists()
    made = json.loads(alice("keygen", "new", "--name", "x", "--json").lines[0])
    assert made["vkey"].startswith("x+")


def test_a_key_that_others_may_read_signs_nothing(alice: Run, home: Path) -> None:
    (home / "key").chmod(0o644)

    ended = alice("checkpoint", "--key-file", "key")

    assert ended.code == 1
    assert "chmod 600" in ended.err


def test_a_damaged_log_is_not_signed(alice: Run, home: Path) -> None:
    with tampering.by_hand(home / "notes.db") as db:
        state = tampering.State(db, 7)
        state.content["salt"] = "00" * 32
        state.store()

    ended = alice("checkpoint", "--key-file", "key", "--output", "second.note")

    assert ended.code == 4
    assert "position 7" in ended.err
    assert not (home / "second.note").exists()


def test_a_checkpoint_is_printed_as_it_is_signed(alice: Run, home: Path) -> None:
    printed = alice("checkpoint", "--key-file", "key").out

    (home / "second.note").write_bytes(printed)
    said = json.loads(alice("checkpoint", "--key-file", "key", "--full", "--json").lines[0])
    assert said["note"].encode() == printed
    assert said["size"] == 7
    assert alice("proof", "check", "second.note", "--key", key_of(home)).code == 0


# --- prove and proof check


def test_an_event_is_proven_to_somebody_without_the_store(alice: Run, home: Path) -> None:
    assert alice("prove", "2", "--output", "bundle.json").code == 0
    (home / "notes.db").rename(home / "elsewhere.db")

    ended = alice("proof", "check", "bundle.json", "--key", key_of(home))

    assert ended.code == 0
    assert ended.lines[0] == "proven: the event at position 2 is in the log"
    assert '"title":"Tea 1"' in ended.lines[-1]
    assert alice("proof", "check", "bundle.json", "--key", vkey(alice)).code == 1
    assert alice("proof", "check", "bundle.json", "--key", "no vkey").code == 2, "nothing was seen"


def test_what_was_withheld_is_not_shown(alice: Run, home: Path) -> None:
    alice("prove", "2", "--withhold", "--output", "bundle.json")

    found = json.loads(
        alice("proof", "check", "bundle.json", "--key", key_of(home), "--json").lines[0]
    )

    assert found["payload"] == "withheld"
    assert b"Tea 1" not in (home / "bundle.json").read_bytes()


def test_a_forged_bundle_exits_with_1(alice: Run, home: Path) -> None:
    proof = alice("prove", "2").out
    (home / "forged.json").write_bytes(proof.replace(b"Tea 1", b"Tea 9"))

    ended = alice("proof", "check", "forged.json", "--key", key_of(home))

    assert ended.code == 1
    assert ended.err.startswith("memlog: not proven: ")


def test_a_tlog_proof_needs_the_bytes_of_the_event(alice: Run, home: Path) -> None:
    bundle = json.loads(alice("prove", "2").out)
    envelope = json.dumps(bundle["envelope"], ensure_ascii=False, separators=(",", ":"))
    (home / "envelope").write_text(envelope, "utf-8")
    assert alice("prove", "2", "--form", "tlog-proof", "--output", "p.tlog-proof").code == 0
    check = ("proof", "check", "p.tlog-proof", "--key", key_of(home))

    assert alice(*check).code == 2
    assert alice(*check, "--envelope", "envelope").code == 0
    assert alice(*check, "--envelope", "key").code == 1


def test_a_log_is_proven_to_continue_a_kept_checkpoint(alice: Run, home: Path) -> None:
    alice("checkpoint", "--key-file", "key", "--output", "second.note")
    assert alice("prove", "--since", "first.note", "--output", "consistency").code == 0
    check = ("proof", "check", "consistency", "--key", key_of(home))

    ended = alice(*check, "--since", "first.note")

    assert ended.code == 0
    assert ended.lines[0] == "proven: the first 6 events are those of the older log"
    other = alice(*check, "--since", "second.note")
    assert other.code == 1
    assert "begins at another checkpoint" in other.err
    assert "rewritten" not in other.err
    assert "if the root was" in alice(*check).lines[0]


@pytest.mark.parametrize("command", [["checkpoint", "--key-file", "key"], ["prove", "2"]])
@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("notes.db", "there is a database at this place"),
        ("notes.db-lock", "belong to the store beside them"),
    ],
)
def test_what_is_written_never_takes_the_place_of_a_log(
    command: list[str], name: str, rule: str, alice: Run, home: Path
) -> None:
    ended = alice(*command, "--output", str(home / name))

    assert ended.code == 2
    assert rule in ended.err
    assert alice("verify").code == 0


def test_what_is_to_be_proven_must_be_said(alice: Run, home: Path) -> None:
    assert alice("prove").code == 2
    assert alice("prove", "2", "--since", str(home / "first.note")).code == 2
    assert alice("prove", "2", "--form", "pdf").code == 2
    ended = alice("prove", "7")
    assert ended.code == 1
    assert "sign one first" in ended.err


def test_a_proof_is_checked_where_no_store_can_be(
    run: Run, alice: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice("prove", "2", "--output", "bundle.json")
    monkeypatch.setenv("MEMLOG_DB", os.devnull)

    assert run("proof", "check", "bundle.json", "--key", key_of(home)).code == 0
    assert run("--json", "proof", "check", "bundle.json", "--key", key_of(home)).out[:1] == b"{"
