"""The pinned part of the section: whole notes, wrapped, in at most half of the budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from memlog.defuse import wrap
from memlog.note import Note
from memlog.text import byte_length
from projections.digest.headline import quoted, recency

_HEADING = "## Pinned notes"  # Holds a space, so no topic passes for it.


class Pins(msgspec.Struct, frozen=True):
    """The pinned part's text, "" without pinned notes, and the slugs of the notes it shows."""

    text: str
    slugs: tuple[str, ...]


def pinned_part(pinned: Iterable[Note], *, space_bytes: int, body_bytes_max: int) -> Pins:
    """Return the pinned part.

    The most recently written come first, and the first that does not fit ends the list: an older
    note never takes the place of a newer one. Those that do not fit are counted.

    Args:
        pinned: live pinned notes in any order.
        space_bytes: UTF-8 bytes that the part may take.
        body_bytes_max: where a body is cut.
    """
    newest_first = sorted(pinned, key=recency, reverse=True)
    if not newest_first:
        return Pins("", ())
    shown = _fitting(newest_first, space_bytes=space_bytes, body_bytes_max=body_bytes_max)
    text = "\n".join([_HEADING, *shown, *_count(len(newest_first) - len(shown))])
    return Pins(text, tuple(note.slug for note in newest_first[: len(shown)]))


def _fitting(notes: Sequence[Note], *, space_bytes: int, body_bytes_max: int) -> list[str]:
    """Return the most of the notes, from the first on, that fit with the count of the others."""
    shown: list[str] = []
    fitting = 0
    size = len(_HEADING)
    for note in notes:
        shown.append(_whole(note, body_bytes_max=body_bytes_max))
        size += 1 + byte_length(shown[-1])
        if size > space_bytes:
            break
        if size + sum(1 + len(line) for line in _count(len(notes) - len(shown))) <= space_bytes:
            fitting = len(shown)
    return shown[:fitting]


def _whole(note: Note, *, body_bytes_max: int) -> str:
    """Return a note with its title, since a wrapper names only the slug (`n-1f3870be27`)."""
    return f"{quoted(note.title)}\n{_wrapped(note, body_bytes_max=body_bytes_max)}"


def _wrapped(note: Note, *, body_bytes_max: int) -> str:
    body_bytes = byte_length(note.body)
    if body_bytes <= body_bytes_max:
        return wrap(note)
    cut = note.body[:body_bytes_max].encode()[:body_bytes_max].decode(errors="ignore")
    return wrap(note, cut, whole_bytes=body_bytes)


def _count(left_out: int) -> list[str]:
    if not left_out:
        return []
    notes = "note does" if left_out == 1 else "notes do"
    return [f"{left_out} more pinned {notes} not fit; memory_search finds them."]
