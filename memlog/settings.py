"""The settings: one frozen struct with defaults, and how the edges read it from the environment.

The library itself never looks at the environment; `from_env` is for programs such as the CLI.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from memlog.errors import InvalidRequestError

_ENV_PREFIX = "MEMLOG_"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What a program may choose. Sizes are bytes of UTF-8, times carry their unit in the name.

    Attributes:
        max_body_bytes: largest body that a write accepts.
        index_token_budget: size of the section, in tokens of 4 bytes (at least 200 are used).
        pinned_body_bytes: where a pinned body is cut in the section.
        half_life_days: age at which the recency bonus of a note has halved.
        recency_weight: the recency bonus of a note written just now, as a share of relevance.
        pinned_bonus: the bonus of a pinned note, as a share of relevance.
        duplicate_threshold: Jaccard similarity from which a write reports a note as similar.
        search: `whoosh`, or an object with the methods of `projections.search.SearchBackend`.
        harvest_model: model name sent to the harvest endpoint.
        harvest_max_facts: facts kept from one compaction.
        harvest_llm: a callable, or the base URL of an OpenAI-compatible endpoint.
        harvest_confidence: confidence of harvested facts.
        harvest_api_key: bearer token of the endpoint.
        index_dir: where search indexes lie; beside the database when None.
        lock_timeout_s: how long a write waits for other writers.
    """

    max_body_bytes: int = 32_000
    index_token_budget: int = 2_000
    pinned_body_bytes: int = 2_000
    half_life_days: float = 30.0
    recency_weight: float = 0.2
    pinned_bonus: float = 0.2
    duplicate_threshold: float = 0.5
    search: Any = "whoosh"
    harvest_model: str | None = None
    harvest_max_facts: int = 8
    harvest_llm: Callable[..., Any] | str | None = None
    harvest_confidence: float = 0.3
    harvest_api_key: str | None = None
    index_dir: str | None = None
    lock_timeout_s: float = 5.0

    def __post_init__(self) -> None:
        """Refuse values that no part of the library could honour."""
        _whole(self, "max_body_bytes", "pinned_body_bytes", "harvest_max_facts", low=1)
        _whole(self, "index_token_budget", low=0)
        _in_range(self, "recency_weight", "pinned_bonus", "lock_timeout_s", low=0)
        _in_range(self, "half_life_days", low=0, open_low=True)
        _in_range(self, "duplicate_threshold", low=0, high=1, open_low=True)
        _in_range(self, "harvest_confidence", low=0, high=1)

    def __repr__(self) -> str:
        """Show every setting but the key."""
        shown = (
            f"{name}={'***' if name == 'harvest_api_key' and value else repr(value)}"
            for name, value in msgspec.structs.asdict(self).items()
        )
        return f"Settings({', '.join(shown)})"


def _whole(settings: Settings, *names: str, low: int) -> None:
    for name in names:
        value = getattr(settings, name)
        if not isinstance(value, int) or isinstance(value, bool) or value < low:
            raise InvalidRequestError(name, value, f"give a whole number of at least {low}")


def _in_range(
    settings: Settings,
    *names: str,
    low: float,
    high: float = math.inf,
    open_low: bool = False,
) -> None:
    for name in names:
        value = getattr(settings, name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InvalidRequestError(name, value, "give a number")
        above = value > low if open_low else value >= low
        if not (above and value <= high and value <= sys.float_info.max):
            bound = "above" if open_low else "of at least"
            upper = "" if high == math.inf else f" and at most {high:g}"
            raise InvalidRequestError(name, value, f"give a number {bound} {low:g}{upper}")


def from_env(environ: Mapping[str, str]) -> Settings:
    """Return the settings that `MEMLOG_<NAME>` variables of `environ` give, defaults elsewhere.

    Numbers are read as their field's type: `MEMLOG_LOCK_TIMEOUT_S=2.5`. A blank variable counts as
    unset, and variables that name no setting are ignored.

    Raises:
        InvalidRequestError: a value cannot be read as its setting, or is out of range.
    """
    given: dict[str, Any] = {}
    for field in msgspec.structs.fields(Settings):
        text = environ.get(_ENV_PREFIX + field.name.upper(), "").strip()
        if text:
            given[field.name] = _parsed(field.name, text, type(field.default))
    return Settings(**given)


def _parsed(name: str, text: str, kind: type) -> int | float | str:
    if kind not in (int, float):
        return text
    try:
        return kind(text)
    except ValueError:
        raise InvalidRequestError(_ENV_PREFIX + name.upper(), text, "give a number") from None
