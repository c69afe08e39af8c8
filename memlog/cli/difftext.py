"""A unified diff of note text on a terminal, or in a pipe."""

from __future__ import annotations

from memlog.cli import cells, output
from memlog.cli.terminal import visible

_INDENT = "    "


def show(text_diff: str) -> None:
    """Print a diff below what it belongs to; nothing when it is empty.

    On a terminal long lines go on below their sign, and what steers a terminal shows as an escape.
    """
    if not text_diff:
        return
    for line in text_diff.split("\n"):
        if not output.on_terminal():
            output.line(_INDENT + line)
            continue
        sign, rest = line[:1], visible(line[1:])
        room = output.width() - len(_INDENT) - 1
        for part in cells.wrap(rest, room):
            output.line(_INDENT, _styled(sign, sign + part))


def _styled(sign: str, part: str) -> str | output.Styled:
    if sign == "+":
        return output.bold(part)
    return output.dim(part) if sign in ("-", "@") else part
