"""One verification: every check over one consistent view of a store."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from functools import cached_property
from pathlib import Path

import msgspec

from memlog import fields
from memlog.errors import DamageError, InvalidRequestError
from memlog.proof import ProofError, VerifierKey, parse_vkey
from memlog.store.protocol import Executor
from memlog.store.rows import EVENTS_TABLE, StoredRow, row_of
from memlog.verify import anchors, beside, structure, sums, tables
from memlog.verify.events import EventChecks, Progress
from memlog.verify.expected import Expected
from memlog.verify.indexes import check_indexes
from memlog.verify.nodes import TreeCheck
from memlog.verify.paging import pages
from memlog.verify.report import Findings, Verification, counted
from memlog.verify.second import File, Found, Task
from memlog.verify.stored_sections import check_sections
from memlog.verify.structure import Head
from memlog.verify.words import check_words, words_of
from projections import checkpoints, tree
from projections.notes.tables import Names

SKIPPABLE = ("pages", "index", "sections", "words")
_DERIVED = ("counters", "notes", "links", "requests", "words", "sections", "index")
_NOT_READ = "the events before it could not all be read"


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a verification is to look at, beside the store itself.

    Attributes:
        target: what to call the store.
        index_dir: where its search indexes lie; None when they are not on disk.
        skip: names of checks to leave out.
        saved: checkpoints that somebody kept elsewhere, by name.
        keys: whose signatures they must carry; not looked at when there are none.
        progress: called with (events done, events to do), about every 1,000 events.
        file: how a second process can open the store; None when it cannot.
        later: opens a view of the store as it is by then; None when nobody can be changing it.
            A search index that others write meanwhile may be of a later moment than all else.
    """

    target: str
    index_dir: Path | None = None
    skip: Collection[str] = ()
    saved: Mapping[str, bytes] = {}
    keys: Sequence[VerifierKey] = ()
    progress: Progress | None = None
    file: File | None = None
    later: Callable[[], AbstractContextManager[Executor]] | None = None

    def __post_init__(self) -> None:
        for name in self.skip:
            if name not in SKIPPABLE:
                raise InvalidRequestError("skip", name, f"use some of {', '.join(SKIPPABLE)}")


def verifier_keys(vkeys: Sequence[str]) -> tuple[VerifierKey, ...]:
    """Return the keys that vkeys stand for.

    Raises:
        InvalidRequestError: one is none.
    """
    keys = []
    for vkey in vkeys:
        try:
            keys.append(parse_vkey(fields.string("key", vkey)))
        except ProofError:
            rule = "give a vkey, as memlog keygen prints it"
            raise InvalidRequestError("key", vkey, rule) from None
    return tuple(keys)


def verify(cursor: Executor, asked: Asked) -> Verification:
    """Look at everything, and return what was found.

    Args:
        cursor: inside a read transaction, of whose moment everything is.
        asked: what to look at.
    """
    findings = Findings()
    with closing(_Run(cursor, asked, findings)) as run:
        run.structure()
        with run.second():
            run.log()
            if run.whole:
                run.derived()
            run.pages()
        return Verification(
            target=asked.target,
            log_id=None if run.head is None else run.head.log_id,
            events=run.events,
            root=None if run.root is None else run.root.hex(),
            checks=findings.checks(),
        )


class _Run:
    """The state of one verification.

    Attributes:
        head: the log's row.
        events: number of events read.
        root: the root over them.
        whole: whether the log could be read to its end.
    """

    def __init__(self, cursor: Executor, asked: Asked, findings: Findings) -> None:
        self._cursor, self._asked, self._findings = cursor, asked, findings
        self._expected = Expected()
        self._second: beside.Second | None = None
        self.head: Head | None = None
        self.events = 0
        self.root: bytes | None = None
        self.whole = False

    def close(self) -> None:
        self._expected.close()

    @contextmanager
    def _reading(self, check: str) -> Iterator[None]:
        """Make of what cannot be read a finding of a check."""
        try:
            yield
        except (sqlite3.Error, DamageError) as error:
            self._findings.add(check, None, f"it cannot be read: {error}")
            self._findings.looked_at(check, "what could be read")

    def structure(self) -> None:
        with self._reading("triggers"):
            structure.check_triggers(self._cursor, self._findings)
        with self._reading("order"):
            self.head = structure.head(self._cursor, self._findings)

    @contextmanager
    def second(self) -> Iterator[None]:
        """Let a second process work meanwhile, where there can be one."""
        file, skip = self._asked.file, self._asked.skip
        if file is None or self.head is None:
            yield
            return
        task = Task(
            file, self._expected.secret, words="words" not in skip, pages="pages" not in skip
        )
        with beside.begun(task, events=self.head.position) as self._second:
            yield

    @cached_property
    def _found(self) -> Found | None:
        """What the second process found."""
        return None if self._second is None else self._second.found()

    def pages(self) -> None:
        if "pages" in self._asked.skip:
            return
        found = self._found
        faults = structure.page_faults(self._cursor) if found is None else found.page_faults
        for fault in faults or ():
            self._findings.add("pages", None, fault)
        if faults is None:
            self._findings.looked_at("pages", "the server's own business", outcome="skipped")
        else:
            self._findings.looked_at("pages", "all pages and indexes")

    def log(self) -> None:
        """Read every event, and hold head, tree and checkpoints against them."""
        with self._reading("pages"):
            held = self._anchors()
            checks = self._event_checks(anchors.sizes(held))
            self._read(checks)
            self.events, self.root = checks.count, checks.tree.root
            if self.head is not None and self.whole:
                structure.check_head(
                    self.head,
                    self._findings,
                    last_position=checks.last_position,
                    last_time=checks.last_time,
                )
            anchors.check_anchors(
                held,
                self._findings,
                log_id=None if self.head is None else self.head.log_id,
                events=checks.count,
                roots=checks.tree.roots,
            )

    def _read(self, checks: EventChecks) -> None:
        try:
            highest = structure.highest_position(self._cursor)
            checks.run(stored_pages(self._cursor), total=highest, progress=self._asked.progress)
            self.whole = True
        except sqlite3.Error as error:
            self._findings.add("pages", checks.last_position + 1, f"it cannot be read: {error}")

    def _anchors(self) -> list[anchors.Anchor]:
        held: list[anchors.Anchor] = []
        with self._reading("checkpoints"):
            if structure.has_table(self._cursor, checkpoints.TABLE):
                held = anchors.stored(checkpoints.kept(self._cursor))
        saved = self._asked.saved.items()
        return held + [anchors.anchor(name, note, self._asked.keys) for name, note in saved]

    def _event_checks(self, sizes: Collection[int]) -> EventChecks:
        is_stored = structure.has_table(self._cursor, tree.TABLE)
        return EventChecks(
            self._findings,
            self._expected,
            TreeCheck(self._cursor if is_stored else None, self._findings, sizes=sizes),
            log_id=None if self.head is None else self.head.log_id,
        )

    def derived(self) -> None:
        """Hold every read model against the events."""
        with self._reading("notes"):
            names = structure.live_set(self._cursor)
            if names is None:
                detail = "the pointer to the live tables points nowhere"
                self._findings.add("notes", None, detail)
            else:
                self._tables(names)
        if self.head is not None and "index" not in self._asked.skip:
            with self._reading("index"):
                check_indexes(
                    self._cursor,
                    self._expected,
                    self.head,
                    self._asked.index_dir,
                    self._findings,
                    later=self._asked.later,
                )

    def _tables(self, names: Names) -> None:
        if not self._tables_as_found(names):
            self._tables_row_by_row(names)
        if "sections" not in self._asked.skip:
            with self._reading("sections"):
                check_sections(self._cursor, names, self._expected, self._findings)

    def _tables_as_found(self, names: Names) -> bool:
        """Tell whether the second process found all rows as the events give them."""
        found, looks_at_words = self._found, "words" not in self._asked.skip
        if (
            found is None
            or found.set != names.set
            or (looks_at_words and found.live_notes is None)
            or found.sums != sums.of_events(self._expected)
        ):
            return False
        looked_at = self._findings.looked_at
        looked_at("counters", counted(found.sums.counters.rows, "scope"))
        looked_at("links", counted(found.sums.links.rows, "link"))
        looked_at("requests", counted(found.sums.requests.rows, "request"))
        looked_at("notes", counted(found.sums.notes.rows, "note"))
        if found.live_notes is not None:
            looked_at("words", words_of(found.live_notes))
        return True

    def _tables_row_by_row(self, names: Names) -> None:
        cursor, expected, findings = self._cursor, self._expected, self._findings
        checks: dict[str, Callable[..., object]] = {
            "counters": tables.check_counters,
            "links": tables.check_links,
            "requests": tables.check_requests,
        }
        for name, check in checks.items():
            with self._reading(name):
                check(cursor, names, expected, findings)
        with self._reading("notes"):
            sums = tables.check_notes(cursor, names, expected, findings)
            if "words" not in self._asked.skip:
                with self._reading("words"):
                    check_words(cursor, names, sums, findings)


def stored_pages(cursor: Executor, *, after: int | None = None) -> Iterator[list[StoredRow]]:
    """Yield the stored events above a position, or all of them, in order, in lists."""
    statement = f"SELECT rowid, originator_id, originator_version, topic, state FROM {EVENTS_TABLE}"
    found = pages(cursor, statement, "rowid", after=() if after is None else (after,))
    return ([*map(row_of, page)] for page in found)
