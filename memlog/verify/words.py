"""The words by which similar notes are found, held against the notes, in bounded memory.

A posting is (scope, word, seq, outline). What the notes give and what the table holds are compared
as one sum of a keyed hash of each posting. Where the sums differ, each word gets a sum of its own,
a share of the words at a time, and the words that differ are named.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing, suppress
from functools import reduce
from itertools import groupby
from operator import itemgetter, or_
from typing import Any

import msgspec

from memlog import text
from memlog.decide import content_of
from memlog.errors import DriftError
from memlog.shown import shown
from memlog.store.protocol import Executor
from memlog.verify.cells import Cells
from memlog.verify.paging import one_by_one, pages
from memlog.verify.report import FINDINGS_MAX, Findings, counted
from projections.notes import rows
from projections.notes.postings import OUTLINE_BITS, bit_of, numbers, outline_of
from projections.notes.tables import Names
from projections.notes.waiting import Waiting, waiting_of
from projections.notes.words import content_mark

NOTE_COLUMNS = f"n.id, n.scope, n.number, {rows.NOTE_COLUMNS}"

_WORDS_AT_ONCE = 100_000
_REMEMBERED_MAX = 50_000
_FEW = 100  # An outline counts no more than 255.
_TITLE, _TOPICS, _UPDATED_SEQ, _SUPERSEDED_BY = 4, 6, 14, 17  # places in NOTE_COLUMNS

_Word = tuple[int, str]
_Posting = tuple[int, int]
_Row = tuple[Any, ...]
_DAMAGED = (msgspec.DecodeError, DriftError, TypeError, ValueError, AttributeError, OverflowError)


class _Remembered(dict[str, int]):
    """What a function gives for a word; words come again and again."""

    def __init__(self, of: Callable[[str], int]) -> None:
        super().__init__()
        self._of = of

    def __missing__(self, word: str) -> int:
        if len(self) >= _REMEMBERED_MAX:
            self.clear()
        found = self[word] = self._of(word)
        return found


_bit_of = _Remembered(bit_of).__getitem__


class WordSums:
    """Sums of what the notes give; fed while the notes table is checked."""

    def __init__(self) -> None:
        self._secret = secret = os.urandom(16).hex()
        self._hash_of = _Remembered(lambda word: hash(secret + word)).__getitem__
        self.total = self.notes = 0

    def add(self, page: Iterable[_Row]) -> None:
        """Add the postings of rows that begin as `NOTE_COLUMNS`."""
        for row in page:
            filed = _filed(row)
            if filed is not None:
                self.notes += 1
                self.total += self.under_words(row[1], *filed)

    def under_words(self, scope: int, posting: _Posting, words: Iterable[str]) -> int:
        """Return the sum of one posting under each of these words."""
        words_sum = sum(map(self._hash_of, words))
        return hash(posting) * self._scope(scope) * words_sum

    def under_word(self, word: _Word, postings: Iterable[_Posting]) -> int:
        """Return the sum of these postings under one word."""
        return self.hash(word) * sum(map(hash, postings))

    def hash(self, word: _Word) -> int:
        """Return the keyed hash of a word of a scope."""
        return self._scope(word[0]) * self._hash_of(word[1])

    def _scope(self, scope: object) -> int:
        return hash((self._secret, scope))


def _filed(row: _Row) -> tuple[_Posting, Collection[str]] | None:
    """Return (seq, outline) of a live note and the words that it is filed under."""
    if row[_SUPERSEDED_BY] is not None:
        return None
    try:
        words: Collection[str] = text.words_once(row[_TITLE], rows.topics_of(row[_TOPICS]))
        outline = _outline(words)
        if row[2] > 1:
            words = [*words, content_mark(content_of(rows.note_of(row[3:])))]
        return (row[_UPDATED_SEQ], outline), words
    except _DAMAGED:  # The check of the notes has told.
        return None


def _outline(words: Collection[str]) -> int:
    """Return `outline_of` these words, three times as quick where they are not many."""
    if len(words) > _FEW:
        return outline_of(words)
    return reduce(or_, map(_bit_of, words), len(words) << OUTLINE_BITS)


def _postings(row: _Row) -> Iterator[tuple[_Posting, list[_Word]]]:
    """Yield the posting of a live note, and the words of its scope that it is filed under."""
    filed = _filed(row)
    if filed is not None:
        yield filed[0], [(row[1], word) for word in filed[1]]


def check_words(cursor: Executor, names: Names, sums: WordSums, findings: Findings) -> None:
    """Check every part of every word, after all notes were added to the sums."""
    newest = Cells(int)
    with closing(newest):
        words, total = _check_parts(cursor, names, sums, findings, newest)
        total += _check_waiting(cursor, names, sums, findings, newest)
    if total != sums.total:
        _locate(cursor, names, sums, findings, words=words)
    findings.looked_at("words", words_of(sums.notes))


def words_of(live_notes: int) -> str:
    """Return what was looked at, in words."""
    return f"those of {counted(live_notes, 'live note')}"


def _check_parts(
    cursor: Executor, names: Names, sums: WordSums, findings: Findings, newest: Cells[int]
) -> tuple[int, int]:
    """Return the number of words that have parts, and their sum; note each scope's newest seq."""
    total = count = 0
    for scope, words in groupby(_words(cursor, names), key=lambda found: found[0][0]):
        highest = 0
        for word, parts in words:
            count += 1
            postings, fault = _chained(parts)
            total += sums.under_word(word, postings)
            if fault:
                findings.add("words", None, f"{shown(word[1])}: {fault}")
            elif postings:
                highest = max(highest, postings[-1][0])
        newest.make_room()
        newest.put((str(scope),), highest)
    return count, total


def _check_waiting(
    cursor: Executor, names: Names, sums: WordSums, findings: Findings, newest: Cells[int]
) -> int:
    """Return the sum of the notes that wait to be filed."""
    total = 0
    statement = f"SELECT id, waiting FROM {names.scopes}"
    for page in pages(cursor, statement, "id"):
        newest.make_room()
        newest.load((str(scope),) for scope, _ in page)
        for scope, stored in page:
            try:
                waiting = _waiting(stored)
            except _DAMAGED as error:
                findings.add("words", None, str(error))
                continue
            total += sum(sums.under_words(scope, *each) for each in waiting)
            seqs = [newest.get((str(scope),)) or 0, *(seq for (seq, _), _ in waiting)]
            if seqs != sorted(seqs):
                position = _position(cursor, names, scope, min(seqs))
                findings.add("words", position, "notes that wait are out of order")
    return total


def _words(cursor: Executor, names: Names) -> Iterator[tuple[_Word, Iterable[_Row]]]:
    statement = f"SELECT scope, word, part, sealed, seqs, outlines FROM {names.words}"
    parts = one_by_one(cursor, statement, "scope, word, part")
    return groupby(parts, key=itemgetter(0, 1))


def _waiting(stored: bytes) -> list[tuple[_Posting, list[str]]]:
    """Return the posting of each note that waits to be filed, and its words."""
    waiting, again = waiting_of(stored), Waiting()
    found = []
    for words, *posting in waiting:
        seq, outline = (int.from_bytes(number, "little") for number in posting)
        again.add(words, seq=seq, outline=outline)
        found.append(((seq, outline), words))
    if again != waiting:  # A word that is not between spaces is not found.
        raise DriftError("notes", "the words that wait are damaged (not written as they are)")
    return found


def _chained(parts: Iterable[_Row]) -> tuple[list[_Posting], str]:
    """Return the postings of a word's parts, and what is wrong with their chain, or nothing.

    Part 0 is the newest; it comes first, then the sealed ones, oldest first.
    """
    postings: list[_Posting] = []
    tail: list[_Posting] = []
    newest = before = 0
    fault = ""
    for _, _, part, sealed, seqs, outlines in parts:
        try:
            found = [*zip(numbers("I", seqs), numbers("Q", outlines), strict=True)]
        except _DAMAGED:
            return postings, f"part {shown(part)} is damaged"
        if part == 0:
            newest, tail = sealed, found
        else:
            fault = fault or ("" if sealed == before else f"part {shown(part)} is out of its chain")
            before = part
            postings += found
    postings += tail
    if newest != before:
        fault = fault or f"its newest part follows {shown(newest)}, not {shown(before)}"
    if len(postings) > 1 and postings != sorted(postings):
        fault = fault or "its notes are out of order"
    return postings, fault


# --- Which words differ


def _locate(
    cursor: Executor, names: Names, sums: WordSums, findings: Findings, *, words: int
) -> None:
    """Name the first words that differ, and the first note of each whose posting does."""
    wrong: list[_Word] = []
    shares = words // _WORDS_AT_ONCE + 1
    for share in range(shares):
        differences = _differences(cursor, names, sums, share=share, shares=shares)
        wrong += sorted(word for word, difference in differences.items() if difference)
    first = set(wrong[:FINDINGS_MAX])
    due: dict[_Word, set[_Posting]] = {word: set() for word in first}
    for row in _notes(cursor, names):
        for posting, filed in _postings(row):
            for word in first.intersection(filed):
                due[word].add(posting)
    held = {word: set(_chained(parts)[0]) for word, parts in _words(cursor, names) if word in first}
    for scope, (posting, waiting) in _all_waiting(cursor, names):
        for word in first.intersection((scope, each) for each in waiting):
            held.setdefault(word, set()).add(posting)
    for word in wrong[:FINDINGS_MAX]:
        seq = min((due[word] ^ held.get(word, set())), default=(0, 0))[0]
        what = "is not filed as it should be" if seq else "is damaged"
        findings.add("words", _position(cursor, names, word[0], seq), f"{shown(word[1])} {what}")


def _differences(
    cursor: Executor, names: Names, sums: WordSums, *, share: int, shares: int
) -> dict[_Word, int]:
    """Return for the words of one share the sum of their postings, due minus held."""
    found: dict[_Word, int] = {}

    def chosen(word: _Word) -> bool:
        return sums.hash(word) % shares == share

    for row in _notes(cursor, names):
        for posting, filed in _postings(row):
            for word in filter(chosen, filed):
                found[word] = found.get(word, 0) + hash(posting)
    for word, parts in _words(cursor, names):
        if chosen(word):
            found[word] = found.get(word, 0) - sum(map(hash, _chained(parts)[0]))
    for scope, (posting, waiting) in _all_waiting(cursor, names):
        for word in filter(chosen, ((scope, each) for each in waiting)):
            found[word] = found.get(word, 0) - hash(posting)
    return found


def _all_waiting(
    cursor: Executor, names: Names
) -> Iterator[tuple[int, tuple[_Posting, list[str]]]]:
    """Yield (scope, posting and words) of each note that waits, where that can be read."""
    for scope, stored in one_by_one(cursor, f"SELECT id, waiting FROM {names.scopes}", "id"):
        with suppress(*_DAMAGED):  # `_check_waiting` has told.
            yield from ((scope, each) for each in _waiting(stored))


def _notes(cursor: Executor, names: Names) -> Iterator[_Row]:
    return one_by_one(cursor, f"SELECT {NOTE_COLUMNS} FROM {names.notes} n", "n.id")


def _position(cursor: Executor, names: Names, scope: int, seq: int) -> int | None:
    row = cursor.execute(
        f"SELECT rowid FROM stored_events JOIN {names.scopes} s ON s.stream = originator_id "
        "WHERE s.id = ? AND originator_version = ?",
        (scope, seq),
    ).fetchone()
    return None if row is None else row[0]
