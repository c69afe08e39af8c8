"""The `memlog` command.

typer and rich are imported in here only, and only when a command runs.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; see `memlog.cli.exits`.

    Args:
        arguments: those of this process when None.
    """
    from memlog.cli.run import run

    return run(arguments)
