"""Keep one scope's tables in step with its events, inside the transaction that appends them."""

from __future__ import annotations

from datetime import datetime

import msgspec

from memlog import text
from memlog.decide import content_of
from memlog.events import (
    Event,
    NotePinned,
    NotesLinked,
    NotesUnlinked,
    NoteUnpinned,
    NoteWritten,
)
from memlog.note import Link, Note
from projections.notes import rows
from projections.notes.fold import subject, written
from projections.notes.postings import outline_of
from projections.notes.reader import Reader
from projections.notes.tables import Names
from projections.notes.words import Executor, content_mark

_replace = msgspec.structs.replace


class Writer(Reader):
    """One scope's tables, changed by one event after the other. Call `flush` when all are in."""

    def __init__(self, cursor: Executor, names: Names, stream: str) -> None:
        super().__init__(cursor, names, stream)
        self._stream = stream
        self._known: dict[str, Note | None] = {}

    def note(self, slug: str) -> Note | None:
        """Return the note, or None; read at most once a transaction."""
        if slug not in self._known:
            self._known[slug] = super().note(slug)
        return self._known[slug]

    def apply(self, event: Event) -> None:
        """Let one event change the tables; it must be a legal one."""
        if not self.scope_id:
            self._open_scope(event.position)
        if event.request_id is not None:
            self._remember(event, event.request_id)
        self.counters.last_seq = event.seq
        match event.payload:
            case NoteWritten():
                self._write(event, event.payload)
            case NotePinned():
                self._touch(event.payload.slug, event.seq, pinned=True)
            case NoteUnpinned():
                self._touch(event.payload.slug, event.seq, pinned=False)
            case NotesLinked():
                self._add_link(event, event.payload.link)
            case NotesUnlinked():
                self._remove_link(event, event.payload.link)
            case _:  # A harvest touches no note.
                pass

    def flush(self) -> None:
        """Store the words, and the scope's row."""
        self.counters.waiting = self.words.flush()
        self.cursor.execute(
            f"UPDATE {self.names.scopes} SET live = ?, notes = ?, last_seq = ?, touched_seq = ?, "
            "waiting = ? WHERE id = ?",
            (
                self.counters.live,
                self.counters.notes,
                self.counters.last_seq,
                self.counters.touched_seq,
                self.counters.waiting,
                self.scope_id,
            ),
        )

    def _open_scope(self, position: int) -> None:
        self.cursor.execute(
            f"INSERT INTO {self.names.scopes} VALUES (?, ?, 0, 0, 0, 0, ?)",
            (position, self._stream, b""),
        )
        self.scope_id = self.counters.scope_id = position
        self.words.scope = position

    # --- Notes

    def _write(self, event: Event, payload: NoteWritten) -> None:
        old = self.note(payload.slug)
        moment = datetime.fromisoformat(event.recorded_at_text)
        note = written(old, payload, seq=event.seq, moment=moment)
        if old is None:
            self.counters.live += 1
            self.counters.notes += 1
            self._insert(event.position, note)
        else:
            self._update(note)
        self._refile(old, note)

    def _insert(self, position: int, note: Note) -> None:
        self.cursor.execute(
            f"INSERT INTO {self.names.notes} (id, scope, stem, number, {rows.NOTE_COLUMNS}) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (position, self.scope_id, *text.split_number(note.slug), *rows.row_of(note)),
        )

    def _update(self, note: Note) -> None:
        self.cursor.execute(
            f"UPDATE {self.names.notes} SET ({rows.NOTE_COLUMNS}) = "
            "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
            "WHERE scope = ? AND stem = ? AND number = ?",
            (*rows.row_of(note), self.scope_id, *text.split_number(note.slug)),
        )

    def _refile(self, old: Note | None, new: Note) -> None:
        """Move a note's postings to its new seq: they hold live notes by `updated_seq`."""
        if old is not None and old.live:
            self.words.remove(_carried(old), seq=old.updated_seq)
        if new.live:
            words = text.words(new.title, new.topics)
            self.words.add(words | _marks(new), seq=new.updated_seq, outline=outline_of(words))
        self._known[new.slug] = new
        self.counters.touched_seq = new.updated_seq

    def _touch(self, slug: str, seq: int, *, pinned: bool) -> None:
        old = self._existing(slug)
        self._change(old, _replace(old, pinned=pinned, updated_seq=seq))

    def _existing(self, slug: str) -> Note:
        note = self.note(slug)
        assert note is not None
        return note

    def _change(self, old: Note, new: Note) -> None:
        self._update(new)
        self._refile(old, new)

    # --- Links

    def _add_link(self, event: Event, link: Link) -> None:
        self.cursor.execute(
            f"INSERT INTO {self.names.links} (id, scope, {rows.LINK_COLUMNS}) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (event.position, self.scope_id, *msgspec.structs.astuple(link)),
        )
        if link.rel == "supersedes":
            self._supersede(link.to_slug, link.from_slug, event.seq)

    def _remove_link(self, event: Event, link: Link) -> None:
        self.cursor.execute(f"DELETE FROM {self.names.links} WHERE id = ?", (self.link_id(link),))
        if link.rel == "supersedes":
            self._supersede(link.to_slug, None, event.seq)

    def _supersede(self, older: str, superseder: str | None, seq: int) -> None:
        self.counters.live += -1 if superseder else 1
        old = self._existing(older)
        self._change(old, _replace(old, superseded_by=superseder, updated_seq=seq))

    # --- Requests

    def _remember(self, event: Event, request_id: str) -> None:
        slug = subject(event.payload)
        created = isinstance(event.payload, NoteWritten) and self.note(slug) is None
        self.cursor.execute(
            f"INSERT INTO {self.names.requests} "
            "(scope, request_id, slug, created, first_position, seq, position) "
            "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (scope, request_id) DO UPDATE SET "
            "seq = excluded.seq, position = excluded.position",
            (
                self.scope_id,
                request_id,
                slug,
                created,
                event.position,
                event.seq,
                event.position,
            ),
        )


def _carried(note: Note) -> frozenset[str]:
    return text.words(note.title, note.topics) | _marks(note)


def _marks(note: Note) -> frozenset[str]:
    """Return the mark of a numbered note; the first one of a stem is found by its slug."""
    numbered = text.split_number(note.slug)[1] > 1
    return frozenset((content_mark(content_of(note)),)) if numbered else frozenset()
