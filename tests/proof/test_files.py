"""Proof files and bundles: they hold, alone and without a database, or say what is wrong."""

import base64
import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlog import codec, proof
from memlog.events import Event, NoteWritten
from memlog.note import Source
from memlog.proof import (
    BadSignatureError,
    Bundle,
    Checkpoint,
    CommitmentError,
    FormatError,
    InclusionError,
    OtherLogError,
    ProofError,
    ShapeError,
    TlogProof,
    UnknownSignerError,
    check_bundle,
    format_bundle,
    format_checkpoint,
    format_proof,
    leaf_hash,
    parse_bundle,
    parse_checkpoint,
    parse_note,
    parse_proof,
)
from memlog.signing import SigningKey, sign_note
from projections import tree

LOG = "6ba7b810-9dad-41d1-80b4-00c04fd430c8"
ORIGIN = f"example.com/team/{LOG}"
KEY = SigningKey(ORIGIN, bytes(range(32)))
STRANGER = SigningKey(ORIGIN, bytes(32))
BODY = 'On the "first"\n\tof each month: \x00\x7f\u2028 \U0001f375 <é> \\ / ,"salt":null'
INDEX = 4


def _state(index: int, *, body: str = BODY, log_id: str = LOG) -> bytes:
    payload = NoteWritten(
        slug="tea",
        title="Tea",
        body=body,
        topics=("a", "b"),
        confidence=0.875,
        provenance="agent",
        source=Source(),
        extra={"key": body},
    )
    event = Event(
        position=index + 1,
        seq=index + 1,
        stream="owner/alice",
        type="note_written/1",
        recorded_at_text="2026-11-30T19:15:00.000000Z",
        event_id=f"00000000-0000-4000-8000-{index:012}",
        actor='agent:"claude" é',
        conversation_id=None,
        request_id=None,
        request=None,
        payload=payload,
    )
    return codec.encode(event, log_id=log_id, salt=hashlib.sha256(b"%d" % index).digest())


STATES = [_state(index, body=f"{BODY}{index or ''}") for index in range(7)]
PARTS = [codec.split(state) for state in STATES]
LEAVES = [leaf_hash(parts.envelope) for parts in PARTS]


def _stored(leaves: list[bytes]) -> list[bytes]:
    stack: list[bytes] = []
    return [
        stored
        for index, leaf in enumerate(leaves)
        for stored in tree.push_leaf(stack, leaf, index=index)
    ]


def _proof(
    *,
    index: int = INDEX,
    leaves: list[bytes] = LEAVES,  # never changed
    origin: str = ORIGIN,
    key: SigningKey = KEY,
) -> TlogProof:
    text = format_checkpoint(Checkpoint(origin, len(leaves), tree.root_of(leaves)))
    stored = _stored(leaves)
    hashes = tree.prove_inclusion(
        lambda ids: [stored[id_] for id_ in ids], index=index, size=len(leaves)
    )
    note = sign_note(text, verifier=key.verifier, sign=key.sign)
    return TlogProof(index, tuple(hashes), note)


def _bundle(index: int = INDEX, *, proof: TlogProof | None = None) -> Bundle:
    parts = PARTS[index]
    return Bundle(parts.envelope, (parts.salt, parts.payload), proof or _proof(index=index))


GOOD = _bundle()
WITHHELD = GOOD._replace(opened=None)


# --- .tlog-proof


@pytest.mark.parametrize("index", range(len(LEAVES)))
def test_a_proof_is_read_as_it_was_written(index: int) -> None:
    made = _proof(index=index)

    assert parse_proof(format_proof(made)) == made


def test_a_proof_is_the_text_that_c2sp_describes() -> None:
    only = _proof(index=0, leaves=LEAVES[:1])
    two = _proof(index=0, leaves=LEAVES[:2])
    note = format_proof(only).partition(b"\n\n")[2]

    assert format_proof(only).startswith(b"c2sp.org/tlog-proof@v1\nindex 0\n\n" + ORIGIN.encode())
    assert parse_note(note) == only.note
    assert format_proof(two).startswith(
        b"c2sp.org/tlog-proof@v1\nindex 0\n%b\n\n" % base64.b64encode(LEAVES[1])
    )


PROOF = format_proof(_proof())


@pytest.mark.parametrize(
    "changed",
    [
        b"",
        PROOF[1:],
        PROOF[:-1],
        PROOF + b"\n",
        PROOF.replace(b"@v1", b"@v2"),
        PROOF.replace(b"index 4", b"index 04"),
        PROOF.replace(b"index 4", b"index -4"),
        PROOF.replace(b"index 4", b"index +4"),
        PROOF.replace(b"index 4", b"index  4"),
        PROOF.replace(b"index 4", b"Index 4"),
        PROOF.replace(b"index 4", b"index"),
        PROOF.replace(b"index 4", b"extra YQ==\nindex 4"),
        PROOF.replace(b"index 4\n", b""),
        PROOF.replace(b"index 4\n", b"index 4\n\n"),
        PROOF.replace(b"=\n", b"\n", 1),
        PROOF.replace(b"=\n", b"==\n", 1),
        PROOF.replace(b"=\n", b"=\r\n", 1),
        PROOF.replace(b"\n7\n", b"\n07\n"),
        PROOF.replace(b"\n7\n", b"\n7\nextension\n"),
        PROOF.replace(b"\n\n", b"\n\n\n"),
        PROOF.replace(b"index", b"\xffndex"),
    ],
)
def test_only_the_one_form_of_a_proof_is_read(changed: bytes) -> None:
    assert changed != PROOF
    with pytest.raises(FormatError):
        parse_proof(changed)


# --- Bundles that hold


@pytest.mark.parametrize("index", range(len(LEAVES)))
@pytest.mark.parametrize("withheld", [False, True])
def test_a_bundle_is_read_as_it_was_written_and_holds(*, index: int, withheld: bool) -> None:
    made = _bundle(index)
    if withheld:
        made = made._replace(opened=None)

    found = parse_bundle(format_bundle(made))

    assert found == made
    assert check_bundle(found, [STRANGER.verifier, KEY.verifier]) == (KEY.verifier,)


def test_a_bundle_is_one_line_of_json_around_the_stored_bytes() -> None:
    parts = PARTS[INDEX]
    text = json.dumps(format_proof(_proof()).decode(), ensure_ascii=False).encode()

    assert format_bundle(GOOD) == (
        b'{"format":"memlog-proof/1","envelope":%b,"salt":"%b","payload":%b,"proof":%b}\n'
        % (parts.envelope, parts.salt.hex().encode(), parts.payload, text)
    )
    assert STATES[INDEX][1:-1] in format_bundle(GOOD)
    assert format_bundle(WITHHELD) == (
        b'{"format":"memlog-proof/1","envelope":%b,"salt":null,"payload":null,"proof":%b}\n'
        % (parts.envelope, text)
    )
    assert json.loads(format_bundle(GOOD))["payload"]["body"] == f"{BODY}{INDEX}"


def test_an_origin_may_be_the_log_id_alone() -> None:
    assert check_bundle(_bundle(proof=_proof(origin=LOG)), [KEY.verifier]) == (KEY.verifier,)


# --- Bundles that do not

BYTES = format_bundle(GOOD)


@pytest.mark.parametrize("start", range(8))
def test_no_changed_lost_or_doubled_byte_of_a_bundle_goes_unseen(start: int) -> None:
    for at in range(start, len(BYTES), 8):
        byte = BYTES[at : at + 1]
        for middle in (bytes([byte[0] ^ (1 << at % 8)]), b"", byte * 2):
            with pytest.raises(ProofError):
                check_bundle(parse_bundle(BYTES[:at] + middle + BYTES[at + 1 :]), [KEY.verifier])


@given(st.binary(max_size=64), st.integers(0, len(BYTES)), st.integers(0, 64))
def test_any_bytes_are_a_bundle_in_its_one_form_or_a_format_error(
    inserted: bytes, at: int, dropped: int
) -> None:
    bundle_bytes = BYTES[:at] + inserted + BYTES[at + dropped :]
    try:
        bundle = parse_bundle(bundle_bytes)
    except FormatError:
        return
    assert format_bundle(bundle) == bundle_bytes


def _with_member(name: str, value: bytes) -> bytes:
    members = {
        "envelope": GOOD.envelope,
        "salt": b'"%b"' % PARTS[INDEX].salt.hex().encode(),
        "payload": PARTS[INDEX].payload,
        "proof": json.dumps(PROOF.decode(), ensure_ascii=False).encode(),
    }
    assert b",".join(b'"%b":%b' % (key.encode(), each) for key, each in members.items()) in BYTES
    return BYTES.replace(
        b'"%b":%b' % (name.encode(), members[name]), b'"%b":%b' % (name.encode(), value)
    )


SALT = PARTS[INDEX].salt


@pytest.mark.parametrize(
    "changed",
    [
        b"",
        b"[]",
        b"null\n",
        BYTES[:-1],
        BYTES + b"\n",
        b" " + BYTES,
        b"\xef\xbb\xbf" + BYTES,
        BYTES.replace(b'"salt":', b'"salt": '),
        BYTES.replace(b"memlog-proof/1", b"memlog-proof/2"),
        BYTES.replace(b'"}\n', b'","more":1}\n'),
        BYTES.decode().encode("utf-16"),
        _with_member("envelope", b"[" * 100_000),
        _with_member("envelope", b"null"),
        _with_member("envelope", b"[1]"),
        _with_member("envelope", GOOD.envelope[:-1] + b',"v":1}'),
        _with_member("envelope", b" " + GOOD.envelope),
        _with_member("salt", b"null"),
        _with_member("salt", b"0"),
        _with_member("salt", b'"%b"' % SALT.hex().upper().encode()),
        _with_member("salt", b'"%b"' % SALT.hex(" ").encode()),
        _with_member("salt", b'"%b"' % SALT[:-1].hex().encode()),
        _with_member("salt", b'"%b00"' % SALT.hex().encode()),
        _with_member("payload", b"null"),
        _with_member("payload", b'"text"'),
        _with_member("payload", b'{"slug":"tea","slug":"tea"}'),
        _with_member("payload", b'{"in":[{"a":1,"a":1}]}'),
        _with_member("payload", b'{"n":%b}' % (b"9" * 5000)),
        _with_member("proof", b"null"),
        _with_member("proof", b'""'),
        _with_member("proof", b'"\\ud800"'),
        _with_member("proof", json.dumps(PROOF.decode()).encode()),
    ],
    ids=lambda changed: hashlib.sha256(changed).hexdigest()[:8],
)
def test_only_the_one_form_of_a_bundle_is_read(changed: bytes) -> None:
    assert changed != BYTES
    with pytest.raises(FormatError):
        parse_bundle(changed)


def _edited(bundle: Bundle, find: bytes, replace: bytes) -> Bundle:
    assert find in bundle.envelope
    return bundle._replace(envelope=bundle.envelope.replace(find, replace))


def _checkpoint(find: str, replace: str) -> Bundle:
    """The good bundle with an edit in the text that was signed."""
    note = GOOD.proof.note
    assert find in note.text
    edited = note._replace(text=note.text.replace(find, replace))
    return _bundle(proof=GOOD.proof._replace(note=edited))


def _of_another_log() -> Bundle:
    parts = codec.split(_state(0, log_id=LOG.replace("6", "7")))
    leaves = [leaf_hash(parts.envelope)]
    return Bundle(parts.envelope, (parts.salt, parts.payload), _proof(index=0, leaves=leaves))


def _of_version_2() -> Bundle:
    envelope = PARTS[0].envelope.replace(b'{"v":1,', b'{"v":2,')
    return Bundle(envelope, None, _proof(index=0, leaves=[leaf_hash(envelope)]))


OPENED = (SALT, PARTS[INDEX].payload)


@pytest.mark.parametrize(
    ("damage", "error"),
    [
        (lambda: _edited(GOOD, b"alice", b"mallo"), InclusionError),
        (lambda: _edited(GOOD, b'"seq":5', b'"seq":6'), InclusionError),
        (lambda: _edited(WITHHELD, b"alice", b"mallo"), InclusionError),
        (lambda: GOOD._replace(envelope=PARTS[3].envelope), InclusionError),
        (lambda: _bundle(proof=_proof(index=5)), InclusionError),
        (lambda: _bundle(proof=GOOD.proof._replace(leaf_index=5)), InclusionError),
        (lambda: _bundle(proof=_proof(leaves=LEAVES[::-1])), InclusionError),
        (lambda: _bundle(proof=GOOD.proof._replace(leaf_index=7)), ShapeError),
        (lambda: _bundle(proof=GOOD.proof._replace(hashes=GOOD.proof.hashes[:-1])), ShapeError),
        (lambda: GOOD._replace(opened=(SALT, PARTS[3].payload)), CommitmentError),
        (lambda: GOOD._replace(opened=(PARTS[3].salt, PARTS[INDEX].payload)), CommitmentError),
        (lambda: GOOD._replace(opened=(SALT, b"{}")), CommitmentError),
        (_of_another_log, OtherLogError),
        (lambda: _bundle(proof=_proof(origin=f"{ORIGIN}/more")), OtherLogError),
        (lambda: _bundle(proof=_proof(origin=f"x{LOG}")), OtherLogError),
        (_of_version_2, FormatError),
        (lambda: _checkpoint("\n7\n", "\n8\n"), BadSignatureError),
        (lambda: _checkpoint("example.com", "example.org"), BadSignatureError),
        (lambda: _bundle(proof=_proof(key=STRANGER)), UnknownSignerError),
    ],
)
def test_each_kind_of_damage_has_an_error_of_its_own(
    damage: Callable[[], Bundle], error: type[ProofError]
) -> None:
    bundle = parse_bundle(format_bundle(damage()))

    with pytest.raises(ProofError) as caught:
        check_bundle(bundle, [KEY.verifier])

    assert type(caught.value) is error


# --- The command


def _run(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A directory that holds proof.py and a good bundle, and nothing else of ours."""
    shutil.copy(Path(proof.__file__), tmp_path / "proof.py")
    (tmp_path / "event.json").write_bytes(BYTES)
    return tmp_path


def test_the_file_alone_checks_a_bundle(copied: Path) -> None:
    vkey = str(KEY.verifier)

    done = _run("-W", "error", "proof.py", "check", "event.json", "--key", vkey, cwd=copied)

    assert (done.returncode, done.stderr) == (0, "")
    *lines, payload = done.stdout.splitlines()
    assert payload.startswith('payload: {"slug":"tea","title":"Tea","body":"On the ')
    assert lines == [
        "proven: the event at position 5 is in the log",
        f"log: {ORIGIN}",
        "events: 7",
        f"root: {parse_checkpoint(GOOD.proof.note.text).root.hex()}",
        f"signed by: {vkey}",
        f"envelope: {GOOD.envelope.decode()}".replace("é", "\\xe9"),
    ]


def test_what_it_shows_of_a_bundle_is_printable_ascii(copied: Path) -> None:
    done = _run("proof.py", "check", "event.json", "--key", str(KEY.verifier), cwd=copied)

    assert done.stdout.isascii()
    assert all(line.isprintable() for line in done.stdout.split("\n"))


def test_a_withheld_payload_is_said_to_be_so(copied: Path) -> None:
    (copied / "event.json").write_bytes(format_bundle(WITHHELD))

    done = _run("proof.py", "check", "event.json", "--key", str(KEY.verifier), cwd=copied)

    assert done.returncode == 0
    assert done.stdout.endswith("\npayload: withheld\n")


def test_what_does_not_hold_exits_with_1_and_names_the_kind(copied: Path) -> None:
    (copied / "event.json").write_bytes(format_bundle(_edited(GOOD, b"alice", b"mallo")))

    done = _run("proof.py", "check", "event.json", "--key", str(KEY.verifier), cwd=copied)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("not proven: InclusionError: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["event.json"],
        ["event.json", "--key", "no key"],
        ["missing.json", "--key", str(KEY.verifier)],
        [".", "--key", str(KEY.verifier)],
    ],
)
def test_what_cannot_be_looked_at_exits_with_2(copied: Path, arguments: list[str]) -> None:
    done = _run("proof.py", "check", *arguments, cwd=copied)

    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr


def test_it_needs_nothing_but_the_standard_library_up_to_the_signature(copied: Path) -> None:
    vkey = str(KEY.verifier)

    done = _run("-I", "-S", "proof.py", "check", "event.json", "--key", vkey, cwd=copied)

    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot look: Signatures cannot be looked at" in done.stderr


def test_it_imports_nothing_of_ours_and_cryptography_only_to_verify(copied: Path) -> None:
    code = (
        "import sys, proof; proof.parse_bundle(open('event.json', 'rb').read()); "
        "print({name.partition('.')[0] for name in sys.modules} "
        "& {'memlog', 'projections', 'cryptography', 'msgspec', 'argparse'})"
    )

    assert _run("-c", code, cwd=copied).stdout == "set()\n"
