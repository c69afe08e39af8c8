"""The tables of the notes projection as sums: of their rows, and of what the events add up to.

A table's sum is the number of its rows and the sum of a keyed hash of each row's form, so that two
processes can compare tables that neither sends to the other. Without the key nobody can make two
different tables of one sum (Bellare and Micciancio, "A New Paradigm for Collision-Free Hashing",
1997, AdHash). Equal sums say that every row is there and right; others say that one is not, not
which.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator

import msgspec

from memlog.store.protocol import Executor
from memlog.verify import forms
from memlog.verify.cells import Cell, Cells, Key
from memlog.verify.expected import Expected
from memlog.verify.forms import Form
from memlog.verify.paging import in_pages
from memlog.verify.words import WordSums
from projections.notes.tables import Names

_MODULUS = 2**256

_encode = msgspec.msgpack.Encoder().encode


class Sum(msgspec.Struct, frozen=True):
    """How many rows there are, and the sum of their keyed hashes modulo 2**256, in hex."""

    rows: int
    total: str


class Sums(msgspec.Struct, frozen=True):
    """A sum of each table."""

    counters: Sum
    links: Sum
    requests: Sum
    notes: Sum


def of_tables(cursor: Executor, names: Names, secret: bytes, words: WordSums) -> Sums:
    """Return the sums of what the tables hold, and feed the words of the notes to `words`."""

    def notes() -> Iterator[list[Form]]:
        for page in forms.notes(cursor, names):
            words.add(page)
            yield forms.held_notes(cursor, names, page, secret)

    return Sums(
        _sum(secret, forms.counters(cursor, names)),
        _sum(secret, forms.links(cursor, names)),
        _sum(secret, forms.requests(cursor, names)),
        _sum(secret, notes()),
    )


def of_events(expected: Expected) -> Sums:
    """Return the sums of what the tables must hold."""

    def due(cells: Cells[Cell], form: Callable[[Key, Cell], Form]) -> Sum:
        pages = in_pages(cells.all())
        return _sum(expected.secret, ([form(*each) for each in page] for page in pages))

    return Sums(
        due(expected.scopes, forms.due_counters),
        due(expected.links, forms.due_link),
        due(expected.requests, forms.due_request),
        due(expected.notes, forms.due_note),
    )


def _sum(secret: bytes, pages: Iterable[Iterable[Form]]) -> Sum:
    sha256 = hashlib.sha256
    rows = total = 0
    for page in pages:
        hashes = [int.from_bytes(sha256(secret + form).digest()) for form in map(_encode, page)]
        rows += len(hashes)
        total += sum(hashes)
    return Sum(rows, f"{total % _MODULUS:064x}")
