"""The JSON values of a file, each with the line that it begins on: one document, or JSON Lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from memlog.exchange.folders import Content
from memlog.exchange.items import FileRefusedError

SUFFIXES = (".json", ".jsonl", ".ndjson")


class Record(NamedTuple):
    """One JSON object and its line, from 1."""

    line: int
    fields: dict[str, Any]


class Document(NamedTuple):
    """What a file holds.

    Attributes:
        records: its objects: those of its lines, of its list, or of the lists in its one object.
        whole: its one object, when it is one that is not a record itself; else None.
    """

    records: list[Record]
    whole: dict[str, Any] | None


_LISTS = ("entities", "relations", "results", "memories", "nodes", "edges", "items")


def read(content: Content) -> Document:
    """Return the records of a file.

    Raises:
        FileRefusedError: a line is no JSON, or no object; names the line.
    """
    value = _document(content)
    if value is None:
        return Document(list(_lines(content)), None)
    if isinstance(value, list):
        return Document(list(_placed(content, value)), None)
    lists = [value[name] for name in _LISTS if isinstance(value.get(name), list)]
    if not lists:
        return Document([Record(1, value)], value)
    return Document([each for found in lists for each in _placed(content, found)], value)


def _document(content: Content) -> Any:  # noqa: ANN401  # whatever JSON holds
    """Return the file's one value, or None when it is lines of values."""
    stripped = content.text.strip()
    if not stripped:
        raise FileRefusedError(content.file, 1, "it is empty")
    first = stripped.partition("\n")[0]
    try:
        value = _decoded(content.text)
    except _LineError as error:
        if "\n" in stripped and _is_json(first):
            return None
        reason = f"it is no JSON: {error.problem}"
        raise FileRefusedError(content.file, error.line, reason) from None
    if not isinstance(value, dict | list):
        raise FileRefusedError(content.file, 1, "it holds no JSON object or list")
    return value


def _is_json(line: str) -> bool:
    try:
        _decoded(line)
    except _LineError:
        return False
    return True


def _lines(content: Content) -> Iterator[Record]:
    for number, line in enumerate(content.text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = _decoded(line)
        except _LineError as error:
            reason = f"this line is no JSON ({error.problem}); mend it, and import the file again"
            raise FileRefusedError(content.file, number, reason) from None
        if not isinstance(value, dict):
            raise FileRefusedError(content.file, number, "this line is no JSON object")
        yield Record(number, value)


def _placed(content: Content, values: list[Any]) -> Iterator[Record]:
    """Yield the objects of a list; the line is where the first of an object's strings stands."""
    position = line = 0
    for value in values:
        if not isinstance(value, dict):
            raise FileRefusedError(content.file, line + 1, "a list in it holds more than objects")
        telling: str | None = next(
            (each for each in value.values() if isinstance(each, str) and each), None
        )
        found = -1 if telling is None else _place(content.text, telling, position)
        if found >= 0:
            line += content.text.count("\n", position, found)
            position = found
        yield Record(line + 1, value)


def _place(text: str, string: str, start: int) -> int:
    """Return where a JSON string stands, escaped or not; -1 when it is written otherwise."""
    needles = (json.dumps(string, ensure_ascii=each) for each in (False, True))
    return max(text.find(needle, start) for needle in needles)


class _LineError(Exception):
    def __init__(self, line: int, problem: str) -> None:
        super().__init__(line, problem)
        self.line, self.problem = line, problem


def _decoded(text: str) -> Any:  # noqa: ANN401  # whatever JSON holds
    try:
        return json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise _LineError(error.lineno, error.msg) from None
    except RecursionError:
        raise _LineError(1, "it is nested too deeply") from None
    except ValueError as error:  # A number of thousands of digits, or one of ours.
        raise _LineError(1, str(error).partition(";")[0][:80]) from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("an object repeats a key")
    return members


def _no_constant(name: str) -> None:
    problem = f"{name} is no number of JSON"
    raise ValueError(problem)
