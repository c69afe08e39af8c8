"""What a command prints: lines of words, blocks of note text, rows, JSON Lines.

Everything is made fit for a terminal here and nowhere else. Words are always; the bytes of a body
and JSON only when a terminal is what they go to, since a pipe wants them exactly.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from memlog import text
from memlog.cli.terminal import visible, visible_json, visible_lines

_BOLD, _DIM, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"
_WIDTH_MIN = 40


class Styled(NamedTuple):
    """Words with a style, which shows only on a terminal that has styles."""

    words: str
    style: str


def bold(words: str) -> Styled:
    """Return words that stand out."""
    return Styled(words, _BOLD)


def dim(words: str) -> Styled:
    """Return words that stand back."""
    return Styled(words, _DIM)


def on_terminal() -> bool:
    """Tell whether standard output is a terminal."""
    return sys.stdout.isatty()


def width() -> int:
    """Return the number of columns of the terminal, at least 40."""
    return max(_WIDTH_MIN, shutil.get_terminal_size((80, 24)).columns)


def _has_styles() -> bool:
    # NO_COLOR counts when it is not empty (no-color.org).
    return on_terminal() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def line(*parts: str | Styled) -> None:
    """Print one line of words, whatever they hold."""
    sys.stdout.write("".join(map(_painted, parts)) + "\n")


def _painted(part: str | Styled) -> str:
    if isinstance(part, str):
        return visible(part)
    shown = visible(part.words)
    return f"{part.style}{shown}{_PLAIN}" if shown and _has_styles() else shown


def fields(row: Sequence[str]) -> None:
    """Print one row for a pipe: fields between tabs, none of which holds a tab or line break."""
    sys.stdout.write("\t".join(map(visible, row)) + "\n")


def body(note_text: str) -> None:
    """Print a body: its exact bytes and nothing else, except on a terminal."""
    if on_terminal():
        shown = visible_lines(note_text)
        sys.stdout.write(shown if shown.endswith("\n") else shown + "\n")
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(note_text.encode())


def notice(sentence: str) -> None:
    """Print a line about the command, not of its result: on standard error."""
    sys.stderr.write(visible(sentence) + "\n")
    sys.stderr.flush()


def record(value: object) -> None:
    """Print a value as one line of JSON."""
    document = msgspec.json.encode(plain(value)).decode()
    sys.stdout.write((visible_json(document) if on_terminal() else document) + "\n")


def plain(value: object) -> object:
    """Return a struct, and all that is in it, as JSON types; times as the log writes them."""
    return _times_as_text(msgspec.to_builtins(value, builtin_types=(datetime,)))


def _times_as_text(value: object) -> object:
    match value:
        case datetime():
            return text.utc_text(value)
        case dict():
            return {name: _times_as_text(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_times_as_text(inner) for inner in value]
        case _:
            return value


def flush() -> None:
    """Let whoever reads see what was printed so far."""
    sys.stdout.flush()


def moment(when: datetime) -> str:
    """Return a time to the second for a person, in full for a pipe; UTC."""
    if on_terminal():
        return when.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
    return text.utc_text(when)
