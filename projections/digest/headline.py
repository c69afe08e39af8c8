"""What the section shows of a note that is not pinned: one line, never a piece of its body."""

from __future__ import annotations

import unicodedata
from datetime import datetime

import msgspec

from memlog.defuse import defuse_line, utc_date
from memlog.note import Note, Provenance

TITLE_CHARACTERS_MAX = 80

_ELLIPSIS = "…"
_NAMED_PROVENANCES = frozenset({"web", "compaction", "import"})
_REMOVED_CATEGORIES = frozenset({"Cc", "Cf", "Cn", "Co", "Cs"})


class Headline(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A live note without its body, as the tables hand it to the section.

    Attributes:
        slug: its name inside the scope.
        title: as written; the section cleans it.
        topics: normalised; the first one files the note.
        provenance: who it came from.
        written_at: time of its last `note_written`, aware.
        written_seq: seq of its last `note_written`.
    """

    slug: str
    title: str
    topics: tuple[str, ...]
    provenance: Provenance
    written_at: datetime
    written_seq: int

    @classmethod
    def of(cls, note: Note) -> Headline:
        """Return a note's headline."""
        return cls(
            slug=note.slug,
            title=note.title,
            topics=note.topics,
            provenance=note.provenance,
            written_at=note.written_at,
            written_seq=note.written_seq,
        )

    @property
    def topic(self) -> str:
        """The topic that it is filed under, or "" if it has none."""
        return self.topics[0] if self.topics else ""

    def line(self) -> str:
        """Return the note's line: `- slug (2026-11-30, web): "Title"`.

        The title comes last, so that nothing in it can pass for a date, an origin or a slug: these
        stand before the first quotation mark.
        """
        origin = f", {self.provenance}" if self.provenance in _NAMED_PROVENANCES else ""
        return f"- {self.slug} ({utc_date(self.written_at)}{origin}): {quoted(self.title)}"


def recency(note: Headline | Note) -> tuple[datetime, int, str]:
    """Return the key by which notes stand in the section, when sorted in reverse: newest first."""
    return note.written_at, note.written_seq, note.slug


def quoted(title: str) -> str:
    """Return a title as the section shows it: in quotes, at most 80 characters between them.

    White space is folded; control, format, private-use and unassigned characters are dropped (by
    the Unicode tables of this Python); imitated wrappers are defused.
    """
    shown = plain(title)
    if len(shown) > TITLE_CHARACTERS_MAX:
        shown = shown[: TITLE_CHARACTERS_MAX - 1].rstrip() + _ELLIPSIS
    return f'"{shown}"'


def plain(text: str) -> str:
    """Return `text` as a harmless piece of one line."""
    if not text.isprintable():  # printable = none of the removed, no white space but " "
        text = "".join(c for c in text if c.isspace() or not _is_removed(c))
    return defuse_line(" ".join(text.split()))


def _is_removed(character: str) -> bool:
    return unicodedata.category(character) in _REMOVED_CATEGORIES
