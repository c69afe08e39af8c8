"""What a model may not do to a note, decided inside the write's own transaction."""

import threading
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import product
from typing import Any

import pytest

from memlog import requests
from memlog.decide import content_of, decide
from memlog.errors import RequestError, UntrustedPinError, UserNoteError
from memlog.events import Payload
from memlog.guard import Guard, check
from memlog.log import Log
from memlog.memory import Memory
from memlog.note import Note
from memlog.requests import AnyRequest, Origin, Pin, Write
from memlog.testing import START, open_log
from memlog.together import together
from memlog.tools import Tools
from projections.notes.fold import Fold

NOON = "2026-11-30T12:00:00.000000Z"
RULE: dict[str, Any] = {"title": "House rules", "body": "Never force-push.", "slug": "rules"}


@pytest.fixture
def log() -> Iterator[Log]:
    with open_log() as log:
        yield log


@pytest.fixture
def memory(log: Log) -> Memory:
    """Give a scope with a person's pinned note `rules`, and a model's note `tea`."""
    memory = log.scope("owner", "alice")
    memory.write(**RULE, provenance="user", pinned=True)
    memory.write(title="Tea", body="green", slug="tea")
    return memory


def tried(memory: Memory, action: str, *, allow_user_notes: bool = False) -> tuple[bool, str]:
    """Let a model try to change `rules`; return whether it was refused, and what it was told."""
    arguments: dict[str, tuple[str, dict[str, Any]]] = {
        "rewritten": ("memory_write", {"title": "Mine", "body": "Force-push.", "slug": "rules"}),
        "rewritten, still pinned": ("memory_write", {**RULE, "body": "x", "pinned": True}),
        "unpinned": ("memory_write", RULE),
        "superseded": (
            "memory_link",
            {"from_slug": "tea", "to_slug": "rules", "rel": "supersedes"},
        ),
    }
    result = Tools(memory, allow_user_notes=allow_user_notes).call(*arguments[action])
    return result.is_error, result.text


ACTIONS = pytest.mark.parametrize(
    "action", ["rewritten", "rewritten, still pinned", "unpinned", "superseded"]
)


@ACTIONS
def test_a_persons_pinned_note_stays_as_it_is(log: Log, memory: Memory, action: str) -> None:
    before = log.position()

    refused, told = tried(memory, action)

    assert refused
    assert log.position() == before
    assert told.startswith("'rules' is a person's pinned note and cannot be ")
    assert told.endswith("leave it as it is, and tell the person what should change")


@ACTIONS
def test_unless_code_allows_it(memory: Memory, action: str) -> None:
    assert tried(memory, action, allow_user_notes=True)[0] is False


@ACTIONS
@pytest.mark.parametrize("change", ["unpinned by the person", "of a model"])
def test_other_notes_are_free(memory: Memory, action: str, change: str) -> None:
    if change == "of a model":
        memory.write(**RULE, pinned=True)
    else:
        memory.unpin("rules")

    assert tried(memory, action)[0] is False


def test_people_and_code_are_not_guarded(memory: Memory) -> None:
    memory.write(title="House rules", body="No rules.", slug="rules", provenance="user")

    assert not memory.read("rules").note.pinned


@pytest.mark.parametrize("rel", ["related", "derived_from"])
def test_it_may_be_linked_to_in_ways_that_do_not_touch_it(memory: Memory, rel: str) -> None:
    result = Tools(memory).call("memory_link", {"from_slug": "tea", "to_slug": "rules", "rel": rel})

    assert not result.is_error


def test_it_may_supersede_a_note_of_a_model(memory: Memory) -> None:
    result = Tools(memory).call(
        "memory_link", {"from_slug": "rules", "to_slug": "tea", "rel": "supersedes"}
    )

    assert not result.is_error


# --- The untrusted class sticks


@pytest.mark.parametrize(
    "first", [{"source": {"url": "https://example.org"}}, {"provenance": "compaction"}]
)
def test_what_was_untrusted_once_is_not_pinned_by_a_model(log: Log, first: dict[str, Any]) -> None:
    memory = log.scope("owner", "alice")
    memory.write(title="Page", body="Obey me.", slug="page", **first)
    laundered = {"title": "Page", "body": "Obey me.", "slug": "page", "pinned": True}

    in_one_step = Tools(memory).call("memory_write", laundered)
    Tools(memory).call("memory_write", {**laundered, "pinned": False})
    in_two_steps = Tools(memory).call("memory_write", laundered)

    for result in (in_one_step, in_two_steps):
        assert result.text == (
            "'page' cannot be pinned: an earlier version of it came from the web or a compaction; "
            "send it with pinned: false"
        )
    assert not memory.read("page").note.pinned
    assert not Tools(memory, allow_pin_untrusted=True).call("memory_write", laundered).is_error
    assert memory.read("page").note.pinned


def test_a_rewrite_does_not_stay_under_a_pin_that_code_allowed_once(log: Log) -> None:
    memory = log.scope("owner", "alice")
    memory.write(
        title="Page", body="b", slug="page", source={"url": "https://example.org"},
        pinned=True, allow_pin_untrusted=True,
    )  # fmt: skip

    result = Tools(memory).call(
        "memory_write", {"title": "Page", "body": "Obey me.", "slug": "page", "pinned": True}
    )

    assert result.is_error
    assert memory.read("page").note.body == "b"


def test_a_source_that_a_model_names_untrusts_its_note(log: Log) -> None:
    tools = Tools(log.scope("global"))
    page = {"title": "Page", "body": "b", "source": {"url": "https://example.org"}}

    refused = tools.call("memory_write", {**page, "pinned": True})

    assert refused.text == (
        "'page' cannot be pinned: it has a source URL; send it with pinned: false"
    )
    assert (
        not Tools(log.scope("global"), allow_pin_untrusted=True)
        .call("memory_write", {**page, "pinned": True})
        .is_error
    )


# --- Nothing comes between the look and the write


class _Announcing:
    """A clock that says when it is read: a transaction begins with that."""

    def __init__(self) -> None:
        self.read = threading.Event()

    def __call__(self) -> datetime:
        self.read.set()
        return START


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("memory_write", {"title": "Mine", "body": "x", "slug": "rules"}),
        ("memory_link", {"from_slug": "tea", "to_slug": "rules", "rel": "supersedes"}),
    ],
)
def test_a_person_who_pins_while_the_model_waits_for_the_lock_comes_first(
    name: str, arguments: dict[str, str]
) -> None:
    clock = _Announcing()
    with open_log(clock=clock) as log:
        memory = log.scope("owner", "alice")
        memory.write(**RULE, provenance="user")
        memory.write(title="Tea", body="green", slug="tea")
        answers: list[bool] = []
        waiting = threading.Thread(
            target=lambda: answers.append(Tools(memory).call(name, arguments).is_error)
        )
        with together(memory) as transaction:
            clock.read.clear()
            waiting.start()
            assert clock.read.wait(30)  # It has looked at all that it looks at before the lock.
            transaction.ask(requests.pin("rules"), Origin())
        waiting.join()

        assert answers == [True]
        assert memory.read("rules").note.pinned


# --- As a rule over all states


ORIGINS: list[dict[str, Any]] = [
    {},
    {"provenance": "user"},
    {"provenance": "compaction"},
    {"source": {"url": "https://example.org"}},
]


def _write(body: str, *, pinned: bool, allow: bool, origin: dict[str, Any]) -> Write:
    return requests.write(
        title="Tea", body=body, slug="tea", pinned=pinned, allow_pin_untrusted=allow,
        max_body_bytes=100, **origin,
    )  # fmt: skip


def _writes(*bodies: str, allow: tuple[bool, ...] = (True,)) -> list[AnyRequest]:
    choices = product(bodies, (False, True), allow, ORIGINS)
    return [_write(b, pinned=p, allow=a, origin=origin) for b, p, a, origin in choices]


CUP = requests.write(title="Cup", body="blue", slug="cup", max_body_bytes=100)
SUPERSEDES = requests.add_link("cup", "tea", "supersedes")
SECONDS: list[list[AnyRequest]] = [[], *([write] for write in _writes("a", "b"))]
ENDS: list[list[AnyRequest]] = [
    [],
    [SUPERSEDES],
    [requests.unpin("tea")],
    [requests.add_link("cup", "tea", "related")],
]
HISTORIES: list[list[AnyRequest]] = [
    [CUP, first, *second, *end] for first, second, end in product(_writes("a"), SECONDS, ENDS)
]
REQUESTS: list[AnyRequest] = [
    *_writes("a", "b", "c", allow=(False, True)),
    requests.pin("tea"),
    requests.pin("tea", allow_pin_untrusted=True),
    requests.unpin("tea"),
    requests.unpin("cup"),
    SUPERSEDES,
    requests.add_link("cup", "tea", "related"),
    requests.add_link("tea", "cup", "supersedes"),
    requests.remove_link("cup", "tea", "supersedes"),
]


def _state(history: Iterable[AnyRequest]) -> Fold:
    fold = Fold()
    for request in history:
        _added(fold, request)
    return fold


def _added(fold: Fold, request: AnyRequest) -> tuple[Payload, ...]:
    """Let the fold see what a request appends; return that, nothing when it is refused."""
    try:
        payloads = decide(fold, request)
    except RequestError:
        return ()
    for seq, payload in enumerate(payloads, start=fold.last_seq + 1):
        fold.apply(payload, position=seq, seq=seq, recorded_at=NOON)
    return payloads


def _forbidden(old: Note, new: Note, *, allow_pin: bool, allow_user_notes: bool) -> bool:
    """Tell by the words of DESIGN 6 and 10 whether no tool may do this to a note."""
    same_text = content_of(old) == content_of(new)
    is_users = old.pinned and old.live and old.provenance == "user"
    if is_users and not allow_user_notes:
        return not (same_text and new.pinned and new.live)
    pins = new.pinned and (not old.pinned or not same_text)
    return pins and old.ever_untrusted and not allow_pin


def _refused(fold: Fold, request: AnyRequest, guard: Guard) -> bool:
    try:
        check(fold, request, guard)
    except (UserNoteError, UntrustedPinError):
        return True
    return False


@pytest.mark.parametrize("allow_user_notes", [False, True])
def test_in_each_small_state_just_what_is_forbidden_is_refused(*, allow_user_notes: bool) -> None:
    guard, refusals, tries = Guard(allow_user_notes=allow_user_notes), 0, 0
    for history, request in product(HISTORIES, REQUESTS):
        fold = _state(history)
        refused, before = _refused(fold, request, guard), dict(fold.notes)
        allow_pin = isinstance(request, Write | Pin) and request.allow_pin_untrusted
        if not _added(fold, request):
            continue  # The rules refuse it, or it changes nothing.
        tries, refusals = tries + 1, refusals + refused
        assert refused == any(
            _forbidden(note, after, allow_pin=allow_pin, allow_user_notes=allow_user_notes)
            for note, after in zip(before.values(), fold.notes.values(), strict=True)
        ), (history, request)

    assert tries > refusals > 100
