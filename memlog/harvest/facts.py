"""From a model's answer to facts that may be kept: parsed, validated, counted. Pure.

Nothing of an answer is trusted. A fact has a title, a body and topics, and nothing else of it is
looked at: no slug, pin, provenance or confidence of the model's. What is kept becomes a request to
write a new note, whose slug follows from its title and is never that of another note.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from memlog import fields, requests, text
from memlog.errors import InvalidRequestError
from memlog.harvest.masking import mask
from memlog.harvest.pattern import Pattern
from memlog.harvest.timebox import NoAnswerError
from memlog.requests import Write
from memlog.settings import Settings

_FENCED = re.compile(r"\A\s*```[a-z]*\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)
_FACTS_LOOKED_AT_MAX = 1_000

_NO_JSON = "the answer is no JSON"
_NO_FACTS = "the answer is no JSON document of facts"


class Facts(NamedTuple):
    """What an answer holds.

    Attributes:
        kept: requests to write them, in the model's order.
        dropped: number of the others, by reason.
    """

    kept: list[Write]
    dropped: Counter[str]


def parsed(answer: object) -> list[Any]:
    """Return the items of an answer, whatever each of them is.

    Raises:
        NoAnswerError: it is not a JSON document of facts.
    """
    document = answer
    if isinstance(answer, str | bytes | bytearray):
        document = _document(answer)
    if isinstance(document, dict):
        document = document.get("facts")
    if not isinstance(document, list):
        raise NoAnswerError(_NO_FACTS)
    return document


def _document(answer: str | bytes | bytearray) -> object:
    try:
        words = answer if isinstance(answer, str) else answer.decode()
        fenced = _FENCED.match(words)
        return json.loads(words if fenced is None else fenced[1])
    except (ValueError, RecursionError):
        raise NoAnswerError(_NO_JSON) from None


def validated(items: Sequence[Any], settings: Settings, patterns: Sequence[Pattern]) -> Facts:
    """Return the items that are well formed and hold no secret.

    Args:
        items: what `parsed` gave.
        settings: of the log.
        patterns: what is a secret.
    """
    kept: list[Write] = []
    dropped: Counter[str] = Counter()
    for item in items[:_FACTS_LOOKED_AT_MAX]:
        request = _request(item, settings)
        if request is None:
            dropped["invalid"] += 1
        elif _holds_secret(request, patterns):
            dropped["secret"] += 1
        else:
            kept.append(request)
    dropped["too_many"] += len(items[_FACTS_LOOKED_AT_MAX:])
    return Facts(kept, dropped)


def _request(item: object, settings: Settings) -> Write | None:
    from pydantic import ValidationError

    try:
        fact = _model().model_validate(item)
        return requests.write(
            title=" ".join(fact.title.split()),
            body=fact.body.strip(),
            topics=_topics(fact.topics),
            confidence=settings.harvest_confidence,
            provenance="compaction",
            max_body_bytes=settings.max_body_bytes,
        )
    except (ValidationError, InvalidRequestError):
        return None


@cache
def _model() -> Any:  # noqa: ANN401  # a class that is made late: pydantic costs 100 ms
    from pydantic import BaseModel, ConfigDict, Field

    class Fact(BaseModel):
        """One fact as a model may send it; what else it sends is not looked at."""

        model_config = ConfigDict(extra="ignore", strict=True)

        title: str
        body: str
        topics: list[str] = Field(default_factory=list)

    return Fact


def _topics(raw: Sequence[str]) -> list[str]:
    """Return the topics that a note may have; a model's others are left out, not its fact."""
    usable = [topic for topic in raw if not text.has_lone_surrogate(topic)]
    normal = text.normalize_topics(usable)
    short = [topic for topic in normal if len(topic) <= fields.TOPIC_CHARACTERS_MAX]
    return short[: fields.TOPICS_MAX]


def _holds_secret(request: Write, patterns: Sequence[Pattern]) -> bool:
    content = request.content
    return any(
        mask(part, patterns).counts for part in (content.title, content.body, *content.topics)
    )
