"""Memories of mem0, as its `get_all` gives them: a list, `{"results": [...]}`, or JSON Lines.

    {"id": "…", "memory": "Takes tea at four.", "user_id": "…", "categories": ["habits"],
     "metadata": {…}, "created_at": "…", "updated_at": "…"}

The id is what a memory is the same by, so that a later list rewrites what an earlier one gave, from
whatever file. `hash` and `score` are not kept: the first is of the text, the second of a search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memlog.exchange import placing
from memlog.exchange.folders import Content
from memlog.exchange.items import Item, Parsed, Told
from memlog.exchange.placing import Extra
from memlog.exchange.records import Record

_LEFT_OUT = ("hash", "score")


def is_memory(fields: Mapping[str, Any]) -> bool:
    """Tell whether a record is a memory of mem0."""
    return isinstance(fields.get("memory"), str) and fields.get("id") not in (None, "")


def parse(content: Content, records: Sequence[Record]) -> Parsed:
    """Return what the memories of one file give."""
    items: list[Item] = []
    refused: list[Told] = []
    remarks: list[Told] = []
    for record in records:
        if not is_memory(record.fields):
            reason = "it is no memory: it needs an id and the text `memory`"
        elif not record.fields["memory"].strip():
            reason = "its text is empty"
        else:
            items.append(_item(content, record, remarks))
            continue
        refused.append(Told(file=content.file, line=record.line, reason=reason))
    return Parsed(
        file=content.file,
        items=tuple(items),
        closed=True,
        refused=tuple(refused),
        remarks=tuple(remarks),
        texts=len(items),
    )


def _item(content: Content, record: Record, remarks: list[Told]) -> Item:
    def remark(sentence: str) -> None:
        remarks.append(Told(file=content.file, line=record.line, reason=sentence))

    rest = {key: value for key, value in record.fields.items() if key not in _LEFT_OUT}
    extra = Extra(remark)
    identity, text = str(rest.pop("id")), placing.clean(str(rest.pop("memory")))
    source = placing.times(rest, ("created_at",), ("updated_at",), remark)
    for key in ("created_at", "updated_at"):
        if key in source:
            del rest[key]
    categories = rest.pop("categories", None)
    labels = [each for each in categories or [] if isinstance(each, str)]
    topics = placing.topics(labels, extra, remark)
    extra.add("mem0_id", identity)
    for key, value in rest.items():
        extra.add(key, value)
    title = placing.title(placing.first_words(text), extra, remark)
    source["artifact"] = placing.cut(content.file, 1_000)
    return Item(
        identity=f"mem0\n{placing.clean(identity)}",
        line=record.line,
        title=title,
        body=text,
        topics=topics,
        source=source,
        extra=extra.strings,
    )
