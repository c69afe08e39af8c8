"""The values of a request, one function each: what the caller gave in, the checked value out.

Each refuses what does not fit with the field's name, the value, and what to send instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Any, cast, get_args

import msgspec

from memlog import text
from memlog.errors import InvalidRequestError
from memlog.note import ID_BYTES_MAX, NO_SOURCE, PROVENANCES, RELS, Provenance, Rel, Source

TITLE_BYTES_MAX = 500
TOPICS_MAX = 8
TOPIC_CHARACTERS_MAX = 40
URL_BYTES_MAX = 2_048
SOURCE_TEXT_BYTES_MAX = 1_000
EXTRA_BYTES_MAX = 8_000
LABEL_BYTES_MAX = 200
WHOLE_MAX = 2**62


def slug(value: object, *, field: str = "slug") -> str:
    """Return a slug that names an existing note.

    Raises:
        InvalidRequestError: it cannot be the slug of any note.
    """
    name = string(field, value)
    if not text.is_slug(name):
        raise InvalidRequestError(field, value, _slug_rule(name))
    return name


def _slug_rule(name: str) -> str:
    rule = "a slug is 1 to 80 of a-z 0-9 . _ - and starts with a letter or digit"
    if text.has_lone_surrogate(name):
        return rule
    return f"{rule}; {text.slugify(name)!r} would do"


def rel(value: object) -> Rel:
    """Return the relation that a value names."""
    if value not in get_args(Rel):
        raise InvalidRequestError("rel", value, f"use one of {', '.join(RELS)}")
    return cast("Rel", value)


def string(field: str, value: object) -> str:
    """Return a value that must be a string."""
    if not isinstance(value, str):
        raise InvalidRequestError(field, value, "give a string")
    return str.__str__(value)  # A plain one, also of a subclass.


def prose(field: str, value: object, *, bytes_max: int) -> str:
    """Return text with a visible character, of limited size."""
    advice = "split the note" if field == "body" else "shorten it"
    prose = sized(field, string(field, value), bytes_max=bytes_max, advice=advice)
    if not prose.strip():
        raise InvalidRequestError(field, value, "give at least one visible character")
    return prose


def sized(field: str, value: str, *, bytes_max: int, advice: str = "shorten it") -> str:
    """Return a string of valid Unicode without NUL, of limited size."""
    if text.has_lone_surrogate(value):
        raise InvalidRequestError(field, value, "give valid Unicode, without lone surrogates")
    if "\0" in value:
        raise InvalidRequestError(field, value, "leave out NUL characters")
    length = text.byte_length(value)
    if length > bytes_max:
        rule = f"it has {length:,} bytes of UTF-8, at most {bytes_max:,} are kept; {advice}"
        raise InvalidRequestError(field, value, rule)
    return value


def short(field: str, value: object, *, bytes_max: int) -> str | None:
    """Return an optional string of limited size."""
    if value is None:
        return None
    return sized(field, string(field, value), bytes_max=bytes_max)


def opaque_id(field: str, value: object) -> str | None:
    """Return an optional id of 1 to 256 bytes without control characters."""
    if value is None:
        return None
    identity = sized(field, string(field, value), bytes_max=ID_BYTES_MAX)
    if not identity or text.has_control_character(identity):
        rule = f"give 1 to {ID_BYTES_MAX} bytes without control characters"
        raise InvalidRequestError(field, value, rule)
    return identity


def whole(field: str, value: object, *, low: int = 0, rule: str = "") -> int:
    """Return a whole number of at least `low` that a database can hold."""
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise InvalidRequestError(field, value, rule or f"give a whole number of at least {low}")
    if value > WHOLE_MAX:
        raise InvalidRequestError(field, value, f"give a whole number of at most {WHOLE_MAX}")
    return int(value)


def flag(field: str, value: object) -> bool:
    """Return a truth value."""
    if not isinstance(value, bool):
        raise InvalidRequestError(field, value, "give true or false")
    return value


def function(field: str, value: object) -> None:
    """Check that a value is a function, or none was given."""
    if value is not None and not callable(value):
        raise InvalidRequestError(field, value, "give a function")


def listed(field: str, value: object) -> None:
    """Check that a value lists other values, and is no text itself."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise InvalidRequestError(field, value, "give a list")


def aware(field: str, value: object) -> datetime:
    """Return a time that has a zone."""
    if not isinstance(value, datetime) or value.utcoffset() is None:
        raise InvalidRequestError(field, value, "give an aware datetime")
    return value


def raw_topics(value: object) -> list[str]:
    """Return topics as they were given."""
    without_order = isinstance(value, str | AbstractSet)  # The first topic files the note.
    if without_order or not isinstance(value, Iterable):
        raise InvalidRequestError("topics", value, "give a list of strings")
    return [sized("topics", string("topics", topic), bytes_max=URL_BYTES_MAX) for topic in value]


def topics(raw: Iterable[str]) -> tuple[str, ...]:
    """Return normalised topics, at most 8 of at most 40 characters."""
    normal = text.normalize_topics(raw)
    if len(normal) > TOPICS_MAX:
        rule = f"{len(normal)} topics are too many, at most {TOPICS_MAX} are kept"
        raise InvalidRequestError("topics", list(raw), rule)
    for topic in normal:
        if len(topic) > TOPIC_CHARACTERS_MAX:
            rule = f"a topic has at most {TOPIC_CHARACTERS_MAX} characters, this has {len(topic)}"
            raise InvalidRequestError("topics", topic, rule)
    return normal


def confidence(value: object) -> float:
    """Return a confidence from 0 to 1, rounded to three decimals."""
    rule = "give a number from 0 to 1"
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidRequestError("confidence", value, rule)
    if not 0 <= value <= 1:  # Not a number is not in any range.
        raise InvalidRequestError("confidence", value, rule)
    return round(float(value), 3) + 0.0  # Adding zero turns -0.0 into 0.0.


def provenance(value: object, origin: Source) -> Provenance:
    """Return the provenance: derived from the source, unless code names another."""
    derived: Provenance = "agent" if origin.url is None else "web"
    if value is None or value == derived:
        return derived
    if value not in PROVENANCES:
        raise InvalidRequestError("provenance", value, f"use one of {', '.join(PROVENANCES)}")
    if value in ("agent", "web"):
        rule = f"with this source it is {derived!r}; leave it out"
        raise InvalidRequestError("provenance", value, rule)
    return value


def source(value: object) -> Source:
    """Return the source that a mapping describes; blank parts count as none."""
    if value is None:
        return NO_SOURCE
    given = given_source(value)
    unknown = sorted(set(given) - set(Source.__struct_fields__))
    if unknown:
        known = ", ".join(Source.__struct_fields__)
        raise InvalidRequestError("source", unknown[0], f"its fields are {known}")
    return Source(
        url=_source_text("source.url", given.get("url"), bytes_max=URL_BYTES_MAX),
        artifact=_source_text("source.artifact", given.get("artifact")),
        note=_source_text("source.note", given.get("note")),
        created_at=_source_time("source.created_at", given.get("created_at")),
        updated_at=_source_time("source.updated_at", given.get("updated_at")),
    )


def given_source(value: object) -> dict[str, Any]:
    """Return a source as the caller gave it, as a plain dict."""
    if value is None:
        return {}
    if isinstance(value, Source):
        return msgspec.structs.asdict(value)
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InvalidRequestError("source", value, "give a mapping such as {'url': 'https://...'}")
    return dict(value)


def _source_text(
    field: str, value: object, *, bytes_max: int = SOURCE_TEXT_BYTES_MAX
) -> str | None:
    kept = short(field, value, bytes_max=bytes_max)
    return kept if kept is not None and kept.strip() else None


def _source_time(field: str, value: object) -> str | None:
    rule = "give an aware datetime, or ISO 8601 text with a time zone"
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        if isinstance(value, str) and not value.isascii():  # Any separator is taken otherwise.
            raise InvalidRequestError(field, value, rule)
    except ValueError:
        raise InvalidRequestError(field, value, rule) from None
    if not isinstance(moment, datetime) or moment.utcoffset() is None:
        raise InvalidRequestError(field, value, rule)
    try:
        return text.utc_text(moment)
    except OverflowError:
        raise InvalidRequestError(field, value, "give a time in the years 1 to 9999") from None


def extra_strings(value: object) -> dict[str, str]:
    """Return a mapping of strings to strings, sorted by key, at most 8,000 bytes."""
    rule = "give a mapping of strings to strings"
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidRequestError("extra", value, rule)
    size = 0
    for pair in value.items():
        for part in pair:
            if not isinstance(part, str):
                raise InvalidRequestError("extra", value, rule)
            size += text.byte_length(sized("extra", part, bytes_max=EXTRA_BYTES_MAX))
    if size > EXTRA_BYTES_MAX:
        rule = f"it has {size:,} bytes of UTF-8, at most {EXTRA_BYTES_MAX:,} are kept"
        raise InvalidRequestError("extra", value, rule)
    return dict(sorted(value.items()))


def if_seq(value: object, *, slug: str | None) -> int | None:
    """Return the `updated_seq` that the caller saw, or None."""
    if value is None:
        return None
    seen = whole("if_seq", value, rule="give the updated_seq that you saw, or 0")
    if slug is None and seen != 0:
        raise InvalidRequestError("if_seq", value, "name the slug of the note that you saw")
    return seen
