"""Tables read in pages by their key, so that no more than a page is ever in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

from memlog.store.protocol import Executor

PAGE_ROWS = 100
"""So few that a page stays in the cache and its objects die young: a tenth of the time."""


def pages(
    cursor: Executor, statement: str, key: str, *, after: Sequence[Any] = ()
) -> Iterator[list[Any]]:
    """Yield the rows of a statement without WHERE by a unique key, smallest first, in lists.

    Args:
        cursor: inside a transaction; it may be used for other statements meanwhile.
        statement: its first columns are the key.
        key: names of those columns.
        after: the key before the first; none when all rows are wanted.
    """
    columns = key.count(",") + 1
    ordered = f"ORDER BY {key} LIMIT {PAGE_ROWS}"
    following = f"{statement} WHERE ({key}) > ({', '.join('?' * columns)}) {ordered}"
    page = cursor.execute(following if after else f"{statement} {ordered}", after).fetchall()
    while page:
        yield page
        page = cursor.execute(following, page[-1][:columns]).fetchall()


def one_by_one(cursor: Executor, statement: str, key: str) -> Iterator[Any]:
    """Yield the rows of `pages` one by one."""
    return chain.from_iterable(pages(cursor, statement, key))


def in_pages(items: Iterator[Any]) -> Iterator[list[Any]]:
    """Yield items in lists, the last one shorter."""
    while page := list(islice(items, PAGE_ROWS)):
        yield page
