"""Durable notes for AI agents, kept as an append-only, event-sourced log.

    import memlog

    with memlog.open("notes.db") as log:
        memory = log.scope("owner", "alice")
        memory.write(title="Deploy key rotates", body="On the first of each month.")

Names are loaded when they are first used, so that `import memlog` stays fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memlog.audit.diff import Difference as Difference
    from memlog.audit.matching import matching as matching
    from memlog.audit.moments import Moment as Moment
    from memlog.audit.past import Past as Past
    from memlog.audit.prompts import Prompt as Prompt
    from memlog.audit.taint import Taint as Taint
    from memlog.audit.timeline import TimelineEntry as TimelineEntry
    from memlog.defuse import (
        wrap as wrap,
    )
    from memlog.errors import (
        AlreadySupersededError as AlreadySupersededError,
    )
    from memlog.errors import (
        BusyError as BusyError,
    )
    from memlog.errors import (
        ClosedError as ClosedError,
    )
    from memlog.errors import (
        CorruptEventError as CorruptEventError,
    )
    from memlog.errors import (
        CorruptStoreError as CorruptStoreError,
    )
    from memlog.errors import (
        DamageError as DamageError,
    )
    from memlog.errors import (
        DriftError as DriftError,
    )
    from memlog.errors import (
        ForkedError as ForkedError,
    )
    from memlog.errors import (
        InvalidRequestError as InvalidRequestError,
    )
    from memlog.errors import (
        MemlogError as MemlogError,
    )
    from memlog.errors import (
        NewerFormatError as NewerFormatError,
    )
    from memlog.errors import (
        NotAStoreError as NotAStoreError,
    )
    from memlog.errors import (
        NoteNotFoundError as NoteNotFoundError,
    )
    from memlog.errors import (
        ReadOnlyError as ReadOnlyError,
    )
    from memlog.errors import (
        RequestConflictError as RequestConflictError,
    )
    from memlog.errors import (
        RequestError as RequestError,
    )
    from memlog.errors import (
        RetryError as RetryError,
    )
    from memlog.errors import (
        RuleError as RuleError,
    )
    from memlog.errors import (
        SelfLinkError as SelfLinkError,
    )
    from memlog.errors import (
        StaleWriteError as StaleWriteError,
    )
    from memlog.errors import (
        StoreFullError as StoreFullError,
    )
    from memlog.errors import (
        StoreNotFoundError as StoreNotFoundError,
    )
    from memlog.errors import (
        SupersedeCycleError as SupersedeCycleError,
    )
    from memlog.errors import (
        SupersededNoteError as SupersededNoteError,
    )
    from memlog.errors import (
        TargetError as TargetError,
    )
    from memlog.errors import (
        UnknownEventTypeError as UnknownEventTypeError,
    )
    from memlog.errors import (
        UnknownOutcomeError as UnknownOutcomeError,
    )
    from memlog.errors import (
        UnreachableError as UnreachableError,
    )
    from memlog.errors import (
        UnsafeLocationError as UnsafeLocationError,
    )
    from memlog.errors import (
        UnsignableError as UnsignableError,
    )
    from memlog.errors import (
        UntrustedPinError as UntrustedPinError,
    )
    from memlog.errors import (
        UserNoteError as UserNoteError,
    )
    from memlog.errors import (
        format_error as format_error,
    )
    from memlog.events import (
        Event as Event,
    )
    from memlog.extension import Extension as Extension
    from memlog.extension import run_before_agent_start as run_before_agent_start
    from memlog.extension import run_before_compact as run_before_compact
    from memlog.extension import run_tool as run_tool
    from memlog.extension import system_prompt as system_prompt
    from memlog.log import (
        Log as Log,
    )
    from memlog.log import (
        default_path as default_path,
    )
    from memlog.log import (
        open as open,
    )
    from memlog.memory import (
        Memory as Memory,
    )
    from memlog.note import (
        PROVENANCES as PROVENANCES,
    )
    from memlog.note import (
        RELS as RELS,
    )
    from memlog.note import (
        Change as Change,
    )
    from memlog.note import (
        Link as Link,
    )
    from memlog.note import (
        Linked as Linked,
    )
    from memlog.note import (
        Note as Note,
    )
    from memlog.note import (
        Pinned as Pinned,
    )
    from memlog.note import (
        Reading as Reading,
    )
    from memlog.note import (
        Scope as Scope,
    )
    from memlog.note import (
        ScopeInfo as ScopeInfo,
    )
    from memlog.note import (
        Similar as Similar,
    )
    from memlog.note import (
        Source as Source,
    )
    from memlog.note import (
        Written as Written,
    )
    from memlog.plugin import MemoryPlugin as MemoryPlugin
    from memlog.sections import Section as Section
    from memlog.settings import (
        Settings as Settings,
    )
    from memlog.settings import (
        from_env as from_env,
    )
    from memlog.text import (
        normalize_topics as normalize_topics,
    )
    from memlog.text import (
        slugify as slugify,
    )
    from memlog.tools import ToolResult as ToolResult
    from memlog.tools import Tools as Tools
    from memlog.tools import tool_specs as tool_specs
    from memlog.verify.report import Check as Check
    from memlog.verify.report import Finding as Finding
    from memlog.verify.report import Verification as Verification
    from projections.digest.render import hash_text as hash_text
    from projections.digest.render import render as render
    from projections.search.protocol import Hit as Hit

__version__ = "0.1.0"

_HOMES = {
    "memlog.errors": (
        "AlreadySupersededError",
        "BusyError",
        "ClosedError",
        "CorruptEventError",
        "CorruptStoreError",
        "DamageError",
        "DriftError",
        "ForkedError",
        "InvalidRequestError",
        "MemlogError",
        "NewerFormatError",
        "NotAStoreError",
        "NoteNotFoundError",
        "ReadOnlyError",
        "RequestConflictError",
        "RequestError",
        "RetryError",
        "RuleError",
        "SelfLinkError",
        "StaleWriteError",
        "StoreFullError",
        "StoreNotFoundError",
        "SupersedeCycleError",
        "SupersededNoteError",
        "TargetError",
        "UnknownEventTypeError",
        "UnknownOutcomeError",
        "UnreachableError",
        "UnsafeLocationError",
        "UnsignableError",
        "UntrustedPinError",
        "UserNoteError",
        "format_error",
    ),
    "memlog.audit.diff": ("Difference",),
    "memlog.audit.matching": ("matching",),
    "memlog.audit.moments": ("Moment",),
    "memlog.audit.past": ("Past",),
    "memlog.audit.prompts": ("Prompt",),
    "memlog.audit.taint": ("Taint",),
    "memlog.audit.timeline": ("TimelineEntry",),
    "memlog.defuse": ("wrap",),
    "memlog.events": ("Event",),
    "memlog.extension": (
        "Extension",
        "run_before_agent_start",
        "run_before_compact",
        "run_tool",
        "system_prompt",
    ),
    "memlog.log": ("Log", "default_path", "open"),
    "memlog.memory": ("Memory",),
    "memlog.note": (
        "PROVENANCES",
        "RELS",
        "Change",
        "Link",
        "Linked",
        "Note",
        "Pinned",
        "Reading",
        "Scope",
        "ScopeInfo",
        "Similar",
        "Source",
        "Written",
    ),
    "memlog.plugin": ("MemoryPlugin",),
    "memlog.sections": ("Section",),
    "memlog.settings": ("Settings", "from_env"),
    "memlog.tools": ("ToolResult", "Tools", "tool_specs"),
    "memlog.text": ("normalize_topics", "slugify"),
    "projections.digest.render": ("hash_text", "render"),
    "memlog.verify.report": ("Check", "Finding", "Verification"),
    "projections.search.protocol": ("Hit",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [*_HOME_OF]  # noqa: PLE0604  # built from strings, checked by a test


def __getattr__(name: str) -> Any:  # noqa: ANN401  # whatever the name stands for
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")  # noqa: TRY003
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
