"""Rows under headings on a terminal, tab-separated fields in a pipe.

Row by row, so that a log of any length starts to show at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memlog.cli import cells, output
from memlog.cli.terminal import visible

_GAP = "  "
_LAST_CELLS_MIN = 16


class Column(NamedTuple):
    """One column before the last.

    Attributes:
        heading: what stands above it on a terminal.
        cells: its width there; wide characters take two.
        right: align to the right.
        whole: never cut; what is longer moves the rest of its line.
    """

    heading: str
    cells: int
    right: bool = False
    whole: bool = False


def show(
    columns: Sequence[Column],
    last_heading: str,
    rows: Iterable[Sequence[str]],
    *,
    wrap_last: bool = False,
    heading: bool = True,
) -> int:
    """Print rows, and return how many there were.

    Args:
        columns: all but the last one, which gets the rest of the line.
        last_heading: what stands above the last one.
        rows: as many fields each as there are columns.
        wrap_last: continue the last field below itself instead of cutting it.
        heading: print the headings above the first row.
    """
    row_count = 0
    for row_count, row in enumerate(rows, start=1):
        if not output.on_terminal():
            output.fields(row)
            continue
        if row_count == 1 and heading:
            headings = [column.heading for column in columns]
            output.line(output.dim(_lines(columns, [*headings, last_heading], wrap=False)[0]))
        for line in _lines(columns, [visible(field) for field in row], wrap=wrap_last):
            output.line(line)
    return row_count


def _lines(columns: Sequence[Column], fields: Sequence[str], *, wrap: bool) -> list[str]:
    """Return the lines of one row of fields that are fit for a terminal."""
    *front, last = fields
    start = "".join(fit(field, column) + _GAP for field, column in zip(front, columns, strict=True))
    indent = " " * sum(column.cells + len(_GAP) for column in columns)
    room = output.width() - cells.width(start)
    if room < _LAST_CELLS_MIN:
        below = output.width() - len(indent)
        return [start.rstrip(), *(indent + part for part in _last(last, below, wrap=wrap))]
    first, *more = _last(last, room, wrap=wrap)
    return [(start + first).rstrip(), *(indent + part for part in more)]


def fit(field: str, column: Column) -> str:
    """Return a field in the width of its column, cut with an ellipsis unless it stays whole."""
    missing = column.cells - cells.width(field)
    if missing < 0:
        return field if column.whole else cells.cut(field, column.cells)
    return " " * missing + field if column.right else field + " " * missing


def _last(field: str, room: int, *, wrap: bool) -> list[str]:
    return cells.wrap(field, room) if wrap else [cells.cut(field, room)]
