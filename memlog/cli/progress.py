"""Progress of long work, on standard error, when that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

_LONG_EVENTS = 2_000  # What is shorter is over before anybody could read a bar.

Show = Callable[[int, int], None]


@contextmanager
def progress(label: str, *, many: int | None = None) -> Iterator[Show | None]:
    """Give a function that shows (events done, events to do), or None where nobody is watching.

    The bar appears when there is much to do, `many` or 2,000 or more, and is gone at the end.
    """
    if not sys.stderr.isatty():
        yield None
        return
    with ExitStack() as stack:
        update: Show | None = None

        def show(done: int, total: int) -> None:
            nonlocal update
            if update is None and total >= (_LONG_EVENTS if many is None else many):
                update = stack.enter_context(_bar(label))
            if update is not None:
                update(done, total)

        yield show


@contextmanager
def _bar(label: str) -> Iterator[Show]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    parts = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn()
    with Progress(*parts, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
