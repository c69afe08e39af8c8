"""The JSON values of a file, each with the line that it begins on: one document, or JSON Lines."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from memlog.exchange.folders import Content
from memlog.exchange.items import FileRefusedError

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\]]')
SUFFIXES = (".json", ".jsonl", ".ndjson")


class Record(NamedTuple):
    """One JSON object and its line, from 1."""

    line: int
    fields: dict[str, Any]


_LISTS = ("entities", "relations", "results", "memories", "nodes", "edges", "items")


def read(content: Content) -> list[Record]:
    """Return the objects of a file: of its lines, of its list, or of the lists in its one object.

    An object without such lists is the one record.

    Raises:
        FileRefusedError: a line is no JSON, or no object; names the line.
    """
    value = _document(content)
    if value is None:
        return list(_lines(content))
    lines = _lines_of(content.text)
    if isinstance(value, list):
        return list(_placed(content, value, lines[""]))
    lists = [name for name in _LISTS if isinstance(value.get(name), list)]
    if not lists:
        return [Record(1, value)]
    placed = (_placed(content, value[name], lines[name]) for name in lists)
    return list(chain.from_iterable(placed))


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


def _placed(content: Content, values: list[Any], lines: Iterable[int]) -> Iterator[Record]:
    """Yield the objects of a list, each with the line on which it begins."""
    begins = iter(lines)
    line = 1
    for value in values:
        if not isinstance(value, dict):
            raise FileRefusedError(content.file, line, "a list in it holds more than objects")
        line = next(begins)
        yield Record(line, value)


def _lines_of(text: str) -> dict[str, list[int]]:
    """Return the line of each object in the lists of a JSON document; costs one pass.

    By the name of the list in the document's one object; "" when the document is a list itself.
    """
    found: defaultdict[str, list[int]] = defaultdict(list)
    above: list[str] = []
    name, line, counted = "", 1, 0
    for token in _TOKEN.finditer(text):
        mark, start = token[0][0], token.start()
        if mark == '"':
            name = token[0] if above == ["{"] else name
        elif mark in "}]":
            above.pop()
        else:
            if mark == "{" and above in (["["], ["{", "["]):
                line += text.count("\n", counted, start)
                counted = start
                found[json.loads(name) if name else ""].append(line)
            above.append(mark)
    return found


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
