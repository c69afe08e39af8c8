"""The exit codes, and which error gives which. README documents them."""

from __future__ import annotations

from memlog.errors import (
    DamageError,
    MemlogError,
    ReadOnlyError,
    RetryError,
    TargetError,
    UnknownOutcomeError,
)

REFUSED = 1
USAGE = 2
RETRY = 3
DAMAGE = 4
UNEXPECTED = 70  # EX_SOFTWARE of sysexits.h
INTERRUPTED = 130  # As a shell shows a death by SIGINT,
BROKEN_PIPE = 141  # and by SIGPIPE.


class UsageError(Exception):
    """The command was called so that it cannot begin; its text is one sentence."""


def exit_code(error: MemlogError) -> int:
    """Return the exit code that tells a script what to do next."""
    match error:
        case TargetError() | ReadOnlyError():
            return USAGE
        case RetryError() | UnknownOutcomeError():
            return RETRY
        case DamageError():
            return DAMAGE
        case _:
            return REFUSED
