"""What came from some events: the blast radius of a poisoned source."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from memlog.audit.replay import add, events_of
from memlog.errors import CorruptStoreError
from memlog.events import CompactionHarvested, Event, NoteWritten
from memlog.note import Link, Note
from projections.digest.lines import shown_slugs
from projections.digest.tables import HandedOut, records
from projections.notes.fold import Fold

if TYPE_CHECKING:
    from memlog.audit.matching import Predicate
    from memlog.store.protocol import Store


class Tainted(msgspec.Struct, frozen=True, kw_only=True):
    """A note that came from the events in question.

    Attributes:
        note: the note as it is now.
        distance: 0 when one of the events wrote a version of it, else how many `derived_from` edges
            lead from it to the nearest such note.
        derived_from: slug of the next note on that way, None at distance 0.
        seqs: those of the events that wrote a version of it.
        current: whether one of them wrote its present content.
    """

    note: Note
    distance: int
    derived_from: str | None
    seqs: tuple[int, ...]
    current: bool


class Exposure(msgspec.Struct, frozen=True, kw_only=True):
    """A section that was handed out and showed such notes.

    Attributes:
        hash: the section's hash.
        updated_seq: the last event that had touched a note of the scope.
        conversation_id: to which conversation, or None.
        handed_out_at: when, `2026-11-30T19:15:00.000000Z`.
        slugs: the notes that it showed, by title or with their text, in its order.
        verbatim: those of them whose content was, just then, what one of the events wrote.
    """

    hash: str
    updated_seq: int
    conversation_id: str | None
    handed_out_at: str
    slugs: tuple[str, ...]
    verbatim: tuple[str, ...]


class Taint(msgspec.Struct, frozen=True, kw_only=True):
    """The blast radius of some events.

    Attributes:
        events: the events themselves, in order.
        notes: what came from them, the nearest first, then by slug.
        sections: the handed-out sections that showed any of that since, oldest first. A section
            from before the first of the events, or only with a pointer to a topic, is none.
    """

    events: tuple[Event, ...]
    notes: tuple[Tainted, ...]
    sections: tuple[Exposure, ...]


class _Trace:
    """The events of a scope, with who wrote which version of which note."""

    def __init__(self) -> None:
        self.fold = Fold()
        self.matched: list[Event] = []
        self.origins: dict[str, list[int]] = {}  # by slug: seqs of the events in question
        self.versions: defaultdict[str, list[tuple[int, bool]]] = defaultdict(list)

    def add(self, event: Event, *, matches: bool) -> None:
        add(self.fold, event)
        payload = event.payload
        if isinstance(payload, NoteWritten):
            self.versions[payload.slug].append((event.seq, matches))
        if not matches:
            return
        self.matched.append(event)
        for slug in _written(event):
            self.origins.setdefault(slug, []).append(event.seq)

    def is_verbatim(self, slug: str, *, seq: int) -> bool:
        """Tell whether an event in question wrote the version that a note had at a seq."""
        versions = self.versions[slug]
        at = bisect_right(versions, seq, key=lambda version: version[0])
        return at > 0 and versions[at - 1][1]


def _written(event: Event) -> tuple[str, ...]:
    """Return the notes that an event wrote, or says that its compaction wrote."""
    match event.payload:
        case NoteWritten(slug=slug):
            return (slug,)
        case CompactionHarvested(slugs=slugs):
            return slugs
        case _:
            return ()


def taint(store: Store, stream: str, source: Predicate) -> Taint:
    """Return what came from the events for which `source` is true; see `Memory.taint`."""
    trace = _Trace()
    for _, event in events_of(store.stream_rows(stream)):
        trace.add(event, matches=source(event))
    edges = _derived(trace.fold.links)
    ways = _ways(trace.origins, edges)
    since = _since(trace, edges)
    with store.reading() as cursor:
        sections = tuple(_exposures(records(cursor, stream), trace, since, target=store.target))
    return Taint(events=tuple(trace.matched), notes=_notes(trace, ways), sections=sections)


def _derived(links: Iterable[Link]) -> Mapping[str, list[str]]:
    """Return by slug the notes that are derived from it."""
    edges: defaultdict[str, list[str]] = defaultdict(list)
    for link in links:
        if link.rel == "derived_from":
            edges[link.to_slug].append(link.from_slug)
    return edges


def _ways(
    origins: Iterable[str], edges: Mapping[str, list[str]]
) -> dict[str, tuple[int, str | None]]:
    """Return by slug how far each note is, and which one is next on the shortest way."""
    ways: dict[str, tuple[int, str | None]] = dict.fromkeys(origins, (0, None))
    queue = deque(ways)
    while queue:
        slug = queue.popleft()
        for derived in edges.get(slug, ()):
            if derived not in ways:
                ways[derived] = (ways[slug][0] + 1, slug)
                queue.append(derived)
    return ways


def _since(trace: _Trace, edges: Mapping[str, list[str]]) -> dict[str, int]:
    """Return by slug the first seq at which each note may hold something of the source."""
    since = {slug: seqs[0] for slug, seqs in trace.origins.items()}
    queue = deque(since)
    while queue:  # Only ever lowers a number, so cycles end.
        slug = queue.popleft()
        for derived in edges.get(slug, ()):
            seq = max(since[slug], trace.fold.notes[derived].created_seq)
            if derived not in since or seq < since[derived]:
                since[derived] = seq
                queue.append(derived)
    return since


def _notes(trace: _Trace, ways: Mapping[str, tuple[int, str | None]]) -> tuple[Tainted, ...]:
    ordered = sorted(ways.items(), key=lambda way: (way[1][0], way[0]))
    return tuple(
        Tainted(
            note=trace.fold.notes[slug],
            distance=distance,
            derived_from=nearer,
            seqs=tuple(trace.origins.get(slug, ())),
            current=trace.is_verbatim(slug, seq=trace.fold.last_seq),
        )
        for slug, (distance, nearer) in ordered
    )


def _exposures(
    handed_out: Iterable[HandedOut], trace: _Trace, since: Mapping[str, int], *, target: str
) -> Iterator[Exposure]:
    for record in handed_out:
        if record.text is None:
            detail = f"the record of the section {record.hash} (row {record.id}) cannot be read"
            raise CorruptStoreError(target, detail)
        seq = record.updated_seq
        slugs = tuple(
            slug for slug in shown_slugs(record.text) if slug in since and since[slug] <= seq
        )
        if slugs:
            yield Exposure(
                hash=record.hash,
                updated_seq=seq,
                conversation_id=record.conversation_id,
                handed_out_at=record.handed_out_at,
                slugs=slugs,
                verbatim=tuple(slug for slug in slugs if trace.is_verbatim(slug, seq=seq)),
            )
