"""`index_refresh="session"`: a conversation keeps its first index until it is compacted."""

import json
import sqlite3
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import memlog
from memlog.conversations import Conversations
from memlog.errors import InvalidRequestError
from memlog.log import Log
from memlog.plugin import MemoryPlugin
from memlog.settings import Settings
from memlog.testing import START, open_log
from tests.section import children

CFG = {"principal": "alice", "conversation_id": "c-1"}


def _plugin(log: Log) -> MemoryPlugin:
    return MemoryPlugin(log, index_refresh="session")


def _index(plugin: MemoryPlugin, conversation_id: str = "c-1") -> str:
    cfg = plugin.before_agent_start({**CFG, "conversation_id": conversation_id})
    text: str = cfg["system_sections"]["memory_index"]
    return text


def _compact(plugin: MemoryPlugin, key: str, conversation_id: str = "c-1") -> None:
    cfg = {**CFG, "conversation_id": conversation_id}
    plugin.before_compact([], {"agent_cfg": cfg, "compaction_key": key})


def _touch(log: Log, title: str) -> None:
    log.scope("owner", "alice").write(title=title, body="b")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.db"


@pytest.fixture
def log(path: Path) -> Iterator[Log]:
    with open_log(path) as log:
        yield log


def test_a_conversation_keeps_its_first_index(log: Log) -> None:
    plugin = _plugin(log)
    _touch(log, "Tea")
    first = _index(plugin)
    _touch(log, "Cup")

    assert '"Tea"' in first
    assert _index(plugin) == first
    assert '"Cup"' in _index(plugin, "c-2")
    assert '"Cup"' in _index(MemoryPlugin(log))


def test_until_it_is_compacted(log: Log) -> None:
    plugin = _plugin(log)
    first, other = _index(plugin), _index(plugin, "c-2")
    _touch(log, "Tea")

    _compact(plugin, "k-1")

    second = _index(plugin)
    assert '"Tea"' in second
    assert _index(plugin, "c-2") == other == first
    _touch(log, "Cup")
    assert _index(plugin) == second


def test_the_same_compaction_tried_again_changes_nothing(log: Log) -> None:
    plugin = _plugin(log)
    _index(plugin)
    _compact(plugin, "k-1")
    second = _index(plugin)
    _touch(log, "Tea")

    _compact(_plugin(log), "k-1")
    assert _index(plugin) == second
    _compact(_plugin(log), "k-2")
    assert '"Tea"' in _index(plugin)


def test_the_scope_is_part_of_it(log: Log) -> None:
    _touch(log, "Tea")
    of_alice = _index(_plugin(log))
    of_all = _index(MemoryPlugin(log, scope="global", index_refresh="session"))

    assert '"Tea"' in of_alice
    assert "0 of 0" in of_all


def test_it_is_kept_whatever_the_settings_of_another_process(path: Path) -> None:
    with open_log(path) as log:
        for number in range(60):
            _touch(log, f"Note {number} of a long list")
        first = _index(_plugin(log))
    with memlog.open(path, settings=Settings(index_token_budget=200)) as log:
        assert _index(_plugin(log)) == first
        assert len(_index(_plugin(log), "c-2")) < len(first)


def test_a_rebuild_keeps_it(log: Log) -> None:
    plugin = _plugin(log)
    first = _index(plugin)
    _touch(log, "Tea")

    log.rebuild()

    assert _index(plugin) == first


def test_what_was_handed_out_is_on_record(log: Log, path: Path) -> None:
    plugin = _plugin(log)
    _touch(log, "Tea")
    for conversation in ("c-1", "c-2"):
        _index(plugin, conversation)
        _index(plugin, conversation)

    section = log.scope("owner", "alice").section()
    with sqlite3.connect(path) as db:
        rows = db.execute(
            "SELECT hash, conversation_id FROM sections WHERE conversation_id IS NOT NULL"
        ).fetchall()
    db.close()
    assert rows == [(section.hash, "c-1"), (section.hash, "c-2")]


def test_without_a_conversation_it_is_refused(log: Log) -> None:
    with pytest.raises(InvalidRequestError, match="conversation_id"):
        _plugin(log).before_agent_start({"principal": "alice"})


# --- Where nothing can be stored


def test_a_reader_keeps_it_for_itself(path: Path) -> None:
    with open_log(path) as writer, memlog.open(path, read_only=True) as log:
        plugin = _plugin(log)
        first = _index(plugin)
        _touch(writer, "Tea")

        assert _index(plugin) == first
        _compact(plugin, "k-1")
        assert '"Tea"' in _index(plugin)


def test_a_reader_serves_what_a_writer_stored(path: Path) -> None:
    with open_log(path) as writer, memlog.open(path, read_only=True) as log:
        first = _index(_plugin(writer))
        _touch(writer, "Tea")
        plugin = _plugin(log)

        assert _index(plugin) == first
        _compact(plugin, "k-1")
        second = _index(plugin)
        assert '"Tea"' in second
        _touch(writer, "Cup")
        assert _index(plugin) == second


def test_a_busy_store_gets_it_later(path: Path) -> None:
    with open_log(path) as log:
        plugin = _plugin(log)
        holder = children.start(children.HOLD_THE_LOCK, path)
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        first = _index(plugin)
        children.ended(holder, "\n")
        _touch(log, "Tea")

        assert _index(plugin) == first
        assert _index(_plugin(log)) == first


def test_a_compaction_while_the_store_is_busy_is_stored_later(path: Path) -> None:
    with open_log(path) as log:
        plugin = _plugin(log)
        first = _index(plugin)
        _touch(log, "Tea")
        holder = children.start(children.HOLD_THE_LOCK, path)
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        _compact(plugin, "k-1")
        second = _index(plugin)
        children.ended(holder, "\n")
        _touch(log, "Cup")

        assert '"Tea"' in second
        assert second != first
        assert _index(plugin) == second
        assert _index(_plugin(log)) == second


def test_of_two_processes_that_begin_at_once_both_serve_the_first(path: Path) -> None:
    others: list[str] = []

    def clock() -> datetime:
        """Let the other process begin while this one waits for the lock."""
        if armed:
            armed.clear()
            _touch(other, "Tea")
            others.append(_index(_plugin(other)))
        return START

    armed: list[bool] = []
    with open_log(path, clock=clock) as log, memlog.open(path) as other:
        log.scope("owner", "alice").section()
        armed.append(True)

        assert [_index(_plugin(log))] == others
        assert '"Tea"' in others[0]


def test_what_could_not_be_stored_is_forgotten_at_last(path: Path) -> None:
    with open_log(path) as writer:
        memory = writer.scope("owner", "alice")
        with memlog.open(path, read_only=True) as log:
            kept = Conversations()
            old = kept.section(log.scope("owner", "alice"), "c-0").text
            memory.write(title="Tea", body="b")
            for number in range(1, 1_001):
                kept.section(log.scope("owner", "alice"), f"c-{number}")

            assert kept.section(log.scope("owner", "alice"), "c-0").text != old


# --- The provider's prompt cache

REQUESTS = 50
WRITES = {3, 4, 11, 20, 33, 47}
LINK = 29
TAKEN_OVER = 25

ONE_REQUEST = """
import json, sys, memlog
path, refresh = sys.argv[1:3]
with memlog.open(path) as log:
    plugin = memlog.MemoryPlugin(log, index_refresh=refresh)
    for line in sys.stdin:
        number, calls = json.loads(line)
        cfg = {"principal": "alice", "conversation_id": "c-1", "system": "You are terse."}
        prompt = memlog.system_prompt(memlog.run_before_agent_start([plugin], cfg))
        for name, arguments in calls:
            context = {"agent_cfg": cfg, "mode": "act"}
            result = memlog.run_tool([plugin], name, arguments, None, context)
            assert not result.is_error, result.text
        print(json.dumps(prompt), flush=True)
"""


def _calls(number: int) -> list[tuple[str, dict[str, Any]]]:
    """Return what the model does after a request: it mostly reads, and now and then it writes."""
    calls: list[tuple[str, dict[str, Any]]] = [("memory_search", {"query": f"note {number}"})]
    if number in WRITES:
        calls.append(("memory_write", {"title": f"Note {number}", "body": "b", "pinned": True}))
    if number == LINK:
        link = {"from_slug": "note-4", "to_slug": "note-3", "rel": "related"}
        calls.append(("memory_link", link))
    return calls


def _conversation(path: Path, refresh: str) -> list[str]:
    """Return the system prompt of each request; another process takes over half-way."""
    prompts: list[str] = []
    for numbers in (range(TAKEN_OVER), range(TAKEN_OVER, REQUESTS)):
        child = children.start(ONE_REQUEST, path, refresh)
        lines = "".join(json.dumps([each, _calls(each)]) + "\n" for each in numbers)
        prompts += map(json.loads, children.ended(child, lines).splitlines())
    assert len(prompts) == REQUESTS
    return prompts


def test_the_prompt_changes_just_where_a_note_was_touched(path: Path) -> None:
    prompts = _conversation(path, "change")

    changed = {n for n in range(1, REQUESTS) if prompts[n] != prompts[n - 1]}

    assert changed == {number + 1 for number in WRITES}


def test_the_prompt_of_a_session_never_changes(path: Path) -> None:
    prompts = _conversation(path, "session")

    assert len(set(prompts)) == 1
    with memlog.open(path) as log:
        assert len(log.scope("owner", "alice").notes()) == len(WRITES)
