"""What every command is told (where, whose notes, in which form), and the log opened accordingly.

The three options may stand before or after the command's name; after it wins, and the environment
comes last.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated

import msgspec
import typer

import memlog
from memlog.cli.exits import UsageError
from memlog.errors import InvalidRequestError, format_error
from memlog.log import Log
from memlog.memory import Memory
from memlog.note import Scope
from memlog.shown import shown

Db = Annotated[
    str | None,
    typer.Option(
        "--db",
        metavar="TARGET",
        help="A file, sqlite:///FILE or postgresql://. [env: MEMLOG_DB; default: notes.db in your "
        "data directory; 'memlog stats' shows it]",
    ),
]
In = Annotated[
    str | None,
    typer.Option(
        "--scope", metavar="SCOPE", help="Whose notes: owner:NAME, or global. [env: MEMLOG_SCOPE]"
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON Lines.")]

_NO_SCOPE = "whose notes? give --scope owner:NAME or --scope global, or set MEMLOG_SCOPE"
_IN_MEMORY = "a log in memory would be gone when this command ends; name a file"


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """What one call of the command was told.

    Attributes:
        target: the store; None for the default one.
        scope_text: the scope as it was given, or None.
        as_json: print JSON Lines.
    """

    target: str | None
    scope_text: str | None
    as_json: bool

    def scope(self) -> Scope:
        """Return the scope.

        Raises:
            UsageError: none was given, or it is none.
        """
        if self.scope_text is None:
            raise UsageError(_NO_SCOPE)
        return parse_scope(self.scope_text)

    @contextmanager
    def log_for_reading(self, *, budget_tokens: int | None = None) -> Iterator[Log]:
        """Open the log so that nothing can be written; makes none.

        Args:
            budget_tokens: the size of its sections, when it is not that of the settings.
        """
        with self._open(read_only=True, create=False, budget_tokens=budget_tokens) as log:
            yield log

    @contextmanager
    def log_for_writing(self, *, create: bool = False) -> Iterator[Log]:
        """Open the log; with `create`, make it first when there is none."""
        with self._open(read_only=False, create=create) as log:
            yield log

    @contextmanager
    def notes_for_reading(self, *, budget_tokens: int | None = None) -> Iterator[Memory]:
        """Open the notes of the scope as `log_for_reading` opens the log."""
        scope = self.scope()
        with self.log_for_reading(budget_tokens=budget_tokens) as log:
            yield log.scope(scope)

    @contextmanager
    def notes_for_writing(self) -> Iterator[Memory]:
        """Open the notes of the scope; makes no log."""
        scope = self.scope()
        with self.log_for_writing() as log:
            yield log.scope(scope)

    def check_target(self) -> None:
        """Refuse a log that would be gone at the end.

        Raises:
            UsageError: it is one in memory.
        """
        if self.target in (":memory:", "sqlite:///:memory:"):
            raise UsageError(_IN_MEMORY)

    def _open(self, *, read_only: bool, create: bool, budget_tokens: int | None = None) -> Log:
        self.check_target()
        try:
            settings = memlog.from_env(os.environ)
            if budget_tokens is not None:
                settings = msgspec.structs.replace(settings, index_token_budget=budget_tokens)
            return memlog.open(self.target, settings=settings, read_only=read_only, create=create)
        except InvalidRequestError as error:  # Of the target or a setting: not of a request.
            raise UsageError(format_error(error)) from None


def session(
    context: typer.Context,
    *,
    db: str | None,
    scope: str | None = None,
    as_json: bool = False,
    environ: Mapping[str, str] = os.environ,
) -> Session:
    """Return what a command was told by its own options, those before its name, and `environ`."""
    before = {} if context.parent is None else context.find_root().params
    return Session(
        target=db or before.get("db") or environ.get("MEMLOG_DB") or None,
        scope_text=scope or before.get("scope") or environ.get("MEMLOG_SCOPE") or None,
        as_json=as_json or bool(before.get("as_json")),
    )


def parse_scope(name: str) -> Scope:
    """Return the scope that `owner:NAME` or `global` names; NAME may hold colons.

    Raises:
        UsageError: it names none.
    """
    kind, colon, principal = name.partition(":")
    try:
        if kind == "owner" and colon:
            return Scope("owner", principal)
        if name == "global":
            return Scope("global")
    except InvalidRequestError as error:
        raise UsageError(format_error(error)) from None
    sentence = f"scope {shown(name)} is not accepted: give owner:NAME, or global"
    raise UsageError(sentence)
