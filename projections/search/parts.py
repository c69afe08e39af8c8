"""The two forms in which a scope keeps notes: blocks of sorted postings, tails of fresh notes."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from projections.search.analysis import grams_of
from projections.search.fields import GRAMS, NAMES, SLUG, IndexedNote, encoded
from projections.search.postings import TF_MAX, Integers, Keys, Pool, Postings, keys_of

_COUNT_BITS = 32
_COUNT_MASK = 2**_COUNT_BITS - 1

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
        """The length of each term's list, or less, but 0 for an empty list only.

        Retired and superseded documents are in it.
        """
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


def _added_up(lists: Sequence[Sequence[int]]) -> Sequence[int]:
    """Return one packed list instead of several: the counts of a document are added."""
    if len(lists) == 1:
        return lists[0]
    counts: defaultdict[int, int] = defaultdict(int)
    for packed in chain.from_iterable(lists):
        counts[packed >> _COUNT_BITS] += packed & _COUNT_MASK
    return [number << _COUNT_BITS | count for number, count in counts.items()]


class _Packed:
    """Lists of number << 32 | count, several for each term; only what is read is added up."""

    def __init__(self, lists: Sequence[Sequence[Sequence[int]]]) -> None:
        self._lists = lists

    @property
    def sizes(self) -> Integers:
        sizes = [len(lists[0]) if lists else 0 for lists in self._lists]
        return np.array(sizes, dtype=np.int64)

    def read(self, kept: Integers) -> Found:
        lists = [_added_up(self._lists[at]) for at in kept.tolist()]
        sizes = np.fromiter(map(len, lists), np.int64, len(lists))
        packed = np.fromiter(chain.from_iterable(lists), np.int64)
        return Found(
            np.repeat(np.arange(len(lists)), sizes),
            packed >> _COUNT_BITS,
            np.minimum(packed & _COUNT_MASK, TF_MAX).astype(np.uint16),
        )


def _append(lists: Mapping[str, list[int]], counts: Mapping[str, int], number: int) -> None:
    shifted = number << _COUNT_BITS
    for term, count in counts.items():
        lists[term].append(shifted | count)


class Tail:
    """The newest documents, in dictionaries: nothing is sorted, and grams are not spelled out.

    A gram is looked up by the words that have it. About 40 kB a note, so a tail must stay short.
    """

    def __init__(self, base: int) -> None:
        self.base = base
        self.notes: list[bytes] = []
        self._indexed: list[IndexedNote] = []
        self._lists = tuple(defaultdict[str, list[int]](list) for _ in NAMES)
        self._of_words: defaultdict[str, list[int]] = defaultdict(list)
        self._words_with: defaultdict[str, list[str]] = defaultdict(list)

    def add(self, note: IndexedNote) -> None:
        """Add the next document."""
        number = self.base + len(self.notes)
        for lists, counts in zip(self._lists, note.fields, strict=True):
            _append(lists, counts, number)
        for word in [word for word in note.words if word not in self._of_words]:
            for gram in grams_of(word):
                self._words_with[gram].append(word)
        _append(self._of_words, note.words, number)
        self._indexed.append(note)
        self.notes.append(encoded(note.document))

    def with_slug(self, slug: str) -> Sequence[int]:
        """Return the documents of a note; at most the last one is current."""
        return [packed >> _COUNT_BITS for packed in self._lists[SLUG].get(slug, ())]

    def look_up(self, terms: Terms, keys: Keys) -> list[Lists]:
        """Find the lists of some terms."""
        del keys
        return [_Packed([self._lists_of(*term) for term in terms])] if self.notes else []

    def _lists_of(self, field: int, term: str) -> Sequence[Sequence[int]]:
        if field == GRAMS:
            return [self._of_words[word] for word in self._words_with.get(term, ())]
        found = self._lists[field].get(term)
        return () if found is None else (found,)

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
