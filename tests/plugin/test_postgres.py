"""The plugin and the tools on PostgreSQL: the same answers, the same kept index."""

import json

import memlog
from memlog.plugin import MemoryPlugin
from memlog.tools import Tools
from tests.plugin.test_conversations import _compact, _index, _plugin, _touch
from tests.tools.test_calls import SCRIPT


def test_a_conversation_keeps_its_index_until_it_is_compacted(postgres_url: str) -> None:
    with memlog.open(postgres_url) as log, memlog.open(postgres_url) as other:
        _touch(log, "Tea")
        first = _index(_plugin(log))
        _touch(log, "Cup")

        assert _index(_plugin(other)) == first
        assert _index(MemoryPlugin(other)) != first
        _compact(_plugin(other), "k-1")
        second = _index(_plugin(log))
        assert '"Cup"' in second
        _touch(log, "Pot")
        _compact(_plugin(log), "k-1")
        assert _index(_plugin(other)) == second


def test_the_tools_answer_the_same_on_both_engines(postgres_url: str) -> None:
    with memlog.open(postgres_url) as there, memlog.open(":memory:") as here:
        left, right = (Tools(log.scope("owner", "alice")) for log in (there, here))
        for name, arguments in SCRIPT:
            assert left.call(name, arguments) == right.call(name, json.dumps(arguments))
