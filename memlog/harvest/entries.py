"""What a compaction cuts, made fit to be stored: plain JSON, masked, at most a megabyte. Pure.

    {"system": "You are ..." | null, "entries": [{"role": "user", "content": "..."}, ...]}

A string that is the JSON of an object or a list, such as the arguments of a tool call, becomes that
object or list. The newest entries are kept when there is no room for all, and the start of one that
is too long. A secret is masked in the whole text before anything is cut, so that no half of one is
left.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from memlog.harvest.masking import mask, placeholder
from memlog.harvest.pattern import Pattern
from memlog.harvest.patterns import PATTERNS, is_secret_name

BYTES_MAX = 1_000_000
_SYSTEM_CHARACTERS_MAX = 100_000
_DEPTH_MAX = 32
_CUT_OFF_CHARACTERS = 8_192  # No secret is longer, but for a private key, which has no end then.
_NAME_CHARACTERS_MAX = 20_000
_LABEL_CHARACTERS_MAX = 200
_LABELS = frozenset({"name", "key", "label", "field", "selector", "variable"})
_LABELLED = frozenset({"value", "text", "input", "default"})
_KUBERNETES_VALUES = frozenset({"data", "stringData"})
_PAIR = 2
_VALUE_COST = 8  # Characters that a value counts for, so that a million empty ones end, too.
_NUMBER_END = 10**6  # Longer ones are masked as text: a number may be a secret, too.
_LEFT_OUT = "[left out]"
_CUT = "\0cut"
_SEPARATOR = "\n" * 6 + "\0" + "\n" * 6  # Strings have no NUL, and no pattern goes over this.
# Images and other files inside a message: nothing that a model could find a fact in.
_ENCODED = re.compile(r"(?<![A-Za-z0-9/+=_-])[A-Za-z0-9+/_=-]{1000,}+")

_Item = TypeVar("_Item")


class Transcript(msgspec.Struct, frozen=True, kw_only=True):
    """Entries as the queue keeps them.

    Attributes:
        document: the JSON document.
        sha256: its SHA-256, hex.
        masked: number of masked secrets, by kind.
        left_out: number of entries for which there was no room.
    """

    document: str
    sha256: str
    masked: dict[str, int]
    left_out: int


def transcript(
    entries: Sequence[Any],
    *,
    system: str | None = None,
    patterns: Sequence[Pattern] = PATTERNS,
) -> Transcript:
    """Return entries of any shape as a masked document of at most `BYTES_MAX` bytes.

    Costs a pass over the newest megabyte for each pattern.

    Args:
        entries: messages as the loop has them, oldest first: strings, mappings, objects.
        system: the system prompt, if the entries do not hold it.
        patterns: what is a secret.
    """
    reader = _Reader()
    newest = list(_newest(entries, reader))
    head = None if system is None else _cut(system, _SYSTEM_CHARACTERS_MAX)
    (clean_head, *clean), counts = _masked([head, *newest], patterns)
    document, kept = _document(clean_head, clean)
    return Transcript(
        document=document.decode(),
        sha256=hashlib.sha256(document).hexdigest(),
        masked=dict(sorted((counts + reader.named).items())),
        left_out=len(entries) - kept,
    )


def canonical(entries: Sequence[Any]) -> str:
    """Return what the queue would keep of entries, before masking: the same text for the same.

    Neither the order of fields nor the depth matters, and no entry is changed or stored.
    """
    return msgspec.json.encode([*_newest(entries, _Reader())], order="deterministic").decode()


def _newest(entries: Sequence[Any], reader: _Reader) -> Iterator[object]:
    """Yield entries as plain JSON, the newest first, for as long as there may be room."""
    for entry in reversed(entries):
        if reader.room < 0:
            return
        yield reader.plain(entry)


def _document(head: object, newest: Sequence[object]) -> tuple[bytes, int]:
    """Return the document, and for how many of the entries it has room."""
    kept: list[bytes] = []
    frame = b'{"system":%b,"entries":[%b]}'
    room = BYTES_MAX - len(frame % (_encoded(head), b""))
    for entry in newest:
        encoded = _encoded(entry)
        if len(encoded) > room:
            if kept:
                break
            encoded = _encoded(_start(encoded, room))
        room -= len(encoded) + 1
        kept.append(encoded)
    return frame % (_encoded(head), b",".join(reversed(kept))), len(kept)


def _encoded(value: object) -> bytes:
    return msgspec.json.encode(value)


def _start(encoded: bytes, room: int) -> str:
    """Return the start of an entry that is too long, as text; escapes at most double it."""
    return f"{encoded[: room // 2 - 64].decode(errors='ignore')} {_LEFT_OUT}"


# --- Plain JSON


class _Reader:
    """Makes plain JSON of values, and masks what stands in secret fields.

    Attributes:
        named: counts what was masked.
        room: characters for which there is room; below 0 the rest of a value is left out.
    """

    def __init__(self) -> None:
        self.named: Counter[str] = Counter()
        self.room = BYTES_MAX

    def plain(self, value: object, *, depth: int = 0, secret: bool = False) -> object:
        """Return a value as plain JSON.

        Args:
            value: anything; what is no JSON type becomes its `str()`.
            depth: how many values it lies in.
            secret: a field that holds it has a name that says so.
        """
        self.room -= _VALUE_COST
        if depth > _DEPTH_MAX or self.room < 0:
            return _LEFT_OUT
        if isinstance(value, Mapping):
            hidden = _secret_fields(value)
            return {
                self._text(str(name), _NAME_CHARACTERS_MAX): self.plain(
                    inner, depth=depth + 1, secret=secret or name in hidden
                )
                for name, inner in self._while_room(value.items())
            }
        if isinstance(value, list | tuple):
            items = zip(value, _secret_items(value), strict=True)
            return [
                self.plain(inner, depth=depth + 1, secret=secret or is_hidden)
                for inner, is_hidden in self._while_room(items)
            ]
        if value is None or isinstance(value, bool):
            return value
        return self._scalar(value, depth=depth, secret=secret)

    def _while_room(self, items: Iterable[_Item]) -> Iterator[_Item]:
        for item in items:
            yield item
            if self.room < 0:
                return

    def _scalar(self, value: object, *, depth: int, secret: bool) -> object:
        if secret and str(value):
            self.named["named-field"] += 1
            return placeholder("named-field")
        if isinstance(value, int | float) and abs(value) < _NUMBER_END:
            return value
        text = str(value)
        inner = _document_in(text)
        return self._text(text, BYTES_MAX) if inner is None else self.plain(inner, depth=depth + 1)

    def _text(self, text: str, characters_max: int) -> str:
        cut = _cut(text, characters_max)
        self.room -= len(cut)
        return cut


def _document_in(text: str) -> object:
    """Return the object or list that a string is the JSON of, as the arguments of a tool call are.

    Its escapes would hide secrets, and the names of its fields say where they are.
    """
    if len(text) > BYTES_MAX or not text.lstrip().startswith(("{", "[")):
        return None
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found


def _secret_fields(fields: Mapping[Any, Any]) -> set[Any]:
    """Return the fields with a secret: `password`; `Value` beside `Name: "DB_PASSWORD"`."""
    hidden = {name for name in fields if is_secret_name(str(name))}
    if fields.get("kind") == "Secret":  # Of Kubernetes, whose values are called anything.
        hidden |= _KUBERNETES_VALUES & fields.keys()
    labels = (label for name, label in fields.items() if str(name).lower() in _LABELS)
    if any(isinstance(label, str) and _names_secret(label) for label in labels):
        hidden |= {name for name in fields if str(name).lower() in _LABELLED}
    return hidden


def _secret_items(items: Sequence[object]) -> Iterator[bool]:
    """Tell of each item whether it is a secret: what follows `--password`, or pairs with a name."""
    is_pair = len(items) == _PAIR
    before = ""
    for item in items:
        yield bool(before) and (is_pair or before.startswith("-")) and _names_secret(before)
        before = item if isinstance(item, str) else ""


def _names_secret(label: str) -> bool:
    """Tell whether a label names a secret: `DB_PASSWORD`, `#password`, `input[name="password"]`."""
    return len(label) <= _LABEL_CHARACTERS_MAX and is_secret_name(label.rstrip("\"'])"))


def _cut(text: str, characters_max: int) -> str:
    """Return the start of a text that is too long, without files; what else is a secret, stays."""
    start = text[:characters_max].encode(errors="replace").decode().replace("\0", "?")
    whole = _ENCODED.sub(_LEFT_OUT, start)
    return whole if len(text) <= characters_max else f"{whole}{_CUT}"


# --- Masking


def _masked(values: list[object], patterns: Sequence[Pattern]) -> tuple[list[Any], Counter[str]]:
    """Return plain values with the secrets in their strings masked, and the counts by kind."""
    strings = list(_strings(values))
    masked = mask(_SEPARATOR.join(strings), patterns)
    pieces, counts = masked.text.split(_SEPARATOR), masked.counts
    if len(pieces) != len(strings):  # A pattern went beyond one string: one by one, then.
        each = [mask(string, patterns) for string in strings]
        pieces = [one.text for one in each]
        counts = sum((one.counts for one in each), Counter())
    replaced = _replaced(values, map(_without_end, pieces))
    assert isinstance(replaced, list)
    return replaced, counts


def _without_end(text: str) -> str:
    """Return a text that was cut without its end, where half a secret may stand unrecognised."""
    return text if _CUT not in text else f"{text[:-_CUT_OFF_CHARACTERS]} {_LEFT_OUT}"


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _replaced(value: object, strings: Iterator[str]) -> object:
    """Return the same value with other strings, in the order of `_strings`."""
    if isinstance(value, str):
        return next(strings)
    if isinstance(value, dict):
        return {next(strings): _replaced(inner, strings) for inner in value.values()}
    if isinstance(value, list):
        return [_replaced(inner, strings) for inner in value]
    return value
