"""Compare two sets of the notes tables, row by row, in the database."""

from __future__ import annotations

from projections.notes.tables import Names
from projections.notes.words import Executor

# The columns that tell a person which row it is.
_NAMED = {
    "scopes": "stream",
    "notes": "slug",
    "links": "from_slug || ' ' || rel || ' ' || to_slug",
    "requests": "request_id",
    "words": "word",
}


def differences(cursor: Executor, old: Names, new: Names) -> tuple[str, ...]:
    """Return how the old tables differ from the new ones: a sentence for each table that does."""
    pairs = zip(_NAMED.items(), old.all, new.all, strict=True)
    found = (
        _difference(cursor, kind, column, old_table, new_table)
        for (kind, column), old_table, new_table in pairs
    )
    return tuple(sentence for sentence in found if sentence)


def _difference(cursor: Executor, kind: str, column: str, old: str, new: str) -> str | None:
    surplus = _rows_only_in(cursor, old, new, column)
    missing = _rows_only_in(cursor, new, old, column)
    if not surplus and not missing:
        return None
    first = (surplus or missing)[0]
    return (
        f"{kind}: {len(surplus)} rows that the log does not give, {len(missing)} rows missing; "
        f"the first is {first!r}"
    )


def _rows_only_in(cursor: Executor, table: str, other_table: str, column: str) -> list[str]:
    return [
        row[0]
        for row in cursor.execute(
            f"SELECT {column} FROM (SELECT * FROM {table} EXCEPT SELECT * FROM {other_table}) "
            "ORDER BY 1"
        )
    ]
