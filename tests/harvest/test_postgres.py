"""The queue in PostgreSQL: the same jobs, the same leases, one transaction with the facts."""

import pytest

import memlog
from memlog.harvest import Worker, enqueue, listed, retry
from tests.harvest.conftest import ALICE, Clock, queue
from tests.harvest.test_worker import KEY_ROTATES, Model, facts, harvested

pytest.importorskip("psycopg")


def test_a_job_goes_through_all_its_states(postgres_url: str, clock: Clock) -> None:
    model = Model("junk")
    settings = memlog.Settings(harvest_llm=model)
    with memlog.open(postgres_url, settings=settings, clock=clock) as log:
        queue(log)
        assert enqueue(log, ALICE, key="c-1", entries=["again"]) == "known"
        for _ in range(5):
            Worker(log).run()
            clock.move(seconds=4_000)
        assert [(job.state, job.attempts) for job in listed(log)] == [("dead", 5)]
        assert (retry(log, key="c-2"), retry(log, ALICE)) == (0, 1)
        model.answers = [facts(KEY_ROTATES)]

        (done,) = Worker(log, ALICE).run()

        assert done.slugs == ("deploy-key-rotates",)
        assert listed(log) == []
        assert [job.state for job in listed(log, with_done=True)] == ["done"]
        assert [event.slugs for event in harvested(log.scope(ALICE))] == [done.slugs]
