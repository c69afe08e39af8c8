"""Tables that hold what a fold holds, written all at once: one scope as of a moment.

A third of the cost of the events one after the other. The words are left out, since only `similar`
asks for them, and what it finds among common words depends on the order in which notes came;
`memlog.audit.snapshot` files those through the writer when they are asked for.
"""

from __future__ import annotations

import msgspec

from memlog import text
from projections.notes import rows
from projections.notes.fold import Fold
from projections.notes.tables import Names
from projections.notes.words import Executor

_SCOPE_ID = 1


def fill(cursor: Executor, names: Names, stream: str, fold: Fold) -> None:
    """Fill an empty set of tables with one scope: counters, notes and links."""
    if not fold.last_seq:
        return
    cursor.execute(
        f"INSERT INTO {names.scopes} (id, stream, live, notes, last_seq, touched_seq, waiting) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (_SCOPE_ID, stream, fold.live, len(fold.notes), fold.last_seq, fold.touched_seq, b""),
    )
    cursor.executemany(
        f"INSERT INTO {names.notes} (id, scope, stem, number, {rows.NOTE_COLUMNS}) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (note.created_seq, _SCOPE_ID, *text.split_number(note.slug), *rows.row_of(note))
            for note in fold.notes.values()
        ],
    )
    cursor.executemany(
        f"INSERT INTO {names.links} (id, scope, {rows.LINK_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)",
        [
            (position, _SCOPE_ID, *msgspec.structs.astuple(link))
            for link, position in fold.links.items()
        ],
    )
