"""Keep what a model found: facts, the event that says so, and the job's end, in one transaction.

So a crash before the commit leaves the job to be done again, and one after it leaves it done; there
is nothing between. Only new notes are written. A job whose lease another worker took meanwhile is
left to that one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from memlog import jobs, requests
from memlog.events import NoteWritten
from memlog.harvest.facts import Facts
from memlog.harvest.known import Triples, repeats, triples
from memlog.jobs import Job
from memlog.log import Log
from memlog.memory import Memory
from memlog.note import Note, Scope
from memlog.requests import Origin, Write
from memlog.sections import render_settings
from memlog.step import Step
from memlog.text import utc_text
from projections.digest import tables
from projections.digest.render import render
from projections.notes.reader import counters, live_set

ACTOR = "harvest"
"""The actor of the events that a harvest appends."""

_ALIKE_MAX = 5
_QUERY_CHARACTERS_MAX = 2_000


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a harvest.

    Attributes:
        slugs: the notes that were written.
        dropped: number of facts that were not, by reason.
    """

    slugs: tuple[str, ...]
    dropped: dict[str, int]


def keep(log: Log, job: Job, facts: Facts, *, model: str) -> Kept | None:
    """Append the facts that are news, at most `harvest_max_facts`; None when the job was lost.

    Raises:
        MemlogError: the store did not take it; nothing was kept.
    """
    news, dropped = _news(log, job, facts)
    store = log._store  # noqa: SLF001  # one transaction over log and queue has no public way
    origin = Origin(actor=ACTOR, conversation_id=job.conversation_id)
    with store.transaction() as transaction:
        if not jobs.is_held(transaction.cursor, job):
            return None
        step = Step(transaction, job.stream, log._ids)  # noqa: SLF001  # as above
        slugs: list[str] = []
        for fact in news:
            payloads = step.run(fact, origin)
            slugs += [each.slug for each in payloads if isinstance(each, NoteWritten)]
            dropped["known_note"] += not payloads
        request = requests.harvest(
            key=job.key,
            entries_sha256=job.entries_sha256,
            model=model,
            slugs=slugs,
            dropped=dropped,
        )
        step.run(request, origin)
        step.finish()
        jobs.finish(transaction.cursor, job, now=utc_text(log.clock()))
    return Kept(slugs=request.slugs, dropped=request.dropped)


def was_kept(log: Log, job: Job) -> bool:
    """Tell whether the log says that this compaction was harvested; costs a scan of the scope."""
    events = log._store.stream_rows(  # noqa: SLF001  # as above
        job.stream, containing=b'"compaction_harvested/1"'
    )
    return any(_key_of(row.state) == job.key for row in events)


def _key_of(state: bytes) -> str | None:
    payload = json.loads(state)["payload"]
    key: str | None = payload.get("key")
    return key


# --- What is news


def _news(log: Log, job: Job, facts: Facts) -> tuple[list[Write], Counter[str]]:
    """Return the facts that say something new, and why the others were dropped."""
    memory = log.scope(Scope.of_stream(job.stream))
    told = {
        "in_system_prompt": triples(_system_prompt(job.entries)),
        "in_section": triples(_section(log, job.stream)),
    }
    news: list[Write] = []
    known: set[Triples] = set()
    dropped = facts.dropped.copy()
    for fact in facts.kept:
        words = triples(fact.content.body)
        if len(news) == log.settings.harvest_max_facts:
            dropped["too_many"] += 1
        elif reason := _why_old(words, told, known) or _known_note(memory, fact, words):
            dropped[reason] += 1
        else:
            news.append(fact)
            known.add(words)
    return news, dropped


def _why_old(words: Triples, told: dict[str, Triples], known: Iterable[Triples]) -> str | None:
    if any(repeats(words, other) for other in known):
        return "repeated"
    return next((reason for reason, text in told.items() if repeats(words, text)), None)


def _known_note(memory: Memory, fact: Write, words: Triples) -> str | None:
    """Return the reason to drop a fact that some note says already, a superseded one too."""
    for note in _alike(memory, fact):
        if repeats(words, triples(f"{note.title}\n{note.body}")):
            return "known_note"
    return None


def _alike(memory: Memory, fact: Write) -> Sequence[Note]:
    query = f"{fact.content.title} {fact.content.body}"[:_QUERY_CHARACTERS_MAX]
    hits = memory.search(query, limit=_ALIKE_MAX, include_superseded=True)
    similar = memory.similar(fact.content.title, topics=fact.content.topics)
    slugs = dict.fromkeys([*(hit.slug for hit in hits), *(each.slug for each in similar)])
    notes = (memory.get(slug) for slug in slugs)
    return [note for note in notes if note is not None]


def _system_prompt(entries: str) -> str:
    """Return the system prompt of a queued transcript: its own field, and its system messages."""
    document = json.loads(entries)
    messages = (entry for entry in document["entries"] if isinstance(entry, dict))
    system = [each for each in messages if each.get("role") in ("system", "developer")]
    return "\n".join([document["system"] or "", *map(_prose, system)])


def _prose(value: Any) -> str:  # noqa: ANN401  # any JSON
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        value = list(value.values())
    return "\n".join(map(_prose, value)) if isinstance(value, list) else ""


def _section(log: Log, stream: str) -> str:
    """Return the section as it is, without recording that it was handed out."""
    settings = render_settings(log.settings)
    with log._store.reading() as cursor:  # noqa: SLF001  # as above
        names = live_set(cursor)
        scope = counters(cursor, names, stream)
        headlines, pinned = tables.newest_notes(cursor, names, scope)
    return render(headlines, pinned, scope.live, settings.budget_tokens, settings.pinned_body_bytes)
