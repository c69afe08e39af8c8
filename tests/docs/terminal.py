"""A shell script on a pseudo-terminal of 80 columns, with `memlog` and `python` on its path."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_COMMANDS = Path(__file__).with_name("commands.py")


def on_terminal(script: str, directory: Path) -> str:
    """Run a script in a directory; it must end with 0."""
    programs = directory / "bin"
    programs.mkdir()
    address = programs / "commands"
    for name, arguments in (("memlog", f'-I -S "{_COMMANDS}" "{address}" --'), ("python", "")):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
        program.chmod(0o755)
    environ = {name: text for name, text in os.environ.items() if not name.startswith("MEMLOG_")}
    environ |= {
        "PATH": f"{programs}:{environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "NO_COLOR": "1",
        "TERM": "xterm",
    }
    environ.pop("COLUMNS", None)
    with _server(address, environ):
        return _shown(script, directory, environ)


@contextmanager
def _server(address: Path, environ: Mapping[str, str]) -> Iterator[None]:
    """Run what answers the calls of `memlog`."""
    command = [sys.executable, str(_COMMANDS), str(address)]
    with subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL) as server:
        while not address.exists() and server.poll() is None:
            time.sleep(0.01)
        try:
            yield
        finally:
            server.kill()


def _shown(script: str, directory: Path, environ: Mapping[str, str]) -> str:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
    process = subprocess.Popen(
        ["/bin/sh", "-c", script],
        cwd=directory,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b"".join(iter(lambda: _read(ours), b""))
    os.close(ours)
    assert process.wait() == 0
    return shown.decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # EIO: the other side is closed.
        return b""
