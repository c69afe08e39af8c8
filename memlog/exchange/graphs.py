"""Knowledge graphs of the MCP memory server, and what others write that looks much like one.

    {"type": "entity", "name": "Kettle", "entityType": "thing", "observations": ["Boils."]}
    {"type": "relation", "from": "Kettle", "to": "Kitchen", "relationType": "stands in"}

An entity becomes a note: its name the title, its type a topic, its observations a list. A relation
becomes a `related` link with its type as label. Also read: the same without `type`, under the keys
of the variants below, as one object with `entities` and `relations`, with observations that are
objects with a text and a time, and records that are only a text. The file is one source: all of it
comes in or nothing. An entity that is there twice is one note; a relation to an entity that is not
there stays with the one that is, in `extra`; those between two that are not there become one note.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import PurePosixPath
from typing import Any

import msgspec

from memlog.exchange import placing
from memlog.exchange.folders import Content
from memlog.exchange.items import Item, Parsed, Reference, Told, sole
from memlog.exchange.placing import Extra, Remark
from memlog.exchange.records import Record
from memlog.fields import SOURCE_TEXT_BYTES_MAX
from memlog.text import byte_length

_NAMES = ("name", "entityName", "entity_name", "id")
_KINDS = ("entityType", "entity_type")
_FROM = ("from", "from_id", "fromEntity", "from_entity", "source")
_TO = ("to", "to_id", "toEntity", "to_entity", "target")
_RELATIONS = ("relationType", "relation_type", "relation", "label", "type")
_TEXTS = ("text", "content", "observation", "memory", "note", "body", "value")
_TITLES = ("title", "name", "key", "id")
_CREATED = ("createdAt", "created_at", "created", "_savedAt", "timestamp", "date", "time")
_UPDATED = ("updatedAt", "updated_at", "updated", "modified", "timestamp")

Value = Mapping[str, Any]


class _Entity(msgspec.Struct, kw_only=True):
    """What all records of one name say together."""

    name: str
    line: int
    kinds: list[str] = msgspec.field(default_factory=list)
    observations: dict[str, None] = msgspec.field(default_factory=dict)
    times: list[str] = msgspec.field(default_factory=list)
    rest: dict[str, Any] = msgspec.field(default_factory=dict)
    dangling: list[list[str]] = msgspec.field(default_factory=list)
    relation_facts: list[dict[str, Any]] = msgspec.field(default_factory=list)


class _Relation(msgspec.Struct, frozen=True, kw_only=True):
    line: int
    start: str
    end: str
    name: str
    rest: dict[str, Any]


def parse(content: Content, records: Sequence[Record]) -> Parsed:
    """Return what the records of one file give."""
    reading = _Reading(content)
    for record in records:
        reading.add(record)
    return reading.parsed()


def _first(value: Value, keys: Iterable[str]) -> str | None:
    """Return the first of these keys that holds a text."""
    return next((key for key in keys if isinstance(value.get(key), str) and value[key]), None)


class _Reading:
    """One file while it is read."""

    def __init__(self, content: Content) -> None:
        self._content = content
        self._entities: dict[str, _Entity] = {}
        self._relations: list[_Relation] = []
        self._texts: list[Record] = []
        self._orphans: list[_Relation] = []
        self._refused: list[Told] = []
        self._remarks: list[Told] = []
        self._entity_count = self._observation_count = 0

    def add(self, record: Record) -> None:
        """Take one record for what it looks most like."""
        value = record.fields
        if _is_relation(value):
            self._relations.append(_relation(record))
        elif _is_entity(value):
            self._add_entity(record)
        elif _first(value, _TEXTS):
            self._texts.append(record)
        else:
            keys = ascii(", ".join(sorted(value)[:6])) if value else "nothing"
            reason = f"it is no entity, relation or text that is understood (it has {keys})"
            self._refused.append(self._told(record.line, reason))

    def _told(self, line: int, reason: str) -> Told:
        return Told(file=self._content.file, line=line, reason=reason)

    def _remark(self, line: int) -> Remark:
        return lambda reason: self._remarks.append(self._told(line, reason))

    # --- Entities

    def _add_entity(self, record: Record) -> None:
        rest = dict(record.fields)
        name = str(rest.pop(_first(rest, _NAMES) or ""))
        if rest.get("type") == "entity":
            del rest["type"]
        kind = _first(rest, (*_KINDS, "type"))
        kinds = [] if kind is None else [str(rest.pop(kind))]
        given = rest.pop("observations", None)
        observations = given if isinstance(given, list) else [] if given is None else [given]
        self._entity_count += 1
        self._observation_count += len(observations)
        entity = self._entities.get(name)
        if entity is None:
            entity = self._entities[name] = _Entity(name=name, line=record.line)
        else:
            sentence = f"the entity of line {entity.line} again; both became one note"
            self._remark(record.line)(sentence)
        entity.kinds.extend(kinds)
        for key, value in rest.items():
            if entity.rest.setdefault(key, value) != value:
                entity.rest[f"{key} (line {record.line})"] = value
        self._add_observations(entity, observations, record.line)

    def _add_observations(self, entity: _Entity, observations: list[Any], line: int) -> None:
        facts: list[dict[str, Any]] = []
        for each in observations:
            words, when, rest = _observation(each)
            if not words.strip():
                self._remark(line)("an empty observation was left out")
                continue
            if when is not None:
                entity.times.append(when)
                words = f"{words} ({when})"
            facts.append(rest)
            entity.observations.setdefault(placing.clean(words))
        for key in sorted(set(chain.from_iterable(facts))):
            values = [placing.plain_text(rest.get(key)) or "" for rest in facts]
            entity.rest[f"observations: {key}"] = sole(values) or values

    # --- The file as a whole

    def parsed(self) -> Parsed:
        """Return what all records give together."""
        references = [self._reference(each) for each in self._relations]
        named = (record.fields.get("type") for record in self._texts)
        kinds = Counter(kind for kind in named if isinstance(kind, str))
        items = [
            *(self._entity_item(each) for each in self._entities.values()),
            *(self._text_item(each, kinds) for each in self._texts),
            *([self._orphans_item()] if self._orphans else []),
        ]
        return Parsed(
            file=self._content.file,
            items=tuple(items),
            references=tuple(each for each in references if each is not None),
            closed=True,
            refused=tuple(self._refused),
            remarks=tuple(self._remarks),
            entities=self._entity_count,
            texts=len(self._texts),
            observations=self._observation_count,
            relations=len(self._relations),
        )

    def _reference(self, relation: _Relation) -> Reference | None:
        start, end = self._entities.get(relation.start), self._entities.get(relation.end)
        holder = start or end
        if holder is None:
            self._orphans.append(relation)
            return None
        words = [relation.start, relation.name, relation.end]
        if start is None or end is None or start is end:
            holder.dangling.append(words)
            missing = relation.start if start is None else relation.end
            why = f"there is no entity {missing!a}" if start is not end else "it leads to itself"
            self._remark(relation.line)(f"a relation was kept in extra: {why}")
            return None
        label = placing.label(relation.name)
        if relation.rest or label != (relation.name or None):
            facts = {"to": relation.end, "relation": relation.name, **relation.rest}
            holder.relation_facts.append(facts)
        return Reference(
            identity=self._identity(relation.start),
            line=relation.line,
            name=relation.end,
            label=label,
            told=True,
        )

    def _identity(self, name: str) -> str:
        return f"entity\n{self._content.identity}\n{placing.clean(name)}"

    def _entity_item(self, entity: _Entity) -> Item:
        remark = self._remark(entity.line)
        extra = Extra(remark)
        source = placing.times(entity.rest, _CREATED, _UPDATED, remark)
        if entity.times and "created_at" not in source:
            source["created_at"], source["updated_at"] = min(entity.times), max(entity.times)
        for name in ("dangling", "relation_facts"):
            found = getattr(entity, name)
            if found:
                extra.add(name, found)
        title = placing.title(placing.clean(entity.name), extra, remark)
        topics = placing.topics(dict.fromkeys(entity.kinds), extra, remark)
        _add_rest(extra, entity.rest, source)
        bullets = [f"- {each.replace(chr(10), chr(10) + '  ')}" for each in entity.observations]
        return Item(
            identity=self._identity(entity.name),
            line=entity.line,
            title=title,
            body="\n".join(bullets) or title,
            topics=topics,
            source={**source, **_artifact(self._content, extra)},
            extra=extra.strings,
            names=(entity.name,),
        )

    def _orphans_item(self) -> Item:
        """Return a note of the relations that no note of the file can carry."""
        line = self._orphans[0].line
        reason = f"{len(self._orphans)} relations between what is not in the file became one note"
        self._remark(line)(reason)
        remark = self._remark(line)
        extra = Extra(remark)
        stem = PurePosixPath(self._content.file).stem
        lines = [f"- {each.start}: {each.name}: {each.end}" for each in self._orphans]
        facts = [each.rest for each in self._orphans if each.rest]
        if facts:
            extra.add("relation_facts", facts)
        return Item(
            identity=f"orphans\n{self._content.identity}",
            line=line,
            title=placing.title(f"Relations without entities in {stem}", extra, remark),
            body=placing.clean("\n".join(lines)),
            source=_artifact(self._content, extra),
            extra=extra.strings,
        )

    def _text_item(self, record: Record, kinds: Counter[str]) -> Item:
        rest, remark = dict(record.fields), self._remark(record.line)
        extra = Extra(remark)
        text = placing.clean(str(rest.pop(_first(rest, _TEXTS) or "")))
        source = placing.times(rest, _CREATED, _UPDATED, remark)
        kind = rest.pop("type", None)
        named = _first(rest, _TITLES)
        given = str(rest.pop(named)) if named else None
        if given is None and isinstance(kind, str) and kinds[kind] == 1:
            given = kind
        title = placing.title(placing.clean(given or placing.first_words(text)), extra, remark)
        topics = placing.topics([kind] if isinstance(kind, str) else [], extra, remark)
        _add_rest(extra, rest, source)
        return Item(
            identity=f"text\n{self._content.identity}\n{title if given else text}",
            line=record.line,
            title=title,
            body=text,
            topics=topics,
            source={**source, **_artifact(self._content, extra)},
            extra=extra.strings,
            names=(title,),
        )


def _add_rest(extra: Extra, rest: Value, source: Mapping[str, str]) -> None:
    """Keep what has no place of its own; times that the source holds have one."""
    for key, value in rest.items():
        is_time = key in {*_CREATED, *_UPDATED}
        if not (is_time and placing.moment(value, lambda _: None) in source.values()):
            extra.add(key, value)


def _is_relation(value: Value) -> bool:
    return _first(value, _FROM) is not None and _first(value, _TO) is not None


def _is_entity(value: Value) -> bool:
    marks = ("observations", *_KINDS)
    is_marked = value.get("type") == "entity" or any(key in value for key in marks)
    return is_marked and _first(value, _NAMES) is not None


def _relation(record: Record) -> _Relation:
    rest = dict(record.fields)
    start, end = str(rest.pop(_first(rest, _FROM) or "")), str(rest.pop(_first(rest, _TO) or ""))
    if rest.get("type") == "relation":
        del rest["type"]
    kind = _first(rest, _RELATIONS)
    name = "" if kind is None else str(rest.pop(kind))
    return _Relation(line=record.line, start=start, end=end, name=name, rest=rest)


def _observation(value: object) -> tuple[str, str | None, dict[str, Any]]:
    """Return an observation's words, its time, and what else it says."""
    if not isinstance(value, dict):
        return placing.plain_text(value) or "", None, {}
    rest = dict(value)
    key = _first(rest, _TEXTS)
    if key is None:
        return placing.plain_text(value) or "", None, {}
    words = str(rest.pop(key))
    when = next((name for name in _CREATED if rest.get(name) is not None), None)
    moment = None if when is None else placing.moment(rest[when], lambda _: None)
    if when is not None and moment is not None:
        del rest[when]
    return words, moment, rest


def _artifact(content: Content, extra: Extra) -> dict[str, str]:
    if byte_length(content.file) <= SOURCE_TEXT_BYTES_MAX:
        return {"artifact": content.file}
    extra.add("path", content.file)
    return {}
