"""The error tree, by what the caller does next.

    MemlogError
    ├── RequestError            fix the call; nothing was written
    │   ├── InvalidRequestError     a value has the wrong shape, size or alphabet
    │   ├── NoteNotFoundError       no such note in this scope; near slugs are offered
    │   ├── RuleError               the value is fine, a rule of the log forbids it now
    │   │   ├── UntrustedPinError, UserNoteError, SupersededNoteError,
    │   │   └── AlreadySupersededError, SupersedeCycleError, SelfLinkError
    │   ├── StaleWriteError         read the note again, then decide again
    │   ├── RequestConflictError    this request id already stands for another request
    │   └── ClosedError, ForkedError, ReadOnlyError    open a handle of your own
    ├── RetryError              the same call may succeed later; nothing was written
    │   ├── BusyError               another writer held the lock for too long
    │   ├── RebuildTakenOverError   another rebuild began meanwhile
    │   ├── StoreFullError          no space left; make room first
    │   └── UnreachableError        the server is away, or the connection broke
    ├── UnknownOutcomeError     stored or not; ask again with the same request id
    ├── TargetError             this is not a store that this program can open
    │   ├── StoreNotFoundError, NotAStoreError, NewerFormatError,
    │   └── UnsafeLocationError
    └── DamageError             stop, keep a copy, run `memlog verify`
        ├── CorruptStoreError       the database cannot be read or written
        ├── CorruptEventError       an event's bytes are not what the format allows
        ├── UnknownEventTypeError   an event of a type or version not known here
        ├── DriftError              a projection differs from what the log says
        └── UnsignableError         the log does not verify, or continue what was signed

Every error carries its values as attributes, survives pickling, and says in one sentence what was
wrong and what to do.
"""

from __future__ import annotations

from collections.abc import Sequence

from memlog.shown import shown


class MemlogError(Exception):
    """The root: catch it to catch everything that memlog raises on purpose."""


class _OfTarget(Exception):  # noqa: N818  # no leaf: what several of them share
    def __init__(self, target: str) -> None:
        super().__init__(target)
        self.target = target


class _Detailed(Exception):  # noqa: N818  # as above
    def __init__(self, target: str, detail: str) -> None:
        super().__init__(target, detail)
        self.target, self.detail = target, detail


class RequestError(MemlogError):
    """The call must be changed. Nothing was written."""


class InvalidRequestError(RequestError):
    """One value of a request has the wrong shape, size or alphabet.

    Attributes:
        field: the argument's name.
        value: the value as it was given.
        rule: what to send instead, as the rest of a sentence.
    """

    def __init__(self, field: str, value: object, rule: str) -> None:
        super().__init__(field, value, rule)
        self.field, self.value, self.rule = field, value, rule

    def __str__(self) -> str:
        return f"{self.field} {shown(self.value)} is not accepted: {self.rule}"


class NoteNotFoundError(RequestError):
    """No note has this slug in this scope; `near` holds the most similar slugs, best first."""

    def __init__(self, slug: str, near: Sequence[str] = ()) -> None:
        super().__init__(slug, tuple(near))
        self.slug, self.near = slug, tuple(near)

    def __str__(self) -> str:
        if not self.near:
            return f"no note {shown(self.slug)} in this scope; search or list the notes first"
        offers = ", ".join(repr(slug) for slug in self.near)
        return f"no note {shown(self.slug)} in this scope; did you mean {offers}?"


class RuleError(RequestError):
    """The request is well formed, but a rule of the log forbids it in the present state."""


class UntrustedPinError(RuleError):
    """A note that came from the web or a compaction must not enter the prompt unasked."""

    def __init__(self, slug: str, why: str) -> None:
        super().__init__(slug, why)
        self.slug, self.why = slug, why

    def __str__(self) -> str:
        return (
            f"{self.slug!r} cannot be pinned: {self.why}; a pinned body goes into the system "
            "prompt, so only code may allow it (allow_pin_untrusted=True)"
        )


class UserNoteError(RuleError):
    """A tool tried to have a person's pinned note `rewritten`, `unpinned` or `superseded`."""

    def __init__(self, slug: str, action: str) -> None:
        super().__init__(slug, action)
        self.slug, self.action = slug, action

    def __str__(self) -> str:
        return (
            f"{self.slug!r} is a person's pinned note and cannot be {self.action} through a tool; "
            "leave it as it is, and tell the person what should change"
        )


class SupersededNoteError(RuleError):
    """The note is history: `living` is the note at the end of its chain; change that one."""

    def __init__(self, slug: str, living: str) -> None:
        super().__init__(slug, living)
        self.slug, self.living = slug, living

    def __str__(self) -> str:
        return f"{self.slug!r} is superseded and stays as it is; change {self.living!r} instead"


class AlreadySupersededError(RuleError):
    """The older note already has a superseder; link to that one or supersede it."""

    def __init__(self, slug: str, superseded_by: str) -> None:
        super().__init__(slug, superseded_by)
        self.slug, self.superseded_by = slug, superseded_by

    def __str__(self) -> str:
        return (
            f"{self.slug!r} is already superseded by {self.superseded_by!r}; "
            f"supersede {self.superseded_by!r} instead"
        )


class SupersedeCycleError(RuleError):
    """The link would make `from_slug` supersede itself: `to_slug` supersedes it already."""

    def __init__(self, from_slug: str, to_slug: str) -> None:
        super().__init__(from_slug, to_slug)
        self.from_slug, self.to_slug = from_slug, to_slug

    def __str__(self) -> str:
        return (
            f"{self.from_slug!r} cannot supersede {self.to_slug!r}: "
            f"{self.to_slug!r} already supersedes it; unlink that first"
        )


class SelfLinkError(RuleError):
    """A note cannot be linked to itself."""

    def __init__(self, slug: str) -> None:
        super().__init__(slug)
        self.slug = slug

    def __str__(self) -> str:
        return f"{self.slug!r} cannot be linked to itself; name another note"


class StaleWriteError(RequestError):
    """The note changed since the caller saw it; read it again, then decide again.

    `if_seq` is the `updated_seq` that the caller saw, `updated_seq` what it is now; 0: no note.
    """

    def __init__(self, slug: str, if_seq: int, updated_seq: int) -> None:
        super().__init__(slug, if_seq, updated_seq)
        self.slug, self.if_seq, self.updated_seq = slug, if_seq, updated_seq

    def __str__(self) -> str:
        return (
            f"{self.slug!r} is at updated_seq {self.updated_seq}, not at {self.if_seq}; "
            "read it again before you write"
        )


class RequestConflictError(RequestError):
    """The request id was used in this scope for another request; use a fresh id."""

    def __init__(self, request_id: str, position: int) -> None:
        super().__init__(request_id, position)
        self.request_id, self.position = request_id, position

    def __str__(self) -> str:
        return (
            f"request_id {shown(self.request_id)} already stands for another request "
            f"(position {self.position}); use a fresh id"
        )


class ClosedError(RequestError):
    """The handle was closed, or closed itself after an I/O error; open the store again."""

    def __init__(self, target: str, why: str = "close() was called") -> None:
        super().__init__(target, why)
        self.target, self.why = target, why

    def __str__(self) -> str:
        return f"the handle of {self.target!r} is closed ({self.why}); open the store again"


class ForkedError(RequestError):
    """The handle was opened in another process; a forked child must open its own."""

    def __init__(self, target: str, opened_pid: int, pid: int) -> None:
        super().__init__(target, opened_pid, pid)
        self.target, self.opened_pid, self.pid = target, opened_pid, pid

    def __str__(self) -> str:
        return (
            f"the handle of {self.target!r} was opened by process {self.opened_pid}, this is "
            f"{self.pid}; open the store in the child, after the fork"
        )


class ReadOnlyError(RequestError, _OfTarget):
    """The store was opened for reading only, or its file cannot be written by this process."""

    def __str__(self) -> str:
        return (
            f"{self.target!r} cannot be written; open it writable, or check its permissions and "
            "those of its directory"
        )


class RetryError(MemlogError):
    """The same call may succeed later. Nothing was written."""


class BusyError(RetryError):
    """Another writer held the lock for longer than `lock_timeout_s`; try again."""

    def __init__(self, target: str, timeout_s: float) -> None:
        super().__init__(target, timeout_s)
        self.target, self.timeout_s = target, timeout_s

    def __str__(self) -> str:
        return f"{self.target!r} was locked by another writer for {self.timeout_s:g} s; try again"


class RebuildTakenOverError(RetryError, _OfTarget):
    """Another rebuild of the same projection began meanwhile; this one changed nothing."""

    def __str__(self) -> str:
        return f"another rebuild of {self.target!r} took over; wait for it, then try again"


class StoreFullError(RetryError, _Detailed):
    """The disk or the database is full; nothing of this write was stored, or nothing verified."""

    def __str__(self) -> str:
        return f"no space left for {self.target!r} ({self.detail}); make room, then try again"


class UnreachableError(RetryError, _Detailed):
    """The database server cannot be reached, or the connection broke; nothing was written."""

    def __str__(self) -> str:
        return f"{self.target!r} cannot be reached ({self.detail}); try again"


class UnknownOutcomeError(MemlogError, _Detailed):
    """The connection broke during a commit, and nobody could be asked how that one ended."""

    def __str__(self) -> str:
        asked = f"whether {self.target!r} stored it is not known ({self.detail})"
        return f"{asked}; ask again with the same request_id"


class TargetError(MemlogError):
    """What was named is not a store that this program can open."""


class StoreNotFoundError(TargetError, _OfTarget):
    """There is no store at this place, and a reading command creates none."""

    def __str__(self) -> str:
        return f"there is no store at {self.target!r}; check the name (a first write makes one)"


class NotAStoreError(TargetError):
    """The target exists, but is not a memlog store; it was left untouched."""

    def __init__(self, target: str, why: str) -> None:
        super().__init__(target, why)
        self.target, self.why = target, why

    def __str__(self) -> str:
        return f"{self.target!r} is not a memlog store ({self.why}); name another file"


class NewerFormatError(TargetError):
    """A newer release wrote this store; upgrade memlog to open it."""

    def __init__(self, target: str, version: int, supported: int) -> None:
        super().__init__(target, version, supported)
        self.target, self.version, self.supported = target, version, supported

    def __str__(self) -> str:
        return (
            f"{self.target!r} has format {self.version}, this release reads up to "
            f"{self.supported}; upgrade agent-memlog"
        )


class UnsafeLocationError(TargetError):
    """The place cannot keep the promises of a log (a network file system, for one)."""

    def __init__(self, target: str, why: str) -> None:
        super().__init__(target, why)
        self.target, self.why = target, why

    def __str__(self) -> str:
        return f"{self.target!r} cannot hold a log: {self.why}"


class DamageError(MemlogError):
    """Something stored is not as it was written. Stop, keep a copy, run `memlog verify`."""


class CorruptStoreError(DamageError, _Detailed):
    """The database itself cannot be read or written any more."""

    def __str__(self) -> str:
        return (
            f"{self.target!r} is damaged or cannot be reached ({self.detail}); "
            "keep a copy and verify it"
        )


class CorruptEventError(DamageError):
    """An event's stored bytes are not what the format allows; position 0: they are of no log."""

    def __init__(self, position: int, detail: str) -> None:
        super().__init__(position, detail)
        self.position, self.detail = position, detail

    def __str__(self) -> str:
        return f"the event at position {self.position} is damaged: {self.detail}"


class UnknownEventTypeError(DamageError):
    """An event of a type or version that this release does not know."""

    def __init__(self, position: int, type_: str) -> None:
        super().__init__(position, type_)
        self.position, self.type = position, type_

    def __str__(self) -> str:
        return (
            f"the event at position {self.position} has the unknown type {shown(self.type)}; "
            "a newer release may know it"
        )


class DriftError(DamageError):
    """A projection differs from what the log says; rebuild it. `detail`: the first difference."""

    def __init__(self, projection: str, detail: str) -> None:
        super().__init__(projection, detail)
        self.projection, self.detail = projection, detail

    def __str__(self) -> str:
        return f"the {self.projection} projection differs from the log: {self.detail}; rebuild it"


class UnsignableError(DamageError, _Detailed):
    """The log was not signed: it does not verify, or is no continuation of what was signed."""

    def __str__(self) -> str:
        return f"{self.target!r} was not signed: {self.detail}; verify it"


def format_error(error: BaseException) -> str:
    """Return the one sentence about `error` that a model or a person should read.

    Never a traceback, a path of this program, or a line break. Errors that are not memlog's own
    give their class name only, since their text may quote anything.
    """
    if not isinstance(error, MemlogError):
        return f"unexpected {type(error).__name__}"
    return " ".join(str(error).split())
