"""The requests of one transaction: know a repeated one, decide a new one, append, project."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from memlog import codec, decide
from memlog.codec import SALT_BYTES
from memlog.errors import InvalidRequestError, RequestConflictError
from memlog.events import Event, Payload
from memlog.guard import Guard, check
from memlog.note import Note
from memlog.proof import leaf_hash
from memlog.requests import AnyRequest, Origin
from memlog.wellformed import is_uuid
from projections import tree
from projections.notes.fold import Remembered
from projections.notes.reader import live_set
from projections.notes.writer import Writer

if TYPE_CHECKING:
    from memlog.store.transaction import Transaction


def append(transaction: Transaction, events: Sequence[Event], salts: Sequence[bytes]) -> None:
    """Append events to the log, and their leaves to its tree; see `Transaction.append`."""
    size = transaction.head
    envelopes = transaction.append(events, salts)
    tree.append(transaction.cursor, [leaf_hash(each) for each in envelopes], size=size)


class Ids:
    """Where event ids and salts come from: random ones, or a test's.

    Both stay in the log for ever, and one of another form would make all of it unreadable.
    """

    def __init__(self, new_id: Callable[[], str], new_salt: Callable[[], bytes]) -> None:
        self._new_id, self._new_salt = new_id, new_salt

    def event_id(self) -> str:
        """Return a fresh id.

        Raises:
            InvalidRequestError: what gives them gave something else.
        """
        fresh: object = self._new_id()
        if not isinstance(fresh, str) or not is_uuid(fresh):
            raise InvalidRequestError("new_id", fresh, "it must give a UUID in lower case")
        return fresh

    def salt(self) -> bytes:
        """Return 32 fresh bytes.

        Raises:
            InvalidRequestError: what gives them gave something else.
        """
        fresh: object = self._new_salt()
        if not isinstance(fresh, bytes) or len(fresh) != SALT_BYTES:
            raise InvalidRequestError("new_salt", fresh, f"it must give {SALT_BYTES} bytes")
        return fresh


class Step:
    """The requests of one transaction, one after the other."""

    def __init__(
        self, transaction: Transaction, stream: str, ids: Ids, guard: Guard | None = None
    ) -> None:
        self._transaction, self._stream, self._ids = transaction, stream, ids
        self._guard = guard
        self.tables = Writer(transaction.cursor, live_set(transaction.cursor), stream)
        self._changed = False

    def note(self, slug: str) -> Note:
        """Return a note that exists, as it is now."""
        note = self.tables.note(slug)
        assert note is not None
        return note

    def position_of(self, seq: int) -> int:
        """Return the place in the log of an event of this scope."""
        if self._changed and seq == self.tables.counters.last_seq:
            return self._transaction.head
        return self._transaction.position_of(self._stream, seq)

    def known(self, request: AnyRequest, origin: Origin) -> Remembered | None:
        """Return what this very request did before, or None when its id is new.

        Raises:
            RequestConflictError: the id stands for another request.
        """
        if origin.request_id is None:
            return None
        remembered = self.tables.remembered(origin.request_id)
        if remembered is None:
            return None
        position = remembered.first_position
        state = self._transaction.state_at(position)
        envelope = codec.decode_envelope(state, position=position)
        salt = codec.split(state, position=position).salt
        if envelope.request != codec.request_hash(salt, request.method, request.given):
            raise RequestConflictError(origin.request_id, position)
        return remembered

    def run(
        self, request: AnyRequest, origin: Origin, *, at: decide.Target | None = None
    ) -> tuple[Payload, ...]:
        """Decide a request and append what it adds; return that.

        Args:
            request: what is asked.
            origin: who asks.
            at: the `decide.target` of a write, when the caller knows it.
        """
        if self._guard is not None:
            check(self.tables, request, self._guard)
        payloads = decide.decide(self.tables, request, at=at)
        salts = [self._ids.salt() for _ in payloads]
        events = [
            self._event(payload, index, request, origin, salts[0])
            for index, payload in enumerate(payloads)
        ]
        if events:
            append(self._transaction, events, salts)
            for event in events:
                self.tables.apply(event)
            self._changed = True
        return payloads

    def _event(
        self, payload: Payload, index: int, request: AnyRequest, origin: Origin, salt: bytes
    ) -> Event:
        remembers = index == 0 and origin.request_id is not None
        return Event(
            position=self._transaction.head + 1 + index,
            seq=self.tables.counters.last_seq + 1 + index,
            stream=self._stream,
            type=codec.type_of(payload),
            recorded_at_text=self._transaction.recorded_at,
            event_id=self._ids.event_id(),
            actor=origin.actor,
            conversation_id=origin.conversation_id,
            request_id=origin.request_id,
            request=codec.request_hash(salt, request.method, request.given) if remembers else None,
            payload=payload,
        )

    def finish(self) -> None:
        """Store the counters, if anything was appended; nothing may follow."""
        if self._changed:
            self.tables.flush()
