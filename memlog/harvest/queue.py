"""Put compactions into the queue, look at it, and give dead jobs another chance.

Its times are those of the log's clock itself, not of events, which never run backwards: once a
clock was ahead for a while, leases and delays would stand still until it is right again.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal

from memlog import fields, jobs
from memlog.errors import InvalidRequestError, MemlogError, format_error
from memlog.harvest.entries import transcript
from memlog.harvest.pattern import Pattern
from memlog.harvest.patterns import PATTERNS
from memlog.jobs import Listed
from memlog.log import Log
from memlog.note import Scope
from memlog.settings import Settings
from memlog.text import utc_text

Enqueued = Literal["queued", "known", "off", "refused"]
"""What became of a compaction: in the queue now, there before, not wanted, or not possible."""

KEPT_DEAD = timedelta(days=30)
"""How long a job that was given up stays for `retry`."""

_WAIT_S = 1.0

logger = logging.getLogger("memlog.harvest")


def is_wanted(settings: Settings) -> bool:
    """Tell whether compactions are queued: a model or an endpoint is named."""
    return settings.harvest_llm is not None or settings.harvest_model is not None


def enqueue(
    log: Log,
    scope: Scope,
    *,
    key: str,
    entries: Sequence[Any],
    conversation_id: str | None = None,
    system: str | None = None,
    patterns: Sequence[Pattern] = PATTERNS,
) -> Enqueued:
    """Queue what a compaction cuts for the harvest, with secrets masked. Never raises.

    Costs a pass over the newest megabyte for each pattern, and waits a second at most for other
    writers. What goes wrong, and what was masked, is logged; a secret never is.

    Args:
        log: where the queue is.
        scope: whose notes the facts become.
        key: opaque id of the compaction; a key is queued once for a scope.
        entries: messages as the loop has them, oldest first; the newest megabyte is kept.
        conversation_id: of which conversation.
        system: the system prompt, if the entries do not hold it: facts that repeat it are dropped.
        patterns: what is a secret.
    """
    if not is_wanted(log.settings):
        return "off"
    try:
        return _enqueued(
            log,
            scope,
            key=key,
            entries=entries,
            conversation_id=conversation_id,
            system=system,
            patterns=patterns,
        )
    except MemlogError as error:
        logger.warning("a compaction cannot be harvested: %s", format_error(error))
    except Exception as error:  # noqa: BLE001  # entries are foreign objects; compactions go on
        logger.warning("a compaction cannot be harvested: unexpected %s", type(error).__name__)
    return "refused"


def _enqueued(
    log: Log,
    scope: Scope,
    *,
    key: str,
    entries: Sequence[Any],
    conversation_id: str | None,
    system: str | None,
    patterns: Sequence[Pattern],
) -> Enqueued:
    name = fields.opaque_id("key", key)
    if name is None:
        raise InvalidRequestError("key", key, "give an id of the compaction")
    conversation = fields.opaque_id("conversation_id", conversation_id)
    prepared = transcript(entries, system=system, patterns=patterns)
    store = log._store  # noqa: SLF001  # the queue lies beside the log, in the same database
    now = log.clock()
    with store.transaction(wait_s=min(_WAIT_S, log.settings.lock_timeout_s)) as transaction:
        jobs.forget_dead(transaction.cursor, before=utc_text(now - KEPT_DEAD))
        is_new = jobs.add(
            transaction.cursor,
            stream=scope.stream,
            key=name,
            conversation_id=conversation,
            entries=prepared.document,
            entries_sha256=prepared.sha256,
            masked=prepared.masked,
            now=utc_text(now),
        )
    if not is_new:
        return "known"
    if prepared.masked:
        logger.warning("masked %s in a compaction before it was queued", _told(prepared.masked))
    if prepared.left_out:
        logger.warning(
            "a compaction is too long: its %d oldest entries are left out", prepared.left_out
        )
    return "queued"


def _told(masked: Mapping[str, int]) -> str:
    total = sum(masked.values())
    kinds = ", ".join(f"{kind} {count}" for kind, count in masked.items())
    return f"{total} secret{'' if total == 1 else 's'} ({kinds})"


def listed(log: Log, scope: Scope | None = None, *, with_done: bool = False) -> list[Listed]:
    """Return the jobs of the queue, the oldest first.

    Args:
        log: where the queue is.
        scope: only those of this scope.
        with_done: those that were done, too; of them only the key is kept.
    """
    with log._store.reading() as cursor:  # noqa: SLF001  # as above
        return jobs.listed(cursor, stream=stream_of(scope), with_done=with_done)


def retry(log: Log, scope: Scope | None = None, *, key: str | None = None) -> int:
    """Queue dead jobs anew: all, or those of a scope or with a key; return how many."""
    now = utc_text(log.clock())
    with log._store.transaction() as transaction:  # noqa: SLF001  # as above
        return jobs.revive(transaction.cursor, stream=stream_of(scope), key=key, now=now)


def stream_of(scope: Scope | None) -> str | None:
    """Return the stream of a scope; None, which means all, for None."""
    return None if scope is None else scope.stream
