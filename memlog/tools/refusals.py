"""Refusals as one sentence for a model: what to send instead, or what to do without memory.

The sentences of `memlog.errors` are for programmers: they name files, positions and arguments that
no tool has. Those are said here in other words.
"""

from __future__ import annotations

from memlog.errors import (
    BusyError,
    InvalidRequestError,
    MemlogError,
    NoteNotFoundError,
    ReadOnlyError,
    RetryError,
    RuleError,
    StoreFullError,
    SupersedeCycleError,
    UnknownOutcomeError,
    UntrustedPinError,
    format_error,
)
from memlog.shown import shown

UNTOUCHED = "nothing was written"


def sentence(error: MemlogError) -> str:
    """Return the sentence: one line, without paths, positions and request ids."""
    return " ".join(_sentence(error).split())


def _sentence(error: MemlogError) -> str:
    match error:
        case NoteNotFoundError(slug=slug, near=near):
            offers = " or ".join(map(repr, near))
            advice = f"did you mean {offers}?" if near else "find its slug with memory_search"
            return f"there is no note {shown(slug)}; {advice}"
        case UntrustedPinError(slug=slug, why=why):
            return f"{slug!r} cannot be pinned: {why}; send it with pinned: false"
        case SupersedeCycleError(from_slug=newer, to_slug=older):
            return (
                f"{newer!r} cannot supersede {older!r}, which supersedes it already; "
                "link them as related, or write a new note that supersedes the newest"
            )
        case InvalidRequestError() | RuleError():
            return format_error(error)
        case _:
            return out_of_order(error)


def out_of_order(error: MemlogError) -> str:
    """Return the sentence about a memory that cannot be used as it is, whoever asked for what."""
    match error:
        case ReadOnlyError():
            return f"memory can only be read here; {UNTOUCHED}: go on without writing"
        case BusyError():
            return f"memory is busy and {UNTOUCHED}; send the same call again"
        case StoreFullError():
            return f"memory has no room and {UNTOUCHED}; go on without it and tell the person"
        case RetryError():
            return f"memory cannot be reached now and {UNTOUCHED}; send the same call again later"
        case UnknownOutcomeError():
            return (
                "it is not known whether memory kept this; search for it before you send it again"
            )
        case _:
            kind = type(error).__name__
            return f"memory cannot be used now ({kind}); go on without it and tell the person"


def plan_mode(tool: str) -> str:
    """Return why a tool is refused in plan mode."""
    return (
        f"{tool} changes memory and this is plan mode, so {UNTOUCHED}; "
        "say in the plan what you will write, and call it when the plan is carried out"
    )


def read_only(tool: str) -> str:
    """Return why a tool is refused when memory may only be read."""
    return f"{tool} changes memory, which can only be read here; {UNTOUCHED}: go on without writing"
