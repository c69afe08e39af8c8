"""One node: threads that write, link, search and read sections, and say what they were told.

Usage: python -m tests.postgres.node URL INDEX_DIR NODE THREADS WRITES

Prints one line of JSON for each attempt: `[kind, scope, title, position]`, where kind is `acked`,
`refused` (nothing was written, says the error) or `unknown`; at last what it found amiss.
"""

import json
import random
import sys
import threading
from contextlib import suppress

import memlog
from memlog import BusyError, RuleError, UnknownOutcomeError, UnreachableError
from memlog.log import Log
from memlog.settings import Settings

SHARED = "owner/shared"
ATTEMPTS_MAX = 200
_print = threading.Lock()


def say(*values: object) -> None:
    with _print:
        print(json.dumps(values), flush=True)  # noqa: T201  # it is what the parent reads


def main() -> None:
    url, index_dir, node, threads, writes = sys.argv[1:]
    with opened(url, Settings(index_dir=index_dir, lock_timeout_s=20)) as log:
        working = [
            threading.Thread(target=work, args=(log, f"n{node}t{number}", int(writes)))
            for number in range(int(threads))
        ]
        for thread in working:
            thread.start()
        for thread in working:
            thread.join()


def opened(url: str, settings: Settings) -> Log:
    """Open the log, also where a connection is killed in the middle of it: it says to try again."""
    for _ in range(ATTEMPTS_MAX):
        with suppress(UnreachableError):
            return memlog.open(url, settings=settings)
    return memlog.open(url, settings=settings)


def work(log: Log, name: str, writes: int) -> None:
    chance = random.Random(name)
    attempts = iter(range(writes * ATTEMPTS_MAX))
    mine: list[str] = []
    for _ in range(writes):
        scope = SHARED if chance.random() < 0.6 else f"owner/{name}"
        title = f"{name}w{next(attempts)}"
        while not attempt(log, scope, title):
            title = f"{name}w{next(attempts)}"
        if scope == SHARED:
            mine.append(title)
            link(log, chance, mine)


def attempt(log: Log, scope: str, title: str) -> bool:
    memory = log.scope("owner", scope.partition("/")[2])
    try:
        written = memory.write(title=title, body=f"body of {title}", topics=["load"])
    except (BusyError, UnreachableError):
        say("refused", scope, title, None)
        return False
    except UnknownOutcomeError:
        say("unknown", scope, title, None)
        return False
    say("acked", scope, title, written.position)
    try:
        hits = [hit.slug for hit in memory.search(title, limit=3, include_superseded=True)]
        text = memory.section().text
        note = memory.get(title)
    except (BusyError, UnreachableError):
        return True
    if title not in hits:
        say("amiss", scope, title, f"a search after the write found {hits}")
    if title not in text and (note is None or note.live):
        say("amiss", scope, title, "a section after the write is without it")
    return True


def link(log: Log, chance: random.Random, mine: list[str]) -> None:
    """Try to supersede something; half of all tries would close a cycle or supersede twice."""
    memory = log.scope("owner", "shared")
    try:
        seen = [note.slug for note in memory.notes(limit=6)]
        newer, older = chance.choice(seen), chance.choice([*seen, *mine])
        memory.link(newer, older, "supersedes")
    except (RuleError, BusyError, UnreachableError, UnknownOutcomeError):
        pass


if __name__ == "__main__":
    main()
