"""The reads of a scope as of a moment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memlog import fields
from memlog.audit.moments import Moment
from memlog.audit.replay import Refused, Replayed
from memlog.audit.snapshot import PastStore
from memlog.events import Event
from memlog.note import Scope, Similar
from memlog.reads import Reads
from memlog.searching import Searcher, chosen_backend
from memlog.settings import Settings
from projections.digest.tables import handed_out

if TYPE_CHECKING:
    from memlog.audit.matching import Predicate
    from memlog.store.protocol import Store
    from projections.search.protocol import SearchBackend


class Past(Reads):
    """The notes of a scope as they were: every read of `memlog.Memory`, and no write.

    The events are replayed when the first read needs them (10,000 in about half a second) and kept
    for the others. A search indexes in memory, and its `now` is the moment unless it is given. A
    section is rendered and never recorded.

    Attributes:
        scope: whose notes these are.
        moment: when it is.
    """

    def __init__(
        self,
        source: Store,
        scope: Scope,
        *,
        settings: Settings,
        moment: Moment,
        without: Predicate | None = None,
    ) -> None:
        def private_backend() -> SearchBackend:
            return chosen_backend(settings.search, None).private()

        past = PastStore(source, scope.stream, seq=moment.seq, without=without)
        searcher = Searcher(
            past, settings=settings, clock=lambda: moment.time, new_backend=private_backend
        )
        super().__init__(past, scope, settings=settings, searcher=searcher)
        self.moment = moment
        self._past, self._source, self._without = past, source, without

    @property
    def log_id(self) -> str:
        """The log whose events they come from."""
        return self._source.log_id

    @property
    def seq(self) -> int:
        """Seq of the last event of the scope at that moment, 0 before the first."""
        return self.moment.seq

    @property
    def left_out(self) -> tuple[Event, ...]:
        """The events that `without` left out."""
        return self.replayed().left_out

    @property
    def refused(self) -> tuple[Refused, ...]:
        """The events that were illegal without those, and were not applied; each with why."""
        return self.replayed().refused

    def replayed(self) -> Replayed:
        """Return what the events add up to.

        Raises:
            DamageError: an event cannot be read, or, with nothing left out, breaks a rule.
        """
        return self._past.replayed()

    def similar(self, title: str, *, topics: Sequence[str] = ()) -> tuple[Similar, ...]:
        """Return live notes whose words overlap with these; see `Memory.similar`.

        Costs another replay the first time, of about 0.2 ms an event.
        """
        self._past.file_words()
        return super().similar(title, topics=topics)

    def section_text(self, section_hash: str) -> str | None:
        """Return the text of a section that was handed out by then with this hash, or None.

        What-if has none: no section of it was ever handed out.
        """
        fields.string("section_hash", section_hash)
        if self._without is not None:
            return None
        with self._source.reading() as cursor:
            return handed_out(cursor, self.scope.stream, section_hash, up_to_seq=self.seq)

    def __repr__(self) -> str:
        return f"<Past {self.scope.stream!r} at seq {self.seq}>"
