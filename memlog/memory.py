"""The notes of one scope: write, read, link and pin them. The place where both sides meet.

A write runs in one transaction of the store: read what the rules need from the inline tables,
decide, append, project, commit. No decision is tried twice, and nothing can fail after the commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memlog import decide, requests, sections, text
from memlog.audit.surface import Audited
from memlog.errors import InvalidRequestError
from memlog.events import NoteUnpinned
from memlog.guard import Guard
from memlog.note import Linked, Note, Pinned, Scope, Written
from memlog.requests import AddLink, Origin, Pin, RemoveLink, Unpin, Write
from memlog.searching import Searcher
from memlog.settings import Settings
from memlog.step import Ids, Step

if TYPE_CHECKING:
    from memlog.store.protocol import Store

_WRITE_FIELDS = frozenset(
    {
        "title",
        "body",
        "topics",
        "pinned",
        "confidence",
        "source",
        "slug",
        "extra",
        "if_seq",
        "provenance",
        "allow_pin_untrusted",
        "actor",
        "conversation_id",
        "request_id",
    }
)


class Memory(Audited):
    """The notes of one scope of an open log. Safe to share between threads.

    Get one from `log.scope("owner", "alice")`; it belongs to that scope for good.

    Attributes:
        scope: whose notes these are.
    """

    def __init__(
        self,
        store: Store,
        scope: Scope,
        *,
        settings: Settings,
        searcher: Searcher,
        ids: Ids,
        guard: Guard | None = None,
    ) -> None:
        super().__init__(store, scope, settings=settings, searcher=searcher)
        self._ids, self._guard = ids, guard

    def guarded(self, *, allow_user_notes: bool = False) -> Memory:
        """Return the same notes for a caller who speaks for a model, as the tools do.

        What it writes is refused where it would rewrite, unpin or supersede a person's pinned note
        (`UserNoteError`), or pin a note that was `web` or `compaction` in any version and that
        `allow_pin_untrusted` does not allow.

        Args:
            allow_user_notes: let it change a person's pinned notes.
        """
        return Memory(
            self._store,
            self.scope,
            settings=self._settings,
            searcher=self._searcher,
            ids=self._ids,
            guard=Guard(allow_user_notes=allow_user_notes),
        )

    # --- Writing

    def write(
        self,
        *,
        title: str,
        body: str,
        topics: Sequence[str] = (),
        pinned: bool = False,
        confidence: float = 1.0,
        source: Mapping[str, Any] | None = None,
        slug: str | None = None,
        extra: Mapping[str, str] | None = None,
        actor: str | None = None,
        conversation_id: str | None = None,
        request_id: str | None = None,
        if_seq: int | None = None,
        provenance: str | None = None,
        allow_pin_untrusted: bool = False,
    ) -> Written:
        """Write a note: make one, or replace the whole content of the one with this slug.

        Costs one durable commit. Equal content and pin append nothing.

        Args:
            title: 1 to 500 bytes of UTF-8, kept exactly.
            body: at most `max_body_bytes` of UTF-8, kept exactly.
            topics: at most 8 of 40 characters after normalisation; the first files the note.
            pinned: put the body into the section; a rewrite without it unpins.
            confidence: 0 to 1, rounded to three decimals.
            source: `url`, `artifact`, `note`, `created_at`, `updated_at`, all optional.
            slug: name of the note to make or rewrite; derived from the title when None, and then
                never that of another note.
            extra: strings kept with the note but not shown to a model; at most 8,000 bytes.
            actor: opaque id of who asks; stays in the log for ever, like the next two.
            conversation_id: opaque id of the conversation.
            request_id: the same id with the same arguments is done once, however often it is sent.
            if_seq: the note's `updated_seq` that the caller saw; 0 when it must not exist.
            provenance: `user`, `compaction` or `import`; for code only, never a model's word.
            allow_pin_untrusted: pin even what came from the web or a compaction; for code only.

        Raises:
            InvalidRequestError: a value does not fit.
            StaleWriteError: the note is not at `if_seq`.
            SupersededNoteError: the note is history.
            UntrustedPinError: it must not be pinned.
            RequestConflictError: `request_id` stands for another request.
            BusyError, StoreFullError: try again.
        """
        request = requests.write(
            title=title,
            body=body,
            topics=topics,
            pinned=pinned,
            confidence=confidence,
            source=source,
            slug=slug,
            extra=extra,
            if_seq=if_seq,
            provenance=provenance,
            allow_pin_untrusted=allow_pin_untrusted,
            max_body_bytes=self._settings.max_body_bytes,
        )
        origin = requests.origin(
            actor=actor, conversation_id=conversation_id, request_id=request_id
        )
        return self._write_all([(request, origin)])[0]

    def write_many(
        self,
        items: Sequence[Mapping[str, Any]],
        *,
        actor: str | None = None,
        conversation_id: str | None = None,
    ) -> list[Written]:
        """Write notes in one transaction, in order: all of them, or none.

        Args:
            items: for each note the arguments of `write`, as a mapping.
            actor: for the items that name none.
            conversation_id: for the items that name none.

        Raises:
            RequestError: one of the items is not accepted; nothing was written.
            BusyError, StoreFullError: try again.
        """
        if isinstance(items, str | Mapping) or not isinstance(items, Iterable):
            raise InvalidRequestError("items", items, "give a list of mappings, one for each note")
        shared = {"actor": actor, "conversation_id": conversation_id}
        return self._write_all(
            [self._item(index, item, shared) for index, item in enumerate(items)]
        )

    def _item(
        self, index: int, item: Mapping[str, Any], shared: Mapping[str, Any]
    ) -> tuple[Write, Origin]:
        if not isinstance(item, Mapping):
            raise InvalidRequestError(
                f"items[{index}]", item, "give a mapping of write's arguments"
            )
        unknown = sorted(str(name) for name in item if name not in _WRITE_FIELDS)
        missing = sorted({"title", "body"} - set(item))
        if unknown or missing:
            rule = f"it takes {', '.join(sorted(_WRITE_FIELDS))}; title and body are needed"
            raise InvalidRequestError(f"items[{index}]", (unknown or missing)[0], rule)
        who = {name: item.get(name, shared.get(name)) for name in Origin.__struct_fields__}
        content = {name: item[name] for name in item if name not in who}
        request = requests.write(**content, max_body_bytes=self._settings.max_body_bytes)
        return request, requests.origin(**who)

    def _write_all(self, items: Sequence[tuple[Write, Origin]]) -> list[Written]:
        with self._store.transaction() as transaction:
            step = Step(transaction, self._stream, self._ids, self._guard)
            written = [self._write_one(step, request, origin) for request, origin in items]
            step.finish()
        return written

    def _write_one(self, step: Step, request: Write, origin: Origin) -> Written:
        known = step.known(request, origin)
        if known is not None:
            return Written(
                note=step.note(known.slug),
                created=known.created,
                changed=True,
                replayed=True,
                pin_shown=self._pin_shown(step, step.note(known.slug)),
                seq=known.seq,
                position=known.position,
            )
        words = text.words(request.content.title, request.content.topics)
        step.tables.read_words(words, request.content)
        slug, old = at = decide.target(step.tables, request)
        similar = step.tables.similar(
            words,
            threshold=self._settings.duplicate_threshold,
            without_seq=None if old is None else old.updated_seq,
        )
        payloads = step.run(request, origin, at=at)
        note = step.note(slug)
        return Written(
            note=note,
            created=old is None,
            changed=bool(payloads),
            similar=similar,
            unpinned=any(isinstance(payload, NoteUnpinned) for payload in payloads)
            and not note.pinned,
            pin_shown=self._pin_shown(step, note),
            seq=note.updated_seq,
            position=step.position_of(note.updated_seq),
        )

    def _pin_shown(self, step: Step, note: Note) -> bool | None:
        if not note.pinned:
            return None
        settings = sections.render_settings(self._settings)
        tables = step.tables
        return sections.pin_shown(tables.cursor, tables.names, tables.counters, note.slug, settings)

    def pin(
        self,
        slug: str,
        *,
        allow_pin_untrusted: bool = False,
        actor: str | None = None,
        conversation_id: str | None = None,
        request_id: str | None = None,
    ) -> Pinned:
        """Put a note's body into the section. Pinning a pinned note appends nothing.

        Raises:
            NoteNotFoundError: there is no such note.
            SupersededNoteError: it is history.
            UntrustedPinError: it came from the web or a compaction, and nobody allowed it.
            RequestConflictError, BusyError, StoreFullError: as for `write`.
        """
        request = requests.pin(slug, allow_pin_untrusted=allow_pin_untrusted)
        return self._pin(request, actor, conversation_id, request_id)

    def unpin(
        self,
        slug: str,
        *,
        actor: str | None = None,
        conversation_id: str | None = None,
        request_id: str | None = None,
    ) -> Pinned:
        """Take a note's body out of the section. Unpinning an unpinned note appends nothing.

        Raises:
            NoteNotFoundError: there is no such note.
            RequestConflictError, BusyError, StoreFullError: as for `write`.
        """
        return self._pin(requests.unpin(slug), actor, conversation_id, request_id)

    def _pin(
        self,
        request: Pin | Unpin,
        actor: str | None,
        conversation_id: str | None,
        request_id: str | None,
    ) -> Pinned:
        origin = requests.origin(
            actor=actor, conversation_id=conversation_id, request_id=request_id
        )
        with self._store.transaction() as transaction:
            step = Step(transaction, self._stream, self._ids, self._guard)
            known = step.known(request, origin)
            payloads = () if known is not None else step.run(request, origin)
            step.finish()
            note = step.note(request.slug)
            seq = note.updated_seq if known is None else known.seq
            return Pinned(
                note=note,
                pin_shown=self._pin_shown(step, note),
                changed=known is not None or bool(payloads),
                replayed=known is not None,
                seq=seq,
                position=step.position_of(seq),
            )

    def link(
        self,
        from_slug: str,
        to_slug: str,
        rel: str,
        *,
        label: str | None = None,
        actor: str | None = None,
        conversation_id: str | None = None,
        request_id: str | None = None,
    ) -> Linked:
        """Add an edge between two notes of this scope. An existing edge appends nothing.

        Args:
            from_slug: the newer note of `supersedes`, the derived one of `derived_from`.
            to_slug: the other note.
            rel: `related`, `derived_from` or `supersedes`.
            label: at most 200 bytes; part of the edge's identity.
            actor: as for `write`.
            conversation_id: as for `write`.
            request_id: as for `write`.

        Raises:
            NoteNotFoundError: one of the notes does not exist.
            SelfLinkError: both are the same note.
            AlreadySupersededError: the older note has a superseder.
            SupersedeCycleError: the older note already supersedes the newer one.
            RequestConflictError, BusyError, StoreFullError: as for `write`.
        """
        request = requests.add_link(from_slug, to_slug, rel, label=label)
        return self._link(request, actor, conversation_id, request_id)

    def unlink(
        self,
        from_slug: str,
        to_slug: str,
        rel: str,
        *,
        label: str | None = None,
        actor: str | None = None,
        conversation_id: str | None = None,
        request_id: str | None = None,
    ) -> Linked:
        """Take an edge away; the way to undo a wrong `supersedes`. A missing edge appends nothing.

        Raises:
            NoteNotFoundError: one of the notes does not exist.
            RequestConflictError, BusyError, StoreFullError: as for `write`.
        """
        request = requests.remove_link(from_slug, to_slug, rel, label=label)
        return self._link(request, actor, conversation_id, request_id)

    def _link(
        self,
        request: AddLink | RemoveLink,
        actor: str | None,
        conversation_id: str | None,
        request_id: str | None,
    ) -> Linked:
        origin = requests.origin(
            actor=actor, conversation_id=conversation_id, request_id=request_id
        )
        with self._store.transaction() as transaction:
            step = Step(transaction, self._stream, self._ids, self._guard)
            known = step.known(request, origin)
            payloads = () if known is not None else step.run(request, origin)
            step.finish()
            older = step.note(request.link.to_slug)
            if known is not None:
                seq = known.seq
            else:
                seq = step.tables.counters.last_seq if payloads else older.updated_seq
            return Linked(
                from_note=step.note(request.link.from_slug),
                to_note=older,
                link=request.link,
                left_section=bool(payloads)
                and isinstance(request, AddLink)
                and request.link.rel == "supersedes"
                and older.pinned,
                changed=known is not None or bool(payloads),
                replayed=known is not None,
                seq=seq,
                position=step.position_of(seq),
            )

    def __repr__(self) -> str:
        return f"<Memory {self._stream!r} of {self._store.target!r}>"
