"""Whatever happens to jobs, in whatever order: each key is harvested once, or still waits."""

from datetime import UTC, datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import memlog
from memlog.events import CompactionHarvested
from memlog.harvest import Worker, enqueue, listed, retry
from tests.harvest.conftest import ALICE

KEYS = st.sampled_from(["a", "b", "c"])


class Harvest(RuleBasedStateMachine):
    """The model: which keys were queued, and which of them were answered well."""

    @initialize()
    def open(self) -> None:
        self.now = datetime(2026, 11, 30, tzinfo=UTC)
        self.answer: object = {"facts": []}
        self.queued: set[str] = set()
        self.kept: list[str] = []
        self.log = memlog.open(
            ":memory:",
            settings=memlog.Settings(harvest_llm=lambda *_: self.answer),
            clock=lambda: self.now,
        )

    @rule(key=KEYS)
    def enqueue(self, key: str) -> None:
        outcome = enqueue(self.log, ALICE, key=key, entries=[f"entry of {key}"])

        assert outcome == ("known" if key in self.queued else "queued")
        self.queued.add(key)

    @rule(is_good=st.booleans())
    def work(self, *, is_good: bool) -> None:
        self.answer = {"facts": []} if is_good else "junk"

        done = Worker(self.log).run_one()

        if done is not None and done.outcome == "kept":
            assert is_good
            self.kept.append(done.key)

    @rule()
    def die(self) -> None:
        Worker(self.log)._claimed()  # noqa: SLF001  # the table itself has no public way

    @rule(seconds=st.sampled_from([31, 241, 4_000]))
    def wait(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    @rule()
    def set_the_clock_back(self) -> None:
        self.now -= timedelta(days=1)

    @rule()
    def retry(self) -> None:
        dead = [job for job in listed(self.log) if job.state == "dead"]

        assert retry(self.log) == len(dead)

    @invariant()
    def each_key_is_harvested_once_or_waits(self) -> None:
        payloads = [event.payload for event in self.log.scope(ALICE).events()]
        assert all(isinstance(payload, CompactionHarvested) for payload in payloads)
        assert [getattr(payload, "key", None) for payload in payloads] == self.kept
        assert len(set(self.kept)) == len(self.kept)
        assert {job.key for job in listed(self.log)} == self.queued - set(self.kept)

    def teardown(self) -> None:
        if not hasattr(self, "log"):
            return
        retry(self.log)
        self.answer = {"facts": []}
        for _ in range(6):
            self.now += timedelta(days=2)
            Worker(self.log).run()
        assert [job for job in listed(self.log) if job.state not in ("done", "dead")] == []
        self.log.close()


TestHarvest = Harvest.TestCase
TestHarvest.settings = settings(stateful_step_count=20)
