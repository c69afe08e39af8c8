"""The index part of the section: titles under their topics, then pointers to what is not shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate

import msgspec

from memlog.text import byte_length
from projections.digest.headline import plain

COLUMNS = 80

_OTHERS = '## Other topics: memory_search(topic="...") lists their notes'
_OTHERS_SHARE = 4
"""Topics that show no note may keep a quarter of the space from the titles for their pointers."""


class Index(msgspec.Struct, frozen=True):
    """The index part.

    Attributes:
        blocks: what stands between blank lines.
        unlisted: the line that counts the notes which no block shows or points at, or "".
        shown: number of titles.
    """

    blocks: list[str]
    unlisted: str
    shown: int


Title = tuple[str, str]
"""The topic that a note is filed under, "" for none, and its line."""


def index_part(titles: Iterable[Title], totals: Mapping[str, int], *, space_bytes: int) -> Index:
    """Return the index part: as many titles as fit, from the first note on, and pointers.

    Args:
        titles: of all notes, newest first; no more are taken from it than fit, and one.
        totals: number of notes of each topic, in the order of each topic's newest note.
        space_bytes: UTF-8 bytes for the blocks, a blank line before each, and for the line of the
            unlisted notes with its line break. At least enough for that line.
    """
    count = sum(totals.values())
    entries = {topic: f"{_label(topic)} ({total})" for topic, total in totals.items()}
    shown = _fitting(titles, totals, entries, count=count, space_bytes=space_bytes)
    filed: dict[str, list[str]] = {}
    for topic, line in shown:
        filed.setdefault(topic, []).append(line)
    blocks = [_block(topic, lines, total=totals[topic]) for topic, lines in filed.items()]
    others = [topic for topic in totals if topic not in filed]
    left_bytes = space_bytes - sum(2 + byte_length(block) for block in blocks)
    left_bytes -= 2 + len(_OTHERS) + _unlisted_bytes(count)
    listed = _listed([entries[topic] for topic in others], space_bytes=left_bytes)
    unlisted = [totals[topic] for topic in others[len(listed) :]]
    return Index([*blocks, *_others_block(listed)], _unlisted_line(unlisted), len(shown))


# --- Titles


def _fitting(
    titles: Iterable[Title],
    totals: Mapping[str, int],
    entries: Mapping[str, str],
    *,
    count: int,
    space_bytes: int,
) -> list[Title]:
    """Return as many titles, from the first on, as fit together with the pointers."""
    taken: list[Title] = []
    shown: Counter[str] = Counter()
    fitting = titles_bytes = more_bytes = 0
    others_bytes = sum(map(_entry_bytes, entries.values()))
    for title in titles:
        topic, line = title
        total = totals[topic]
        taken.append(title)
        titles_bytes += 1 + byte_length(line)
        shown[topic] += 1
        if shown[topic] == 1:
            titles_bytes += 2 + byte_length(_heading(topic))
            more_bytes += _more_bytes(topic, total)
            others_bytes -= _entry_bytes(entries[topic])
        if shown[topic] == total:
            more_bytes -= _more_bytes(topic, total)
        if titles_bytes > space_bytes:
            break
        kept_bytes = _kept_bytes(others_bytes, count, space_bytes=space_bytes)
        if titles_bytes + more_bytes + kept_bytes <= space_bytes:
            fitting = len(taken)
    return taken[:fitting]


def _kept_bytes(others_bytes: int, note_count: int, *, space_bytes: int) -> int:
    """Return what the titles must leave to the topics that show no note."""
    if not others_bytes:
        return 0
    list_bytes = min(others_bytes, space_bytes // _OTHERS_SHARE)
    return 2 + len(_OTHERS) + list_bytes + _unlisted_bytes(note_count)


def _block(topic: str, titles: Iterable[str], *, total: int) -> str:
    shown = list(titles)
    more = [_more(topic, total - len(shown))] if len(shown) < total else []
    return "\n".join([_heading(topic), *shown, *more])


def _heading(topic: str) -> str:
    return f"## {_label(topic)}"


def _more(topic: str, count: int) -> str:
    """Return the pointer of a topic that shows some of its notes."""
    if not topic:
        return f"- {count} more: memory_search"
    return f'- {count} more: memory_search(topic="{_label(topic)}")'


def _more_bytes(topic: str, total: int) -> int:
    return 1 + byte_length(_more(topic, total))


@lru_cache(maxsize=4096)
def _label(topic: str) -> str:
    return plain(topic) if topic else "no topic"  # No topic holds a space.


# --- Pointers of topics that show no note


def _listed(entries: Sequence[str], *, space_bytes: int) -> list[str]:
    """Return the entries that fit, from the topic with the newest note on."""
    sizes = accumulate(map(_entry_bytes, entries))
    return [entry for entry, size in zip(entries, sizes, strict=True) if size <= space_bytes]


def _entry_bytes(entry: str) -> int:
    return byte_length(entry) + 2  # ", " or a comma and a line break


def _others_block(entries: Sequence[str]) -> list[str]:
    return [f"{_OTHERS}\n{_in_columns(entries)}"] if entries else []


def _in_columns(entries: Sequence[str]) -> str:
    """Return entries in lines of at most 80 characters, as far as none is longer itself."""
    rows: list[list[str]] = []
    width = COLUMNS
    for entry in entries:
        width += 2 + len(entry)
        if width > COLUMNS:
            rows.append([])
            width = len(entry) + 1
        rows[-1].append(entry)
    return ",\n".join(", ".join(row) for row in rows)


def _unlisted_line(totals: Sequence[int]) -> str:
    if not totals:
        return ""
    notes = "1 note" if sum(totals) == 1 else f"{sum(totals)} notes"
    topics = "1 more topic" if len(totals) == 1 else f"{len(totals)} more topics"
    return f"Not listed: {notes} in {topics}."


def _unlisted_bytes(note_count: int) -> int:
    """Return a bound for the line about at most `note_count` notes, with its line break."""
    return len(f"Not listed: {note_count} notes in {note_count} more topics.\n")
