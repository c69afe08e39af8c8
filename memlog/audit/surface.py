"""The audit of one scope, as methods: the middle half of `memlog.Memory`, between reads and writes.

What each method needs is imported when it is called, so that a write never pays for it.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from memlog import fields
from memlog.errors import InvalidRequestError
from memlog.reads import Reads

if TYPE_CHECKING:
    from memlog.audit.diff import Difference
    from memlog.audit.matching import Predicate
    from memlog.audit.past import Past
    from memlog.audit.prompts import Progress, Prompt
    from memlog.audit.taint import Taint
    from memlog.audit.timeline import TimelineEntry

    When = int | datetime | Past


class Audited(Reads):
    """The reads of a scope, and what only its log can tell."""

    def at(
        self,
        *,
        seq: int | None = None,
        time: datetime | None = None,
        position: int | None = None,
        without: Predicate | None = None,
    ) -> Past:
        """Return the notes of this scope as they were at a moment, with every read of now.

        They come from the log alone, by the code of the live reads. Give exactly one of the first
        three. Writes nothing; costs a few point reads, and the first read a replay.

        Args:
            seq: after the event with this seq; 0 is before the first.
            time: after the last event that was recorded at this time or before it; aware.
            position: after the event at this place of the log, whatever scope it is of.
            without: what if? Leave out the events for which this is true (`memlog.matching` makes
                such a predicate); those that are illegal without them are not applied either:
                `left_out` and `refused` of the result name both.

        Raises:
            InvalidRequestError: not exactly one was given, or it lies beyond the head: there is no
                such event, or the time has not come.
            DamageError: the log cannot be read; also from the first read of what is returned.
        """
        from memlog.audit.moments import moment_of
        from memlog.audit.past import Past

        fields.function("without", without)
        moment = moment_of(
            self._store,
            self._stream,
            seq=seq,
            time=time,
            position=position,
            now=self._searcher.clock,
        )
        return Past(
            self._store, self.scope, settings=self._settings, moment=moment, without=without
        )

    def diff(self, before: When, after: When | None = None) -> Difference:
        """Return what is otherwise at one moment than at another.

        Each moment is a seq, an aware datetime, or what `at` returned (a position, or what-if:
        `memory.diff(memory.at(seq=9), memory.at(seq=9, without=…))` is what some events changed).

        Args:
            before: the first one.
            after: the second one; now when None.

        Raises:
            InvalidRequestError: a moment is none, lies beyond the head, or is of another scope.
            DamageError: the log cannot be read.
        """
        from memlog.audit.diff import difference
        from memlog.audit.moments import head

        first = self._past("before", before)
        second = self._past("after", head(self._store, self._stream) if after is None else after)
        return difference(
            first.replayed().fold, second.replayed().fold, moments=(first.moment, second.moment)
        )

    def _past(self, field: str, when: object) -> Past:
        from memlog.audit.past import Past

        match when:
            case Past():
                if when.scope != self.scope:
                    raise InvalidRequestError(field, when, "it is of another scope")
                if when.log_id != self._store.log_id:
                    raise InvalidRequestError(field, when, "it is of another log")
                return when
            case datetime():
                return self.at(time=when)
            case bool():
                pass
            case int():
                return self.at(seq=when)
        raise InvalidRequestError(
            field, when, "give a seq, an aware datetime, or what `at` returns"
        )

    def timeline(
        self, *, around: int | None = None, before: int = 10, after: int = 10
    ) -> list[TimelineEntry]:
        """Return the events around a seq, each with what it changed, oldest first.

        Costs a replay up to there.

        Args:
            around: a seq; the last one when None.
            before: how many events before it at most.
            after: how many events behind it at most.

        Raises:
            InvalidRequestError: there is no such event.
            DamageError: the log cannot be read.
        """
        from memlog.audit.moments import head
        from memlog.audit.replay import events_of
        from memlog.audit.timeline import entries

        fields.whole("before", before)
        fields.whole("after", after)
        last = head(self._store, self._stream)
        if around is None:
            if not last:
                return []
            around = last
        if fields.whole("around", around, low=1) > last:
            raise InvalidRequestError("around", around, f"the scope's last event is seq {last}")
        rows = self._store.stream_rows(self._stream, up_to=around + after)
        events = (event for _, event in events_of(rows))
        return list(entries(events, after=around - before - 1))

    def taint(self, source: Predicate) -> Taint:
        """Return what came from some events: the blast radius of a poisoned source.

        Notes of which any version came from such an event, notes that are `derived_from` one of
        those at any distance, and every handed-out section that showed one.

        Args:
            source: true for the events in question; `memlog.matching` makes such a predicate.

        Raises:
            DamageError: the log, or the record of a section, cannot be read.
        """
        from memlog.audit.taint import taint

        if source is None:
            raise InvalidRequestError("source", source, "give a function")
        fields.function("source", source)
        return taint(self._store, self._stream, source)

    def prompt(self, section_hash: str, *, progress: Progress | None = None) -> Prompt | None:
        """Return when the section of this scope had a hash, and the events behind each line of it.

        The text is rendered anew from the events, and compared with the record of what was handed
        out. None when no section of this scope ever had that hash. Costs a replay, and a rendering
        for each event that may have led to it: with a record few, else all that touched a note. A
        rendering costs what is shown and the number of topics: half a millisecond for a hundred.

        Args:
            section_hash: as `section` returned it.
            progress: called with (events done, events to do) about every 500 events.

        Raises:
            DamageError: the log, or the record of a section, cannot be read.
        """
        from memlog.audit.prompts import prompt

        return prompt(
            self._store,
            self._stream,
            fields.string("section_hash", section_hash),
            settings=self._settings,
            progress=progress,
        )
