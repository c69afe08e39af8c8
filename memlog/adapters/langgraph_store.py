"""LangGraph's `BaseStore` over the notes of one scope; needs the extra `langgraph`.

    from memlog.adapters.langgraph_store import NoteStore

    store = NoteStore(log.scope("owner", "alice"), actor="agent:graph")
    graph = builder.compile(store=store)

A store serves one scope, which says who may see what; a namespace is an order within it, no wall.
Give each user a store of their own, or the users' ids are only names in a shared scope.

| LangGraph | memlog |
|---|---|
| item | a note, whose slug follows from namespace and key |
| namespace | `extra.namespace`, a JSON list; its parts are topics if they fit |
| key | the title, and `extra.key` |
| value | the body, as JSON |
| `created_at`, `updated_at` | the note's `created_at` and `written_at` |
| `put` | a write; of an equal value it appends nothing |
| `delete` | retires: the scope's note `retired` supersedes it; a new `put` makes a new note |
| `search(query=…)` | memlog's search, then the filter; `score` is its score |
| `index=False` | not found by a query, but listed |
| `ttl` | refused, as by every store without it: a log forgets nothing |

Notes that were not put through here are not items. In one batch all reads see the store before the
writes, and the last write of a key counts, as in LangGraph's own stores; the writes are one
transaction. Values are data that some model wrote: what of them goes into a prompt is for the graph
to wrap (`memlog.wrap`, or `defuse.defuse`).
"""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from langgraph.store.base import (
    BaseStore,
    GetOp,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)

from memlog import requests
from memlog.adapters import named
from memlog.errors import InvalidRequestError
from memlog.fields import TITLE_BYTES_MAX, TOPIC_CHARACTERS_MAX, TOPICS_MAX
from memlog.note import Note
from memlog.requests import Origin
from memlog.text import byte_length, has_lone_surrogate, normalize_topics
from memlog.together import Together, together

if TYPE_CHECKING:
    from memlog.memory import Memory

_NAMESPACE, _KEY, _UNINDEXED = "namespace", "key", "unindexed"
_PAGE_NOTES = 500
_SEARCHED_MIN = 50
_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": lambda found, wanted: float(found) > float(wanted),
    "$gte": lambda found, wanted: float(found) >= float(wanted),
    "$lt": lambda found, wanted: float(found) < float(wanted),
    "$lte": lambda found, wanted: float(found) <= float(wanted),
}

Namespace = tuple[str, ...]


class NoteStore(BaseStore):
    """The notes of one scope as LangGraph's long-term memory. Safe to share between threads."""

    __slots__ = ("_bytes_max", "_memory", "_origin")

    def __init__(
        self, memory: Memory, *, actor: str | None = None, conversation_id: str | None = None
    ) -> None:
        """Serve the notes of `memory`; actor and conversation are kept with every write."""
        self._memory = memory.guarded()
        self._origin = Origin(actor=actor, conversation_id=conversation_id)
        self._bytes_max = memory._settings.max_body_bytes  # noqa: SLF001  # an edge of ours

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do operations: reads first, then the writes in one transaction; results in order.

        Raises:
            InvalidRequestError: a value is no JSON, or too large for a note; nothing was written.
            RetryError, DamageError: as for `Memory.write`.
        """
        puts: dict[tuple[Namespace, str], PutOp] = {}
        results: list[Result] = []
        for op in ops:
            match op:
                case GetOp():
                    note = self._find(tuple(op.namespace), op.key).note
                    results.append(None if note is None else _item(note))
                case SearchOp():
                    results.append(self._search(op))
                case ListNamespacesOp():
                    results.append(self._namespaces(op))
                case PutOp():
                    puts[tuple(op.namespace), op.key] = op
                    results.append(None)
        if puts:
            self._put_all(puts)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do operations in a thread; see `batch`."""
        return await asyncio.to_thread(self.batch, list(ops))

    # --- Writing

    def _put_all(self, puts: Mapping[tuple[Namespace, str], PutOp]) -> None:
        with together(self._memory) as opened:
            for (namespace, key), op in puts.items():
                found = named.find(opened.note, _name(namespace, key))
                if op.value is not None:
                    self._put(opened, found.slug, op)
                elif found.note is not None:
                    slugs = (found.note.slug,)
                    named.retire(opened, slugs, self._origin, max_body_bytes=self._bytes_max)

    def _put(self, opened: Together, slug: str, op: PutOp) -> None:
        extra = {_NAMESPACE: _json(list(op.namespace)), _KEY: op.key}
        if op.index is False:
            extra[_UNINDEXED] = "true"
        topics = [t for t in normalize_topics(op.namespace) if len(t) <= TOPIC_CHARACTERS_MAX]
        request = requests.write(
            title=_title(op.key),
            body=_json(op.value),
            topics=topics[:TOPICS_MAX],
            slug=slug,
            extra=extra,
            max_body_bytes=self._bytes_max,
        )
        opened.write(request, self._origin)

    # --- Reading

    def _find(self, namespace: Namespace, key: str) -> named.Named:
        return named.find(self._memory.get, _name(namespace, key))

    def _search(self, op: SearchOp) -> list[SearchItem]:
        wanted = op.offset + op.limit
        found: list[SearchItem] = []
        for item in self._candidates(op):
            if len(found) >= wanted:
                break
            if _fits(item.value, op.filter or {}):
                found.append(item)
        return found[op.offset :]

    def _candidates(self, op: SearchOp) -> Iterator[SearchItem]:
        prefix = tuple(op.namespace_prefix)
        if op.query is None or not op.query.strip():
            for note in self._notes():
                if _is_below(note, prefix):
                    yield _item(note)
            return
        limit, seen = max(_SEARCHED_MIN, op.offset + op.limit), 0
        while True:
            hits = self._memory.search(op.query, limit=limit)
            for hit in hits[seen:]:
                found = self._memory.get(hit.slug)
                if found is not None and _is_below(found, prefix) and _is_indexed(found):
                    yield _item(found, score=hit.score)
            if len(hits) < limit:
                return
            limit, seen = limit * 4, len(hits)

    def _notes(self) -> Iterator[Note]:
        """Yield the notes that are items, the last written first."""
        before = None
        while page := self._memory.notes(limit=_PAGE_NOTES, before=before, live_only=True):
            yield from (note for note in page if _namespace(note) is not None)
            before = page[-1].written_seq

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        found = {namespace for note in self._notes() if (namespace := _namespace(note)) is not None}
        conditions = op.match_conditions or ()
        fitting = (each for each in found if all(_matches(each, rule) for rule in conditions))
        cut = {each if op.max_depth is None else each[: op.max_depth] for each in fitting}
        return sorted(cut)[op.offset : op.offset + op.limit]


def _name(namespace: Namespace, key: str) -> str:
    """Return the one name of an item, from which its slug follows.

    Raises:
        InvalidRequestError: it is no valid Unicode.
    """
    name = _json([*namespace, key])
    if has_lone_surrogate(name):
        raise InvalidRequestError("key", name, "give valid Unicode, without lone surrogates")
    return name


def _json(value: object) -> str:
    """Return a value of JSON types as JSON.

    Raises:
        InvalidRequestError: it holds something that JSON does not know.
    """
    import json

    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequestError("value", value, f"give JSON: {error}") from None


def _title(key: str) -> str:
    title = " ".join(key.split()) or "item"
    if byte_length(title) <= TITLE_BYTES_MAX:
        return title
    return title.encode()[:TITLE_BYTES_MAX].decode(errors="ignore")


def _namespace(note: Note) -> Namespace | None:
    """Return the namespace of an item; None for a note that is none, whatever it claims."""
    kept, key = note.extra.get(_NAMESPACE), note.extra.get(_KEY)
    if kept is None or key is None:
        return None
    try:
        namespace = tuple(msgspec.json.decode(kept, type=list[str]))
    except msgspec.DecodeError:
        return None
    return namespace if named.leads_to(_name(namespace, key), note.slug) else None


def _is_indexed(note: Note) -> bool:
    return _UNINDEXED not in note.extra


def _is_below(note: Note, prefix: Namespace) -> bool:
    namespace = _namespace(note)
    return namespace is not None and namespace[: len(prefix)] == prefix


def _item(note: Note, *, score: float | None = None) -> SearchItem:
    return SearchItem(
        namespace=_namespace(note) or (),
        key=note.extra[_KEY],
        value=_value(note),
        created_at=note.created_at,
        updated_at=note.written_at,
        score=score,
    )


def _value(note: Note) -> dict[str, Any]:
    """Return an item's value; a note that was rewritten elsewhere as plain text is one text."""
    try:
        return msgspec.json.decode(note.body, type=dict[str, Any])
    except msgspec.DecodeError:
        return {"text": note.body}


def _fits(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(_compares(value.get(key), rule) for key, rule in wanted.items())


def _compares(found: Any, rule: Any) -> bool:  # noqa: ANN401  # whatever JSON holds
    """Compare as LangGraph's own stores do: operators, nested mappings, lists, equality."""
    if isinstance(rule, Mapping):
        if any(str(name).startswith("$") for name in rule):
            return all(_operate(found, str(name), wanted) for name, wanted in rule.items())
        return isinstance(found, Mapping) and _fits(found, rule)
    if isinstance(rule, list | tuple):
        same_size = isinstance(found, list | tuple) and len(found) == len(rule)
        return same_size and all(map(_compares, found, rule))
    return bool(found == rule)


def _operate(found: Any, name: str, wanted: Any) -> bool:  # noqa: ANN401  # as _compares
    if name not in _OPERATORS:
        raise InvalidRequestError("filter", name, f"use one of {', '.join(_OPERATORS)}")
    try:
        return bool(_OPERATORS[name](found, wanted))
    except (TypeError, ValueError):  # No number: as in LangGraph's stores it fits nothing.
        return False


def _matches(namespace: Namespace, rule: MatchCondition) -> bool:
    path = tuple(rule.path)
    if len(path) > len(namespace):
        return False
    part = namespace[: len(path)] if rule.match_type == "prefix" else namespace[-len(path) :]
    return not path or all(wanted in ("*", found) for wanted, found in zip(path, part, strict=True))
