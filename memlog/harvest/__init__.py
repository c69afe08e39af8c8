"""The harvest: facts that a compaction would lose, kept as notes by a worker.

    settings = memlog.Settings(harvest_llm="https://host/v1", harvest_model="small")
    with memlog.open("notes.db", settings=settings) as log:
        harvest.enqueue(log, Scope("owner", "alice"), key="c-17/1", entries=messages)
        harvest.Worker(log).run()        # or `memlog harvest run --watch`, in another process

`enqueue` masks secrets, stores the transcript in a queue beside the log, and returns; it never
raises. The worker asks a model (`memlog.harvest.model` says how) and appends what it finds: new
notes of provenance `compaction`, and one event that says which, and how many were dropped and why.
"""

from __future__ import annotations

from memlog.harvest.pattern import Pattern as Pattern
from memlog.harvest.patterns import PATTERNS as PATTERNS
from memlog.harvest.queue import Enqueued as Enqueued
from memlog.harvest.queue import enqueue as enqueue
from memlog.harvest.queue import is_wanted as is_wanted
from memlog.harvest.queue import listed as listed
from memlog.harvest.queue import retry as retry
from memlog.harvest.worker import Done as Done
from memlog.harvest.worker import Worker as Worker
from memlog.jobs import Listed as Listed
