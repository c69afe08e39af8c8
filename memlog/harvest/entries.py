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
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from memlog.harvest.masking import PATTERNS, Pattern, is_secret_name, mask, placeholder

BYTES_MAX = 1_000_000
_SYSTEM_CHARACTERS_MAX = 100_000
_DEPTH_MAX = 32
_CUT_OFF_CHARACTERS = 8_192  # No secret is longer, but for a private key, which has no end then.
_NAME_CHARACTERS_MAX = 20_000
_NUMBER_END = 10**6  # Longer ones are masked as text: a number may be a secret, too.
_LEFT_OUT = "[left out]"
_CUT = "\0cut"
_SEPARATOR = "\n" * 6 + "\0" + "\n" * 6  # Strings have no NUL, and no pattern goes over this.
# Images and other files inside a message: nothing that a model could find a fact in.
_ENCODED = re.compile(r"[A-Za-z0-9+/_=-]{1000,}+")


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

    Costs about a second a megabyte.

    Args:
        entries: messages as the loop has them, oldest first: strings, mappings, objects.
        system: the system prompt, if the entries do not hold it.
        patterns: what is a secret.
    """
    named: Counter[str] = Counter()
    newest = list(_newest(entries, named))
    head = None if system is None else _cut(system, _SYSTEM_CHARACTERS_MAX)
    (clean_head, *clean), counts = _masked([head, *newest], patterns)
    document, kept = _document(clean_head, clean)
    return Transcript(
        document=document.decode(),
        sha256=hashlib.sha256(document).hexdigest(),
        masked=dict(sorted((counts + named).items())),
        left_out=len(entries) - kept,
    )


def _newest(entries: Sequence[Any], named: Counter[str]) -> Iterator[object]:
    """Yield entries as plain JSON, the newest first, for as long as there may be room."""
    room = BYTES_MAX
    for entry in reversed(entries):
        if room < 0:
            return
        plain = _plain(entry, named)
        room -= sum(map(len, _strings(plain)))
        yield plain


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


def _plain(value: object, named: Counter[str], *, depth: int = 0, secret: bool = False) -> object:
    """Return a value as plain JSON, with what stands in secret fields masked.

    Args:
        value: anything; what is no JSON type becomes its `str()`.
        named: counts what is masked here.
        depth: how many values it lies in.
        secret: a field that holds it has a name that says so.
    """
    if depth > _DEPTH_MAX:
        return _LEFT_OUT
    if isinstance(value, Mapping):
        hidden = _secret_fields(value)
        return {
            _cut(str(name), _NAME_CHARACTERS_MAX): _plain(
                inner, named, depth=depth + 1, secret=secret or name in hidden
            )
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [_plain(inner, named, depth=depth + 1, secret=secret) for inner in value]
    return (
        value
        if value is None or isinstance(value, bool)
        else _scalar(value, named, depth=depth, secret=secret)
    )


def _scalar(value: object, named: Counter[str], *, depth: int, secret: bool) -> object:
    if secret and str(value):
        named["named-field"] += 1
        return placeholder("named-field")
    if isinstance(value, int | float) and abs(value) < _NUMBER_END:
        return value
    text = str(value)
    inner = _document_in(text)
    return _cut(text, BYTES_MAX) if inner is None else _plain(inner, named, depth=depth + 1)


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
    """Return the fields with a secret: `password`; `value` beside `name: "DB_PASSWORD"`."""
    hidden = {name for name in fields if is_secret_name(str(name))}
    labels = (fields.get(name) for name in ("name", "key", "label"))
    if any(isinstance(label, str) and is_secret_name(label) for label in labels):
        hidden.add("value")
    return hidden


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
