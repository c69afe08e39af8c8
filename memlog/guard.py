"""What a request may not do when a model asked for it: rules on top of `memlog.decide`. Pure.

A tool may not rewrite, unpin or supersede a person's standing rule, that is a pinned note of
provenance `user`; and a note that was `web` or `compaction` in any of its versions is not pinned
unasked, whatever its text says by now. Checked in the write's own transaction, so that no other
writer comes between the look and the write.
"""

from __future__ import annotations

import msgspec

from memlog.decide import State, content_of, target
from memlog.errors import UntrustedPinError, UserNoteError
from memlog.note import Note
from memlog.requests import AddLink, AnyRequest, Pin, Unpin, Write

_ONCE_UNTRUSTED = "an earlier version of it came from the web or a compaction"


class Guard(msgspec.Struct, frozen=True, kw_only=True):
    """How far a caller is trusted.

    Attributes:
        allow_user_notes: let it change a person's pinned notes too.
    """

    allow_user_notes: bool = False


def check(state: State, request: AnyRequest, guard: Guard) -> None:
    """Refuse what the rules of `decide` would allow, but a model may not do.

    Raises:
        UserNoteError: it would change a person's pinned note.
        UntrustedPinError: it would pin a note that was untrusted once, and nobody allowed it.
    """
    match request:
        case Write():
            _check_rewrite(target(state, request)[1], request, guard)
        case Pin():
            note = state.note(request.slug)
            if note is not None and not note.pinned:
                _check_pin(note, request)
        case Unpin():
            _check_user_note(state.note(request.slug), "unpinned", guard)
        case AddLink() if request.link.rel == "supersedes" and not state.has_link(request.link):
            _check_user_note(state.note(request.link.to_slug), "superseded", guard)
        case _:  # No other request touches the text or the pin of a note.
            pass


def is_users_rule(note: Note) -> bool:
    """Tell whether a note is a person's standing rule: pinned, live, of provenance `user`."""
    return note.pinned and note.live and note.provenance == "user"


def _check_rewrite(note: Note | None, request: Write, guard: Guard) -> None:
    if note is None:
        return
    changes_text = content_of(note) != request.content
    if changes_text or note.pinned > request.pinned:
        _check_user_note(note, "rewritten" if changes_text else "unpinned", guard)
    if request.pinned and (changes_text or not note.pinned):
        _check_pin(note, request)


def _check_user_note(note: Note | None, action: str, guard: Guard) -> None:
    if note is not None and is_users_rule(note) and not guard.allow_user_notes:
        raise UserNoteError(note.slug, action)


def _check_pin(note: Note, request: Write | Pin) -> None:
    if note.ever_untrusted and not request.allow_pin_untrusted:
        raise UntrustedPinError(note.slug, _ONCE_UNTRUSTED)
