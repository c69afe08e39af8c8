"""Notes that are found by a name of somebody else's, such as a path; and notes that are retired.

Neither interface knows of slugs or history, so a name gives a slug: a readable part and a hash. A
log deletes nothing: what an agent deletes is *retired*, superseded by the scope's one note
`retired`, and its slug is taken for good. The same name then gives the slug with the next number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256

import msgspec

from memlog import requests
from memlog.note import Note
from memlog.requests import Origin
from memlog.text import SLUG_CHARACTERS_MAX, slugify
from memlog.together import Together

RETIRED = "retired"
_TITLE = "Retired notes"
_BODY = "This note supersedes each note that was deleted through an agent's own memory interface."
_HASH_CHARACTERS = 10
_READABLE_MAX = SLUG_CHARACTERS_MAX - _HASH_CHARACTERS - 10  # Room for the hash and a number.

Get = Callable[[str], Note | None]


class Named(msgspec.Struct, frozen=True):
    """Where a name leads.

    Attributes:
        slug: of its living note; the one that a new note would get when there is none.
        note: the living note, or None.
    """

    slug: str
    note: Note | None


def find(get: Get, name: str) -> Named:
    """Return where a name leads; costs a few point reads, whatever was retired before.

    Args:
        get: returns the note of a slug, or None.
        name: any text.
    """
    newest = _newest(lambda number: get(_slug(name, number)) is not None)
    note = get(_slug(name, newest)) if newest else None
    if note is not None and note.live:
        return Named(note.slug, note)
    return Named(_slug(name, newest + 1), None)


def leads_to(name: str, slug: str) -> bool:
    """Tell whether a note of this slug was made under this name."""
    return slug.partition(".")[0] == _slug(name, 1)


def _newest(exists: Callable[[int], bool]) -> int:
    """Return the highest number that exists, 0 when none does; they have no gaps."""
    low, high = 0, 1
    while exists(high):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if exists(middle) else (low, middle)
    return low


def _slug(name: str, number: int) -> str:
    readable = slugify(name)[:_READABLE_MAX].rstrip("-")
    stem = f"{readable}-{sha256(name.encode()).hexdigest()[:_HASH_CHARACTERS]}"
    return stem if number == 1 else f"{stem}.{number}"


def retire(opened: Together, slugs: Sequence[str], origin: Origin, *, max_body_bytes: int) -> None:
    """Let the scope's note `retired` supersede notes; make it first when there is none.

    Raises:
        RequestError: one of them must not be superseded; the transaction must not be kept then.
    """
    if opened.note(RETIRED) is None:
        note = requests.write(
            title=_TITLE,
            body=_BODY,
            slug=RETIRED,
            confidence=1.0,
            max_body_bytes=max_body_bytes,
        )
        opened.write(note, origin)
    for slug in slugs:
        opened.ask(requests.add_link(RETIRED, slug, "supersedes"), origin)
