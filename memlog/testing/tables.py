"""Hold the tables of the notes projection against the fold of the log, row by row.

The expected rows are written down here once more, from the words of the design, and not with the
projection's own writer: what both get wrong in the same way must not look right.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from memlog import text
from memlog.decide import content_of
from memlog.errors import DriftError
from memlog.events import Event
from memlog.note import Link
from projections.notes import rows
from projections.notes.fold import Fold
from projections.notes.reader import live_set
from projections.notes.words import content_mark

if TYPE_CHECKING:
    from memlog.log import Log
    from projections.notes.tables import Names
    from projections.notes.words import Executor

_REQUEST_COLUMNS = "slug, created, first_position, seq, position"
_Rows = dict[Any, Any]


def tables_equal_fold(log: Log) -> bool:
    """Tell that notes, links, requests, counters and words are what the log's events add up to.

    Costs a replay of the whole log. Nobody may write meanwhile.

    Returns:
        True; so that it can stand in an `assert`.

    Raises:
        DriftError: they differ; the error names the table and the first row.
    """
    folds, log_row = _folds(log), _expected_log_row(log)
    with log._store.reading() as cursor:  # noqa: SLF001  # there is no public way to the tables
        names = live_set(cursor)
        scopes = dict(cursor.execute(f"SELECT stream, id FROM {names.scopes}").fetchall())  # noqa: S608
        _compare("log", _log_row(cursor), log_row)
        _compare("scopes", _scope_rows(cursor, names), _expected_scopes(folds))
        for stream, (fold, _) in folds.items():
            scope = scopes[stream]
            _compare(f"notes of {stream}", _note_rows(cursor, names, scope), _notes(fold))
            _compare(f"links of {stream}", _link_rows(cursor, names, scope), _links(fold))
            _compare(f"requests of {stream}", _request_rows(cursor, names, scope), _asked(fold))
            _compare(f"words of {stream}", _postings(cursor, names, scope), _words(fold))
        _compare_totals(cursor, names, folds)
    return True


def _folds(log: Log) -> dict[str, tuple[Fold, int]]:
    """Return the fold of each stream, with the position of the stream's first event."""
    folds: dict[str, tuple[Fold, int]] = {}
    for event in log.events():
        fold, _ = folds.setdefault(event.stream, (Fold(), event.position))
        fold.add(event)
    return folds


def _compare(table: str, stored: _Rows, expected: _Rows) -> None:
    for key in sorted({*stored, *expected}, key=repr):
        if stored.get(key) != expected.get(key):
            detail = f"{table}, row {key!r}: {stored.get(key)!r} instead of {expected.get(key)!r}"
            raise DriftError("notes", detail)


# --- The log's and the scopes' rows


def _log_row(cursor: Executor) -> _Rows:
    return {"log": cursor.execute("SELECT position, recorded_at FROM log").fetchone()}


def _expected_log_row(log: Log) -> _Rows:
    last: Event | None = None
    for position, event in enumerate(log.events(), start=1):
        assert event.position == position
        last = event
    if last is None:
        return {"log": (0, "0001-01-01T00:00:00.000000Z")}
    return {"log": (last.position, last.recorded_at_text)}


def _scope_rows(cursor: Executor, names: Names) -> _Rows:
    found = cursor.execute(
        f"SELECT stream, id, live, notes, last_seq, touched_seq FROM {names.scopes}"  # noqa: S608
    )
    return {row[0]: row[1:] for row in found}


def _expected_scopes(folds: dict[str, tuple[Fold, int]]) -> _Rows:
    return {
        stream: (
            first_position,
            sum(note.superseded_by is None for note in fold.notes.values()),
            len(fold.notes),
            fold.last_seq,
            max((note.updated_seq for note in fold.notes.values()), default=0),
        )
        for stream, (fold, first_position) in folds.items()
    }


def _compare_totals(cursor: Executor, names: Names, folds: dict[str, tuple[Fold, int]]) -> None:
    """Find rows of scopes that do not exist."""
    sizes = {
        names.notes: sum(len(fold.notes) for fold, _ in folds.values()),
        names.links: sum(len(fold.links) for fold, _ in folds.values()),
        names.requests: sum(len(fold.requests) for fold, _ in folds.values()),
    }
    for table, size in sizes.items():
        stored = cursor.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608
        _compare("number of rows", {table: stored}, {table: size})
    strangers = cursor.execute(
        f"SELECT word, scope FROM {names.words} WHERE scope NOT IN (SELECT id FROM {names.scopes})"  # noqa: S608
    )
    _compare("words of no scope", dict(strangers), {})


# --- Notes, links and requests


def _note_rows(cursor: Executor, names: Names, scope: int) -> _Rows:
    found = cursor.execute(
        f"SELECT stem, number, {rows.NOTE_COLUMNS} FROM {names.notes} WHERE scope = ?",  # noqa: S608
        (scope,),
    )
    return {row[2]: (row[0], row[1], rows.note_of(row[2:])) for row in found}


def _notes(fold: Fold) -> _Rows:
    return {slug: (*text.split_number(slug), note) for slug, note in fold.notes.items()}


def _link_rows(cursor: Executor, names: Names, scope: int) -> _Rows:
    found = cursor.execute(
        f"SELECT id, {rows.LINK_COLUMNS} FROM {names.links} WHERE scope = ?",  # noqa: S608
        (scope,),
    )
    return {row[0]: Link(*row[1:]) for row in found}


def _links(fold: Fold) -> _Rows:
    return {position: link for link, position in fold.links.items()}


def _request_rows(cursor: Executor, names: Names, scope: int) -> _Rows:
    found = cursor.execute(
        f"SELECT request_id, {_REQUEST_COLUMNS} FROM {names.requests} WHERE scope = ?",  # noqa: S608
        (scope,),
    )
    return {row[0]: row[1:] for row in found}


def _asked(fold: Fold) -> _Rows:
    return {
        request_id: (each.slug, each.created, each.first_position, each.seq, each.position)
        for request_id, each in fold.requests.items()
    }


# --- Words


def _postings(cursor: Executor, names: Names, scope: int) -> _Rows:
    """Return the postings of each word that has some, oldest first: its parts, then what waits."""
    found = cursor.execute(
        f"SELECT word, part, sealed, seqs, outlines FROM {names.words} WHERE scope = ?",  # noqa: S608
        (scope,),
    )
    parts: dict[str, dict[int, tuple[int, bytes, bytes]]] = {}
    for word, part, *content in found:
        parts.setdefault(word, {})[part] = tuple(content)
    postings = {word: list(_chained(chain)) for word, chain in parts.items()}
    for word, posting in _waiting(cursor, names, scope):
        postings.setdefault(word, []).append(posting)
    return {word: filed for word, filed in postings.items() if filed}


def _waiting(cursor: Executor, names: Names, scope: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the words of the notes that wait to be filed, oldest note first."""
    found = cursor.execute(f"SELECT waiting FROM {names.scopes} WHERE id = ?", (scope,))  # noqa: S608
    stored = found.fetchone()[0]
    if stored:
        seqs, outlines, lines = msgspec.msgpack.decode(stored)
        filed = zip(
            struct.iter_unpack("<I", seqs),
            struct.iter_unpack("<Q", outlines),
            lines.decode().splitlines(),
            strict=True,
        )
        for (seq,), (outline,), line in filed:
            yield from ((word, (seq, outline)) for word in line.split())


def _chained(parts: dict[int, tuple[int, bytes, bytes]]) -> Iterator[tuple[int, int]]:
    """Yield a word's (updated_seq, outline), from the oldest part to part 0; all are reached."""
    keys = [0]
    while (before := parts[keys[-1]][0]) != 0:
        keys.append(before)
    if set(keys) != set(parts):
        raise DriftError("notes", f"parts {sorted(parts)} of a word, of which {keys} are chained")
    for key in reversed(keys):
        _, seqs, outlines = parts[key]
        count = len(seqs) // 4
        yield from zip(
            struct.unpack(f"<{count}I", seqs), struct.unpack(f"<{count}Q", outlines), strict=True
        )


def _words(fold: Fold) -> _Rows:
    expected: dict[str, list[tuple[int, int]]] = {}
    for note in sorted(fold.notes.values(), key=lambda each: each.updated_seq):
        if note.superseded_by is None:
            words = text.words(note.title, note.topics)
            marks = [content_mark(content_of(note))] if text.split_number(note.slug)[1] > 1 else []
            for word in (*words, *marks):
                expected.setdefault(word, []).append((note.updated_seq, _outline(words)))
    return expected


def _outline(words: frozenset[str]) -> int:
    bits = {zlib.crc32(word.encode()) % 56 for word in words}
    return (min(len(words), 255) << 56) + sum(1 << bit for bit in bits)
