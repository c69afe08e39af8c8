"""Signed notes, verifier keys and checkpoints: published examples verify, mangled ones do not.

The keys and notes are those of c2sp.org/signed-note and of golang.org/x/mod/sumdb/note.
"""

import base64
import hashlib
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memlog.proof import (
    BadSignatureError,
    Checkpoint,
    FormatError,
    NoCryptographyError,
    ProofError,
    SignedNote,
    UnknownSignerError,
    VerifierKey,
    format_checkpoint,
    format_note,
    parse_checkpoint,
    parse_note,
    parse_vkey,
    verify_note,
)

SPEC_VKEY = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
SPEC_NOTE = (
    "This is an example message.\n"
    "\n"
    "— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYj"
    "OBH3mFXmRKuwHjG1Yu72IneyaQM=\n"
).encode()
PETER = parse_vkey("PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW")
ENOCH = parse_vkey("EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop")
TEXT = (
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n"
)
PETER_LINE = (
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpR"
    "Zb6KE6RyyBwJnAM=\n"
)
ENOCH_LINE = (
    "— EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox3"
    "3WWd1RvMc+QQ=\n"
)


def _note(*lines: str) -> bytes:
    return "\n".join((TEXT, "".join(lines))).encode()


# --- Notes


def test_the_example_of_the_specification_verifies() -> None:
    note = parse_note(SPEC_NOTE)

    assert note.text == "This is an example message.\n"
    assert verify_note(note, [parse_vkey(SPEC_VKEY)]) == (parse_vkey(SPEC_VKEY),)
    assert format_note(note) == SPEC_NOTE


@pytest.mark.parametrize(
    ("trusted", "signers"),
    [
        ((PETER,), (PETER,)),
        ((PETER, ENOCH), (PETER, ENOCH)),
        ((ENOCH, ENOCH), (ENOCH,)),
    ],
)
def test_a_note_tells_which_trusted_keys_signed_it(
    trusted: tuple[VerifierKey, ...], signers: tuple[VerifierKey, ...]
) -> None:
    assert verify_note(parse_note(_note(PETER_LINE, ENOCH_LINE)), trusted) == signers


@pytest.mark.parametrize("at", range(len(SPEC_NOTE)))
def test_no_changed_byte_of_a_note_goes_unseen(at: int) -> None:
    for change in (1, 0x20, 0x80, SPEC_NOTE[at] ^ 0x0A, SPEC_NOTE[at]):
        mangled = bytearray(SPEC_NOTE)
        mangled[at] ^= change
        if mangled == SPEC_NOTE:
            continue
        with pytest.raises(ProofError):
            verify_note(parse_note(bytes(mangled)), [parse_vkey(SPEC_VKEY)])


@pytest.mark.parametrize("at", range(len(SPEC_NOTE)))
def test_no_lost_or_doubled_byte_of_a_note_goes_unseen(at: int) -> None:
    for middle in (b"", SPEC_NOTE[at : at + 1] * 2):
        with pytest.raises(ProofError):
            verify_note(
                parse_note(SPEC_NOTE[:at] + middle + SPEC_NOTE[at + 1 :]), [parse_vkey(SPEC_VKEY)]
            )


def test_a_failing_signature_of_a_trusted_key_is_not_made_up_for_by_another() -> None:
    changed = TEXT.replace("problem", "solution")
    other = parse_note(f"{changed}\n{ENOCH_LINE}".encode())
    both = SignedNote(TEXT, (*parse_note(_note(PETER_LINE)).signatures, ("EnochRoot", b"")))
    forged = both._replace(
        signatures=(both.signatures[0], ("EnochRoot", ENOCH.key_id + b"\0" * 64))
    )

    with pytest.raises(BadSignatureError) as caught:
        verify_note(other, [ENOCH])
    assert caught.value.args == (str(ENOCH),)
    with pytest.raises(BadSignatureError):
        verify_note(forged, [PETER, ENOCH])
    assert verify_note(forged, [PETER]) == (PETER,)


def test_a_second_and_failing_signature_of_the_same_key_rejects_the_note() -> None:
    name, good = parse_note(_note(PETER_LINE)).signatures[0]
    twice = SignedNote(TEXT, ((name, good), (name, good[:-1] + b"\0")))

    with pytest.raises(BadSignatureError):
        verify_note(twice, [PETER])


@pytest.mark.parametrize(
    "key",
    [
        PETER._replace(name="PeterNeuman"),
        PETER._replace(public=ENOCH.public),
        ENOCH,
    ],
)
def test_a_key_that_shares_not_both_name_and_id_is_unknown(key: VerifierKey) -> None:
    with pytest.raises(UnknownSignerError) as caught:
        verify_note(parse_note(_note(PETER_LINE)), [key])

    assert caught.value.args == ("PeterNeumann",)


def test_nobody_trusted_nothing_proven() -> None:
    with pytest.raises(UnknownSignerError):
        verify_note(parse_note(_note(PETER_LINE)), [])


@pytest.mark.parametrize("signature_bytes", [1, 63, 65])
def test_a_signature_of_another_length_fails(signature_bytes: int) -> None:
    short = SignedNote(TEXT, (("PeterNeumann", PETER.key_id + b"\1" * signature_bytes),))

    with pytest.raises(BadSignatureError):
        verify_note(parse_note(format_note(short)), [PETER])


def test_without_cryptography_nobody_can_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)

    with pytest.raises(NoCryptographyError):
        verify_note(parse_note(SPEC_NOTE), [parse_vkey(SPEC_VKEY)])


@pytest.mark.parametrize(
    "note",
    [
        b"",
        TEXT.encode(),
        f"{TEXT}\n".encode(),
        _note(PETER_LINE[:-1]),
        _note(PETER_LINE, "\n"),
        _note(PETER_LINE, "Unexpected line.\n"),
        _note(PETER_LINE, "— Unexpected line.\n"),
        b"\x01" + _note(PETER_LINE),
        b"\xff" + _note(PETER_LINE),
        b"\r" + _note(PETER_LINE),
        b"\t" + _note(PETER_LINE),
        _note(PETER_LINE).replace(b"\n", b"\r\n"),
        _note(PETER_LINE.replace("PeterNeumann", "Peter Neumann")),
        _note(PETER_LINE.replace("PeterNeumann", "Peter+Neumann")),
        _note(PETER_LINE.replace("PeterNeumann", "Peter\u2003Neumann")),
        _note(PETER_LINE.replace("PeterNeumann", "Peter\u0085Neumann")),
        _note(PETER_LINE.replace("PeterNeumann", "Peter\x01Neumann")),
        _note(PETER_LINE.replace("PeterNeumann", "")),
        _note(PETER_LINE.replace("—", "-")),
        _note(PETER_LINE.replace("—", "–")),
        _note(PETER_LINE.replace("— ", "—  ")),
        _note(PETER_LINE.replace("=", "")),
        _note(PETER_LINE.replace("=", "==")),
        _note(PETER_LINE.replace("AM=", "AN=")),  # bits that the base64 does not use
        _note(PETER_LINE.replace("x08go/", "x08go_")),
        _note("— PeterNeumann x08gow==\n"),  # the key id and nothing more
        _note("— PeterNeumann \n"),
        _note(*[PETER_LINE] * 101),
    ],
)
def test_only_the_one_form_of_a_note_is_read(note: bytes) -> None:
    with pytest.raises(FormatError):
        parse_note(note)


@pytest.mark.parametrize(
    "text", ["\n", "\n\n", "a\n\nb\n", "a\n\n\n", "— a b\n", "\u2028\n", "é\n"]
)
@pytest.mark.parametrize("count", [1, 16, 100])
def test_any_text_and_up_to_100_signatures_make_a_note(text: str, count: int) -> None:
    note = SignedNote(text, (("name", b"\0" * 5),) * count)

    assert parse_note(format_note(note)) == note


@given(st.binary(max_size=8), st.integers(0, len(SPEC_NOTE)), st.integers(0, 8))
@example(b"N", len(SPEC_NOTE) - 3, 1)  # ...aQN=: another bit that the base64 does not use
def test_any_bytes_are_a_note_in_its_one_form_or_a_format_error(
    inserted: bytes, at: int, dropped: int
) -> None:
    note_bytes = SPEC_NOTE[:at] + inserted + SPEC_NOTE[at + dropped :]
    try:
        note = parse_note(note_bytes)
    except FormatError:
        return
    assert format_note(note) == note_bytes


# --- Verifier keys


@pytest.mark.parametrize("key", [PETER, ENOCH, parse_vkey(SPEC_VKEY)])
def test_a_vkey_is_read_and_written(key: VerifierKey) -> None:
    named = key.name.encode() + b"\n\x01" + key.public

    assert hashlib.sha256(named).digest()[:4] == key.key_id
    assert parse_vkey(str(key)) == key


def test_no_part_of_a_vkey_is_one_and_no_changed_character_goes_unseen() -> None:
    vkey = str(PETER)
    mangled = [vkey[i:j] for i in range(len(vkey)) for j in range(i + 1, len(vkey) + 1)]
    mangled.remove(vkey)
    mangled += [vkey[:i] + chr(ord(vkey[i]) + 1) + vkey[i + 1 :] for i in range(len(vkey))]

    for each in mangled:
        with pytest.raises(FormatError):
            parse_vkey(each)


def _vkey(name: str, type_and_public: bytes) -> str:
    try:
        name_bytes = name.encode()
    except UnicodeEncodeError:
        name_bytes = name.encode("utf-8", "surrogatepass")
    key_id = hashlib.sha256(name_bytes + b"\n" + type_and_public).digest()[:4].hex()
    return f"{name}+{key_id}+{base64.b64encode(type_and_public).decode()}"


@pytest.mark.parametrize(
    "vkey",
    [
        "",
        "++",
        "PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY==",
        "PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "PeterNeumann+C74F20A3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        f"{PETER}\n",
        _vkey("a", b"\x01" + b"\0" * 31),
        _vkey("a", b"\x01" + b"\0" * 33),
        _vkey("a", b"\x02" + b"\0" * 32),
        _vkey("a", b"\x04" + b"\0" * 32),
        _vkey("", b"\x01" + b"\0" * 32),
        _vkey("a b", b"\x01" + b"\0" * 32),
        _vkey("a\u3000b", b"\x01" + b"\0" * 32),
        _vkey("a\x07b", b"\x01" + b"\0" * 32),
        _vkey("a\ud800b", b"\x01" + b"\0" * 32),
    ],
)
def test_only_the_one_form_of_an_ed25519_vkey_is_read(vkey: str) -> None:
    with pytest.raises(FormatError):
        parse_vkey(vkey)


# --- Checkpoints

CHECKPOINT_TEXT = (
    "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"
)


def test_the_checkpoint_of_the_specification_is_read_and_written() -> None:
    checkpoint = parse_checkpoint(CHECKPOINT_TEXT)

    assert checkpoint[:2] == ("example.com/behind-the-sofa", 20852163)
    assert checkpoint.root.hex().startswith("0ac5186a91863e8e")
    assert format_checkpoint(checkpoint) == CHECKPOINT_TEXT


ROOT = "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I="


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a\n1\n",
        f"a\n1\n{ROOT}",
        f"a\n1\n{ROOT}\n\n",
        f"a\n1\n{ROOT}\nextension\n",
        f"\n1\n{ROOT}\n",
        f"a\n\n{ROOT}\n",
        f"a\n01\n{ROOT}\n",
        f"a\n00\n{ROOT}\n",
        f"a\n-1\n{ROOT}\n",
        f"a\n+1\n{ROOT}\n",
        f"a\n1 \n{ROOT}\n",
        f"a\n1_0\n{ROOT}\n",
        f"a\n\u0661\n{ROOT}\n",
        f"a\n0x1\n{ROOT}\n",
        f"a\n{'9' * 5000}\n{ROOT}\n",
        f"a\n1\n{ROOT[:-1]}\n",
        f"a\n1\n{ROOT.replace('2I=', '2J=')}\n",
        f"a\n1\n{ROOT.replace('/', '_')}\n",
        f"a\n1\n{base64.b64encode(b'0' * 31).decode()}\n",
        f"a\n1\n{base64.b64encode(b'0' * 33).decode()}\n",
        f"a\n1\né{ROOT}\n",
    ],
)
def test_only_the_one_form_of_a_checkpoint_is_read(text: str) -> None:
    with pytest.raises(FormatError):
        parse_checkpoint(text)


@given(
    st.text(st.characters(codec="utf-8", exclude_characters="\n"), min_size=1),
    st.integers(0, 2**80),
    st.binary(min_size=32, max_size=32),
)
def test_what_is_written_as_a_checkpoint_is_read_as_it_was(
    origin: str, size: int, root: bytes
) -> None:
    checkpoint = Checkpoint(origin, size, root)

    assert parse_checkpoint(format_checkpoint(checkpoint)) == checkpoint


def test_an_error_names_its_class_in_a_sentence_and_shows_the_value_in_ascii() -> None:
    with pytest.raises(FormatError) as caught:
        parse_vkey("a\x1b[31m\u202e" + "x" * 500)

    sentence = str(caught.value)
    assert sentence.startswith("Not the one form of a key, note, checkpoint, proof or bundle")
    assert sentence.isascii()
    assert sentence.isprintable()
    assert len(sentence) < 300
