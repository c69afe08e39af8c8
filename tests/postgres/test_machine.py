"""The stateful suite on PostgreSQL, and beside it the same requests on SQLite, byte for byte."""

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

from hypothesis import settings
from hypothesis.stateful import invariant

from memlog.errors import RequestError
from memlog.log import Log
from memlog.settings import Settings
from memlog.testing import CountingIds, open_log
from tests import postgres_server
from tests.postgres.twins import assert_same, assert_same_at_each_moment
from tests.stateful.test_machine import Machine, caught

_SHARE = 10  # Each example takes some times as long as one on SQLite.


class PostgresMachine(Machine):
    """One schema and one private log in memory; each request goes to both and to the model."""

    def __init__(self) -> None:
        self.stack = ExitStack()
        self.url = self.stack.enter_context(postgres_server.schema())
        super().__init__()
        self.twin = open_log(clock=self.clock, ids=CountingIds())

    def open(self) -> Log:
        index_dir = Settings(index_dir=self.directory.name)
        return open_log(self.url, clock=self.clock, ids=self.ids, settings=index_dir)

    def both(
        self, stream: str, method: str, arguments: Mapping[str, Any], *, who: str | None = None
    ) -> None:
        super().both(stream, method, arguments, who=who)
        scope = self.memory(stream).scope
        ask = partial(getattr(self.twin.scope(scope), method), actor=who, conversation_id=who)
        caught(lambda: ask(**arguments))

    def refused(
        self, stream: str, method: str, arguments: dict[str, Any], kind: type[RequestError]
    ) -> RequestError:
        scope = self.memory(stream).scope
        caught(lambda: getattr(self.twin.scope(scope), method)(**arguments))
        return super().refused(stream, method, arguments, kind)

    @invariant()
    def both_engines_agree(self) -> None:
        assert_same(self.log, self.twin)

    def teardown(self) -> None:
        try:
            assert_same_at_each_moment(self.log, self.twin)
        finally:
            self.twin.close()
            super().teardown()
            self.stack.close()


TestPostgresMachine = PostgresMachine.TestCase
TestPostgresMachine.settings = settings(
    stateful_step_count=8, max_examples=max(settings().max_examples // _SHARE, 1)
)
