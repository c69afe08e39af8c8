"""`Memory` on a real file, against the reference model: random requests, every read compared."""

import os
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from memlog.errors import InvalidRequestError, MemlogError, RequestError, SelfLinkError
from memlog.log import Log
from memlog.memory import Memory
from memlog.note import RELS, Outcome
from memlog.testing import (
    CountingIds,
    FixedClock,
    Model,
    open_log,
    strategies,
    tables_equal_fold,
)
from memlog.testing.model_reads import Edge
from tests.stateful.comparison import (
    compare_log,
    compare_outcome,
    compare_scope,
    plain_error,
)

# A file in memory, where there is one: what a disk costs and survives is tested elsewhere.
_FAST = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108  # made unguessable
STREAMS = ("owner/alice", "global/")
SCOPES = st.sampled_from([*STREAMS[:1] * 3, STREAMS[1]])  # Mostly one, so that it fills.
REQUEST_IDS = st.sampled_from([*[None] * 8, "r-1", "r-2", "ρ 3"])
FRESH_IDS = st.sampled_from([None, *(f"q-{number}" for number in range(200))])
ANYWHERE = st.runner().flatmap(lambda machine: st.sampled_from(machine.places()))
PAIRS = st.runner().flatmap(lambda machine: st.sampled_from(machine.pairs()))
EDGES = st.runner().flatmap(lambda machine: st.sampled_from(machine.edges()))
ASKED = st.runner().flatmap(lambda machine: st.sampled_from(machine.asked))

# Each is a method, its arguments, and the argument that the error must name.
BAD: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("write", {"title": "", "body": "b"}, "title"),
    ("write", {"title": " \n", "body": "b"}, "title"),
    ("write", {"title": "t" * 501, "body": "b"}, "title"),
    ("write", {"title": 7, "body": "b"}, "title"),
    ("write", {"title": "t", "body": "\ud800"}, "body"),
    ("write", {"title": "t", "body": "a\0b"}, "body"),
    ("write", {"title": "t", "body": "b" * 32_001}, "body"),
    ("write", {"title": "t", "body": "é" * 16_001}, "body"),
    ("write", {"title": "t", "body": None}, "body"),
    ("write", {"title": "t", "body": "b", "confidence": float("nan")}, "confidence"),
    ("write", {"title": "t", "body": "b", "confidence": -0.1}, "confidence"),
    ("write", {"title": "t", "body": "b", "confidence": 1.01}, "confidence"),
    ("write", {"title": "t", "body": "b", "confidence": "high"}, "confidence"),
    ("write", {"title": "t", "body": "b", "confidence": True}, "confidence"),
    ("write", {"title": "t", "body": "b", "topics": [str(n) for n in range(9)]}, "topics"),
    ("write", {"title": "t", "body": "b", "topics": ["x" * 41]}, "topics"),
    ("write", {"title": "t", "body": "b", "topics": "hot"}, "topics"),
    ("write", {"title": "t", "body": "b", "topics": [1]}, "topics"),
    ("write", {"title": "t", "body": "b", "slug": "../x"}, "slug"),
    ("write", {"title": "t", "body": "b", "slug": "A B"}, "slug"),
    ("write", {"title": "t", "body": "b", "slug": "tea\n"}, "slug"),
    ("write", {"title": "t", "body": "b", "slug": "t" * 81}, "slug"),
    ("write", {"title": "t", "body": "b", "slug": ""}, "slug"),
    ("write", {"title": "t", "body": "b", "slug": "\ud800"}, "slug"),
    ("write", {"title": "t", "body": "b", "pinned": 1}, "pinned"),
    ("write", {"title": "t", "body": "b", "provenance": "web"}, "provenance"),
    ("write", {"title": "t", "body": "b", "provenance": "god"}, "provenance"),
    ("write", {"title": "t", "body": "b", "source": {"uri": "x"}}, "source"),
    ("write", {"title": "t", "body": "b", "source": "x"}, "source"),
    ("write", {"title": "t", "body": "b", "source": {"url": "u" * 2_049}}, "source.url"),
    ("write", {"title": "t", "body": "b", "source": {"created_at": "today"}}, "source.created_at"),
    ("write", {"title": "t", "body": "b", "extra": {"a": 1}}, "extra"),
    ("write", {"title": "t", "body": "b", "extra": {"a": "x" * 8_000}}, "extra"),
    ("write", {"title": "t", "body": "b", "if_seq": 3}, "if_seq"),
    ("write", {"title": "t", "body": "b", "slug": "tea", "if_seq": -1}, "if_seq"),
    ("write", {"title": "t", "body": "b", "actor": ""}, "actor"),
    ("write", {"title": "t", "body": "b", "conversation_id": "a\nb"}, "conversation_id"),
    ("write", {"title": "t", "body": "b", "request_id": "r" * 257}, "request_id"),
    ("pin", {"slug": "Tea"}, "slug"),
    ("pin", {"slug": "tea", "allow_pin_untrusted": "yes"}, "allow_pin_untrusted"),
    ("unpin", {"slug": None}, "slug"),
    ("link", {"from_slug": "tea", "to_slug": "te", "rel": "likes"}, "rel"),
    ("link", {"from_slug": "tea", "to_slug": "T", "rel": "related"}, "to_slug"),
    ("link", {"from_slug": "tea", "to_slug": "te", "rel": "related", "label": "x" * 201}, "label"),
    ("unlink", {"from_slug": "/", "to_slug": "te", "rel": "related"}, "from_slug"),
)


class Machine(RuleBasedStateMachine):
    """One file, two scopes; each request goes to the log and to the model."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory(dir=_FAST)
        self.clock, self.ids = FixedClock(), CountingIds()
        self.model = Model(now=self.clock)
        self.log = self.open()
        self.asked: list[tuple[str, str, dict[str, Any]]] = []  # what has been done under an id

    def open(self) -> Log:
        path = Path(self.directory.name, "notes.db")
        return open_log(path, clock=self.clock, ids=self.ids)

    def teardown(self) -> None:
        self.log.close()
        self.directory.cleanup()

    def memory(self, stream: str) -> Memory:
        kind, _, principal = stream.partition("/")
        return self.log.scope("owner", principal) if kind == "owner" else self.log.scope("global")

    def places(self) -> list[tuple[str, str]]:
        """Return each note as its stream and slug."""
        return [(stream, slug) for stream in STREAMS for slug in self.model.scope(stream).notes]

    def pairs(self) -> list[tuple[str, str, str]]:
        """Return each two notes that may be linked."""
        return [
            (stream, newer, older)
            for stream in STREAMS
            for newer, older in permutations(self.model.scope(stream).notes, 2)
        ]

    def edges(self) -> list[tuple[str, Edge]]:
        """Return each edge with its stream."""
        return [(stream, edge) for stream in STREAMS for edge in self.model.scope(stream).links]

    def both(
        self, stream: str, method: str, arguments: Mapping[str, Any], *, who: str | None = None
    ) -> None:
        """Ask the log and the model the same, and compare what they say."""
        scope = self.model.scope(stream)
        position = self.log.position()
        expected, model_error = caught(lambda: getattr(scope, method)(**arguments))
        ask = partial(getattr(self.memory(stream), method), actor=who, conversation_id=who)
        outcome, error = caught(lambda: ask(**arguments))
        if model_error is not None or error is not None:
            assert error is not None, f"it must be refused: {model_error!r}"
            assert model_error is not None, f"it must not be refused: {error!r}"
            assert plain_error(error) == plain_error(model_error)
            assert self.log.position() == position
            return
        outcomes = outcome if isinstance(outcome, list) else [outcome]
        expectations = expected if isinstance(expected, list) else [expected]
        for each, other in zip(outcomes, expectations, strict=True):
            assert isinstance(each, Outcome)
            if len(outcomes) == 1:
                compare_outcome(each, other, scope)
            else:
                assert each.position == other["position"]
        if arguments.get("request_id"):
            self.asked.append((stream, method, dict(arguments)))

    # --- Requests

    @initialize(first=st.lists(strategies.write_arguments(if_seq_max=0), max_size=4))
    def begin(self, first: list[dict[str, Any]]) -> None:
        for arguments in first:
            self.both(STREAMS[0], "write", arguments)

    @rule(stream=SCOPES, arguments=strategies.write_arguments(), request_id=REQUEST_IDS)
    def write(self, stream: str, arguments: dict[str, Any], request_id: str | None) -> None:
        self.both(stream, "write", {**arguments, "request_id": request_id})

    @precondition(lambda self: self.places())
    @rule(
        place=ANYWHERE,
        arguments=strategies.write_arguments(slugs=st.none(), if_seq_max=0),
        seen=st.sampled_from(["now", "never", "before", *[None] * 5]),
        request_id=FRESH_IDS,
    )
    def rewrite(
        self,
        place: tuple[str, str],
        arguments: dict[str, Any],
        seen: str | None,
        request_id: str | None,
    ) -> None:
        stream, slug = place
        now = self.model.scope(stream).notes[slug]["updated_seq"]
        if_seq = {"now": now, "never": 0, "before": now - 1, None: None}[seen]
        named = {"slug": slug, "if_seq": if_seq, "request_id": request_id}
        self.both(stream, "write", {**arguments, **named})

    @precondition(lambda self: self.places())
    @rule(place=ANYWHERE, pinned=st.booleans(), named=st.booleans(), allow=st.booleans())
    def write_the_same_again(
        self, place: tuple[str, str], *, pinned: bool, named: bool, allow: bool
    ) -> None:
        stream, slug = place
        note = self.model.scope(stream).notes[slug]
        same = ("title", "body", "topics", "confidence", "source", "extra")
        arguments = {name: note[name] for name in same}
        if note["provenance"] not in ("agent", "web"):
            arguments["provenance"] = note["provenance"]
        how = {"slug": slug if named else None, "pinned": pinned, "allow_pin_untrusted": allow}
        self.both(stream, "write", {**arguments, **how})

    @rule(
        stream=SCOPES,
        items=st.lists(strategies.write_arguments(), min_size=1, max_size=3),
        request_id=REQUEST_IDS,
    )
    def write_many(self, stream: str, items: list[dict[str, Any]], request_id: str | None) -> None:
        named = [*items[:-1], {**items[-1], "request_id": request_id}]
        self.both(stream, "write_many", {"items": named})

    @precondition(lambda self: self.places())
    @rule(place=ANYWHERE, allow=st.booleans(), request_id=FRESH_IDS)
    def pin(self, place: tuple[str, str], *, allow: bool, request_id: str | None) -> None:
        stream, slug = place
        arguments = {"slug": slug, "allow_pin_untrusted": allow, "request_id": request_id}
        self.both(stream, "pin", arguments)

    @precondition(lambda self: self.places())
    @rule(place=ANYWHERE, request_id=FRESH_IDS | REQUEST_IDS)
    def unpin(self, place: tuple[str, str], request_id: str | None) -> None:
        stream, slug = place
        self.both(stream, "unpin", {"slug": slug, "request_id": request_id})

    @precondition(lambda self: self.pairs())
    @rule(
        pair=PAIRS,
        rel=st.sampled_from([*RELS, "supersedes"]),
        label=st.sampled_from(strategies.LABELS),
        request_id=FRESH_IDS | REQUEST_IDS,
    )
    def link(
        self, pair: tuple[str, str, str], rel: str, label: str | None, request_id: str | None
    ) -> None:
        stream, newer, older = pair
        edge = {"from_slug": newer, "to_slug": older, "rel": rel, "label": label}
        self.both(stream, "link", {**edge, "request_id": request_id})

    @precondition(lambda self: self.edges())
    @rule(place=EDGES, request_id=FRESH_IDS)
    def unlink(self, place: tuple[str, Edge], request_id: str | None) -> None:
        stream, (newer, older, rel, label) = place
        edge = {"from_slug": newer, "to_slug": older, "rel": rel, "label": label}
        self.both(stream, "unlink", {**edge, "request_id": request_id})

    @rule(
        stream=SCOPES,
        method=st.sampled_from(["link", "unlink"]),
        slugs=st.permutations(strategies.SLUGS),
        rel=st.sampled_from(RELS),
    )
    def name_what_may_not_be_there(
        self, stream: str, method: str, slugs: list[str], rel: str
    ) -> None:
        self.both(stream, method, {"from_slug": slugs[0], "to_slug": slugs[1], "rel": rel})
        self.both(stream, "unpin", {"slug": slugs[2]})

    # --- Repeats and refusals

    @precondition(lambda self: self.asked)
    @rule(asked=ASKED, who=st.sampled_from([None, "agent:b"]))
    def repeat(self, asked: tuple[str, str, dict[str, Any]], who: str | None) -> None:
        """Ask once more what has an id; who asks is no part of the request."""
        stream, method, arguments = asked
        self.both(stream, method, arguments, who=who)

    @precondition(lambda self: self.asked)
    @rule(asked=ASKED, arguments=strategies.write_arguments())
    def ask_something_else_under_a_known_id(
        self, asked: tuple[str, str, dict[str, Any]], arguments: dict[str, Any]
    ) -> None:
        stream, _, before = asked
        self.both(stream, "write", {**arguments, "request_id": before["request_id"]})

    @rule(stream=SCOPES, bad=st.sampled_from(BAD))
    def ask_badly(self, stream: str, bad: tuple[str, dict[str, Any], str]) -> None:
        method, arguments, field = bad
        error = self.refused(stream, method, arguments, InvalidRequestError)
        assert isinstance(error, InvalidRequestError)
        assert error.field == field

    @precondition(lambda self: self.places())
    @rule(place=ANYWHERE, method=st.sampled_from(["link", "unlink"]), rel=st.sampled_from(RELS))
    def link_to_itself(self, place: tuple[str, str], method: str, rel: str) -> None:
        stream, slug = place
        edge = {"from_slug": slug, "to_slug": slug, "rel": rel}
        self.refused(stream, method, edge, SelfLinkError)

    @rule(
        stream=SCOPES,
        good=st.lists(strategies.write_arguments(if_seq_max=0), min_size=1, max_size=2),
        bad=st.sampled_from([each for each in BAD if each[0] == "write"]),
    )
    def write_many_with_a_bad_one(
        self, stream: str, good: list[dict[str, Any]], bad: tuple[str, dict[str, Any], str]
    ) -> None:
        self.refused(stream, "write_many", {"items": [*good, bad[1]]}, InvalidRequestError)

    def refused(
        self, stream: str, method: str, arguments: dict[str, Any], kind: type[RequestError]
    ) -> RequestError:
        position = self.log.position()
        with pytest.raises(kind) as caught_error:
            getattr(self.memory(stream), method)(**arguments)
        assert self.log.position() == position
        return caught_error.value

    # --- The world around it

    @rule(seconds=st.sampled_from([0.001, 1.0, 86_400.0, -3_600.0]))
    def let_time_pass(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule()
    def reopen(self) -> None:
        self.log.close()
        self.log = self.open()

    @rule()
    def rebuild(self) -> None:
        rebuilt = self.log.rebuild()
        assert rebuilt.differences == ()
        assert rebuilt.events == len(self.model.events)

    @invariant()
    def log_and_model_agree(self) -> None:
        compare_log(self.log, self.model)
        for stream in STREAMS:
            compare_scope(self.memory(stream), self.model.scope(stream))

    @invariant()
    def tables_are_what_the_log_adds_up_to(self) -> None:
        assert tables_equal_fold(self.log)


def caught(ask: Callable[[], Any]) -> tuple[Any, MemlogError | None]:
    """Return what a call gives, or the error that it raises on purpose."""
    try:
        return ask(), None
    except MemlogError as error:
        return None, error


TestMachine = Machine.TestCase
TestMachine.settings = settings(stateful_step_count=30)
