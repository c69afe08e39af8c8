"""The section of a scope: read when it is current, rendered and stored when it is not.

The warm path is three point reads and renders nothing. Storing is best effort: a store that is
busy, full or open for reading only still answers.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from memlog.errors import ReadOnlyError, RetryError, UnknownOutcomeError
from memlog.settings import Settings
from projections.digest import tables
from projections.digest.render import hash_text, render, shown_pins
from projections.digest.tables import Digest, RenderSettings
from projections.notes.reader import Counters, counters, live_set
from projections.notes.tables import Names
from projections.notes.words import Executor

if TYPE_CHECKING:
    from memlog.store.protocol import Store

_STORE_WAIT_S = 0.05


class Section(NamedTuple):
    """The text that goes into a system prompt, and its hash."""

    text: str
    hash: str


def render_settings(settings: Settings) -> RenderSettings:
    """Return what a section depends on beside the notes."""
    return RenderSettings(
        budget_tokens=settings.index_token_budget,
        pinned_body_bytes=settings.pinned_body_bytes,
    )


def section(
    store: Store, stream: str, settings: RenderSettings, *, conversation_id: str | None = None
) -> Section:
    """Return the current section of a scope."""
    with store.reading() as cursor:
        digest, is_stored = current(cursor, stream, settings)
    if is_stored:
        return Section(digest.text, digest.hash)
    best_effort = suppress(RetryError, ReadOnlyError, UnknownOutcomeError)
    with best_effort, store.transaction(wait_s=_STORE_WAIT_S) as write:
        tables.store(write.cursor, stream, settings, digest)
        tables.record(
            write.cursor,
            stream,
            settings,
            digest,
            conversation_id=conversation_id,
            handed_out_at=write.recorded_at,
        )
    return Section(digest.text, digest.hash)


def current(cursor: Executor, stream: str, settings: RenderSettings) -> tuple[Digest, bool]:
    """Return the digest of a scope as it is now, and whether it was read rather than rendered."""
    names = live_set(cursor)
    scope = counters(cursor, names, stream)
    digest = tables.current(cursor, stream, settings)
    if digest is not None and digest.fingerprint == scope.fingerprint:
        return digest, True
    return _rendered(cursor, names, scope, settings), False


def _rendered(cursor: Executor, names: Names, scope: Counters, settings: RenderSettings) -> Digest:
    headlines, pinned = tables.newest_notes(cursor, names, scope)
    text = render(headlines, pinned, scope.live, settings.budget_tokens, settings.pinned_body_bytes)
    return Digest(scope.fingerprint, text, hash_text(text))


def pin_shown(
    cursor: Executor, names: Names, scope: Counters, slug: str, settings: RenderSettings
) -> bool:
    """Tell whether a pinned note has room in the section."""
    shown = shown_pins(
        tables.pinned_notes(cursor, names, scope),
        budget_tokens=settings.budget_tokens,
        pinned_body_bytes=settings.pinned_body_bytes,
    )
    return slug in shown
