"""What requests of one scope would do, worked out beside it: a dry run of an import.

Reads come from one moment of the scope, and what is decided lies over them in memory. So nothing is
locked, other writers go on, and a store that may only be read can be asked, too. Costs memory for
the notes that would change, not for the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from memlog import decide, text
from memlog.decide import content_of
from memlog.events import NotesLinked, NotesUnlinked, NoteWritten, Payload
from memlog.guard import Guard, check
from memlog.memory import Memory
from memlog.note import Link, Note
from memlog.requests import AnyRequest, Content, Origin, Write
from memlog.together import ids_under
from projections.notes.fold import Fold, Remembered
from projections.notes.reader import Reader, live_set

_ANY_TIME = "1970-01-01T00:00:00.000000Z"  # No rule asks when, and no report tells it.


class Rehearsal:
    """Answers as `memlog.together.Together` does; implements `memlog.decide.State`."""

    def __init__(self, reader: Reader, guard: Guard | None) -> None:
        self._reader, self._guard = reader, guard
        self._fold = Fold()  # Holds the notes that were touched here.
        self._fold.last_seq = reader.counters.last_seq
        self._added: defaultdict[str, dict[Link, None]] = defaultdict(dict)
        self._gone: set[Link] = set()
        self._titled: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self._highest: dict[str, int] = {}
        self._ids: defaultdict[str, list[str]] = defaultdict(list)

    # --- What the rules ask

    def note(self, slug: str) -> Note | None:
        """Return the note, or None."""
        return self._fold.note(slug) or self._reader.note(slug)

    def superseder(self, slug: str) -> str | None:
        """Return the slug that supersedes this one, or None."""
        note = self.note(slug)
        return None if note is None else note.superseded_by

    def has_link(self, link: Link) -> bool:
        """Tell whether this very edge exists."""
        is_stored = link not in self._gone and self._reader.has_link(link)
        return is_stored or link in self._added[link.from_slug]

    def highest_number(self, stem: str) -> int:
        """Return the highest number in use for a stem, 0 when none is."""
        return max(self._highest.get(stem, 0), self._reader.highest_number(stem))

    def twin(self, stems: Sequence[str], content: Content) -> Note | None:
        """Return a live note of one of the stems with this content, or None."""
        stored = self._reader.twin(stems, content)
        slugs = [*([] if stored is None else [stored.slug]), *self._titled[content.title]]
        for note in map(self.note, slugs):
            assert note is not None
            is_stem = text.split_number(note.slug)[0] in stems
            if is_stem and note.live and content_of(note) == content:
                return note
        return None

    def near(self, slug: str) -> Sequence[str]:
        """Return the slugs most similar to one that does not exist, best first."""
        return self._reader.near(slug)

    # --- What an import asks

    @property
    def head(self) -> int:
        """Seq that the scope's last event would have by now."""
        return self._fold.last_seq

    def links(self, note: Note) -> tuple[Link, ...]:
        """Return the edges that leave a note."""
        stored = self._reader.reading(note).links
        return (*(each for each in stored if each not in self._gone), *self._added[note.slug])

    def remembered_under(self, prefix: str) -> tuple[Remembered, str, int] | None:
        """Return the latest request whose id starts so, its id, and how many there are, or None."""
        stored, added = ids_under(self._reader, prefix), self._ids[prefix]
        if not stored and not added:
            return None
        last = (added or stored)[-1]
        found = self._fold.requests[last] if added else self._reader.remembered(last)
        assert found is not None, "it was read at this very moment"
        return found, last, len(stored) + len(added)

    def write(self, request: Write, origin: Origin) -> str:
        """Work out a write and return the note's slug.

        Raises:
            RequestError: the rules forbid it.
        """
        slug, _ = decide.target(self, request)
        self.ask(request, origin)
        return slug

    def ask(self, request: AnyRequest, origin: Origin) -> bool:
        """Work out a request; return whether it would append anything.

        Raises:
            RequestError: the rules forbid it.
        """
        if self._guard is not None:
            check(self, request, self._guard)
        payloads = decide.decide(self, request)
        for payload in payloads:
            self._apply(payload, origin.request_id)
        if payloads and origin.request_id is not None:
            self._ids[_prefix(origin.request_id)].append(origin.request_id)
        return bool(payloads)

    # --- What is worked out

    def _apply(self, payload: Payload, request_id: str | None) -> None:
        match payload:
            case NoteWritten(slug=slug, title=title):
                stem, number = text.split_number(slug)
                self._highest[stem] = max(number, self._highest.get(stem, 0))
                self._titled[title][slug] = None
                self._take_over(slug)
            case NotesLinked():
                self._gone.discard(payload.link)
                if not self._reader.has_link(payload.link):
                    self._added[payload.from_slug][payload.link] = None
                self._take_over(payload.to_slug)
            case NotesUnlinked():
                self._gone.add(payload.link)
                self._added[payload.from_slug].pop(payload.link, None)
                self._take_over(payload.to_slug)
            case _:
                self._take_over(getattr(payload, "slug", ""))
        seq = self._fold.last_seq + 1
        self._fold.apply(
            payload, position=seq, seq=seq, recorded_at=_ANY_TIME, request_id=request_id
        )

    def _take_over(self, slug: str) -> None:
        """Put a note that is about to be touched over the stored one."""
        note = self.note(slug)
        if note is not None:
            self._fold.notes[slug] = note


def _prefix(request_id: str) -> str:
    """Return what an import looks its ids up by: `import:<what>:`, `link:<edge>:`."""
    kind, what, _ = request_id.split(":", 2)
    return f"{kind}:{what}:"


@contextmanager
def rehearsal(memory: Memory) -> Iterator[Rehearsal]:
    """Work requests out on a scope as it is now; nothing is written or locked.

    Raises:
        RetryError, DamageError: as for a read.
    """
    with memory._store.reading() as cursor:  # noqa: SLF001  # an edge of ours
        reader = Reader(cursor, live_set(cursor), memory.scope.stream)
        yield Rehearsal(reader, memory._guard)  # noqa: SLF001  # as above
