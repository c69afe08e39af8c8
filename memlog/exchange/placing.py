"""Place what others wrote into the fields of a note, and tell what did not fit. Pure.

Nothing is cut silently: what a field cannot hold goes to `extra` in full, what `extra` cannot hold
is told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from memlog import text
from memlog.fields import (
    EXTRA_BYTES_MAX,
    LABEL_BYTES_MAX,
    TITLE_BYTES_MAX,
    TOPIC_CHARACTERS_MAX,
    TOPICS_MAX,
    URL_BYTES_MAX,
)

Remark = Callable[[str], None]
"""Takes a sentence about something that came in otherwise than it stood there."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECONDS_FROM = 10**11  # 5138 in seconds, 1973 in milliseconds.
_IS_URL = re.compile(r"https?://[^\s<>\"]+", re.IGNORECASE).fullmatch
_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


class Extra:
    """The `extra` of one note, filled until it is full."""

    def __init__(self, remark: Remark) -> None:
        self.strings: dict[str, str] = {}
        self._remark, self._size = remark, 0

    def add(self, name: str, value: object) -> bool:
        """Keep a value under a name; tell when there is no room or no form for it."""
        kept = plain_text(value)
        if kept is None or not kept:
            return False
        name = re.sub(r"\s+", " ", clean(name)).strip() or "_"
        kept = clean(kept)
        while name in self.strings and self.strings[name] != kept:
            name += "_"
        size = text.byte_length(name) + text.byte_length(kept)
        if self._size + size > EXTRA_BYTES_MAX:
            self._remark(
                f"{name[:40]!a} was left out: it has {size:,} bytes, and the {EXTRA_BYTES_MAX:,} "
                "bytes for what has no place of its own are used up"
            )
            return False
        if name not in self.strings:
            self._size += size
            self.strings[name] = kept
        return True


def plain_text(value: object) -> str | None:
    """Return a value as a string: strings as they are, all else as JSON; None for null."""
    if value is None or isinstance(value, str):
        return value
    return msgspec.json.encode(value, order="deterministic").decode()


def clean(value: str) -> str:
    """Return a string without what no note may hold: NUL and lone surrogates become U+FFFD."""
    if "\0" in value:
        value = value.replace("\0", "\N{REPLACEMENT CHARACTER}")
    if text.has_lone_surrogate(value):
        value = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def title(given: str, extra: Extra, remark: Remark) -> str:
    """Return a title that fits; a longer one is kept in full in `extra`."""
    whole = " ".join(given.split()) or "untitled"
    short = cut(whole, TITLE_BYTES_MAX)
    if short != whole:
        extra.add("title", whole)
        remark(f"its title has {text.byte_length(whole):,} bytes; it was shortened")
    return short


def cut(whole: str, bytes_max: int) -> str:
    """Return a text of at most so many bytes, with an ellipsis where something is missing."""
    if text.byte_length(whole) <= bytes_max:
        return whole
    room = bytes_max - text.byte_length(_ELLIPSIS)
    return whole.encode()[:room].decode(errors="ignore").rstrip() + _ELLIPSIS


def first_words(body: str, characters_max: int = 80) -> str:
    """Return the beginning of a text as a title."""
    words = " ".join(body[: characters_max * 8].split())
    if len(words) <= characters_max:
        return words
    whole, _, _ = words[: characters_max + 1].rpartition(" ")
    return f"{whole or words[:characters_max]}{_ELLIPSIS}"


def topics(labels: Iterable[str], extra: Extra, remark: Remark) -> tuple[str, ...]:
    """Return labels as topics; the labels as they stood are kept where a topic differs."""
    stripped = (clean(label).strip().removeprefix("#") for label in labels)
    given = [label for label in dict.fromkeys(stripped) if label]
    normal = text.normalize_topics(given)
    fitting = tuple(topic for topic in normal if len(topic) <= TOPIC_CHARACTERS_MAX)[:TOPICS_MAX]
    if list(fitting) != given:
        extra.add("labels", given)
    if fitting != normal:
        remark(f"{len(normal) - len(fitting)} of its {len(normal)} labels are too long or too many")
    return fitting


def label(given: str | None) -> str | None:
    """Return a link's label of at most 200 bytes."""
    if given is None or not given.strip():
        return None
    return cut(" ".join(clean(given).split()), LABEL_BYTES_MAX)


def url(given: object) -> str | None:
    """Return a web address that a note's source can hold, or None."""
    if not isinstance(given, str) or not _IS_URL(given.strip()):
        return None
    return given.strip() if text.byte_length(given.strip()) <= URL_BYTES_MAX else None


def moment(given: object, remark: Remark) -> str | None:
    """Return a time as the log writes it, or None when it is none.

    Understood are ISO 8601 with or without a time, and numbers: seconds or milliseconds since 1970.
    What has no time zone is taken as UTC, and told.
    """
    if isinstance(given, bool) or given is None:
        return None
    if isinstance(given, int | float):
        return _counted(given)
    if not isinstance(given, str) or not given.strip().isascii():
        return None
    try:
        found = datetime.fromisoformat(given.strip())
    except ValueError:
        return None
    if found.utcoffset() is None:
        remark(f"the time {given.strip()[:40]!a} has no time zone and was taken as UTC")
        found = found.replace(tzinfo=UTC)
    try:
        return text.utc_text(found)
    except OverflowError:
        return None


def _counted(given: float) -> str | None:
    seconds = given / 1_000 if abs(given) >= _MILLISECONDS_FROM else given
    try:
        return text.utc_text(_EPOCH + timedelta(seconds=seconds))
    except (OverflowError, ValueError):  # Not a number, or outside the years 1 to 9999.
        return None


def times(
    fields: Mapping[str, Any], created: Iterable[str], updated: Iterable[str], remark: Remark
) -> dict[str, str]:
    """Return `created_at` and `updated_at` from the first of the named fields that hold a time."""
    found = {}
    for name, candidates in (("created_at", created), ("updated_at", updated)):
        for candidate in candidates:
            when = moment(fields.get(candidate), remark)
            if when is not None:
                found[name] = when
                break
    return found
