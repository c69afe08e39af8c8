"""The error tree: each error carries its values, survives pickling and says one sentence."""

import copy
import inspect
import pickle
import re
from collections.abc import Callable

import pytest

from memlog import errors
from memlog.errors import (
    AlreadySupersededError,
    BusyError,
    ClosedError,
    CorruptEventError,
    CorruptStoreError,
    DamageError,
    DriftError,
    ForkedError,
    InvalidRequestError,
    MemlogError,
    NewerFormatError,
    NotAStoreError,
    NoteNotFoundError,
    ReadOnlyError,
    RebuildTakenOverError,
    RequestConflictError,
    RequestError,
    RetryError,
    RuleError,
    SelfLinkError,
    StaleWriteError,
    StoreFullError,
    StoreNotFoundError,
    SupersedeCycleError,
    SupersededNoteError,
    TargetError,
    UnknownEventTypeError,
    UnknownOutcomeError,
    UnreachableError,
    UnsafeLocationError,
    UnsignableError,
    UntrustedPinError,
    UserNoteError,
    format_error,
)
from memlog.shown import shown

# One of each leaf, with the attributes that it must have and its sentence.
LEAVES: list[tuple[MemlogError, dict[str, object], str]] = [
    (
        InvalidRequestError("confidence", "high", "give a number from 0 to 1"),
        {"field": "confidence", "value": "high", "rule": "give a number from 0 to 1"},
        "confidence 'high' is not accepted: give a number from 0 to 1",
    ),
    (
        NoteNotFoundError("taa", ["tea", "tar"]),
        {"slug": "taa", "near": ("tea", "tar")},
        "no note 'taa' in this scope; did you mean 'tea', 'tar'?",
    ),
    (
        NoteNotFoundError("taa"),
        {"slug": "taa", "near": ()},
        "no note 'taa' in this scope; search or list the notes first",
    ),
    (
        UntrustedPinError("tea", "it has a source URL"),
        {"slug": "tea", "why": "it has a source URL"},
        (
            "'tea' cannot be pinned: it has a source URL; a pinned body goes into the system "
            "prompt, so only code may allow it (allow_pin_untrusted=True)"
        ),
    ),
    (
        UserNoteError("rules", "superseded"),
        {"slug": "rules", "action": "superseded"},
        (
            "'rules' is a person's pinned note and cannot be superseded through a tool; "
            "leave it as it is, and tell the person what should change"
        ),
    ),
    (
        SupersededNoteError("old", "new"),
        {"slug": "old", "living": "new"},
        "'old' is superseded and stays as it is; change 'new' instead",
    ),
    (
        AlreadySupersededError("old", "new"),
        {"slug": "old", "superseded_by": "new"},
        "'old' is already superseded by 'new'; supersede 'new' instead",
    ),
    (
        SupersedeCycleError("a", "b"),
        {"from_slug": "a", "to_slug": "b"},
        "'a' cannot supersede 'b': 'b' already supersedes it; unlink that first",
    ),
    (
        SelfLinkError("tea"),
        {"slug": "tea"},
        "'tea' cannot be linked to itself; name another note",
    ),
    (
        StaleWriteError("tea", 3, 5),
        {"slug": "tea", "if_seq": 3, "updated_seq": 5},
        "'tea' is at updated_seq 5, not at 3; read it again before you write",
    ),
    (
        RequestConflictError("r-1", 12),
        {"request_id": "r-1", "position": 12},
        "request_id 'r-1' already stands for another request (position 12); use a fresh id",
    ),
    (
        ClosedError("n.db"),
        {"target": "n.db", "why": "close() was called"},
        "the handle of 'n.db' is closed (close() was called); open the store again",
    ),
    (
        ForkedError("n.db", 10, 11),
        {"target": "n.db", "opened_pid": 10, "pid": 11},
        (
            "the handle of 'n.db' was opened by process 10, this is 11; "
            "open the store in the child, after the fork"
        ),
    ),
    (
        ReadOnlyError("n.db"),
        {"target": "n.db"},
        (
            "'n.db' cannot be written; open it writable, or check its permissions and those of "
            "its directory"
        ),
    ),
    (
        BusyError("n.db", 2.5),
        {"target": "n.db", "timeout_s": 2.5},
        "'n.db' was locked by another writer for 2.5 s; try again",
    ),
    (
        RebuildTakenOverError("n.db"),
        {"target": "n.db"},
        "another rebuild of 'n.db' took over; wait for it, then try again",
    ),
    (
        StoreFullError("n.db", "disk full"),
        {"target": "n.db", "detail": "disk full"},
        "no space left for 'n.db' (disk full); make room, then try again",
    ),
    (
        UnreachableError("postgresql://h/n", "timeout expired"),
        {"target": "postgresql://h/n", "detail": "timeout expired"},
        "'postgresql://h/n' cannot be reached (timeout expired); try again",
    ),
    (
        UnknownOutcomeError("postgresql://h/n", "timeout expired"),
        {"target": "postgresql://h/n", "detail": "timeout expired"},
        (
            "whether 'postgresql://h/n' stored it is not known (timeout expired); "
            "ask again with the same request_id"
        ),
    ),
    (
        StoreNotFoundError("n.db"),
        {"target": "n.db"},
        "there is no store at 'n.db'; check the name (a first write makes one)",
    ),
    (
        NotAStoreError("n.db", "it is empty"),
        {"target": "n.db", "why": "it is empty"},
        "'n.db' is not a memlog store (it is empty); name another file",
    ),
    (
        NewerFormatError("n.db", 2, 1),
        {"target": "n.db", "version": 2, "supported": 1},
        "'n.db' has format 2, this release reads up to 1; upgrade agent-memlog",
    ),
    (
        UnsafeLocationError("n.db", "it lies on NFS"),
        {"target": "n.db", "why": "it lies on NFS"},
        "'n.db' cannot hold a log: it lies on NFS",
    ),
    (
        CorruptStoreError("n.db", "page 3"),
        {"target": "n.db", "detail": "page 3"},
        "'n.db' is damaged or cannot be reached (page 3); keep a copy and verify it",
    ),
    (
        CorruptEventError(7, "no salt"),
        {"position": 7, "detail": "no salt"},
        "the event at position 7 is damaged: no salt",
    ),
    (
        UnknownEventTypeError(7, "note_eaten/1"),
        {"position": 7, "type": "note_eaten/1"},
        "the event at position 7 has the unknown type 'note_eaten/1'; a newer release may know it",
    ),
    (
        UnsignableError("n.db", "it does not verify"),
        {"target": "n.db", "detail": "it does not verify"},
        "'n.db' was not signed: it does not verify; verify it",
    ),
    (
        DriftError("notes", "tea differs"),
        {"projection": "notes", "detail": "tea differs"},
        "the notes projection differs from the log: tea differs; rebuild it",
    ),
]
BRANCHES = {MemlogError, RequestError, RuleError, RetryError, TargetError, DamageError}
ERRORS = [error for error, _, _ in LEAVES]
HOSTILE = "tea\n\r\x1b[31m\x07\u2028\u202e\ud800 茶"


def _tree_of_the_docstring() -> dict[str, str]:
    """Return each class named in the module's docstring with its parent there."""
    parents: dict[str, str] = {}
    open_at: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        names = re.findall(r"\b\w+Error\b", re.split(r" {3}", line.strip("│├└─ "))[0])
        if not names:
            continue
        column = line.index(names[0])
        while open_at and open_at[-1][0] >= column:
            open_at.pop()
        parents.update(dict.fromkeys(names, open_at[-1][1] if open_at else "Exception"))
        open_at.append((column, names[-1]))
    return parents


def _all_errors() -> list[type[MemlogError]]:
    found = [MemlogError]
    for error_class in found:
        found.extend(error_class.__subclasses__())
    return [each for each in found if each.__module__ == "memlog.errors"]  # edges have their own


def test_the_docstring_draws_the_tree_as_it_is() -> None:
    real = {
        error_class.__name__: error_class.__bases__[0].__name__ for error_class in _all_errors()
    }

    assert _tree_of_the_docstring() == real


def test_every_leaf_of_the_tree_is_tested_here() -> None:
    assert {type(error) for error in ERRORS} | BRANCHES == set(_all_errors())


@pytest.mark.parametrize("error_class", _all_errors())
def test_every_error_says_when_it_is_raised(error_class: type[MemlogError]) -> None:
    assert inspect.getdoc(error_class)


@pytest.mark.parametrize(("error", "attributes", "sentence"), LEAVES)
def test_an_error_carries_its_values_and_says_one_sentence(
    error: MemlogError, attributes: dict[str, object], sentence: str
) -> None:
    assert vars(error) == attributes
    assert str(error) == sentence


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_an_error_survives_pickling(error: MemlogError, protocol: int) -> None:
    found = pickle.loads(pickle.dumps(error, protocol))  # noqa: S301  # bytes made one call before

    assert type(found) is type(error)
    assert vars(found) == vars(error)
    assert str(found) == str(error)


@pytest.mark.parametrize("error", ERRORS)
def test_an_error_survives_copying(error: MemlogError) -> None:
    assert vars(copy.deepcopy(error)) == vars(error)


@pytest.mark.parametrize(
    "error",
    [
        InvalidRequestError("body", HOSTILE, "give valid Unicode"),
        NoteNotFoundError(HOSTILE),
        RequestConflictError(HOSTILE, 1),
        UnknownEventTypeError(1, HOSTILE),
    ],
)
def test_a_value_from_outside_is_shown_in_printable_ascii(error: MemlogError) -> None:
    assert str(error).isascii()
    assert str(error).isprintable()
    assert "tea" in str(error)


@pytest.mark.parametrize(
    "error",
    [
        ReadOnlyError(HOSTILE),
        StoreNotFoundError(HOSTILE),
        BusyError(HOSTILE, 1),
        ClosedError(HOSTILE),
        ForkedError(HOSTILE, 1, 2),
        NewerFormatError(HOSTILE, 2, 1),
    ],
)
def test_a_file_name_from_outside_cannot_break_or_colour_a_line(error: MemlogError) -> None:
    assert str(error).isprintable()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("tea", "'tea'"),
        ("茶", r"'\u8336'"),
        ("\ud800", r"'\ud800'"),
        (float("nan"), "nan"),
        (None, "None"),
        ("a" * 78, f"'{'a' * 78}'"),
        ("a" * 79, f"'{'a' * 76}..."),
        (["a" * 1000], f"['{'a' * 75}..."),
    ],
)
def test_a_value_is_shown_in_ascii_and_cut_at_80_characters(value: object, expected: str) -> None:
    assert shown(value) == expected


@pytest.mark.parametrize("wrapped", [str, lambda line: [line], lambda line: f"x {line}".encode()])
def test_a_key_that_signs_is_not_shown(wrapped: Callable[[str], object]) -> None:
    line = "PRIVATE+KEY+memlog.example/log+0a1b2c3d+ASecretSeed"

    assert shown(wrapped(line)) == "'PRIVATE+KEY+***'"
    assert "Seed" not in str(InvalidRequestError("key", wrapped(line), "give a vkey"))


def test_a_formatted_error_is_its_sentence() -> None:
    assert format_error(SelfLinkError("tea")) == (
        "'tea' cannot be linked to itself; name another note"
    )


def test_a_formatted_error_has_no_line_break() -> None:
    assert format_error(DriftError("notes", "two\nlines\t here")) == (
        "the notes projection differs from the log: two lines here; rebuild it"
    )


@pytest.mark.parametrize("error", [ValueError("secret"), KeyError("secret"), SystemExit("secret")])
def test_a_foreign_error_gives_away_its_class_only(error: BaseException) -> None:
    assert format_error(error) == f"unexpected {type(error).__name__}"


@pytest.mark.parametrize(
    ("branch", "leaf"),
    [
        (RequestError, InvalidRequestError("slug", "A B", "use a-z")),
        (RequestError, StaleWriteError("tea", 0, 1)),
        (RuleError, SelfLinkError("tea")),
        (RetryError, BusyError("n.db", 5)),
        (TargetError, NotAStoreError("n.db", "it is empty")),
        (DamageError, CorruptEventError(1, "no salt")),
    ],
)
def test_a_caller_can_catch_by_what_to_do_next(
    branch: type[MemlogError], leaf: MemlogError
) -> None:
    others = {RequestError, RetryError, TargetError, DamageError} - set(branch.__mro__)

    assert isinstance(leaf, branch)
    assert not isinstance(leaf, tuple(others))
