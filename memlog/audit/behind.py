"""The events behind each line of a section. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

import msgspec

from memlog.audit.sections_then import Walk
from memlog.note import Note
from projections.digest.headline import plain
from projections.digest.lines import Kind, Line, lines_of, shown_slugs

_NO_TOPIC = "no topic"


class LineBehind(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a section, and where it comes from.

    Attributes:
        text: the line.
        kind: what it is; see `projections.digest.lines.Line`.
        slugs: the notes that it shows or counts, the most recently written first.
        seqs: the events that it follows from, in order: those that wrote these notes as they are,
            and for pinned ones those that pinned them. None for a line that is always the same.
    """

    text: str
    kind: Kind
    slugs: tuple[str, ...]
    seqs: tuple[int, ...]


def lines_behind(text: str, walk: Walk) -> tuple[LineBehind, ...]:
    """Return the lines of a section.

    Args:
        text: the section as it is after the last event of `walk`.
        walk: the notes that it is of.
    """
    newest = list(walk.newest())
    shown = frozenset(shown_slugs(text))
    filed: defaultdict[str, list[Note]] = defaultdict(list)
    for note in newest:
        if not note.pinned:
            filed[plain(note.topics[0]) if note.topics else _NO_TOPIC].append(note)
    notes = {note.slug: note for note in newest}

    def behind(line: Line) -> LineBehind:
        found = _notes(line, newest, notes, filed, shown)
        seqs = {note.written_seq for note in found}
        seqs |= {walk.pinned_by[note.slug] for note in found if note.pinned}
        return LineBehind(
            text=line.text,
            kind=line.kind,
            slugs=tuple(note.slug for note in found),
            seqs=tuple(sorted(seqs)),
        )

    return tuple(map(behind, lines_of(text)))


def _notes(
    line: Line,
    newest: Iterable[Note],
    notes: Mapping[str, Note],
    filed: Mapping[str, Iterable[Note]],
    shown: frozenset[str],
) -> list[Note]:
    match line.kind:
        case "pinned" | "note":
            return [notes[line.slug]] if line.slug is not None and line.slug in notes else []
        case "topic":
            return [note for label in line.labels for note in filed[label] if note.slug in shown]
        case "more" | "topics":
            return [
                note for label in line.labels for note in filed[label] if note.slug not in shown
            ]
        case "count":
            return list(newest)
        case _:
            return []
