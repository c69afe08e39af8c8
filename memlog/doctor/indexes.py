"""How far the search indexes on this machine are behind the log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from memlog.doctor.symptom import Symptom
from memlog.feed import ScopeFeed
from memlog.log import Log
from memlog.note import ScopeInfo
from memlog.searching import index_dir
from projections.search import directory
from projections.search.directory import StoredIndexError

_LAG_SHOWN = 1_000


def symptoms(log: Log) -> Iterator[Symptom]:
    """Yield one symptom about all indexes, and one for each scope whose index is far behind."""
    place = index_dir(log.settings, log._store.index_dir)  # noqa: SLF001  # an edge of ours
    if place is None:
        yield Symptom("indexes", "well", "in memory only")
        return
    missing = unusable = 0
    behind: list[tuple[int, str]] = []
    scopes = log.scopes()
    for scope in scopes:
        try:
            seq = _cursor_seq(log, place, scope)
        except StoredIndexError:
            unusable += 1
            continue
        if seq is None:
            missing += 1
        elif scope.last_seq > seq:
            behind.append((scope.last_seq - seq, scope.scope.stream))
    lag = max(behind, default=(0, ""))
    detail = (
        f"{len(scopes) - missing - unusable} of {len(scopes)} scopes are indexed in "
        f"{str(place)!r}, at most {lag[0]} events behind"
    )
    if unusable:
        detail += f"; {unusable} cannot be used and will be made anew"
    known = unusable or lag[0] > _LAG_SHOWN
    yield Symptom("indexes", "known" if known else "well", detail)


def _cursor_seq(log: Log, place: Path, scope: ScopeInfo) -> int | None:
    """Return the seq that the stored index of a scope has seen; None when there is none.

    Raises:
        StoredIndexError: it cannot be used, so the next search makes it anew.
    """
    stream = scope.scope.stream
    path = directory.private_path(place, log_id=log.log_id, stream=stream)
    content = directory.read_manifest(path)
    if content is None:
        return None
    store = log._store  # noqa: SLF001  # an edge of ours
    with store.reading() as cursor:
        feed = ScopeFeed(cursor, log_id=log.log_id, secret=store.secret, stream=stream)
        manifest = directory.verified(content, key=feed.hmac_key)
        seen = manifest.cursor
        if seen.seq and feed.event_id(seen.seq) != seen.event_id:
            raise StoredIndexError(path, "has seen another history")
    return seen.seq
