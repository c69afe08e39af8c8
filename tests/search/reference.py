"""Search by brute force: scores every note from the formula, in plain Python, and keeps nothing.

The terms come from the project's own analysis, which has tests of its own; everything after it is
written here once more, without an array.
"""

import math
from collections.abc import Mapping
from datetime import datetime, timedelta

from projections.search.analysis import analyzed, note_text
from projections.search.protocol import Document, Feed, Hit, Weights
from projections.search.snippet import needles, snippet

CAPS = {"main": 128, "pairs": 128, "grams": 512, "singles": 128, "head": 128}


def _terms_of(document: Document) -> dict[str, Mapping[str, int]]:
    text = note_text(title=document.title, topics=document.topics, body=document.body)
    terms = analyzed(text)
    return {
        "main": terms.main,
        "pairs": terms.pairs,
        "grams": terms.grams,
        "singles": terms.singles,
        "head": dict.fromkeys(analyzed(document.title).main, 1),
    }


def _query(query: str) -> list[tuple[str, str, float]]:
    terms = analyzed(query, stop_words=False)
    if not terms.main:
        terms = analyzed(query)
    weighted: list[tuple[str, str, float]] = []
    weighted += [("main", t, 1.0 * n) for t, n in terms.main.items()]
    weighted += [("pairs", t, 0.3 * n) for t, n in terms.pairs.items()]
    weighted += [("grams", t, (0.15 if t.isascii() else 0.5) * n) for t, n in terms.grams.items()]
    weighted += [("singles", t, 0.5 * n) for t, n in terms.singles.items()]
    weighted += [("head", t, 0.18) for t in terms.main]
    return weighted


class _Scope:
    def __init__(self, documents: list[Document]) -> None:
        self.documents = documents
        self.terms = [_terms_of(document) for document in documents]
        live = [t for d, t in zip(documents, self.terms, strict=True) if d.superseded_by is None]
        self.live = live
        lengths = [sum(terms["main"].values()) for terms in live]
        self.mean_length = sum(lengths) / len(lengths) if lengths else 0.0

    def frequency(self, field: str, term: str) -> int:
        return sum(term in terms[field] for terms in self.live)

    def used(self, query: str) -> list[tuple[str, str, float, int]]:
        found = [(f, t, w, self.frequency(f, t)) for f, t, w in _query(query)]
        used = []
        for field, cap in CAPS.items():
            of_field = [each for each in found if each[0] == field]
            if len(of_field) > cap:
                rare = sorted((each[3], at) for at, each in enumerate(of_field) if each[3])[:cap]
                of_field = [of_field[at] for at in sorted(at for _, at in rare)]
            used += of_field
        return [each for each in used if self._counts(each[0], each[1], each[3])]

    def _counts(self, field: str, term: str, frequency: int) -> bool:
        share = 0.05 if term.isascii() else 0.20
        return field != "grams" or frequency <= max(share * len(self.live), 5)

    def relevance(self, number: int, used: list[tuple[str, str, float, int]]) -> float:
        terms = self.terms[number]
        length = sum(terms["main"].values())
        k = 1.5 * (length + 50.0) / (self.mean_length + 50.0)
        total = 0.0
        for field, term, weight, frequency in used:
            if term in terms[field]:
                n = len(self.live)
                idf = math.log(1.0 + (n - frequency + 0.5) / (frequency + 0.5))
                times = terms[field][term]
                total += (
                    weight * max(idf, 3.0)
                    if field == "head"
                    else weight * idf * times / (times + k)
                )
        return total


class ReferenceBackend:
    """A `SearchBackend` that is slow and obvious."""

    def search(
        self,
        feed: Feed,
        query: str,
        *,
        now: datetime,
        limit: int = 10,
        topic: str | None = None,
        include_superseded: bool = False,
        weights: Weights,
    ) -> list[Hit]:
        seq, _ = feed.head()
        scope = _Scope(list(feed.all(up_to=seq)))
        used = scope.used(query)
        found: list[tuple[float, Hit]] = []
        for number, document in enumerate(scope.documents):
            if document.superseded_by is not None and not include_superseded:
                continue
            if topic is not None and topic not in document.topics:
                continue
            relevance = scope.relevance(number, used) if query.strip() else 0.0
            if query.strip() and not relevance:
                continue
            hit = _hit(document, relevance, query, now=now, weights=weights)
            found.append((document.updated_seq, hit))
        if query.strip():
            found.sort(key=lambda each: (-each[1].score, -each[0]))
        else:
            by_slug = {document.slug: document.written_seq for document in scope.documents}
            found.sort(key=lambda each: -by_slug[each[1].slug])
        return [hit for _, hit in found[: max(limit, 0)]]

    def commit(self, feed: Feed) -> None:
        """Nothing is stored."""

    def rebuild(self, feed: Feed) -> None:
        """Nothing is stored."""

    def private(self) -> "ReferenceBackend":
        """Nothing is shared."""
        return ReferenceBackend()

    def close(self) -> None:
        """Nothing is open."""


def _hit(
    document: Document, relevance: float, query: str, *, now: datetime, weights: Weights
) -> Hit:
    age = max((now - document.written_at) / timedelta(days=1), 0.0)
    recency = weights.recency_weight * 2.0 ** (-age / weights.half_life_days)
    pin = weights.pinned_bonus * document.pinned
    return Hit(
        slug=document.slug,
        title=document.title,
        snippet=snippet(document.body, needles(query)),
        topics=document.topics,
        provenance=document.provenance,
        confidence=document.confidence,
        pinned=document.pinned,
        written_at=document.written_at,
        score=relevance * (1.0 + recency + pin),
        superseded_by=document.superseded_by,
        relevance=relevance,
        recency=recency,
        pin=pin,
    )
