"""LangGraph's store, driven by LangGraph: beside its own in-memory store, and in a graph."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any, TypedDict

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from memlog.adapters import named
from memlog.adapters.langgraph_store import NoteStore
from memlog.errors import InvalidRequestError
from memlog.memory import Memory
from memlog.testing import open_log


@pytest.fixture
def memory() -> Iterator[Memory]:
    with open_log() as log:
        yield log.scope("owner", "alice")


NAMESPACES = st.sampled_from([("a",), ("a", "b"), ("a", "b", "c"), ("b",), ("A", "ü x")])
KEYS = st.sampled_from(["k", "K", "k 2", "", "../x", "é"])
VALUES = st.dictionaries(
    st.sampled_from(["text", "n", "deep"]),
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.text(max_size=4)
    | st.dictionaries(st.sampled_from(["x", "y"]), st.integers(0, 2), max_size=2)
    | st.lists(st.integers(0, 2), max_size=2),
    max_size=3,
)
FILTERS = st.one_of(
    st.none(),
    st.dictionaries(st.sampled_from(["text", "n"]), st.integers(-1, 1) | st.text(max_size=1)),
    st.fixed_dictionaries({"deep": st.just({"x": 1}) | st.just([1, 2])}),
    st.fixed_dictionaries(
        {"n": st.dictionaries(st.sampled_from(["$eq", "$ne"]), st.integers(-1, 1))}
    ),
)
DEPTHS = st.none() | st.integers(1, 3)
STEPS = st.one_of(
    st.tuples(st.just("put"), NAMESPACES, KEYS, VALUES),
    st.tuples(st.just("delete"), NAMESPACES, KEYS),
    st.tuples(st.just("get"), NAMESPACES, KEYS),
    st.tuples(st.just("search"), st.sampled_from([(), ("a",), ("a", "b"), ("z",)]), FILTERS),
    st.tuples(st.just("namespaces"), st.sampled_from([(), ("a",), ("*", "b"), ("b",)]), DEPTHS),
)


def answer(store: BaseStore, step: tuple[Any, ...]) -> object:
    """Do a step and return what can be compared: no times, and no order where there is none."""
    match step:
        case ("put", namespace, key, value):
            store.put(namespace, key, value)
            return None
        case ("delete", namespace, key):
            store.delete(namespace, key)
            return None
        case ("get", namespace, key):
            item = store.get(namespace, key)
            return None if item is None else (item.namespace, item.key, item.value)
        case ("search", prefix, wanted):
            found = store.search(prefix, filter=wanted, limit=100)
            return sorted(
                (item.namespace, item.key, json.dumps(item.value, sort_keys=True)) for item in found
            )
        case ("namespaces", path, depth):
            return (
                store.list_namespaces(prefix=path, max_depth=depth),
                store.list_namespaces(suffix=path),
            )
    raise AssertionError(step)


@for_all(st.lists(STEPS, max_size=12))
def test_it_answers_as_langgraphs_own_store_does(steps: list[tuple[Any, ...]]) -> None:
    with open_log() as log:
        ours, theirs = NoteStore(log.scope("owner", "alice")), InMemoryStore()
        for step in steps:
            kept = theirs._data  # noqa: SLF001  # a delete of nothing leaves an empty one there
            for namespace in [each for each, items in kept.items() if not items]:
                del kept[namespace]
            assert answer(ours, step) == answer(theirs, step), step


def test_a_delete_retires_and_a_later_put_makes_a_new_note(memory: Memory) -> None:
    store = NoteStore(memory, actor="agent:graph")
    store.put(("a",), "k", {"n": 1})
    store.delete(("a",), "k")
    assert store.get(("a",), "k") is None
    assert store.search(()) == []
    store.put(("a",), "k", {"n": 2})

    item = store.get(("a",), "k")
    assert item is not None
    assert item.value == {"n": 2}
    assert len(memory.read(named.RETIRED).links) == 1
    assert {event.actor for event in memory.events()} == {"agent:graph"}
    store.delete(("a",), "nothing")
    assert len(memory.notes()) == 3


def test_a_query_is_memlogs_search_within_the_namespace(memory: Memory) -> None:
    store = NoteStore(memory)
    store.put(("u", "1"), "tea", {"text": "likes green tea", "n": 1})
    store.put(("u", "2"), "tea", {"text": "likes black tea", "n": 2})
    store.put(("u", "1"), "secret", {"text": "green tea, unlisted"}, index=False)
    memory.write(title="green tea", body="no item of this store")

    found = store.search(("u",), query="green tea")
    assert [(item.namespace, item.key) for item in found] == [
        (("u", "1"), "tea"),
        (("u", "2"), "tea"),
    ]
    assert found[0].score is not None
    assert found[1].score is not None
    assert found[0].score > found[1].score
    assert [item.key for item in store.search(("u", "2"), query="green tea")] == ["tea"]
    assert store.search(("u",), query="tea", filter={"n": {"$gt": 1}})[0].namespace == ("u", "2")
    assert len(store.search(("u",), query="tea", limit=1, offset=1)) == 1
    assert len(store.search(("u",))) == 3


def test_a_batch_reads_first_and_its_last_put_counts(memory: Memory) -> None:
    store = NoteStore(memory)
    found = store.batch(
        [
            PutOp(("a",), "k", {"n": 1}),
            SearchOp(("a",)),
            PutOp(("a",), "k", {"n": 2}),
        ]
    )

    assert found == [None, [], None]
    assert [event.payload.body for event in memory.events()] == ['{"n": 2}']  # type: ignore[union-attr]


def test_a_value_that_is_no_json_writes_nothing(memory: Memory) -> None:
    store = NoteStore(memory)
    for value in ({"x": object()}, {"x": float("nan")}, {"x": "y" * 40_000}):
        with pytest.raises(InvalidRequestError):
            store.batch([PutOp(("a",), "good", {"n": 1}), PutOp(("a",), "bad", value)])
    with pytest.raises(NotImplementedError):
        store.put(("a",), "k", {"n": 1}, ttl=5)

    assert memory.notes() == []


@pytest.mark.parametrize(("namespace", "key"), [(("a", "\ud800"), "k"), (("a",), "\ud800")])
def test_a_name_that_is_no_unicode_is_refused(
    memory: Memory, namespace: tuple[str, ...], key: str
) -> None:
    store = NoteStore(memory)
    with pytest.raises(InvalidRequestError, match="lone surrogates"):
        store.put(namespace, key, {"n": 1})
    with pytest.raises(InvalidRequestError, match="lone surrogates"):
        store.get(namespace, key)


def test_equal_values_append_nothing(memory: Memory) -> None:
    store = NoteStore(memory)
    for value in ({"a": 1, "b": 2}, {"b": 2, "a": 1}):
        store.put(("a",), "k", value)

    assert len([*memory.events()]) == 1


def test_what_others_wrote_is_no_item_and_no_harm(memory: Memory) -> None:
    store = NoteStore(memory)
    store.put(("a",), "k", {"n": 1})
    memory.write(title="liar", body="{}", extra={"namespace": '["a"]', "key": "k"})
    memory.write(title="broken", body="{}", extra={"namespace": "[", "key": "k"})
    slug = next(note.slug for note in memory.notes() if note.title == "k")
    note = memory.read(slug).note
    memory.write(title="k", body="plain", slug=slug, extra=note.extra)

    assert [item.value for item in store.search(())] == [{"text": "plain"}]
    assert store.list_namespaces() == [("a",)]


class State(TypedDict):
    """What the graph carries."""

    seen: list[str]


def test_a_graph_remembers_through_it(memory: Memory) -> None:
    def remember(state: State, *, store: BaseStore) -> State:
        before = store.search(("facts",), query="tea")
        store.put(("facts",), f"f{len(before)}", {"text": f"tea {len(before)}"})
        return {"seen": state["seen"] + [item.key for item in before]}

    builder = StateGraph(State)
    builder.add_node("remember", remember)
    builder.add_edge(START, "remember")
    builder.add_edge("remember", END)
    graph = builder.compile(store=NoteStore(memory))

    graph.invoke({"seen": []})
    second = asyncio.run(graph.ainvoke({"seen": []}))

    assert second["seen"] == ["f0"]
    assert {note.body for note in memory.notes()} == {'{"text": "tea 0"}', '{"text": "tea 1"}'}
