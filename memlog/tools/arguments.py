"""The arguments of the four tools: what a model may send, and the sentence when it does not fit.

The models are the one source of the specs and of the checks. They say shapes; sizes, alphabets and
rules are said by `memlog.requests` and `memlog.decide`. A null for an optional argument counts as
left out, and so does an empty string for an optional name: many models send these.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails, from_json

from memlog import text
from memlog.fields import LABEL_BYTES_MAX, TITLE_BYTES_MAX, TOPICS_MAX
from memlog.shown import shown

SEARCH_LIMIT_MAX = 20

_NAMES_SHOWN_MAX = 5
_NUMBER_SHOWN_MAX = 10**15


class Arguments(BaseModel):
    """The base: closed, and without coercion."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _null_is_left_out(cls, given: object) -> object:
        if not isinstance(given, dict):
            return given
        optional = {name for name, field in cls.model_fields.items() if not field.is_required()}
        return {k: v for k, v in given.items() if v is not None or k not in optional}


class SourceArguments(Arguments):
    """Where a note's content came from."""

    url: str = Field("", description="Address of the web page that it came from.")
    artifact: str = Field("", description="File, ticket, commit or other thing it came from.")
    note: str = Field("", description="Anything else about its origin, in a few words.")


def _no_source() -> SourceArguments:
    return SourceArguments(url="", artifact="", note="")


class WriteArguments(Arguments):
    """What `memory_write` takes."""

    title: str = Field(
        description="The fact in one line, as it should stand in the index: "
        f"'Deploys need the VPN', not 'Note'. At most {TITLE_BYTES_MAX} bytes."
    )
    body: str = Field(
        description="The fact itself, so complete that it helps in another conversation."
    )
    topics: list[str] = Field(
        default_factory=list,
        description=f"Up to {TOPICS_MAX} short topics; the first one files the note in the index.",
    )
    slug: str = Field(
        "",
        description="Only to rewrite a note: its slug. Title, body, topics and all else are "
        "replaced by this call. Leave it out for a new note.",
    )
    pinned: bool = Field(
        default=False,
        description="True only for the few notes whose text every conversation must see. "
        "A rewrite without it unpins. Refused for text from the web.",
    )
    confidence: float = Field(
        1.0, description="How sure you are, from 0 to 1; 1 is what you were told or have checked."
    )
    source: SourceArguments = Field(
        default_factory=_no_source,
        description="Where it came from. Always give the url of text from a web page.",
    )


class SearchArguments(Arguments):
    """What `memory_search` takes."""

    query: str = Field(
        "",
        description="Words that the note may hold, in any language; there is no syntax. "
        "An empty string lists the newest notes.",
    )
    limit: int = Field(10, ge=1, le=SEARCH_LIMIT_MAX, description="How many notes at most.")
    topic: str = Field("", description="Only notes of this topic, as the index names it.")
    include_superseded: bool = Field(
        default=False, description="True to find also notes that newer ones have replaced."
    )


class ReadArguments(Arguments):
    """What `memory_read` takes."""

    slug: str = Field(description="The note's slug, as the index or a search shows it.")


class LinkArguments(Arguments):
    """What `memory_link` takes."""

    from_slug: str = Field(description="The newer note (supersedes), or the one that derives.")
    to_slug: str = Field(description="The older note, or the one that it derives from.")
    rel: Literal["related", "derived_from", "supersedes"] = Field(
        description="supersedes: from_slug replaces to_slug, which leaves the index but stays "
        "readable. derived_from: it was concluded from it. related: worth reading together."
    )
    label: str = Field(
        "", description=f"A few words about the link, at most {LABEL_BYTES_MAX} bytes."
    )


class ArgumentsError(Exception):
    """The arguments of a call do not fit; `args[0]` is the sentence that tells what to send."""


Model = TypeVar("Model", bound=Arguments)

_MUST_BE = {
    "topics": 'a list of strings such as ["deploy"]',
    "pinned": "true or false",
    "confidence": "a number from 0 to 1",
    "source": 'an object such as {"url": "https://example.org/page"}',
    "limit": f"a whole number from 1 to {SEARCH_LIMIT_MAX}",
    "include_superseded": "true or false",
    "rel": '"related", "derived_from" or "supersedes"',
}
"""What to send for an argument; a string for those that are not here."""


def parsed(tool: str, model: type[Model], given: object) -> Model:
    """Return the arguments of a call.

    Args:
        tool: name of the tool, for the sentence.
        model: what it takes.
        given: an object as a dict, or as the JSON text of one; blank text and null are `{}`.

    Raises:
        ArgumentsError: they do not fit.
    """
    named = _object(tool, model, given)
    unknown = [name for name in named if name not in model.model_fields]
    if unknown:
        raise ArgumentsError(_takes_no(tool, _names(map(briefly, unknown)), model))
    try:
        return model.model_validate(named)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False)
        raise ArgumentsError(_sentence(tool, model, details)) from None


def _object(tool: str, model: type[Arguments], given: object) -> dict[Any, Any]:
    value = given
    if isinstance(value, str):
        value = _from_json(tool, value) if value.strip() else None
    if value is None:
        value = {}
    if not isinstance(value, dict):
        names = _names(model.model_fields)
        sentence = f"{tool} takes one JSON object, not {briefly(value)}; send one with {names}"
        raise ArgumentsError(sentence)
    return value


def _from_json(tool: str, given: str) -> object:
    why = "lone surrogate"
    try:
        if not text.has_lone_surrogate(given):
            return from_json(given)
    except ValueError as error:
        why = str(error)
    sentence = f"the arguments of {tool} are not valid JSON ({why}); send one JSON object"
    raise ArgumentsError(sentence)


def _sentence(tool: str, model: type[Arguments], details: list[ErrorDetails]) -> str:
    missing = [str(each["loc"][0]) for each in details if each["type"] == "missing"]
    if missing:
        return f"{tool} needs {_names(missing)}; send {_names(_required(model))}"
    first = details[0]
    field = str(first["loc"][0]) if first["loc"] else ""
    if first["type"] == "extra_forbidden":
        nested = _names([briefly(first["loc"][-1])])
        return _takes_no(f"{field} of {tool}", nested, SourceArguments)
    path = "".join(
        f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]
    ).removeprefix(".")
    is_whole = len(first["loc"]) == 1
    must_be = _MUST_BE.get(field, "a string") if is_whole else "a string"
    return f"{path} of {tool} must be {must_be}, not {briefly(first['input'])}"


def _takes_no(what: str, unknown: str, model: type[Arguments]) -> str:
    return f"{what} takes no {unknown}; send only {_names(model.model_fields)}"


def _required(model: type[Arguments]) -> list[str]:
    return [name for name, field in model.model_fields.items() if field.is_required()]


def _names(names: Iterable[str]) -> str:
    listed = list(names)
    more = [] if len(listed) <= 2 * _NAMES_SHOWN_MAX else [f"{len(listed) - 5} more"]
    shown_names = [*(listed[:_NAMES_SHOWN_MAX] if more else listed), *more]
    return " and ".join(filter(None, [", ".join(shown_names[:-1]), shown_names[-1]]))


def briefly(value: object) -> str:
    """Return a value for a sentence: at most 80 characters, and never one that may be deep."""
    match value:
        case dict():
            return "an object"
        case list() | tuple():
            return "a list"
        case bool() | None:
            return json.dumps(value)
        case int() if abs(value) > _NUMBER_SHOWN_MAX:
            return "so large a number"
        case str() | int() | float():
            return shown(value)
        case _:
            return f"a {type(value).__name__}"
