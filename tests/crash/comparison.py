"""Hold a store's tables against a fold of its events, and its events against what was asked."""

import sqlite3
from contextlib import closing
from pathlib import Path

import memlog
from memlog import codec
from memlog.log import Log
from memlog.note import Scope
from projections.notes import replay


def check_store(path: Path) -> dict[str, int]:
    """Check gapless positions and seqs, and that every table read equals the fold of the events.

    Returns:
        Each request id in the log with the position of its last event.
    """
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(
            "SELECT rowid, originator_id, originator_version, topic, state "
            "FROM stored_events ORDER BY rowid"
        ).fetchall()
    assert [row[0] for row in rows] == list(range(1, len(rows) + 1))
    last_seq: dict[str, int] = {}
    for _, stream, seq, _, _ in rows:
        assert seq == last_seq.get(stream, 0) + 1
        last_seq[stream] = seq
    with memlog.open(path) as log:
        _check_reads(log, rows)
    envelopes = [(row[0], codec.decode_envelope(row[4])) for row in rows]
    times = [envelope.recorded_at for _, envelope in envelopes]
    assert times == sorted(times)
    return {each.request_id: position for position, each in envelopes if each.request_id}


def _check_reads(log: Log, rows: list[tuple[int, str, int, str, bytes]]) -> None:
    folds = replay(rows)
    assert log.position() == len(rows)
    assert {each.scope.stream: (each.live, each.notes, each.last_seq) for each in log.scopes()} == {
        stream: (fold.live, len(fold.notes), fold.last_seq) for stream, fold in folds.items()
    }
    for stream, fold in folds.items():
        memory = log.scope(Scope.of_stream(stream))
        assert memory.fingerprint() == fold.fingerprint
        assert {note.slug: note for note in memory.notes(limit=10**6)} == fold.notes
        for slug in fold.notes:
            reading = memory.read(slug)
            assert set(reading.links) == {link for link in fold.links if link.from_slug == slug}
            assert set(reading.backlinks) == {link for link in fold.links if link.to_slug == slug}
