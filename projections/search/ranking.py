"""The formula, over arrays: exact scores of every note that matches, and the exact best k.

    K(d)   = 1.5 · (length(d) + 50) / (mean length + 50)
    idf(t) = ln(1 + (N - df + .5) / (df + .5))
    relevance(q, d) = Σ weight(t) · idf(t) · tf / (tf + K(d))  +  Σ head .18 · max(idf(t), 3)
    score = relevance × (1 + recency_weight · 2^(-age / half-life) + pinned_bonus · pinned)

N, df and mean length are those of live notes. A document's terms are summed in the order of the
query, so equal documents get equal scores wherever they are stored.
"""

import math
from collections.abc import Sequence
from datetime import datetime

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from projections.search.fields import HEAD, TOPIC, microseconds
from projections.search.memory import ScopeNotes
from projections.search.parts import Found, Lists
from projections.search.postings import Integers
from projections.search.protocol import Weights
from projections.search.query import HEAD_IDF_MIN, QueryTerm, gram_limit, query_terms, rarest

_DAY_US = 86_400_000_000
_COUNTED_AT_ONCE = 2_048
_BLOCK = 64


class Ranked(Struct, frozen=True, gc=False):
    """One document of a result, and what its score is made of."""

    document: int
    relevance: float
    recency: float
    pin: float
    score: float


def idf(*, live: int, frequency: int) -> float:
    """Return the weight of a term that `frequency` of `live` notes have."""
    return math.log(1.0 + (live - frequency + 0.5) / (frequency + 0.5))


def _keys(terms: Sequence[QueryTerm]) -> list[tuple[int, str]]:
    return [(term.field, term.term) for term in terms]


def _frequencies(notes: ScopeNotes, terms: Sequence[QueryTerm]) -> list[int]:
    """Count the live notes that have each term, a few thousand terms at a time."""
    counted: list[int] = []
    for first in range(0, len(terms), _COUNTED_AT_ONCE):
        keys = _keys(terms[first : first + _COUNTED_AT_ONCE])
        found = notes.look_up(keys).read(np.arange(len(keys)))
        counted += _live_counts(notes, found, len(keys)).tolist()
    return counted


def _live_counts(notes: ScopeNotes, found: Found, terms: int) -> Integers:
    live = notes.columns.live[found.document]
    return np.bincount(found.term if live.all() else found.term[live], minlength=terms)


def _weight(term: QueryTerm, *, live: int, frequency: int) -> float:
    """Return what one posting of the term is worth before its tf; 0 for a gram that is common."""
    if term.share_max is not None and frequency > gram_limit(term.share_max, live):
        return 0.0
    if term.field == HEAD:
        return term.weight * max(idf(live=live, frequency=frequency), HEAD_IDF_MIN)
    return term.weight * idf(live=live, frequency=frequency)


def _worth_reading(notes: ScopeNotes, terms: Sequence[QueryTerm], lists: Lists) -> list[int]:
    """Leave out terms that nobody has, and grams that are common without reading their postings."""
    live = notes.columns.live_count
    not_live = notes.columns.size - live
    return [
        at
        for at, (term, size) in enumerate(zip(terms, lists.sizes.tolist(), strict=True))
        if size and (term.share_max is None or size - not_live <= gram_limit(term.share_max, live))
    ]


def relevance(notes: ScopeNotes, terms: Sequence[QueryTerm]) -> NDArray[np.float64]:
    """Return the relevance of every document, 0 where no term stands."""
    columns = notes.columns
    lists = notes.look_up(_keys(terms))
    kept = _worth_reading(notes, terms, lists)
    terms = [terms[at] for at in kept]
    if not terms:
        return np.zeros(columns.size)
    found = lists.read(np.array(kept))
    live = columns.live_count
    mean_length = columns.live_length / live if live else 0.0
    counts = _live_counts(notes, found, len(terms)).tolist()
    weights = np.array(
        [_weight(t, live=live, frequency=n) for t, n in zip(terms, counts, strict=True)]
    )
    is_head = np.array([term.field == HEAD for term in terms], dtype=bool)
    times = found.count.astype(np.float64)
    worth = times / (times + columns.norms[found.document] / (mean_length + 50.0))
    if is_head.any():
        worth[is_head[found.term]] = 1.0
    worth *= weights[found.term]
    return np.bincount(found.document, weights=worth, minlength=columns.size).astype(np.float64)


def _eligible(
    notes: ScopeNotes, *, topic: str | None, include_superseded: bool
) -> NDArray[np.bool_]:
    allowed = notes.columns.current if include_superseded else notes.columns.live
    if topic is None:
        return allowed
    has_topic = np.zeros(notes.columns.size, dtype=bool)
    has_topic[notes.look_up([(TOPIC, topic)]).read(np.arange(1)).document] = True
    return allowed & has_topic


def _kth_at_least(scores: NDArray[np.float64], k: int) -> float:
    """Return a lower bound of the k-th greatest score: the k-th greatest of 64s' maxima."""
    blocks = len(scores) // _BLOCK
    if blocks <= k:
        return 0.0
    maxima = scores[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1)
    return float(np.partition(maxima, blocks - k)[blocks - k])


def _factors(
    notes: ScopeNotes, documents: Integers, *, now: datetime, weights: Weights
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rows = notes.columns.rows[documents]
    ages = np.maximum(microseconds(now) - rows["written_at"], 0) / _DAY_US
    recency = weights.recency_weight * np.exp2(-ages / weights.half_life_days)
    return recency, weights.pinned_bonus * rows["pinned"]


def _ranked(
    notes: ScopeNotes, documents: Integers, relevances: NDArray[np.float64], *, limit: int,
    now: datetime, weights: Weights,
) -> list[Ranked]:  # fmt: skip
    recency, pin = _factors(notes, documents, now=now, weights=weights)
    scores = relevances * (1.0 + recency + pin)
    best = np.arange(len(scores))
    if len(scores) > limit:
        kth = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        best = np.flatnonzero(scores >= kth)
    order = np.lexsort((-notes.columns.rows["updated_seq"][documents[best]], -scores[best]))
    best = best[order[:limit]]
    columns = (documents[best], relevances[best], recency[best], pin[best], scores[best])
    return [Ranked(*row) for row in zip(*(each.tolist() for each in columns), strict=True)]


def best(
    notes: ScopeNotes, query: str, *, limit: int, topic: str | None, include_superseded: bool,
    now: datetime, weights: Weights,
) -> list[Ranked]:  # fmt: skip
    """Return the best `limit` documents, as `SearchBackend.search` promises."""
    if limit < 1:
        return []
    allowed = _eligible(notes, topic=topic, include_superseded=include_superseded)
    if not query.strip():
        return _newest(notes, allowed, limit=limit, now=now, weights=weights)
    terms = rarest(query_terms(query), lambda terms: _frequencies(notes, terms))
    scores = relevance(notes, terms) * allowed
    # A factor lies between 1 and this: whatever cannot reach the k-th even so is out.
    factor_max = 1.0 + weights.recency_weight + weights.pinned_bonus
    floor = _kth_at_least(scores, limit) / factor_max * (1.0 - 1e-9)
    documents = np.flatnonzero(scores >= floor) if floor > 0.0 else np.flatnonzero(scores)
    return _ranked(notes, documents, scores[documents], limit=limit, now=now, weights=weights)


def _newest(
    notes: ScopeNotes, allowed: NDArray[np.bool_], *, limit: int, now: datetime, weights: Weights
) -> list[Ranked]:
    documents = np.flatnonzero(allowed)
    written = notes.columns.rows["written_seq"][documents]
    newest = documents[np.argsort(-written, kind="stable")[:limit]]
    recency, pin = _factors(notes, newest, now=now, weights=weights)
    columns = (newest.tolist(), recency.tolist(), pin.tolist())
    return [Ranked(n, 0.0, r, p, 0.0) for n, r, p in zip(*columns, strict=True)]
