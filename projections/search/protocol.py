"""The seam between the log and a search engine: plain values and two protocols.

The log side implements `Feed`, the engine implements `SearchBackend`. Neither knows the other's
module. A backend never learns a path, a connection or a scope's owner from anything but the feed,
and the feed never learns what an index is.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Protocol

from msgspec import Struct


class Document(Struct, frozen=True, kw_only=True):
    """What search needs to know about one note, as it is at the feed's moment.

    `written_at` (aware UTC) gives the age in ranking. `written_seq` is the seq of the note's last
    `note_written`, the order of a blank query. `updated_seq` is the seq of the last event that
    touched the note, and breaks ties. `superseded_by` names the superseder; None means live.
    """

    slug: str
    title: str
    body: str
    topics: tuple[str, ...]
    provenance: str
    confidence: float
    pinned: bool
    written_at: datetime
    written_seq: int
    updated_seq: int
    superseded_by: str | None = None


class Weights(Struct, frozen=True, kw_only=True):
    """How much age and pin may lift a hit; see `SearchBackend.search`.

    Raises:
        ValueError: A weight is negative or not finite, or the half-life is not above 0.
    """

    recency_weight: float = 0.2
    half_life_days: float = 30.0
    pinned_bonus: float = 0.2

    def __post_init__(self) -> None:
        for name in ("recency_weight", "pinned_bonus"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise ValueError(f"{name} is {getattr(self, name)!r}; it must be 0 or more")  # noqa: TRY003
        if not 0 < self.half_life_days < float("inf"):
            raise ValueError(f"half_life_days is {self.half_life_days!r}; it must be above 0")  # noqa: TRY003


class Hit(Struct, frozen=True, kw_only=True):
    """One found note. score = relevance × (1 + recency + pin).

    `recency` and `pin` are the two additions after their weights: 0.2 at age 0 with the default
    weight. For a blank query relevance and score are 0. `snippet` is the part of the body that
    fits the query best, white space folded, `…` where it was cut; it is text of the note, so it
    must be wrapped before a model sees it.
    """

    slug: str
    title: str
    snippet: str
    topics: tuple[str, ...]
    provenance: str
    confidence: float
    pinned: bool
    written_at: datetime
    score: float
    superseded_by: str | None
    relevance: float
    recency: float
    pin: float


class Feed(Protocol):
    """One scope of the log at one moment. All answers must belong to the same moment.

    The backend calls `head` first, inside its lock for the scope, and every other method after
    it. So a feed that starts its read transaction in `head` never shows a moment that is older
    than what another thread has searched before.
    """

    @property
    def log_id(self) -> str:
        """The log's UUID. Becomes the name of a directory, so it must be a plain UUID."""
        ...

    @property
    def stream(self) -> str:
        """The scope's stream, such as `owner/alice` or `global/`. Never becomes a path."""
        ...

    @property
    def hmac_key(self) -> bytes:
        """32 bytes that lie in the database only: what signs the index on disk."""
        ...

    def head(self) -> tuple[int, str]:
        """Return the seq and the event id of the scope's last event; (0, "") when it has none."""
        ...

    def event_id(self, seq: int) -> str | None:
        """Return the id of the scope's event with this seq; None if there is none yet."""
        ...

    def touched(self, *, after_seq: int, up_to: int) -> list[Document]:
        """Return each note that an event in (after_seq, up_to] touched, as it is at `up_to`.

        Each note once, in any order. Costs what was touched, not what the scope holds.
        """
        ...

    def all(self, *, up_to: int) -> Iterator[Document]:
        """Yield every note of the scope as it is at `up_to`, superseded ones too."""
        ...


class SearchBackend(Protocol):
    """A search engine. All methods may be called from any thread, for any number of scopes."""

    def search(
        self,
        feed: Feed,
        query: str,
        *,
        now: datetime,
        limit: int = 10,
        topic: str | None = None,
        include_superseded: bool = False,
        weights: Weights,
    ) -> list[Hit]:
        """Return the best `limit` notes for a query, as of the feed's head.

        rank = relevance × (1 + recency_weight · 2^(−age / half_life_days) + pinned_bonus · pinned);
        age runs from written_at to `now` and is 0 if `now` comes first. The order is exact, ties
        go to the higher updated_seq. Any string is a valid query; a blank one lists the most
        recently written notes, one without a single word finds none. Statistics are those of all
        live notes of the scope, whatever the options. A `limit` below 1 finds none.

        Args:
            feed: The scope and the moment.
            query: Free text, no syntax.
            now: Aware time that ages are counted from.
            limit: The greatest number of hits.
            topic: Only notes that have exactly this topic.
            include_superseded: Rank superseded notes among the others instead of leaving them out.
            weights: How much age and pin count.
        """
        ...

    def commit(self, feed: Feed) -> None:
        """Bring the stored index to the feed's head. Costs an index write; for idle moments."""
        ...

    def rebuild(self, feed: Feed) -> None:
        """Forget what is stored for the scope, index all its notes anew and store that."""
        ...

    def private(self) -> "SearchBackend":
        """Return a backend of the same kind that shares nothing with this one.

        It keeps its indexes in memory only, and goes with the last reference to it: for moments of
        the past, which must leave no trace.
        """
        ...

    def close(self) -> None:
        """Store what is not stored yet and let go of files and threads. May be called twice."""
        ...
