"""Run a command line: prepared streams, and every error as one sentence and an exit code."""

from __future__ import annotations

import io
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, TextIO

import typer
from typer.main import get_command

from memlog.cli import exits, output
from memlog.errors import MemlogError, format_error

# Of all usage errors typer exports one; this is their common base.
_TyperUsageError: Any = typer.BadParameter.__mro__[1]


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    _prepare_streams()
    try:
        with _warnings_told():
            code = _command(is_mcp=_is_mcp(arguments))(
                arguments, prog_name="memlog", standalone_mode=False
            )
        sys.stdout.flush()
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # typer caught it and ends with 1.
            return _ended_by_system(end.__context__)
        raise  # Shell completion ends so.
    except BaseException as error:  # noqa: BLE001  # the edge: what ends here ends in a sentence
        return _ended_by(error)
    return code if isinstance(code, int) else 0


def _is_mcp(arguments: Sequence[str] | None) -> bool:
    return list(sys.argv[1:2] if arguments is None else arguments[:1]) == ["mcp"]


@cache
def _command(*, is_mcp: bool) -> Callable[..., object]:
    """Return the command line, which costs 50 ms, so once a process.

    Args:
        is_mcp: with `mcp` as its only command: a client waits for that one to start, and the
            modules of all the others take a sixth of the time.
    """
    if not is_mcp:
        from memlog.cli.app import app

        return get_command(app)
    from memlog.cli.mcp import mcp

    only = typer.Typer(
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    only.callback()(_root)
    only.command("mcp")(mcp)
    return get_command(only)


def _root() -> None:
    """Durable notes for AI agents, kept as an append-only log."""


def _prepare_streams() -> None:
    for name in ("stdout", "stderr"):
        stream: TextIO | None = getattr(sys, name)
        if stream is None:  # The caller closed it: `memlog ... >&-`.
            setattr(sys, name, io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
        elif isinstance(stream, io.TextIOWrapper):
            # A terminal says what it can show; into a pipe goes UTF-8 in every locale.
            encoding = stream.encoding if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


@contextmanager
def _warnings_told() -> Iterator[None]:
    """Print what the library logs as sentences; logging's own way would print it raw."""
    handler, logger = _Notices(logging.WARNING), logging.getLogger("memlog")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


class _Notices(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        output.notice(f"memlog: {record.getMessage()}")


def _ended_by(error: BaseException) -> int:
    """Say what went wrong, if anything needs saying, and return the exit code."""
    match error:
        case MemlogError():
            return _told(format_error(error), exits.exit_code(error))
        case exits.UsageError():
            return _told(str(error), exits.USAGE)
        case _TyperUsageError():
            return _told(_usage_sentence(error), exits.USAGE)
        case OSError():
            return _ended_by_system(error)
        case KeyboardInterrupt() | typer.Abort():
            return exits.INTERRUPTED
        case _:
            return _unexpected(error)


def _ended_by_system(error: OSError) -> int:
    _abandon_stdout()  # It may be what failed: a reader that went away, a full disk.
    if isinstance(error, BrokenPipeError):
        return exits.BROKEN_PIPE
    what = error.strerror or type(error).__name__
    return _told(f"{error.filename}: {what}" if error.filename else what, exits.USAGE)


def _told(sentence: str, code: int) -> int:
    output.notice(f"memlog: {sentence}")
    return code


def _usage_sentence(error: Any) -> str:  # noqa: ANN401  # typer does not export its type
    path = error.ctx.command_path if error.ctx is not None else "memlog"
    return f"{error.format_message().rstrip('.')}; see '{path} --help'"


def _unexpected(error: BaseException) -> int:
    if os.environ.get("MEMLOG_TRACEBACK"):
        raise error
    sentence = f"{format_error(error)}: a fault of memlog's; MEMLOG_TRACEBACK=1 shows where"
    return _told(sentence, exits.UNEXPECTED)


def _abandon_stdout() -> None:
    """Keep the interpreter from flushing into the pipe or file that no longer takes anything."""
    with suppress(OSError, ValueError):  # A test's stream is no file.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
