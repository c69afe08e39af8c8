"""Run the command: in this process, in one of its own, or on a terminal of 80 columns."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping
from pathlib import Path

import pytest

from memlog.cli import main
from tests.cli.running import Ended, Run, Stream


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith(("MEMLOG_", "_MEMLOG_"))]:
        if not name.startswith("MEMLOG_TEST_"):  # It is for the tests, not for the command.
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `memlog` in this process, with streams of its own."""

    def run(*arguments: str, stdin: bytes = b"", terminal: bool = False) -> Ended:
        out, err = Stream(terminal=terminal), Stream(terminal=terminal)
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stdin", Stream(stdin))
            patched.setattr(sys, "stdout", out)
            patched.setattr(sys, "stderr", err)
            code = main(arguments)
        return Ended(code, out.written(), err.written().decode())

    return run


@pytest.fixture
def alice(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run `memlog` on a store of its own, for owner:alice."""
    monkeypatch.setenv("MEMLOG_DB", str(tmp_path / "notes.db"))
    monkeypatch.setenv("MEMLOG_SCOPE", "owner:alice")
    return run


@pytest.fixture
def run_process() -> Run:
    """Run `python -m memlog` as a process of its own, between pipes."""

    def run_process(*arguments: str, stdin: bytes = b"") -> Ended:
        command = [sys.executable, "-m", "memlog", *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, check=False)
        return Ended(done.returncode, done.stdout, done.stderr.decode())

    return run_process


@pytest.fixture
def run_on_terminal() -> Run:
    """Run `python -m memlog` on a pseudo-terminal of 80 columns; both streams end up in `out`."""

    def run_on_terminal(*arguments: str, environ: Mapping[str, str] = {}) -> Ended:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        process = subprocess.Popen(
            [sys.executable, "-m", "memlog", *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, **environ},
        )
        os.close(theirs)
        shown = b""
        while piece := _read(ours):
            shown += piece
        os.close(ours)
        return Ended(process.wait(), shown.replace(b"\r\n", b"\n"), "")

    return run_on_terminal


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # EIO: the other side is closed.
        return b""
