"""Whatever is given for a parameter of the library: it works, or a typed error says why not."""

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import memlog
from memlog.audit.past import Past
from memlog.errors import MemlogError
from memlog.log import Log
from memlog.memory import Memory
from memlog.settings import Settings
from memlog.testing import START, open_log

TEA: dict[str, Any] = {"title": "Tea", "body": "Green."}

# Of each type that somebody could give by mistake; what fits, works.
VALUES: dict[str, object] = {
    "none": None,
    "bool": True,
    "zero": 0,
    "negative": -7,
    "huge": 2**70,
    "float": 1.5,
    "nan": math.nan,
    "empty": "",
    "nul": "a\0b",
    "surrogate": "\ud800",
    "word": "tea",
    "bytes": b"tea",
    "path": Path("tea"),
    "list": ["tea", 7],
    "list of nothing": [None],
    "unhashable": [[]],
    "mapping": {"tea": {}},
    "set": {"tea"},
    "naive": datetime(2026, 11, 30),  # noqa: DTZ001  # that is the point
    "aware": START,
    "far": datetime.min.replace(tzinfo=START.tzinfo),
    "object": object(),
    "function": lambda *given: [],  # noqa: ARG005  # takes anything, gives what nobody asked for
}

# What is right for each parameter that has no default, and what keeps a call short.
MEMORY: dict[str, dict[str, object]] = {
    "at": {"seq": 1},
    "diff": {"before": 1},
    "events": {},
    "fingerprint": {},
    "get": {"slug": "tea"},
    "guarded": {},
    "history": {"slug": "tea"},
    "link": {"from_slug": "tea", "to_slug": "cup", "rel": "related"},
    "notes": {},
    "pin": {"slug": "tea"},
    "prompt": {"section_hash": "0" * 16},
    "read": {"slug": "tea"},
    "search": {"query": "green"},
    "section": {},
    "section_text": {"section_hash": "0" * 16},
    "similar": {"title": "Tea"},
    "taint": {"source": memlog.matching(provenance="web")},
    "timeline": {},
    "unlink": {"from_slug": "tea", "to_slug": "cup", "rel": "related"},
    "unpin": {"slug": "tea"},
    "write": TEA,
    "write_many": {"items": [TEA]},
}
PAST = ("events", "get", "history", "notes", "read", "search", "section", "section_text", "similar")
LOG: dict[str, dict[str, object]] = {
    "counters": {},
    "events": {},
    "follow": {"timeout_s": 0.0},
    "position": {},
    "prove": {"position": 1},
    "prove_consistency": {"old": b""},
    "rebuild": {},
    "scope": {"kind": "owner", "principal": "alice"},
    "scopes": {},
    "verify": {},
}
FUNCTIONS: dict[str, dict[str, Any]] = {
    "format_error": {"error": MemlogError("tea")},
    "matching": {"provenance": "web"},
    "normalize_topics": {"topics": ["tea"]},
    "slugify": {"title": "Tea"},
    "wrap": {"note": None, "text": "Green."},
}
APART = {
    "checkpoint": "takes a key file: tests/proof",
    "close": "takes nothing, and ends it",
}


@pytest.fixture
def log() -> Iterator[Log]:
    with open_log() as log:
        memory = log.scope("global")
        memory.write(**TEA)
        memory.write(title="Cup", body="Blue.")
        yield log


def parameters(of: Callable[..., object]) -> list[str]:
    return [name for name in inspect.signature(of).parameters if name != "self"]


def cases(of: object, calls: Iterable[str]) -> list[Any]:
    """Return (name, parameter) of each of the callables."""
    return [
        pytest.param(name, parameter, id=f"{name}-{parameter}")
        for name in calls
        for parameter in parameters(getattr(of, name))
    ]


def mistaken(
    act: Callable[..., object],
    right: Mapping[str, object],
    parameter: str,
    state: Callable[[], object] = lambda: None,
) -> list[str]:
    """Call with every value for one parameter.

    Return what raised an error of another kind, or was refused and changed something.
    """
    found = []
    for kind, value in VALUES.items():
        before = state()
        try:
            result = act(**{**right, parameter: value})
            if isinstance(result, Iterator):
                next(result, None)
        except MemlogError as error:
            if not str(error).isprintable() or state() != before:
                found.append(f"{kind}: {error} (or something changed)")
        except Exception as error:  # noqa: BLE001  # that is what we look for
            found.append(f"{kind}: {error!r}")
    return found


@pytest.mark.parametrize(("name", "parameter"), cases(Memory, MEMORY))
def test_a_scope(log: Log, name: str, parameter: str) -> None:
    act = getattr(log.scope("global"), name)

    assert mistaken(act, MEMORY[name], parameter, log.position) == []


@pytest.mark.parametrize(("name", "parameter"), cases(Past, PAST))
def test_the_past(log: Log, name: str, parameter: str) -> None:
    act = getattr(log.scope("global").at(seq=2), name)

    assert mistaken(act, MEMORY[name], parameter) == []


@pytest.mark.parametrize(("name", "parameter"), cases(Log, LOG))
def test_a_log(log: Log, name: str, parameter: str) -> None:
    assert mistaken(getattr(log, name), LOG[name], parameter, log.position) == []


@pytest.mark.parametrize("name", parameters(Settings))
def test_the_settings(name: str) -> None:
    assert mistaken(Settings, {}, name) == []


@pytest.mark.parametrize("name", parameters(memlog.open))
def test_opening(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # Some values are fine names of a file.

    def opened(**given: object) -> None:
        with memlog.open(**{"target": "notes.db", **given}) as log:  # type: ignore[arg-type]
            log.scope("global").write(**TEA)

    assert mistaken(opened, {}, name) == []


@pytest.mark.parametrize(("name", "parameter"), cases(memlog, FUNCTIONS))
def test_a_function(name: str, parameter: str) -> None:
    assert mistaken(getattr(memlog, name), FUNCTIONS[name], parameter) == []


@pytest.mark.parametrize(("of", "calls"), [(Memory, MEMORY), (Past, MEMORY), (Log, LOG)])
def test_none_is_forgotten(of: type, calls: Mapping[str, object]) -> None:
    public = {
        name
        for name, what in inspect.getmembers(of, callable)
        if not name.startswith("_") and parameters(what)
    }
    assert public <= {*calls, *APART}
