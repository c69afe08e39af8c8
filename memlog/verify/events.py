"""The pass over the log: each event's bytes, place, time, commitment, rule and leaf."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from memlog import codec
from memlog.codec import Parts, Record
from memlog.errors import CorruptEventError, DamageError, UnknownEventTypeError
from memlog.proof import leaf_hash
from memlog.shown import shown
from memlog.store.rows import StoredRow
from memlog.verify import examining
from memlog.verify.expected import Expected, ScopeCell
from memlog.verify.nodes import TreeCheck
from memlog.verify.report import Findings, counted

PROGRESS_EVENTS = 1_000

Progress = Callable[[int, int], None]


class EventChecks:
    """Looks at every event, in order; a damaged one is a finding, and the pass goes on.

    Attributes:
        count: number of events that were read.
        last_position: position of the last one.
        last_time: the highest `recorded_at` so far.
        tree: follows the tree.
    """

    def __init__(
        self,
        findings: Findings,
        expected: Expected,
        tree: TreeCheck,
        *,
        log_id: str | None,
        folds: bool = True,
        start: int = 0,
        start_time: str = "",
        last_seq_of: Callable[[str], int] = lambda _: 0,
    ) -> None:
        """Begin behind an event.

        Args:
            findings: where damage goes.
            expected: what the events before add up to.
            tree: the tree after the events before.
            log_id: what each envelope must carry; None when the store does not say it.
            folds: ask the rules and add the events up; else only scopes and seqs are followed.
            start: position of the event before the first.
            start_time: its `recorded_at`.
            last_seq_of: gives the last seq of a stream before the first event.
        """
        self._findings, self._expected, self.tree = findings, expected, tree
        self._log_id, self._folds, self._last_seq_of = log_id, folds, last_seq_of
        self.count, self.last_position, self.last_time = 0, start, start_time

    def run(
        self, pages: Iterable[list[StoredRow]], *, total: int, progress: Progress | None = None
    ) -> None:
        """Look at events, in pages; `progress` is called with (events done, events to do)."""
        told = 0
        for page in pages:
            self._page(page)
            if progress is not None and self.count - told >= PROGRESS_EVENTS:
                told = self.count
                progress(told, max(total, told))
        if progress is not None and self.count > told:
            progress(self.count, max(total, self.count))
        self._report()

    def _page(self, page: list[StoredRow]) -> None:
        whole = examining.examined(
            page, after=self.last_position, after_time=self.last_time, log_id=self._log_id
        )
        if whole is None:
            self._one_by_one(page)
        else:
            self._in_order(page, whole)

    def _in_order(self, page: list[StoredRow], whole: examining.Page) -> None:
        """Add a page of which nothing is left to ask but what the events before decide."""
        positions = [row.position for row in page]
        self.tree.add(positions, whole.leaves)
        self._expected.prepare(whole.records)
        contents = self._expected.contents(whole.payloads)
        for position, record, content in zip(positions, whole.records, contents, strict=True):
            self._follow(position, record, content)
        self.count += len(page)
        self.last_position = positions[-1]
        self.last_time = whole.records[-1].envelope.recorded_at

    def _one_by_one(self, page: list[StoredRow]) -> None:
        opened = [self._opened(row) for row in page]
        self.tree.add(
            [row.position for row in page],
            [
                _leaf(_readable_envelope(row) if found is None else found[1].envelope)
                for row, found in zip(page, opened, strict=True)
            ],
        )
        self._expected.prepare(found[0] for found in opened if found is not None)
        for row, found in zip(page, opened, strict=True):
            if row.position != self.last_position + 1:
                self._misplaced(row.position, due=self.last_position + 1)
            self.count += 1
            self.last_position = row.position
            if found is not None:
                self._event(row, *found)

    # --- One row

    def _opened(self, row: StoredRow) -> tuple[Record, Parts] | None:
        """Return a row's content, checked; None, and a finding, when it is no event."""
        try:
            return codec.examined(row.type, row.state, position=row.position)
        except (DamageError, TypeError) as error:
            return self._reopened(row, error)

    def _reopened(self, row: StoredRow, error: Exception) -> tuple[Record, Parts] | None:
        """Tell a wrong type beside the bytes from wrong bytes."""
        try:
            inside = codec.decode_envelope(row.state, position=row.position).type
            found = codec.examined(inside, row.state, position=row.position)
        except (DamageError, TypeError):
            self._findings.add("bytes", row.position, _told(error))
            return None
        if inside == row.type:  # The same bytes and type gave an error before.
            self._findings.add("bytes", row.position, _told(error))
            return None
        self._findings.add("filing", row.position, f"filed as {shown(row.type)}, is {inside}")
        return found

    def _misplaced(self, position: int, *, due: int) -> None:
        lost = f"position {due} is missing" if position > due else "it is out of place"
        self._findings.add("order", min(due, position), lost)

    def _event(self, row: StoredRow, record: Record, parts: Parts) -> None:
        envelope, position, add = record.envelope, row.position, self._findings.add
        stream, seq = envelope.stream, envelope.seq
        if row.stream != stream or row.seq != seq:
            filed = f"{shown(row.stream)} {shown(row.seq)}"
            add("filing", position, f"filed as {filed}, is {shown(stream)} {seq}")
        if envelope.log != self._log_id and self._log_id is not None:
            add("log", position, f"it was written into the log {envelope.log}")
        if envelope.recorded_at < self.last_time:
            add("time", position, f"{envelope.recorded_at} comes after {self.last_time}")
        else:
            self.last_time = envelope.recorded_at
        if codec.commitment(parts.salt, parts.payload) != envelope.commitment:
            add("commitments", position, "its payload is not the one that its envelope commits to")
        (content,) = self._expected.contents([parts.payload])
        self._follow(position, record, content)

    def _follow(self, position: int, record: Record, content: bytes) -> None:
        """Add a readable event to what the events before add up to."""
        envelope, add = record.envelope, self._findings.add
        stream, seq = envelope.stream, envelope.seq
        scope = self._expected.scope(stream)
        if scope is None:
            scope = ScopeCell(position, last_seq=self._last_seq_of(stream))
            self._expected.put_scope(stream, scope)
        if seq != scope.last_seq + 1:
            detail = f"seq {seq} of {shown(stream)} where {scope.last_seq + 1} is due"
            add("order", position, detail)
        scope.last_seq = seq
        self._expected.touch_scope(stream)
        if self._folds:
            for broken in self._expected.add(scope, record, position=position, content=content):
                add("rules", position, shown(broken)[1:-1])

    def _report(self) -> None:
        events = counted(self.count, "event")
        for check in ("order", "bytes", "filing", "log", "time", "commitments"):
            self._findings.looked_at(check, events)
        if self._folds:
            self._findings.looked_at("rules", events)
        self.tree.finish()


def _leaf(envelope: bytes | None) -> bytes | None:
    return None if envelope is None else leaf_hash(envelope)


def _readable_envelope(row: StoredRow) -> bytes | None:
    """Return the envelope of a row whose content is no event, if at least that can be told."""
    try:
        return codec.split(row.state, position=row.position).envelope
    except (DamageError, TypeError):
        return None


def _told(error: Exception) -> str:
    match error:
        case CorruptEventError():
            return error.detail
        case UnknownEventTypeError():
            return f"the type {shown(error.type)} is not known here"
        case _:
            return "it is not stored as bytes"
