"""From a query string to weighted terms. There is no syntax, so every string is a query."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from msgspec import Struct

from projections.search.analysis import Terms, analyzed
from projections.search.fields import GRAMS, HEAD, MAIN, PAIRS, SINGLES

TERMS_MAX = {MAIN: 128, PAIRS: 128, GRAMS: 512, SINGLES: 128, HEAD: 128}
"""How many distinct terms of a field one query may use; the rarest stay. This bounds the work."""

PAIR_WEIGHT = 0.3
GRAM_WEIGHT, GRAM_SHARE_MAX = 0.15, 0.05
GRAM_WEIGHT_BEYOND_ASCII, GRAM_SHARE_MAX_BEYOND_ASCII = 0.5, 0.20
SINGLE_WEIGHT = 0.5
HEAD_WEIGHT, HEAD_IDF_MIN = 0.18, 3.0
GRAM_NOTES_MIN = 5
"""A gram counts while at most this many live notes have it, however small the scope is."""


class QueryTerm(Struct, frozen=True, gc=False):
    """One distinct term of a query: `weight` is the field's weight × how often the term stands.

    `share_max` is the greatest share of live notes that may have a gram; None: no limit.
    """

    field: int
    term: str
    weight: float
    share_max: float | None = None


def _grams(terms: Terms) -> Iterable[QueryTerm]:
    for gram, count in terms.grams.items():
        weight, share_max = GRAM_WEIGHT, GRAM_SHARE_MAX
        if not gram.isascii():
            weight, share_max = GRAM_WEIGHT_BEYOND_ASCII, GRAM_SHARE_MAX_BEYOND_ASCII
        yield QueryTerm(GRAMS, gram, weight * count, share_max)


def query_terms(query: str) -> list[QueryTerm]:
    """Return the distinct terms of a query, grouped by field, in the order of first use.

    Stop words are left out, unless nothing else is there.
    """
    terms = analyzed(query, stop_words=False)
    if not terms.main:
        terms = analyzed(query)
    return [
        *(QueryTerm(MAIN, term, float(count)) for term, count in terms.main.items()),
        *(QueryTerm(PAIRS, term, PAIR_WEIGHT * count) for term, count in terms.pairs.items()),
        *_grams(terms),
        *(QueryTerm(SINGLES, term, SINGLE_WEIGHT * count) for term, count in terms.singles.items()),
        *(QueryTerm(HEAD, term, HEAD_WEIGHT) for term in terms.main),
    ]


def rarest(
    terms: Sequence[QueryTerm], frequencies: Callable[[Sequence[QueryTerm]], Sequence[int]]
) -> list[QueryTerm]:
    """Cut each field to its `TERMS_MAX` rarest terms that some live note has; the order stays.

    Args:
        terms: The terms of a query, grouped by field.
        frequencies: Gives the number of live notes that have each term. Not called unless a
            field has too many terms.
    """
    kept: list[QueryTerm] = []
    for field, group in groupby(terms, key=lambda term: term.field):
        of_field = list(group)
        if len(of_field) > TERMS_MAX[field]:
            found = zip(frequencies(of_field), range(len(of_field)), strict=True)
            best = sorted((count, at) for count, at in found if count)[: TERMS_MAX[field]]
            of_field = [of_field[at] for at in sorted(at for _, at in best)]
        kept += of_field
    return kept


def gram_limit(share_max: float, live: int) -> float:
    """Return in how many live notes a gram may stand and still count."""
    return max(share_max * live, GRAM_NOTES_MIN)
