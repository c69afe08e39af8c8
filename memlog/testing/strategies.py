"""Hypothesis strategies for scopes, notes, requests and legal histories.

Needs `hypothesis`, which the `test` extra brings. The alphabets are small on purpose: slugs, stems,
topics and links shall collide all the time. Where any text is wanted, `texts` gives it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from memlog import codec
from memlog import requests as asked
from memlog.decide import decide
from memlog.errors import RequestError
from memlog.events import CompactionHarvested, Event, Payload
from memlog.note import RELS, Note, Scope
from memlog.requests import AddLink, AnyRequest, Origin, Pin, RemoveLink, Unpin
from memlog.testing.determinism import START, CountingIds
from memlog.testing.histories import STREAM, event
from memlog.text import utc_text
from projections.notes.fold import Fold

MAX_BODY_BYTES = 32_000

_NINE_WORDS = "abcdefgh " * 9  # Its slug has exactly 80 characters.
TITLES = (
    "Tea",
    "tea!",
    "Tea 2",
    "Oolong tea",
    "Green tea, hot",
    "Té",
    "茶の湯",
    "茶の心得",
    "चाय",
    "!!!",
    _NINE_WORDS.strip(),
    _NINE_WORDS + "cut off",
    "y" * 90,
    "y" * 80 + " too",
)
SLUGS = ("tea", "tea-2", "tea-3", "tea-7", "oolong-tea", "te", "x.1_b", "y" * 80, "y" * 78 + "-3")
TOPICS = ("hot", "Hot ", "hot drinks", "चाय", "a.b_c", "茶")
BODIES = ("green", "black", "Blätter\r\n\tund 茶 \U0001f375\u202e <memory>", " x ")
URLS = ("https://example.org/tea", "", " ")
LABELS = (None, "", "why", "warum\nnicht")


def texts(*, max_bytes: int = 200) -> st.SearchStrategy[str]:
    """Return any text that may be a title or body: valid Unicode, no NUL, not blank."""
    alphabet = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
    return st.text(alphabet, min_size=1, max_size=max_bytes // 4).filter(lambda text: text.strip())


def scopes() -> st.SearchStrategy[Scope]:
    """Return scopes: the global one, two that are often drawn, and any other."""
    owners = st.sampled_from(["alice", "Bob Ó'B/../x"]) | texts(max_bytes=250).filter(_is_principal)
    return st.just(Scope("global")) | owners.map(lambda principal: Scope("owner", principal))


def _is_principal(text: str) -> bool:
    try:
        Scope("owner", text)
    except RequestError:
        return False
    return True


def slugs() -> st.SearchStrategy[str]:
    """Return slugs that collide with each other and with what `titles` derive to."""
    return st.sampled_from(SLUGS)


def titles() -> st.SearchStrategy[str]:
    """Return titles of few stems: equal ones, long ones, and such without any `a-z0-9`."""
    return st.sampled_from(TITLES)


def sources() -> st.SearchStrategy[dict[str, str] | None]:
    """Return sources, with and without a URL; a blank part counts as none."""
    parts: dict[str, st.SearchStrategy[str]] = {
        "url": st.sampled_from(URLS),
        "artifact": st.just("ticket 7"),
        "note": st.just("said so"),
    }
    return st.none() | st.fixed_dictionaries({}, optional=parts)


def write_arguments(
    *, slugs: st.SearchStrategy[str | None] | None = None, if_seq_max: int = 12
) -> st.SearchStrategy[dict[str, Any]]:
    """Return the arguments of well-formed calls of `Memory.write`, without who asks.

    Args:
        slugs: where explicit slugs come from; None among them leaves the slug out.
        if_seq_max: the highest `if_seq`; 0 leaves `if_seq` out.
    """
    named = st.sampled_from((None, *SLUGS)) if slugs is None else slugs
    seen: st.SearchStrategy[int | None] = st.none()
    if if_seq_max:
        seen = _often((5, st.none()), (1, st.integers(0, if_seq_max)))
    arguments = st.fixed_dictionaries(
        {"title": titles(), "body": st.sampled_from(BODIES)},
        optional={
            "topics": st.lists(st.sampled_from(TOPICS), max_size=3),
            "pinned": st.booleans(),
            "confidence": st.sampled_from([1.0, 0.5, 0.12349]),
            "source": sources(),
            "slug": named,
            "extra": st.sampled_from([None, {}, {"b": "2", "a": "1"}]),
            "if_seq": seen,
            "provenance": st.sampled_from([None, None, "user", "compaction", "import"]),
            "allow_pin_untrusted": st.booleans(),
        },
    )
    return arguments.map(_sensible)


def _sensible(arguments: dict[str, Any]) -> dict[str, Any]:
    """Without a slug only 0 can have been seen."""
    if arguments.get("slug") is None and arguments.get("if_seq"):
        return {**arguments, "if_seq": 0}
    return arguments


def requests(*, slugs: st.SearchStrategy[str] | None = None) -> st.SearchStrategy[AnyRequest]:
    """Return well-formed requests of every kind; whether one is allowed depends on the state."""
    named = st.sampled_from(SLUGS) if slugs is None else slugs
    pairs = st.tuples(named, named).filter(lambda pair: pair[0] != pair[1])
    edges = st.tuples(pairs, st.sampled_from(RELS), st.sampled_from(LABELS))
    writes = write_arguments(slugs=st.none() | named).map(_write)
    return _often(
        (5, writes),
        (2, st.builds(asked.pin, named, allow_pin_untrusted=st.booleans())),
        (1, st.builds(asked.unpin, named)),
        (4, edges.map(lambda edge: asked.add_link(*edge[0], edge[1], label=edge[2]))),
        (2, edges.map(lambda edge: asked.remove_link(*edge[0], edge[1], label=edge[2]))),
    )


def _often(*weighted: tuple[int, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """Return one of the strategies, each as often as its weight says; `one_of` drops repeats."""
    choices = [strategy for weight, strategy in weighted for _ in range(weight)]
    return st.sampled_from(choices).flatmap(lambda strategy: strategy)


def _write(arguments: Mapping[str, Any]) -> AnyRequest:
    return asked.write(**arguments, max_body_bytes=MAX_BODY_BYTES)


def notes() -> st.SearchStrategy[Note]:
    """Return notes as a first write makes them."""
    return write_arguments(if_seq_max=0).filter(_pins_nothing_untrusted).map(_first_note)


def _pins_nothing_untrusted(arguments: Mapping[str, Any]) -> bool:
    try:
        decide(Fold(), _write(arguments))
    except RequestError:
        return False
    return True


def _first_note(arguments: Mapping[str, Any]) -> Note:
    payloads = decide(Fold(), _write(arguments))
    fold = Fold.of(event(payload, seq=seq) for seq, payload in enumerate(payloads, start=1))
    (note,) = fold.notes.values()
    return note


# --- Histories


def histories(
    *,
    streams: Sequence[str] = (STREAM,),
    max_requests: int = 30,
    request_ids: bool = True,
    slugs: st.SearchStrategy[str] | None = None,
) -> st.SearchStrategy[tuple[Event, ...]]:
    """Return the events of logs as the library itself could have written them, so always legal.

    Random requests are aimed at notes and edges that exist by then, and decided one after the other
    on the fold of the events so far; those that are refused add nothing. Positions, seqs, times,
    ids and request hashes are those of one log.

    Args:
        streams: the scopes; requests go to them in random order.
        max_requests: how many are asked at most.
        request_ids: let some of the requests carry an id of their own.
        slugs: as for `requests`.
    """
    ids = st.booleans() if request_ids else st.just(value=False)
    harvests = st.sampled_from(["k-1", "k-2"])
    asks = _often((12, requests(slugs=slugs)), (1, harvests))
    one = st.tuples(st.integers(0, len(streams) - 1), asks, ids)
    sizes = st.integers(0, max_requests)
    return sizes.flatmap(
        lambda size: st.lists(one, min_size=size, max_size=size).map(
            lambda drawn: _decided(drawn, streams)
        )
    )


def _decided(
    asks: Sequence[tuple[int, AnyRequest | str, bool]], streams: Sequence[str]
) -> tuple[Event, ...]:
    folds = [Fold() for _ in streams]
    log: list[Event] = []
    for number, (scope, request, with_id) in enumerate(asks):
        origin = Origin(
            actor="agent:a" if number % 2 else None,
            request_id=f"r-{number}" if with_id and not isinstance(request, str) else None,
        )
        added = _added(folds[scope], request, origin, stream=streams[scope], after=len(log))
        log.extend(added)
        for each in added:
            folds[scope].add(each)
    return tuple(log)


def _added(
    fold: Fold, request: AnyRequest | str, origin: Origin, *, stream: str, after: int
) -> list[Event]:
    """Return what one request, or the harvest with a key, adds to a log of `after` events."""
    try:
        request = _aimed(fold, request)
        payloads: Sequence[Payload] = (
            [_harvest(fold, request)] if isinstance(request, str) else decide(fold, request)
        )
    except RequestError:
        return []
    recorded_at = utc_text(START + timedelta(minutes=after + 1))
    return [
        Event(
            position=after + 1 + index,
            seq=fold.last_seq + 1 + index,
            stream=stream,
            type=codec.type_of(payload),
            recorded_at_text=recorded_at,
            event_id=CountingIds(after + 1 + index).new_id(),
            actor=origin.actor,
            request_id=origin.request_id,
            request=_request_hash(request, origin, first=index == 0, position=after + 1),
            payload=payload,
        )
        for index, payload in enumerate(payloads)
    ]


def _aimed(fold: Fold, request: AnyRequest | str) -> AnyRequest | str:
    """Return a request with slugs and edges that exist instead of those that do not."""
    match request:
        case Pin():
            slug = _existing(fold, request.slug)
            return asked.pin(slug, allow_pin_untrusted=request.allow_pin_untrusted)
        case Unpin():
            return asked.unpin(_existing(fold, request.slug))
        case AddLink(link=link):
            newer, older = _existing(fold, link.from_slug), _existing(fold, link.to_slug)
            return asked.add_link(newer, older, link.rel, label=link.label)
        case RemoveLink(link=link) if fold.links and link not in fold.links:
            edges = list(fold.links)
            edge = edges[sum(link.from_slug.encode()) % len(edges)]
            return asked.remove_link(edge.from_slug, edge.to_slug, edge.rel, label=edge.label)
        case _:
            return request


def _existing(fold: Fold, slug: str) -> str:
    slugs = list(fold.notes)
    return slug if slug in fold.notes or not slugs else slugs[sum(slug.encode()) % len(slugs)]


def _harvest(fold: Fold, key: str) -> Payload:
    slugs = tuple(fold.notes)[:2]
    return CompactionHarvested(
        key=key, entries_sha256="0" * 64, model="fast", slugs=slugs, kept=len(slugs)
    )


def _request_hash(
    request: AnyRequest | str, origin: Origin, *, first: bool, position: int
) -> str | None:
    """Return what the first event of a request with an id carries; `states` gives it this salt."""
    if isinstance(request, str) or origin.request_id is None or not first:
        return None
    salt = CountingIds(position).new_salt()
    return codec.request_hash(salt, request.method, request.given)
