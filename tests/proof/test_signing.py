"""Key files are private, are never overwritten, and sign as other implementations do."""

import os
import stat
import sys
from pathlib import Path

import pytest

from memlog.errors import InvalidRequestError
from memlog.proof import FormatError, NoCryptographyError, format_note, verify_note
from memlog.signing import SigningKey, sign_note
from tests.proof.test_notes import PETER, PETER_LINE, TEXT

PETER_PRIVATE = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
SEED = bytes(range(32))


def _key(name: str = "example.com/log") -> SigningKey:
    return SigningKey(name, SEED)


def test_the_signature_is_that_of_golang_mod_for_the_same_key_and_text() -> None:
    key = SigningKey.parse(PETER_PRIVATE)

    note = sign_note(TEXT, verifier=key.verifier, sign=key.sign)

    assert key.verifier == PETER
    assert format_note(note) == f"{TEXT}\n{PETER_LINE}".encode()
    assert key.private_line() == PETER_PRIVATE


def test_no_part_of_a_private_key_is_one_and_no_changed_character_goes_unseen() -> None:
    mangled = [PETER_PRIVATE[i:] for i in range(1, len(PETER_PRIVATE))]
    mangled += [PETER_PRIVATE[:i] for i in range(len(PETER_PRIVATE))]
    mangled += [
        PETER_PRIVATE[:i] + chr(ord(PETER_PRIVATE[i]) + 1) + PETER_PRIVATE[i + 1 :]
        for i in range(len(PETER_PRIVATE))
    ]

    for each in mangled:
        with pytest.raises(FormatError) as caught:
            SigningKey.parse(each)
        assert "YEKFALVFGyN" not in f"{caught.value!r} {caught.value}"


def test_a_generated_key_signs_what_its_vkey_verifies() -> None:
    key = SigningKey.generate("example.com/log")

    note = sign_note("hi\n", verifier=key.verifier, sign=key.sign)

    assert verify_note(note, [key.verifier]) == (key.verifier,)


def test_each_generated_key_is_another_one() -> None:
    asked: list[int] = []

    def new_seed(count: int) -> bytes:
        asked.append(count)
        return SEED

    assert SigningKey.generate("a").verifier != SigningKey.generate("a").verifier
    assert SigningKey.generate("a", new_seed=new_seed).verifier == _key("a").verifier
    assert asked == [32]


@pytest.mark.parametrize("name", ["", "a b", "a+b", "a\u3000b", "a\nb", "a\x07b", "a\ud800b"])
def test_a_name_that_no_note_could_carry_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        _key(name)

    assert (caught.value.field, caught.value.value) == ("key_name", name)


@pytest.mark.parametrize("text", ["", "a", "a\r\n", "a\x00\n"])
def test_a_text_that_no_note_could_carry_is_not_signed(text: str) -> None:
    key = _key()

    with pytest.raises(FormatError):
        sign_note(text, verifier=key.verifier, sign=key.sign)


# --- Key files


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_a_key_file_is_for_its_owner_only_and_gives_the_key_back(
    tmp_path: Path, umask: int
) -> None:
    path = tmp_path / "log.key"
    before = os.umask(umask)
    try:
        _key().save(path)
    finally:
        os.umask(before)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text() == f"{_key().private_line()}\n"
    assert SigningKey.load(path).verifier == _key().verifier
    assert [each.name for each in tmp_path.iterdir()] == ["log.key"]


@pytest.mark.parametrize("kind", ["file", "directory", "symlink", "dangling"])
def test_a_key_file_replaces_nothing(tmp_path: Path, kind: str) -> None:
    path, target = tmp_path / "log.key", tmp_path / "target"
    if kind == "directory":
        path.mkdir()
    elif kind == "file":
        path.write_text("mine")
    else:
        path.symlink_to(target)
    if kind == "symlink":
        target.write_text("mine")

    with pytest.raises(FileExistsError):
        _key().save(path)

    assert {each.read_text() for each in (path, target) if each.is_file()} <= {"mine"}
    assert target.exists() == (kind == "symlink")


def test_a_key_file_that_could_not_be_written_is_not_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "no space left", descriptor)

    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(OSError, match="no space left"):
        _key().save(tmp_path / "log.key")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601, 0o660])
def test_a_key_file_that_others_may_use_is_not_read(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "log.key"
    _key().save(path)
    path.chmod(mode)

    with pytest.raises(InvalidRequestError, match="chmod 600") as caught:
        SigningKey.load(path)

    assert caught.value.value == str(path)


def test_what_is_not_a_regular_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "log.key"
    os.mkfifo(path, 0o600)

    with pytest.raises(InvalidRequestError):
        SigningKey.load(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        PETER_PRIVATE.encode() + b"\n\n",
        PETER_PRIVATE.encode() + b"\r\n",
        b" " + PETER_PRIVATE.encode(),
        PETER_PRIVATE.encode() * 2,
        b"\xff" + PETER_PRIVATE.encode(),
        PETER_PRIVATE.replace("PeterNeumann", "Peter Neumann").encode(),
        b"A" * 10_000,
    ],
)
def test_a_damaged_key_file_is_refused_without_a_word_of_its_content(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "log.key"
    path.write_bytes(content)
    path.chmod(0o600)

    with pytest.raises(InvalidRequestError) as caught:
        SigningKey.load(path)

    assert str(path) in str(caught.value.value)
    assert "YEKFALVFGyN" not in f"{caught.value!r} {caught.value}"


def test_a_missing_key_file_or_a_directory_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        SigningKey.load(tmp_path / "log.key")
    with pytest.raises(IsADirectoryError):
        SigningKey.load(tmp_path)


def test_a_key_shows_its_vkey_and_not_its_seed() -> None:
    shown = f"{_key()!r} {_key()}"

    assert str(_key().verifier) in shown
    assert _key().private_line().rpartition("+")[2] not in shown
    assert SEED.hex() not in shown


def test_without_cryptography_there_is_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    module = "cryptography.hazmat.primitives.asymmetric.ed25519"
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(NoCryptographyError):
        SigningKey.parse(PETER_PRIVATE)
