"""Stores on disk for these tests, and the ways in which others treat them badly."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import memlog
from memlog.settings import Settings

IMPATIENT = Settings(lock_timeout_s=0.05)
NOBODY = 65_534
PAGE_BYTES = 4_096


def store_with_notes(path: Path, *, notes: int = 3) -> Path:
    """Make a store with a few notes, closed cleanly."""
    with memlog.open(path) as log:
        memory = log.scope("owner", "alice")
        for index in range(notes):
            memory.write(title=f"Tea {index}", body="x" * 500, slug=f"tea-{index}")
    return path


def sql(path: Path, *statements: str) -> list[tuple[object, ...]]:
    """Run statements as a plain client would; return the rows of the last one."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        rows: list[tuple[object, ...]] = []
        for statement in statements:
            rows = connection.execute(statement).fetchall()
        return rows


def left_by_a_killed_process(path: Path) -> Path:
    """Copy a store while it is open, so that its last writes lie in the -wal only."""
    source = path.with_name("source.db")
    with memlog.open(source) as log:
        log.scope("owner", "alice").write(title="Tea", body="oolong", slug="tea")
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{source}{suffix}", f"{path}{suffix}")
    return path


def run(code: str, *arguments: object) -> str:
    """Run code in a fresh interpreter; return what it prints."""
    command = [sys.executable, "-W", "error", "-c", code, *map(str, arguments)]
    root = Path(memlog.__file__).resolve().parent.parent
    done = subprocess.run(
        command,
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@contextmanager
def tmpfs(directory: Path, *, kilobytes: int) -> Iterator[Path]:
    """Mount a small file system of its own; skip the test where that is not allowed."""
    import pytest

    directory.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(directory)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("no tmpfs can be mounted here: a full disk was not tried")
    try:
        yield directory
    finally:
        subprocess.run(["umount", "-l", str(directory)], check=True)  # noqa: S607  # as mount


@contextmanager
def read_only(directory: Path) -> Iterator[Path]:
    """Show a directory as a read-only medium; skip the test where that is not allowed."""
    import pytest

    view = directory.with_name(f"{directory.name}-read-only")
    view.mkdir()
    commands = (
        ["mount", "--bind", str(directory), str(view)],
        ["mount", "-o", "remount,bind,ro", str(view)],
    )
    try:
        mounted = all(
            subprocess.run(command, capture_output=True, check=False).returncode == 0
            for command in commands
        )
    except OSError:
        mounted = False
    try:
        if not mounted:
            pytest.skip("nothing can be mounted here: a read-only medium was not tried")
        yield view
    finally:
        subprocess.run(["umount", "-l", view], capture_output=True, check=False)  # noqa: S607
