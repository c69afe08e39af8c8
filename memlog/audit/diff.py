"""What two moments of a scope differ in. Pure."""

from __future__ import annotations

import msgspec

from memlog.audit.moments import Moment
from memlog.audit.textdiff import unified
from memlog.note import Link, Note
from projections.notes.fold import Fold
from projections.notes.history import changed_fields


class Rewritten(msgspec.Struct, frozen=True, kw_only=True):
    """A note whose content differs.

    Attributes:
        slug: its name.
        changed: names of the fields that differ.
        before: the note at the first moment.
        after: the note at the second one.
        text_diff: the bodies as a unified diff, "" when they are equal.
    """

    slug: str
    changed: tuple[str, ...]
    before: Note
    after: Note
    text_diff: str


class Superseded(msgspec.Struct, frozen=True):
    """A note that became history, and the note that replaced it."""

    slug: str
    superseded_by: str


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """What is otherwise at the second moment than at the first; notes by slug, edges in order.

    What was changed and changed back in between is not in it: `timeline` shows that.

    Attributes:
        before: the first moment.
        after: the second one.
        added: notes that are only there at the second one.
        removed: notes that are only there at the first one: when it is the later one, or when
            events were left out.
        rewritten: notes whose content differs.
        pinned: slugs that are pinned only at the second one.
        unpinned: slugs that are pinned only at the first one.
        linked: edges that are only there at the second one.
        unlinked: edges that are only there at the first one.
        superseded: notes with a superseder that they did not have at the first one.
        restored: slugs that are superseded only at the first one.
    """

    before: Moment
    after: Moment
    added: tuple[Note, ...]
    removed: tuple[Note, ...]
    rewritten: tuple[Rewritten, ...]
    pinned: tuple[str, ...]
    unpinned: tuple[str, ...]
    linked: tuple[Link, ...]
    unlinked: tuple[Link, ...]
    superseded: tuple[Superseded, ...]
    restored: tuple[str, ...]

    def __bool__(self) -> bool:
        """Tell whether there is any difference."""
        return any(
            getattr(self, name)
            for name in self.__struct_fields__
            if name not in ("before", "after")
        )


def difference(before: Fold, after: Fold, *, moments: tuple[Moment, Moment]) -> Difference:
    """Return what is otherwise in `after` than in `before`.

    Args:
        before: the notes of the first moment.
        after: the notes of the second one.
        moments: the two.
    """
    old, new = before.notes, after.notes
    both = [(old[slug], new[slug]) for slug in sorted(old.keys() & new.keys())]
    return Difference(
        before=moments[0],
        after=moments[1],
        added=_only(new, old),
        removed=_only(old, new),
        rewritten=tuple(_rewritten(*pair) for pair in both if changed_fields(*pair)),
        pinned=_sorted(_pinned(new) - _pinned(old)),
        unpinned=_sorted(_pinned(old) - _pinned(new)),
        linked=tuple(link for link in after.links if link not in before.links),
        unlinked=tuple(link for link in before.links if link not in after.links),
        superseded=tuple(
            Superseded(slug, superseder)
            for slug, superseder in sorted(_superseders(new).items())
            if _superseders(old).get(slug) != superseder
        ),
        restored=_sorted(_superseders(old).keys() - _superseders(new).keys()),
    )


def _only(notes: dict[str, Note], others: dict[str, Note]) -> tuple[Note, ...]:
    return tuple(notes[slug] for slug in sorted(notes.keys() - others.keys()))


def _pinned(notes: dict[str, Note]) -> set[str]:
    return {slug for slug, note in notes.items() if note.pinned}


def _superseders(notes: dict[str, Note]) -> dict[str, str]:
    return {slug: note.superseded_by for slug, note in notes.items() if note.superseded_by}


def _sorted(slugs: set[str]) -> tuple[str, ...]:
    return tuple(sorted(slugs))


def _rewritten(before: Note, after: Note) -> Rewritten:
    return Rewritten(
        slug=after.slug,
        changed=changed_fields(before, after),
        before=before,
        after=after,
        text_diff=text_diff(before, after),
    )


def text_diff(before: Note, after: Note) -> str:
    """Return the bodies of two states of a note as a unified diff, "" when they are equal."""
    names = [f"{note.slug} (seq {note.written_seq})" for note in (before, after)]
    return unified(before.body, after.body, old_name=names[0], new_name=names[1])
