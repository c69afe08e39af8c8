"""A reference model of a log's notes: plain dicts, and the sentences of the design.

It never calls the rules, the fold or the tables, and makes slugs, topics and words by itself: a
model that repeats the logic agrees with the code when the code is wrong. It is slow, keeps all in
memory, and expects well-formed arguments; what is refused for its shape is not its business.

A call returns a dict of plain values, or raises the error of `memlog.errors` that the library must
raise, and then has changed nothing.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from memlog.errors import (
    AlreadySupersededError,
    MemlogError,
    RequestConflictError,
    StaleWriteError,
    SupersedeCycleError,
    SupersededNoteError,
    UntrustedPinError,
)
from memlog.testing import model_text
from memlog.testing.model_reads import Edge, Plain, ScopeReads


class Model:
    """A log: its events, and the notes of each of its scopes.

    Attributes:
        events: a dict for each event: position, seq, stream, type, slugs (which notes it names) and
            recorded_at.
    """

    def __init__(self, *, now: Callable[[], datetime], duplicate_threshold: float = 0.5) -> None:
        """Begin an empty log.

        Args:
            now: the time; the clock that the log under test has, if reading it does not move it.
            duplicate_threshold: as in `Settings`.
        """
        self.events: list[Plain] = []
        self._now, self.threshold = now, duplicate_threshold
        self._scopes: dict[str, ScopeModel] = {}

    def scope(self, stream: str) -> ScopeModel:
        """Return the notes of the scope with this stream name."""
        return self._scopes.setdefault(stream, ScopeModel(self, stream))

    def scopes(self) -> list[tuple[str, int, int, int]]:
        """Return (stream, live notes, notes, last seq) of each scope with events, by stream."""
        return sorted(
            (stream, len(scope.live()), len(scope.notes), len(scope.positions))
            for stream, scope in self._scopes.items()
            if scope.positions
        )

    def time(self) -> datetime:
        """Return the time for an event now: the clock, but never before the last event."""
        last = self.events[-1]["recorded_at"] if self.events else datetime.min.replace(tzinfo=UTC)
        return max(self._now(), last)


class ScopeModel(ScopeReads):
    """The notes of one scope.

    Attributes:
        requests: by request id what was asked and what came of it.
        positions: the position of each event of the scope; its seq is the index plus 1.
    """

    def __init__(self, log: Model, stream: str) -> None:
        super().__init__(stream, threshold=log.threshold)
        self._log = log
        self.requests: dict[str, Plain] = {}
        self.positions: list[int] = []

    def history(self, slug: str) -> list[Plain]:
        """Return the events that name a note, oldest first."""
        self._found(slug)
        return [
            event
            for event in self._log.events
            if event["stream"] == self._stream and slug in event["slugs"]
        ]

    # --- Writing

    def write(
        self,
        *,
        title: str,
        body: str,
        topics: Sequence[str] = (),
        pinned: bool = False,
        confidence: float = 1.0,
        source: Mapping[str, str] | None = None,
        slug: str | None = None,
        extra: Mapping[str, str] | None = None,
        request_id: str | None = None,
        if_seq: int | None = None,
        provenance: str | None = None,
        allow_pin_untrusted: bool = False,
    ) -> Plain:
        """Write a note; the arguments are those of `memlog.Memory.write`.

        Returns:
            slug, created, changed, replayed, seq, position, similar, unpinned.
        """
        origin = {key: part for key, part in (source or {}).items() if part.strip()}
        given = [title, body, list(topics), pinned, round(confidence, 3), origin, slug]
        given += [dict(extra or {}), if_seq, provenance, allow_pin_untrusted]
        asked = json.dumps(["write", *given], sort_keys=True)
        known = self._known(request_id, asked)
        if known is not None:
            return {**known, "similar": [], "unpinned": False}
        content = {
            "title": title,
            "body": body,
            "topics": model_text.topics(topics),
            "confidence": round(confidence, 3),
            "provenance": provenance or ("web" if "url" in origin else "agent"),
            "source": origin,
            "extra": dict(extra or {}),
        }
        name = slug if slug is not None else self._slug_for(content)
        self._refuse_write(name, if_seq, asks_by_name=slug is not None)
        stays = name in self.notes and _is_content(self.notes[name], content)
        if pinned and not allow_pin_untrusted and not (stays and self.notes[name]["pinned"]):
            _refuse_untrusted(name, content)
        similar = self.similar(title, topics=topics, but=name)
        created = name not in self.notes
        was_pinned = not created and self.notes[name]["pinned"]
        before = len(self.positions)
        self._put(name, content, pinned=pinned)
        seq = self.notes[name]["updated_seq"]
        done = {"slug": name, "created": created, "seq": seq, "position": self.positions[seq - 1]}
        self._remember(request_id, asked, done, since=before)
        return {
            **done,
            "changed": len(self.positions) > before,
            "replayed": False,
            "similar": similar,
            "unpinned": was_pinned and not self.notes[name]["pinned"],
        }

    def write_many(self, items: Sequence[Mapping[str, Any]]) -> list[Plain]:
        """Write notes, all of them or none; each item holds the arguments of `write`."""
        state = (self.notes, self.links, self.requests, self.positions, self._log.events)
        saved = copy.deepcopy(state)
        try:
            return [self.write(**item) for item in items]
        except MemlogError:
            self.notes, self.links, self.requests, self.positions, self._log.events = saved
            raise

    def _refuse_write(self, slug: str, if_seq: int | None, *, asks_by_name: bool) -> None:
        note = self.notes.get(slug)
        now_at = note["updated_seq"] if note else 0
        # Without a slug the write overwrites nothing anyway; an equal note may answer.
        if if_seq is not None and if_seq != now_at and asks_by_name:
            raise StaleWriteError(slug, if_seq, now_at)
        if note and self.superseded_by(slug):
            raise SupersededNoteError(slug, self.living_end(slug))

    def _slug_for(self, content: Plain) -> str:
        """Choose the slug of a write that names none: an equal note, a free stem, a new number."""
        stem = model_text.slug(content["title"])
        numbers = {slug: number for slug in self.notes if (number := model_text.number(slug, stem))}
        for slug in (stem, *numbers):
            if slug in self.live() and _is_content(self.notes[slug], content):
                return slug
        if stem not in self.notes:
            return stem
        return model_text.numbered(stem, max([1, *numbers.values()]) + 1)

    def _put(self, slug: str, content: Plain, *, pinned: bool) -> None:
        """Store content and pin, by as many events as that takes."""
        rewrites = slug not in self.notes or not _is_content(self.notes[slug], content)
        if slug in self.notes and self.notes[slug]["pinned"]:
            new_text_needs_override = rewrites and _why_untrusted(content) is not None
            if not pinned or new_text_needs_override:
                self._set_pin(slug, pinned=False)
        if rewrites:
            self._rewrite(slug, content)
        if pinned and not self.notes[slug]["pinned"]:
            self._set_pin(slug, pinned=True)

    def _rewrite(self, slug: str, content: Plain) -> None:
        seq, moment = self._append("note_written/1", slug), self._log.time()
        first = {"created_seq": seq, "created_at": moment, "pinned": False, "ever_untrusted": False}
        note = self.notes.setdefault(slug, first)
        note.update(content, written_seq=seq, updated_seq=seq, written_at=moment, slug=slug)
        if _why_untrusted(content) is not None:
            note["ever_untrusted"] = True

    def _append(self, type_: str, *slugs: str) -> int:
        position, seq = len(self._log.events) + 1, len(self.positions) + 1
        self.positions.append(position)
        self._log.events.append(
            {
                "position": position,
                "seq": seq,
                "stream": self._stream,
                "type": type_,
                "slugs": slugs,
                "recorded_at": self._log.time(),
            }
        )
        return seq

    # --- Requests by id

    def _known(self, request_id: str | None, asked: str) -> Plain | None:
        if request_id is None or request_id not in self.requests:
            return None
        before = self.requests[request_id]
        if before["asked"] != asked:
            raise RequestConflictError(request_id, before["first_position"])
        return {**before["done"], "changed": True, "replayed": True}

    def _remember(self, request_id: str | None, asked: str, done: Plain, *, since: int) -> None:
        """Remember a request if it appended events after the seq `since`."""
        if request_id is not None and len(self.positions) > since:
            self.requests[request_id] = {
                "asked": asked,
                "done": done,
                "first_position": self.positions[since],
            }

    # --- Pins

    def pin(
        self, slug: str, *, allow_pin_untrusted: bool = False, request_id: str | None = None
    ) -> Plain:
        """Pin a note. Returns slug, changed, replayed, seq, position."""
        asked = json.dumps(["pin", slug, allow_pin_untrusted])
        known = self._known(request_id, asked)
        if known is not None:
            return known
        note = self._found(slug)
        if self.superseded_by(slug):
            raise SupersededNoteError(slug, self.living_end(slug))
        if not note["pinned"] and not allow_pin_untrusted:
            _refuse_untrusted(slug, note)
        return self._pinned(slug, request_id, asked, pinned=True)

    def unpin(self, slug: str, *, request_id: str | None = None) -> Plain:
        """Unpin a note; allowed for superseded ones too. Returns what `pin` does."""
        asked = json.dumps(["unpin", slug])
        known = self._known(request_id, asked)
        if known is not None:
            return known
        self._found(slug)
        return self._pinned(slug, request_id, asked, pinned=False)

    def _pinned(self, slug: str, request_id: str | None, asked: str, *, pinned: bool) -> Plain:
        before = len(self.positions)
        changed = self.notes[slug]["pinned"] != pinned
        if changed:
            self._set_pin(slug, pinned=pinned)
        seq = self.notes[slug]["updated_seq"]
        done = {"slug": slug, "seq": seq, "position": self.positions[seq - 1]}
        self._remember(request_id, asked, done, since=before)
        return {**done, "changed": changed, "replayed": False}

    def _set_pin(self, slug: str, *, pinned: bool) -> None:
        seq = self._append("note_pinned/1" if pinned else "note_unpinned/1", slug)
        self.notes[slug].update(pinned=pinned, updated_seq=seq)

    # --- Links

    def link(
        self,
        from_slug: str,
        to_slug: str,
        rel: str,
        *,
        label: str | None = None,
        request_id: str | None = None,
    ) -> Plain:
        """Add an edge. Returns slug (the newer note), changed, replayed, seq, position, left."""
        edge = (from_slug, to_slug, rel, label)
        return self._edge("notes_linked/1", edge, request_id, adds=True)

    def unlink(
        self,
        from_slug: str,
        to_slug: str,
        rel: str,
        *,
        label: str | None = None,
        request_id: str | None = None,
    ) -> Plain:
        """Take an edge away. Returns what `link` does."""
        edge = (from_slug, to_slug, rel, label)
        return self._edge("notes_unlinked/1", edge, request_id, adds=False)

    def _edge(self, type_: str, edge: Edge, request_id: str | None, *, adds: bool) -> Plain:
        asked = json.dumps([type_, *edge])
        known = self._known(request_id, asked)
        if known is not None:
            return {**known, "left_section": False}
        newer, older, rel, _ = edge
        self._found(newer)
        note = self._found(older)
        changed = (edge in self.links) != adds
        if changed and adds and rel == "supersedes":
            self._refuse_supersession(newer, older)
        before, seq = len(self.positions), note["updated_seq"]
        if changed:
            seq = self._append(type_, newer, older)
            self.links = [*self.links, edge] if adds else [e for e in self.links if e != edge]
        if changed and rel == "supersedes":
            note["updated_seq"] = seq
        done = {"slug": newer, "seq": seq, "position": self.positions[seq - 1]}
        self._remember(request_id, asked, done, since=before)
        left = changed and adds and rel == "supersedes" and note["pinned"]
        return {**done, "changed": changed, "replayed": False, "left_section": left}

    def _refuse_supersession(self, newer: str, older: str) -> None:
        superseder = self.superseded_by(older)
        if superseder is not None:
            raise AlreadySupersededError(older, superseder)
        if older in self._chain(newer):
            raise SupersedeCycleError(newer, older)


def _is_content(note: Plain, content: Plain) -> bool:
    return all(note[field] == value for field, value in content.items())


def _why_untrusted(content: Plain) -> str | None:
    if content["provenance"] == "compaction":
        return "its provenance is 'compaction'"
    return "it has a source URL" if content["source"].get("url") else None


def _refuse_untrusted(slug: str, content: Plain) -> None:
    why = _why_untrusted(content)
    if why is not None:
        raise UntrustedPinError(slug, why)
