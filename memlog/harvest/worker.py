"""Do the queue's jobs: take one, ask the model, keep the facts; try again later when it fails.

    Worker(log).run()                 # everything that is due now
    Worker(log).watch(stop.is_set)    # and what comes, until told to stop

Any number of workers may run, in any number of processes: a job belongs to one at a time, by a
lease that outlasts the model's time box, and returns to the queue when its worker is gone. A job
that failed five times is dead until somebody calls `retry`.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta

import msgspec

from memlog import jobs
from memlog.errors import RetryError, UnknownOutcomeError
from memlog.harvest import facts
from memlog.harvest.commit import keep, was_kept
from memlog.harvest.model import Model
from memlog.harvest.pattern import Pattern
from memlog.harvest.patterns import PATTERNS
from memlog.harvest.queue import KEPT_DEAD, stream_of
from memlog.harvest.timebox import NoAnswerError
from memlog.jobs import Job
from memlog.log import Log
from memlog.note import Scope
from memlog.text import utc_text

ATTEMPTS_MAX = 5
TIMEOUT_S = 60.0
_LEASE_EXTRA_S = 120.0  # For the search and the commit, and for a machine that is short of time.
_FIRST_PAUSE_S = 30.0
_PAUSE_GROWTH = 4.0
_PAUSE_MAX_S = 3_600.0
_POLL_S = 2.0
_TICK_S = 0.2

logger = logging.getLogger("memlog.harvest")


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """How one attempt at a job ended.

    Attributes:
        scope: whose notes it is about.
        key: which compaction.
        outcome: `kept`; `known`, when the log has it already; `failed`, to be tried again; `dead`;
            or `lost`, to another worker.
        slugs: the notes that were written.
        dropped: number of facts that were not, by reason.
        reason: why it failed, or None.
    """

    scope: Scope
    key: str
    outcome: str
    slugs: tuple[str, ...] = ()
    dropped: dict[str, int] = msgspec.field(default_factory=dict)
    reason: str | None = None


class Worker:
    """Does the harvest jobs of one log, one after the other."""

    def __init__(
        self,
        log: Log,
        scope: Scope | None = None,
        *,
        timeout_s: float = TIMEOUT_S,
        patterns: Sequence[Pattern] = PATTERNS,
    ) -> None:
        """Make a worker; it does nothing yet.

        Args:
            log: where the queue is; open for writing.
            scope: only jobs of this scope; of all when None.
            timeout_s: how long a model may take, whatever it does.
            patterns: what is a secret; a fact that holds one is dropped.

        Raises:
            InvalidRequestError: the settings name no model that can be asked.
        """
        self._log, self._stream, self._patterns = log, stream_of(scope), patterns
        self._model = Model(log.settings, timeout_s=timeout_s)
        self._lease_s = 2 * timeout_s + _LEASE_EXTRA_S

    def run(self, *, limit: int | None = None) -> list[Done]:
        """Do every job that is due, or the first `limit` of them; return how each ended.

        Raises:
            ReadOnlyError, BusyError, StoreFullError, DamageError: the store cannot be used.
        """
        ended: list[Done] = []
        while limit is None or len(ended) < limit:
            done = self.run_one()
            if done is None:
                break
            ended.append(done)
        return ended

    def watch(self, stopped: Callable[[], bool], *, poll_s: float = _POLL_S) -> Iterator[Done]:
        """Yield how each job ended, and wait for more, until `stopped()`.

        A store that is busy or full is waited for.
        """
        while not stopped():
            try:
                done = self.run_one()
            except (RetryError, UnknownOutcomeError) as error:
                logger.warning("the harvest waits: %s", error)
                done = None
            if done is not None:
                yield done
                continue
            deadline = time.monotonic() + poll_s
            while not stopped() and time.monotonic() < deadline:
                time.sleep(min(_TICK_S, poll_s))

    def run_one(self) -> Done | None:
        """Do the job that has been due for longest; None when none is due.

        Raises:
            ReadOnlyError, BusyError, StoreFullError, DamageError: the store cannot be used; the job
                returns to the queue when its lease ends.
        """
        job = self._claimed()
        if job is None:
            return None
        try:
            return self._attempt(job)
        except NoAnswerError as error:
            return self._failed(job, error.reason, wait_s=error.wait_s)

    def _claimed(self) -> Job | None:
        now = self._log.clock()
        with self._log._store.transaction() as transaction:  # noqa: SLF001  # as in `queue`
            jobs.forget_dead(transaction.cursor, before=utc_text(now - KEPT_DEAD))
            return jobs.claim(
                transaction.cursor,
                stream=self._stream,
                now=utc_text(now),
                horizon=utc_text(now + timedelta(seconds=max(_PAUSE_MAX_S, self._lease_s))),
                leased_until=utc_text(now + timedelta(seconds=self._lease_s)),
                lease=str(uuid.uuid4()),
            )

    def _attempt(self, job: Job) -> Done:
        if job.attempts > ATTEMPTS_MAX:  # Whoever had it last did not come back.
            return self._failed(job, "its worker did not come back")
        if was_kept(self._log, job):
            return self._known(job)
        answer = self._model.answer(job.entries)
        found = facts.validated(facts.parsed(answer), self._log.settings, self._patterns)
        kept = keep(self._log, job, found, model=self._model.name)
        if kept is None:
            return self._done(job, "lost", reason="another worker took the job over")
        return self._done(job, "kept", slugs=kept.slugs, dropped=kept.dropped)

    def _known(self, job: Job) -> Done:
        with self._log._store.transaction() as transaction:  # noqa: SLF001  # as in `queue`
            if jobs.is_held(transaction.cursor, job):
                jobs.finish(transaction.cursor, job, now=utc_text(self._log.clock()))
        return self._done(job, "known")

    def _failed(self, job: Job, reason: str, *, wait_s: float | None = None) -> Done:
        is_dead = job.attempts >= ATTEMPTS_MAX
        now = self._log.clock()
        with self._log._store.transaction() as transaction:  # noqa: SLF001  # as in `queue`
            if not jobs.is_held(transaction.cursor, job):
                return self._done(job, "lost", reason="another worker took the job over")
            if is_dead:
                jobs.bury(transaction.cursor, job, reason=reason, now=utc_text(now))
            else:
                due_at = utc_text(now + _pause(job.attempts, wait_s))
                jobs.postpone(transaction.cursor, job, reason=reason, due_at=due_at)
        logger.warning(
            "a harvest failed (attempt %d of %d): %s", job.attempts, ATTEMPTS_MAX, reason
        )
        return self._done(job, "dead" if is_dead else "failed", reason=reason)

    def _done(
        self,
        job: Job,
        outcome: str,
        *,
        slugs: tuple[str, ...] = (),
        dropped: dict[str, int] | None = None,
        reason: str | None = None,
    ) -> Done:
        return Done(
            scope=Scope.of_stream(job.stream),
            key=job.key,
            outcome=outcome,
            slugs=slugs,
            dropped=dropped or {},
            reason=reason,
        )


def _pause(attempts: int, wait_s: float | None) -> timedelta:
    """Return how long to wait after so many attempts: 30 s, 2, 8, 32 min, or as long as asked."""
    pause_s = _FIRST_PAUSE_S * _PAUSE_GROWTH ** (attempts - 1)
    return timedelta(seconds=min(max(pause_s, wait_s or 0.0), _PAUSE_MAX_S))
