"""Paths and texts of Anthropic's memory tool: what a path may be, and how files are shown. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from memlog.adapters import named
from memlog.defuse import defuse_line, wrap
from memlog.note import Note
from memlog.text import byte_length, has_lone_surrogate

ROOT = "/memories"
PATH_KEY = "memory_path"
LINES_MAX = 999_999
LEVELS = 2
_PATH_BYTES_MAX = 500  # A path without the root is the note's title.
_NUMBER_CHARACTERS = 6
_UNIT = 1024
_STEERING = frozenset({"Cc", "Cs", "Zl", "Zp"})


class FileError(Exception):
    """What was asked cannot be done; the text is for the model."""


def checked(given: str) -> str:
    """Return a path in its one form: below `/memories`, without a slash at the end.

    Raises:
        FileError: it would leave that folder, or cannot be the path of a note.
    """
    if has_lone_surrogate(given) or any(unicodedata.category(c) in _STEERING for c in given):
        raise FileError(f"Path {given!a} holds characters that no path may have")
    if given != ROOT and not given.startswith(f"{ROOT}/"):
        raise FileError(f"Path must start with {ROOT}, got: {given}")
    parts = [part for part in given.removeprefix(ROOT).split("/") if part]
    if any(part in (".", "..") for part in parts):
        raise FileError(f"Path {given} would escape {ROOT} directory")
    path = "/".join((ROOT, *parts))
    if byte_length(path) > _PATH_BYTES_MAX:
        raise FileError(f"Path {given[:80]}... has more than {_PATH_BYTES_MAX} bytes")
    return path


def ancestors(path: str) -> Iterable[str]:
    """Yield the folders above a path, below the root."""
    parts = path.removeprefix(f"{ROOT}/").split("/")
    return ("/".join((ROOT, *parts[:count])) for count in range(1, len(parts)))


def path_of(note: Note) -> str | None:
    """Return where a note lies; None for the one that holds what was retired.

    A path in `extra` counts only where the note's slug follows from it: an imported note could
    claim any.
    """
    path = note.extra.get(PATH_KEY)
    if path is not None and named.leads_to(path, note.slug):
        return path
    return None if note.slug == named.RETIRED else f"{ROOT}/{note.slug}.md"


def size_text(size: int) -> str:
    """Return a size as the tool shows it: `12B`, `1.5K`."""
    amount, unit = float(size), 0
    while amount >= _UNIT and unit < len("KMG"):
        amount, unit = amount / _UNIT, unit + 1
    suffix = "BKMG"[unit]
    return f"{amount:.0f}{suffix}" if amount == int(amount) else f"{amount:.1f}{suffix}"


def listing(folder: str, files: Iterable[tuple[str, int]]) -> list[str]:
    """Return a folder's lines, two levels deep: size, tab, path; folders end in a slash.

    Args:
        folder: its path.
        files: path and size of each file below it.
    """
    sizes: dict[str, int] = {}
    total = 0
    for path, size in files:
        total += size
        parts = path.removeprefix(f"{folder}/").split("/")
        if any(part.startswith(".") for part in parts):
            continue
        for depth in range(1, min(len(parts), LEVELS + 1)):
            inner = "/".join(parts[:depth]) + "/"
            sizes[inner] = sizes.get(inner, 0) + size
        if len(parts) <= LEVELS:
            sizes["/".join(parts)] = size
    lines = [f"{size_text(total)}\t{folder}"]
    lines += [f"{size_text(size)}\t{folder}/{path}" for path, size in sorted(sizes.items())]
    return [defuse_line(line) for line in lines]


def numbered(note: Note, lines: Sequence[str], first: int, last: int) -> str:
    """Return lines `first` to `last` of a note with their numbers, wrapped.

    The numbers stand inside the wrapper; since each line begins with one, a line is defused by
    itself, and none can read as the standing line.
    """
    shown = lines[first - 1 : last]
    text = "\n".join(
        f"{number:>{_NUMBER_CHARACTERS}}\t{line}" for number, line in enumerate(shown, start=first)
    )
    return wrap(note, text)


def only_place(body: str, old: str, path: str) -> tuple[int, int]:
    """Return where a text stands in a body: its start and end, in characters.

    Raises:
        FileError: it stands there not at all, or more than once.
    """
    count = body.count(old) if old else 0
    if count == 1:
        start = body.index(old)
        return start, start + len(old)
    if count > 1:
        lines = ", ".join(map(str, _lines_with(body, old)))
        raise FileError(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
            f"{lines}. Please ensure it is unique"
        )
    shown, places = _as_shown(body)
    if not old or shown.count(old) != 1:
        raise FileError(
            f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
        )
    start = shown.index(old)
    return places[start], places[start + len(old) - 1] + 1


def _lines_with(body: str, old: str) -> Iterable[int]:
    start = body.find(old)
    while start != -1:
        yield body.count("\n", 0, start) + 1
        start = body.find(old, start + 1)


def _as_shown(body: str) -> tuple[str, list[int]]:
    """Return a body as a reader saw it, and for each character of that its place in the body."""
    shown: list[str] = []
    places: list[int] = []
    start = 0
    for line in body.split("\n"):
        harmless = f"{defuse_line(line)}\n"
        place = 0
        for character in f"{line}\n":
            same = harmless[place] == character
            piece = character if same else "&lt;"
            shown.append(piece)
            places.extend([start] * len(piece))
            place += len(piece)
            start += 1
    return "".join(shown[:-1]), places[:-1]  # Without the line feed that joins nothing.
