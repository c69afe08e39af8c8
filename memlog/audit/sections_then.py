"""The section of a scope at one moment after the other, from the events alone. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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
from projections.digest.headline import Headline
from projections.digest.render import render
from projections.digest.tables import NOTES_MAX, RenderSettings
from projections.notes.fold import Fold, subject


class Walk:
    """The notes of a scope, event by event, and what its section says of them.

    Attributes:
        fold: the notes so far.
        pinned_by: by slug the seq of its last pin event.
    """

    def __init__(self) -> None:
        self.fold = Fold()
        self.pinned_by: dict[str, int] = {}
        self._headlines: dict[str, Headline] = {}
        self._titles: dict[str, Headline] = {}
        self._pins: dict[str, Note] = {}

    def add(self, event: Event) -> bool:
        """Take the next event, and tell whether it touched a note."""
        touched_seq = self.fold.touched_seq
        add(self.fold, event)
        match event.payload:
            case NotePinned(slug=slug):
                self.pinned_by[slug] = event.seq
            case NoteWritten(slug=slug):
                # Written last: a dict keeps the order in which its keys came.
                self._headlines.pop(slug, None)
                self._headlines[slug] = Headline.of(self.fold.notes[slug])
            case _:
                pass
        if self.fold.touched_seq == touched_seq:
            return False
        self._file(_touched(event.payload))
        return True

    def _file(self, slug: str) -> None:
        """Put a note that was touched to the titles or to the pinned notes, or to neither."""
        note = self.fold.notes[slug]
        self._titles.pop(slug, None)
        self._pins.pop(slug, None)
        if note.live and note.pinned:
            self._pins[slug] = note
        elif note.live:
            self._titles[slug] = self._headlines[slug]

    def newest(self) -> Iterator[Note]:
        """Yield the live notes that the section is made of, the most recently written first."""
        notes = self.fold.notes
        left = NOTES_MAX
        for slug in reversed(self._headlines):
            if notes[slug].live:
                yield notes[slug]
                left -= 1
                if not left:
                    return

    def section(self, settings: RenderSettings) -> str:
        """Return the text of the section as it is now."""
        titles: Iterable[Headline] = self._titles.values()
        pins: Iterable[Note] = self._pins.values()
        if self.fold.live > NOTES_MAX:
            newest = {note.slug for note in self.newest()}
            titles = [each for each in titles if each.slug in newest]
            pins = [each for each in pins if each.slug in newest]
        return render(
            titles,
            pins,
            self.fold.live,
            settings.budget_tokens,
            settings.pinned_body_bytes,
        )

    def headline(self, slug: str) -> str:
        """Return the line that a note has when it is shown by its title."""
        return self._headlines[slug].line()


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
