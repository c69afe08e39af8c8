"""The two forms in which a scope keeps notes: blocks of sorted postings, tails of fresh notes."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from projections.search.fields import NAMES, SLUG, IndexedNote, encoded
from projections.search.postings import TF_MAX, Integers, Keys, Pool, Postings, keys_of

RUN_NOTES = 32
"""A tail looks at its last notes one by one, and sorts them when they are so many: 2 ms."""

_COUNT_BITS = 16
assert TF_MAX < 2**_COUNT_BITS

Terms = Sequence[tuple[int, str]]
"""Distinct (field, term) pairs."""


class Found(Struct, frozen=True):
    """Postings of several terms, flat; `term` is the place of the term in what was asked for."""

    term: Integers
    document: Integers
    count: NDArray[np.uint16]


def joined(found: Sequence[Found]) -> Found:
    """Return postings one after the other."""
    match found:
        case []:
            return Found(*(np.empty(0, dtype=kind) for kind in ("i8", "i8", "u2")))
        case [only]:
            return only
    return Found(
        np.concatenate([each.term for each in found]),
        np.concatenate([each.document for each in found]),
        np.concatenate([each.count for each in found]),
    )


class Lists(Protocol):
    """The inverted lists of some terms in one part, found but not read yet."""

    @property
    def sizes(self) -> Integers:
        """The length of each term's list; retired and superseded documents are in it."""
        ...

    def read(self, kept: Integers) -> Found:
        """Read the lists at these places, in this order; `Found.term` counts within `kept`."""
        ...


class _Spans(Struct, frozen=True):
    """Lists as spans of flat arrays."""

    starts: Integers
    sizes: Integers
    documents: NDArray[np.integer]
    counts: NDArray[np.uint16]
    base: int

    def read(self, kept: Integers) -> Found:
        starts, sizes = self.starts[kept], self.sizes[kept]
        ends = starts + sizes
        spans = [
            slice(start, end)
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
            if start < end
        ]
        if not spans:
            return joined([])
        return Found(
            np.repeat(np.arange(len(kept)), sizes),
            np.concatenate([self.documents[span] for span in spans]) + np.int64(self.base),
            np.concatenate([self.counts[span] for span in spans]),
        )


class Block(Struct, frozen=True):
    """Consecutive documents of a scope, the first of them number `base`. 2 kB a note.

    `notes` gives the stored bytes of each. `segment` names the segment on disk; None: not there.
    """

    base: int
    postings: Postings
    notes: Sequence[bytes]
    segment: str | None = None

    def look_up(self, terms: Terms, keys: Keys) -> list[Lists]:
        """Find the lists of some terms, whose `keys_of` the caller knows."""
        del terms
        numbers = self.postings.find(keys)
        starts = self.postings.starts[numbers].astype(np.int64)
        # Where the number is -1 the difference means nothing.
        sizes = np.where(numbers >= 0, self.postings.starts[numbers + 1] - starts, 0)
        documents, counts = self.postings.documents, self.postings.counts
        return [_Spans(starts, sizes, documents, counts, self.base)]

    def with_slug(self, slug: str) -> Sequence[int]:
        """Return the documents of a note; at most the last one is current."""
        found: list[int] = self.postings.documents_of(SLUG, slug).tolist()
        return [self.base + number for number in found]

    def inverted(self) -> Postings:
        """Return the postings, with documents counted from 0."""
        return self.postings


class _Run(Struct, frozen=True):
    """The postings of a few notes, sorted by the hash of the term in this process.

    64 random bits tell 100,000 postings apart, but for one in a hundred thousand million searches.
    """

    hashes: NDArray[np.int64]
    documents: Integers
    counts: NDArray[np.uint16]

    def look_up(self, hashes: Integers) -> Lists:
        starts = np.searchsorted(self.hashes, hashes)
        sizes = np.searchsorted(self.hashes, hashes, side="right") - starts
        return _Spans(starts, sizes, self.documents, self.counts, 0)

    def and_then(self, later: "_Run") -> "_Run":
        hashes = np.concatenate((self.hashes, later.hashes))
        order = np.argsort(hashes, kind="stable")  # linear where runs are sorted already
        documents = np.concatenate((self.documents, later.documents))
        counts = np.concatenate((self.counts, later.counts))
        return _Run(hashes[order], documents[order], counts[order])


_NO_RUN = _Run(*(np.empty(0, dtype=kind) for kind in ("i8", "i8", "u2")))
_SALTS = np.array([hash(("field", number)) for number in range(len(NAMES))])


class _Packed:
    """Lists of number << 16 | count; only those that are read become arrays."""

    def __init__(self, lists: Sequence[Sequence[int]]) -> None:
        self._lists = lists

    @property
    def sizes(self) -> Integers:
        return np.fromiter(map(len, self._lists), np.int64, len(self._lists))

    def read(self, kept: Integers) -> Found:
        lists = [self._lists[at] for at in kept.tolist()]
        sizes = np.fromiter(map(len, lists), np.int64, len(lists))
        packed = np.fromiter(chain.from_iterable(lists), np.int64)
        return Found(
            np.repeat(np.arange(len(lists)), sizes),
            packed >> _COUNT_BITS,
            (packed & TF_MAX).astype(np.uint16),
        )


class Tail:
    """The newest documents. Adding one costs next to nothing, since nearly nothing is sorted.

    About 40 kB a note, and a few microseconds a search for each: a tail must stay short.
    """

    def __init__(self, base: int) -> None:
        self.base = base
        self.notes: list[bytes] = []
        self._numbers: dict[str, int] = {}
        self._indexed: list[IndexedNote] = []
        self._run = _NO_RUN
        self._unsorted = base
        self._fields: tuple[list[Mapping[str, int]], ...] = tuple([] for _ in NAMES)

    def add(self, note: IndexedNote) -> None:
        """Add the next document."""
        for documents, field in zip(self._fields, note.fields, strict=True):
            documents.append(field)
        self._indexed.append(note)
        self._numbers[note.document.slug] = self.base + len(self.notes)
        self.notes.append(encoded(note.document))
        if len(self._fields[0]) >= RUN_NOTES:
            self._sort()

    def _sort(self) -> None:
        hashes, documents, counts = [], [], []
        for salt, field in zip(_SALTS, self._fields, strict=True):
            sizes = [len(terms) for terms in field]
            hashes.append(np.fromiter(map(hash, chain.from_iterable(field)), np.int64) ^ salt)
            documents.append(np.repeat(np.arange(len(sizes)) + self._unsorted, sizes))
            values = chain.from_iterable(terms.values() for terms in field)
            counts.append(np.minimum(np.fromiter(values, np.int64), TF_MAX).astype(np.uint16))
            field.clear()
        flat = _Run(np.concatenate(hashes), np.concatenate(documents), np.concatenate(counts))
        self._run = self._run.and_then(flat)
        self._unsorted = self.base + len(self.notes)

    def with_slug(self, slug: str) -> Sequence[int]:
        """Return the last document of a note, which is current unless a later part has another."""
        number = self._numbers.get(slug)
        return () if number is None else (number,)

    def look_up(self, terms: Terms, keys: Keys) -> list[Lists]:
        """Find the lists of some terms: those of the sorted documents come first."""
        del keys
        found: list[Lists] = []
        if len(self._run.hashes):
            fields = np.fromiter((field for field, _ in terms), np.int64, len(terms))
            hashes = np.fromiter((hash(term) for _, term in terms), np.int64, len(terms))
            hashes ^= _SALTS[fields]
            found.append(self._run.look_up(hashes))
        if self._fields[0]:
            found.append(self._in_unsorted(terms))
        return found

    def _in_unsorted(self, terms: Terms) -> Lists:
        places: dict[int, dict[str, int]] = {}
        for place, (field, term) in enumerate(terms):
            places.setdefault(field, {})[term] = place
        lists: list[list[int]] = [[] for _ in terms]
        for field, place_of in places.items():
            for number, document in enumerate(self._fields[field], start=self._unsorted):
                for term in filter(document.__contains__, place_of):
                    count = min(document[term], TF_MAX)
                    lists[place_of[term]].append(number << _COUNT_BITS | count)
        return _Packed(lists)

    def inverted(self) -> Postings:
        """Return the postings of all notes, with documents counted from 0."""
        pool = Pool()
        for note in self._indexed:
            pool.add(note)
        return pool.inverted()


class _Joined:
    """The lists of several parts as one."""

    def __init__(self, parts: Sequence[Lists], terms: int) -> None:
        self._parts = parts
        self.sizes: Integers = sum(
            (each.sizes for each in parts), start=np.zeros(terms, dtype=np.int64)
        )

    def read(self, kept: Integers) -> Found:
        return joined([each.read(kept) for each in self._parts])


def look_up(parts: Sequence[Block | Tail], terms: Terms) -> Lists:
    """Find the lists of some terms in several parts: those of the first part come first."""
    keys = keys_of(terms)
    found = chain.from_iterable(part.look_up(terms, keys) for part in parts)
    return _Joined([*found], len(terms))
