"""The settings: defaults, what is refused, and how a program reads them from its environment."""

import re
from typing import Any

import msgspec
import pytest

from memlog.errors import InvalidRequestError
from memlog.settings import Settings, from_env

DEFAULTS = {
    "max_body_bytes": 32_000,
    "index_token_budget": 2_000,
    "pinned_body_bytes": 2_000,
    "half_life_days": 30.0,
    "recency_weight": 0.2,
    "pinned_bonus": 0.2,
    "duplicate_threshold": 0.5,
    "search": "whoosh",
    "harvest_model": None,
    "harvest_max_facts": 8,
    "harvest_llm": None,
    "harvest_confidence": 0.3,
    "harvest_api_key": None,
    "index_dir": None,
    "lock_timeout_s": 5.0,
}
NAN, INFINITY = float("nan"), float("inf")


def test_the_defaults_are_those_of_the_design() -> None:
    assert msgspec.structs.asdict(Settings()) == DEFAULTS


def test_every_setting_is_described() -> None:
    described = re.findall(r"^ +(\w+):", Settings.__doc__ or "", re.MULTILINE)

    assert [name for name in described if name != "Attributes"] == list(DEFAULTS)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_body_bytes", 1),
        ("pinned_body_bytes", 1),
        ("harvest_max_facts", 1),
        ("index_token_budget", 0),
        ("recency_weight", 0),
        ("pinned_bonus", 0.0),
        ("lock_timeout_s", 0),
        ("half_life_days", 0.001),
        ("duplicate_threshold", 0.001),
        ("duplicate_threshold", 1),
        ("harvest_confidence", 0),
        ("harvest_confidence", 1),
    ],
)
def test_a_value_at_the_edge_of_its_range_is_accepted(name: str, value: float) -> None:
    given: dict[str, Any] = {name: value}

    assert getattr(Settings(**given), name) == value


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("max_body_bytes", 0, "give a whole number of at least 1"),
        ("max_body_bytes", -1, "give a whole number of at least 1"),
        ("max_body_bytes", 1.5, "give a whole number of at least 1"),
        ("max_body_bytes", True, "give a whole number of at least 1"),
        ("max_body_bytes", "32000", "give a whole number of at least 1"),
        ("pinned_body_bytes", 0, "give a whole number of at least 1"),
        ("harvest_max_facts", 0, "give a whole number of at least 1"),
        ("index_token_budget", -1, "give a whole number of at least 0"),
        ("index_token_budget", 200.5, "give a whole number of at least 0"),
        ("lock_timeout_s", 10**400, "give a number of at least 0"),
        ("recency_weight", -0.1, "give a number of at least 0"),
        ("recency_weight", True, "give a number"),
        ("pinned_bonus", NAN, "give a number of at least 0"),
        ("pinned_bonus", -0.1, "give a number of at least 0"),
        ("lock_timeout_s", "5", "give a number"),
        ("lock_timeout_s", None, "give a number"),
        ("lock_timeout_s", -0.1, "give a number of at least 0"),
        ("lock_timeout_s", INFINITY, "give a number of at least 0"),
        ("half_life_days", 0, "give a number above 0"),
        ("half_life_days", -1, "give a number above 0"),
        ("half_life_days", NAN, "give a number above 0"),
        ("duplicate_threshold", 0, "give a number above 0 and at most 1"),
        ("duplicate_threshold", 1.001, "give a number above 0 and at most 1"),
        ("harvest_confidence", -0.1, "give a number of at least 0 and at most 1"),
        ("harvest_confidence", 1.1, "give a number of at least 0 and at most 1"),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(name: str, value: object, rule: str) -> None:
    given: dict[str, Any] = {name: value}

    with pytest.raises(InvalidRequestError) as caught:
        Settings(**given)

    assert (caught.value.field, caught.value.rule) == (name, rule)
    assert caught.value.value is value


def test_settings_are_frozen() -> None:
    with pytest.raises(AttributeError):
        Settings().search = "grep"  # type: ignore[misc]  # that is the point


# --- From the environment


def test_an_empty_environment_gives_the_defaults() -> None:
    assert from_env({}) == Settings()


def test_a_variable_is_read_as_the_type_of_its_setting() -> None:
    settings = from_env(
        {
            "MEMLOG_MAX_BODY_BYTES": "64000",
            "MEMLOG_LOCK_TIMEOUT_S": "2.5",
            "MEMLOG_HALF_LIFE_DAYS": "7",
            "MEMLOG_SEARCH": "whoosh",
            "MEMLOG_HARVEST_MODEL": "small-1",
            "MEMLOG_HARVEST_LLM": "http://localhost:8080/v1",
            "MEMLOG_INDEX_DIR": "indexes",
        }
    )

    assert settings == Settings(
        max_body_bytes=64_000,
        lock_timeout_s=2.5,
        half_life_days=7.0,
        harvest_model="small-1",
        harvest_llm="http://localhost:8080/v1",
        index_dir="indexes",
    )
    assert type(settings.max_body_bytes) is int
    assert type(settings.half_life_days) is float


def test_blank_and_foreign_variables_are_ignored() -> None:
    environ = {
        "MEMLOG_SEARCH": "  ",
        "MEMLOG_INDEX_DIR": "",
        "MEMLOG_DB": "notes.db",
        "MAX_BODY_BYTES": "1",
        "memlog_max_body_bytes": "1",
        "PATH": "/bin",
    }

    assert from_env(environ) == Settings()


def test_outer_space_around_a_variable_is_left_out() -> None:
    assert from_env({"MEMLOG_HARVEST_MODEL": " small-1\n"}).harvest_model == "small-1"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("MEMLOG_MAX_BODY_BYTES", "many"),
        ("MEMLOG_MAX_BODY_BYTES", "1.5"),
        ("MEMLOG_LOCK_TIMEOUT_S", "5s"),
    ],
)
def test_a_variable_that_is_no_number_is_refused_by_its_own_name(variable: str, value: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        from_env({variable: value})

    assert str(caught.value) == f"{variable} {value!r} is not accepted: give a number"


@pytest.mark.parametrize("value", ["nan", "inf", "-1"])
def test_a_variable_out_of_range_is_refused(value: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        from_env({"MEMLOG_LOCK_TIMEOUT_S": value})

    assert caught.value.field == "lock_timeout_s"


def test_the_key_of_an_endpoint_is_never_shown() -> None:
    settings = Settings(harvest_api_key="sk-secret")

    assert "sk-secret" not in f"{settings!r} {settings}"
    assert "harvest_api_key=None" in repr(Settings())
