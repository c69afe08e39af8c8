"""The section of a scope at one moment after the other, from the events alone. Pure."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from datetime import datetime

import msgspec

from memlog.audit.replay import add
from memlog.events import (
    Event,
    NotePinned,
    NotesLinked,
    NotesUnlinked,
    NoteWritten,
    Payload,
)
from memlog.note import Note
from projections.digest.headline import Headline, recency
from projections.digest.index import Title
from projections.digest.pins import Pins
from projections.digest.render import assembled, pins_of
from projections.digest.tables import NOTES_MAX, RenderSettings
from projections.notes.fold import Fold, subject

Recency = tuple[datetime, int, str]


class Walk:
    """The notes of a scope, event by event, and what its section says of them.

    What the section is rendered from is kept in order, so that a rendering costs what is shown and
    the number of topics, and not the number of notes.

    Attributes:
        fold: the notes so far.
        pinned_by: by slug the seq of its last pin event.
    """

    def __init__(self) -> None:
        self.fold = Fold()
        self.pinned_by: dict[str, int] = {}
        self._lines: dict[str, str] = {}
        self._live: list[int] = []  # the `written_seq` of each live note, rising
        self._slugs: dict[int, str] = {}  # by these
        self._filed: dict[str, int] = {}  # and the other way round
        self._shelf = Shelf()
        self._pinned: set[str] = set()
        self._pins: dict[RenderSettings, Pins] = {}

    def add(self, event: Event) -> bool:
        """Take the next event, and tell whether it touched a note."""
        touched_seq = self.fold.touched_seq
        add(self.fold, event)
        match event.payload:
            case NotePinned(slug=slug):
                self.pinned_by[slug] = event.seq
            case NoteWritten(slug=slug):
                self._lines[slug] = Headline.of(self.fold.notes[slug]).line()
            case _:
                pass
        if self.fold.touched_seq == touched_seq:
            return False
        self._file(_touched(event.payload))
        return True

    def _file(self, slug: str) -> None:
        """Put a note that was touched where it belongs, and keep to the newest notes."""
        oldest = self._oldest()
        if slug in self._filed:
            seq = self._filed.pop(slug)
            del self._live[bisect_left(self._live, seq)], self._slugs[seq]
            self._take_out(slug)
        note = self.fold.notes[slug]
        if note.live:
            insort(self._live, note.written_seq)
            self._slugs[note.written_seq], self._filed[slug] = slug, note.written_seq
            if note.written_seq >= oldest:
                self._put_in(slug)
        self._slide(oldest, self._oldest())

    def _oldest(self) -> int:
        """Return the `written_seq` of the oldest note that the section is made of."""
        return self._live[-NOTES_MAX] if len(self._live) > NOTES_MAX else 0

    def _slide(self, before: int, now: int) -> None:
        for seq in self._between(before, now):
            self._take_out(self._slugs[seq])
        for seq in self._between(now, before):
            self._put_in(self._slugs[seq])

    def _between(self, start: int, end: int) -> list[int]:
        return self._live[bisect_left(self._live, start) : bisect_left(self._live, end)]

    def _take_out(self, slug: str) -> None:
        self._shelf.discard(slug)
        if slug in self._pinned:
            self._pinned.discard(slug)
            self._pins.clear()

    def _put_in(self, slug: str) -> None:
        note = self.fold.notes[slug]
        if note.pinned:
            self._pinned.add(slug)
            self._pins.clear()
        else:
            topic = note.topics[0] if note.topics else ""
            self._shelf.add(slug, recency(note), title=(topic, self._lines[slug]))

    def newest(self) -> Iterator[Note]:
        """Yield the live notes that the section is made of, the most recently written first."""
        return (self.fold.notes[self._slugs[seq]] for seq in self._live[: -NOTES_MAX - 1 : -1])

    def section(self, settings: RenderSettings) -> str:
        """Return the text of the section as it is now."""
        if settings not in self._pins:
            self._pins[settings] = pins_of(
                [self.fold.notes[slug] for slug in self._pinned],
                budget_tokens=settings.budget_tokens,
                pinned_body_bytes=settings.pinned_body_bytes,
            )
        return assembled(
            self._shelf.newest_first(),
            self._shelf.totals(),
            self._pins[settings],
            live_count=self.fold.live,
            budget_tokens=settings.budget_tokens,
        )

    def headline(self, slug: str) -> str:
        """Return the line that a note has when it is shown by its title."""
        return self._lines[slug]


class Shelf:
    """The titles of notes in the order in which a section shows them."""

    def __init__(self) -> None:
        self._places: dict[str, tuple[Recency, Title]] = {}
        self._order: list[tuple[Recency, Title]] = []
        self._topics: dict[str, list[Recency]] = {}

    def add(self, slug: str, at: Recency, *, title: Title) -> None:
        """Put in the title of a note."""
        self._places[slug] = place = (at, title)
        insort(self._order, place)
        insort(self._topics.setdefault(title[0], []), at)

    def discard(self, slug: str) -> None:
        """Take out the title of a note, if it is there."""
        place = self._places.pop(slug, None)
        if place is None:
            return
        at, (topic, _) = place
        del self._order[bisect_left(self._order, place)]
        filed = self._topics[topic]
        del filed[bisect_left(filed, at)]
        if not filed:
            del self._topics[topic]

    def newest_first(self) -> Iterator[Title]:
        """Yield the titles, the most recently written first."""
        return (title for _, title in reversed(self._order))

    def totals(self) -> dict[str, int]:
        """Return the number of titles of each topic, in the order of each topic's newest."""
        newest_first = sorted(self._topics.items(), key=_newest, reverse=True)
        return {topic: len(filed) for topic, filed in newest_first}


def _newest(filed: tuple[str, list[Recency]]) -> Recency:
    return filed[1][-1]


def _touched(payload: Payload) -> str:
    """Return the note that an event touches, if it touches one: the older one of a link."""
    return payload.to_slug if isinstance(payload, NotesLinked | NotesUnlinked) else subject(payload)


class Clues(msgspec.Struct, frozen=True):
    """What a known text says about the notes that it is of, so that others need no rendering.

    Attributes:
        live: number of live notes.
        titles: the lines of the notes shown by their titles.
    """

    live: int
    titles: frozenset[str]

    def speak_against(self, walk: Walk, event: Event | None) -> bool:
        """Tell that the section after an event (before the first when None) cannot have this text.

        What is shown goes by age alone: with a note, each newer one. So when a title is shown at
        all, that of a note which was just written is.
        """
        if walk.fold.live != self.live:
            return True
        payload = None if event is None else event.payload
        if not isinstance(payload, NoteWritten) or not self.titles:
            return False
        note = walk.fold.notes[payload.slug]
        return not note.pinned and walk.headline(note.slug) not in self.titles
