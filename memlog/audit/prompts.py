"""From the hash of a section to the seqs where it held, and the events behind each of its lines.

The text is rendered anew from the events. What was recorded when it was handed out is compared with
that, and never believed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from memlog import sections
from memlog.audit.behind import LineBehind, lines_behind
from memlog.audit.moments import BEGINNING, head
from memlog.audit.replay import events_of
from memlog.audit.sections_then import Clues, Walk
from memlog.events import Event
from memlog.settings import Settings
from projections.digest.lines import lines_of
from projections.digest.render import hash_text
from projections.digest.tables import HandedOut, RenderSettings, records, settings_used

if TYPE_CHECKING:
    from memlog.store.protocol import Store

Progress = Callable[[int, int], None]

_PROGRESS_EVENTS = 500
_IS_HASH = re.compile(r"[0-9a-f]{16}", re.ASCII).fullmatch
_SHOWN = re.compile(r"[0-9]+ of ([0-9]+) shown")


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """Consecutive events after each of which the section was the same.

    Attributes:
        first_seq: the event that made it so; 0 for the empty scope.
        last_seq: the last event after which it still was so; the scope's last one when it still is.
        since: when the first of them was recorded, aware UTC; the year 1 for the empty scope.
    """

    first_seq: int
    last_seq: int
    since: datetime


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """The record of handing it out once.

    Attributes:
        updated_seq: the last event that had touched a note, as recorded.
        conversation_id: to which conversation, or None.
        handed_out_at: when, `2026-11-30T19:15:00.000000Z`.
        agrees: whether text, hash and `updated_seq` are what the events give.
    """

    updated_seq: int
    conversation_id: str | None
    handed_out_at: str
    agrees: bool


class Behind(msgspec.Struct, frozen=True, kw_only=True):
    """An event that stands behind a line.

    Attributes:
        seq: place in the scope.
        position: place in the log.
        type: what happened, such as `note_written/1`.
        recorded_at: when, aware UTC.
        actor: who asked, or None.
        conversation_id: in which conversation, or None.
    """

    seq: int
    position: int
    type: str
    recorded_at: datetime
    actor: str | None
    conversation_id: str | None


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """A section of a scope, traced back to its events.

    Attributes:
        hash: its hash.
        text: the text that the events give, with exactly this hash; None when they give none.
        budget_tokens: the size that it was rendered for.
        pinned_body_bytes: where its pinned bodies are cut.
        spans: where the section was this text, in order; empty when the events never give it.
        deliveries: when it was handed out, as far as that was recorded; oldest first.
        lines: its lines, each with the seqs of the events behind it, as of the first of `spans`.
        events: those events, by seq.
    """

    hash: str
    text: str | None
    budget_tokens: int
    pinned_body_bytes: int
    spans: tuple[Span, ...]
    deliveries: tuple[Delivery, ...]
    lines: tuple[LineBehind, ...]
    events: tuple[Behind, ...]

    @property
    def agrees(self) -> bool:
        """Whether the events give the text, and each record of it agrees with them."""
        return self.text is not None and all(each.agrees for each in self.deliveries)


def prompt(
    store: Store,
    stream: str,
    section_hash: str,
    *,
    settings: Settings,
    progress: Progress | None = None,
) -> Prompt | None:
    """Return what stands behind a hash, or None when it never was one; see `Memory.prompt`."""
    present = sections.render_settings(settings)
    with store.reading() as cursor:
        recorded = list(records(cursor, stream, section_hash=section_hash))
        others = settings_used(cursor, stream)
    if not recorded and _IS_HASH(section_hash) is None:
        return None
    keys = [*(each.settings for each in recorded), present.key, *others]
    clues = _clues(section_hash, (each.text for each in recorded))
    found: Prompt | None = None
    for chosen in dict.fromkeys(each for each in map(_settings, keys) if each is not None):
        search = _Search(section_hash, chosen, clues)
        search.walk(store, stream, progress)
        if search.spans:
            return search.prompt(store, stream, recorded)
        if recorded and found is None:
            found = search.prompt(store, stream, recorded)
    return found


def _settings(key: str) -> RenderSettings | None:
    """Return the settings of a key; None of one that no release writes.

    The render version is passed over: a text that this one gives as well is proven all the same.
    """
    numbers = re.fullmatch(r"([0-9]{1,18}):([0-9]{1,18}):.*", key, re.DOTALL | re.ASCII)
    if numbers is None:
        return None
    return RenderSettings(budget_tokens=int(numbers[1]), pinned_body_bytes=int(numbers[2]))


def _clues(section_hash: str, texts: Iterable[str | None]) -> Clues | None:
    """Return what the text with the hash that is looked for says, if it is among these."""
    known = (text for text in texts if text is not None and hash_text(text) == section_hash)
    text = next(known, None)
    if text is None:
        return None
    lines = lines_of(text)
    counted = [
        found for line in lines if line.kind == "count" and (found := _SHOWN.match(line.text))
    ]
    if not counted:
        return None
    titles = frozenset(line.text for line in lines if line.kind == "note")
    return Clues(int(counted[-1][1]), titles)


class _Search:
    """One walk over the events of a scope for the seqs where its section has a hash."""

    def __init__(self, section_hash: str, settings: RenderSettings, clues: Clues | None) -> None:
        self._hash, self._settings, self._clues = section_hash, settings, clues
        self._held_at: set[int] = set()
        self.spans: list[Span] = []
        self.text: str | None = None
        self.lines: tuple[LineBehind, ...] = ()

    def walk(self, store: Store, stream: str, progress: Progress | None) -> None:
        """Look at the empty scope, and then at each event that touched a note."""
        last_seq = head(store, stream)
        if self._clues is None:  # The hash that is asked for most is that of now.
            self._clues = _clues(self._hash, [self._text_at(store, stream, last_seq)])
        walk = Walk()
        holds = self._look(walk, None)
        for _, event in events_of(store.stream_rows(stream, up_to=last_seq)):
            if walk.add(event):
                holds = self._look(walk, event)
            elif holds:
                self._lengthen(event.seq)
            if progress is not None and event.seq % _PROGRESS_EVENTS == 0:
                progress(event.seq, last_seq)

    def _text_at(self, store: Store, stream: str, seq: int) -> str:
        walk = Walk()
        for _, event in events_of(store.stream_rows(stream, up_to=seq)):
            walk.add(event)
        return walk.section(self._settings)

    def _look(self, walk: Walk, event: Event | None) -> bool:
        if self._clues is not None and self._clues.speak_against(walk, event):
            return False
        text = walk.section(self._settings)
        if hash_text(text) != self._hash:
            return False
        seq = 0 if event is None else event.seq
        self._held_at.add(seq)
        if self.spans and self.spans[-1].last_seq == seq - 1:
            self._lengthen(seq)
        else:
            since = BEGINNING if event is None else event.recorded_at
            self.spans.append(Span(first_seq=seq, last_seq=seq, since=since))
        if self.text is None:
            self.text, self.lines = text, lines_behind(text, walk)
        return True

    def _lengthen(self, seq: int) -> None:
        self.spans[-1] = msgspec.structs.replace(self.spans[-1], last_seq=seq)

    def prompt(self, store: Store, stream: str, recorded: Sequence[HandedOut]) -> Prompt:
        """Return what was found."""
        return Prompt(
            hash=self._hash,
            text=self.text,
            budget_tokens=self._settings.budget_tokens,
            pinned_body_bytes=self._settings.pinned_body_bytes,
            spans=tuple(self.spans),
            deliveries=tuple(map(self._delivery, recorded)),
            lines=self.lines,
            events=tuple(_behind(store, stream, self.lines)),
        )

    def _delivery(self, record: HandedOut) -> Delivery:
        return Delivery(
            updated_seq=record.updated_seq,
            conversation_id=record.conversation_id,
            handed_out_at=record.handed_out_at,
            agrees=record.updated_seq in self._held_at and record.text == self.text,
        )


def _behind(store: Store, stream: str, lines: Iterable[LineBehind]) -> Iterator[Behind]:
    """Yield the events behind some lines; reading all up to the last costs less than each alone."""
    seqs = {seq for line in lines for seq in line.seqs}
    for _, event in events_of(store.stream_rows(stream, up_to=max(seqs, default=0))):
        if event.seq in seqs:
            yield Behind(
                seq=event.seq,
                position=event.position,
                type=event.type,
                recorded_at=event.recorded_at,
                actor=event.actor,
                conversation_id=event.conversation_id,
            )
