"""What a verification says: named checks, what each looked at, and what it found."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

Outcome = Literal["ok", "absent", "failed", "unreadable", "skipped"]

FINDINGS_MAX = 10
"""How many findings of one check are kept; all are counted."""

CHECKS: dict[str, str] = {
    "pages": "the database's own structure: pages, and indexes against their tables",
    "triggers": "the triggers that keep the log append-only are there, unchanged",
    "order": "positions and seqs: 1, 2, 3 ... without gaps; the log's head is the last event",
    "bytes": "each event is canonical, of a known type",
    "filing": "stream, seq and type beside the bytes are those inside them",
    "log": "each event carries the id of this log",
    "time": "times never run backwards",
    "commitments": "each payload is the one that its envelope commits to",
    "rules": "no event breaks a rule in the state before it",
    "tree": "the stored Merkle tree is that of the envelopes",
    "checkpoints": "each checkpoint is a beginning of this log",
    "counters": "the counters of each scope are what its events add up to",
    "notes": "the notes table is what the events add up to",
    "links": "the links table is what the events add up to",
    "requests": "the remembered requests are those of the events",
    "words": "the words by which similar notes are found are those of the notes",
    "sections": "stored sections have their hash, and say what the notes say",
    "index": "the search indexes hold the notes as they were at their cursor",
}
"""Every check by name, in the order of a report, and what must hold."""

_DERIVED_FROM = list(CHECKS).index("counters")  # From here on: what is made from the events.


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is not as it should be.

    Attributes:
        check: name of the check that found it, which is the kind of damage.
        position: place in the log of the event that it is about; None when it is about none.
        detail: what is wrong, in words; values of the store in it are ASCII and cut.
    """

    check: str
    position: int | None
    detail: str


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One check and its outcome.

    Attributes:
        name: a key of `CHECKS`.
        outcome: `ok`; `absent`: there is nothing of that kind; `failed`: something is wrong;
            `unreadable`: it exists, but could not be looked at; `skipped`: not asked for.
        looked_at: what was looked at, in words.
        findings: the first ten things wrong, by position.
        count: how many there are.
    """

    name: str
    outcome: Outcome
    looked_at: str
    findings: tuple[Finding, ...] = ()
    count: int = 0


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """What `log.verify()` found.

    Attributes:
        target: the store.
        log_id: id of the log; None when the store does not say it.
        events: number of events that were read.
        root: hex of the Merkle root over the envelopes that were read; None when one of them could
            not be.
        checks: every check, in the order of `CHECKS`.
    """

    target: str
    log_id: str | None
    events: int
    root: str | None
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong and everything could be looked at."""
        return not self.failed and not any(each.outcome == "unreadable" for each in self.checks)

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that found something wrong."""
        return tuple(each for each in self.checks if each.outcome == "failed")

    @property
    def first(self) -> Finding | None:
        """The first damage: the finding about the log itself with the lowest position.

        Only where the log is whole: the one about what is made from it.
        """
        return _first(self.checks)


def _first(checks: Iterable[Check]) -> Finding | None:
    found = (finding for each in checks for finding in each.findings)
    return min(found, key=_place, default=None)


def _place(finding: Finding) -> tuple[bool, bool, int, int]:
    position, check = finding.position, list(CHECKS).index(finding.check)
    return check >= _DERIVED_FROM, position is None, position or 0, check


class Findings:
    """Collects what the checks find."""

    def __init__(self) -> None:
        self._found: dict[str, list[Finding]] = {name: [] for name in CHECKS}
        self._counts = dict.fromkeys(CHECKS, 0)
        self._outcomes: dict[str, tuple[Outcome, str]] = {}

    def add(self, check: str, position: int | None, detail: str) -> None:
        """Note that something is wrong."""
        self._counts[check] += 1
        found = self._found[check]
        found.append(Finding(check=check, position=position, detail=detail))
        if len(found) > FINDINGS_MAX:
            found.sort(key=_place)
            found.pop()

    @property
    def first(self) -> Finding | None:
        """As `Verification.first`."""
        return _first(self.checks())

    def count(self, check: str) -> int:
        """Return how many things a check has found."""
        return self._counts[check]

    def looked_at(self, check: str, what: str, *, outcome: Outcome = "ok") -> None:
        """Note what a check looked at; `ok` stands for itself unless something was found."""
        self._outcomes[check] = outcome, what

    def checks(self) -> tuple[Check, ...]:
        """Return every check."""
        return tuple(map(self._check, CHECKS))

    def _check(self, name: str) -> Check:
        outcome, looked_at = self._outcomes.get(name, ("skipped", "not looked at"))
        found = sorted(self._found[name], key=_place)
        return Check(
            name=name,
            outcome="failed" if found else outcome,
            looked_at=looked_at,
            findings=tuple(found),
            count=self._counts[name],
        )


def counted(number: int, noun: str) -> str:
    """Return a number of things in words: `1 event`, `1,200 events`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
