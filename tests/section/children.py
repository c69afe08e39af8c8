"""Child processes that read and write a store while a test does."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

# Each is run with the store's path and then its own arguments.
HOLD_THE_LOCK = """
import sys, memlog
with memlog.open(sys.argv[1]) as log, log._store.transaction():
    print("held", flush=True)
    sys.stdin.readline()
"""
PRINT_SECTIONS = """
import sys, memlog
with memlog.open(sys.argv[1], read_only=True) as log:
    for each in log.scopes():
        text, hash = log.scope(each.scope).section()
        print(ascii([each.scope.stream, text, hash]))
"""
WRITE_AND_READ = """
import sys, memlog
settings = memlog.Settings(index_token_budget=20_000)
with memlog.open(sys.argv[1], settings=settings) as log:
    memory = log.scope("owner", "alice")
    for number in range(int(sys.argv[3])):
        title = f"Note {sys.argv[2]} {number}"
        slug = memory.write(title=title, body="b", pinned=number % 5 == 0).note.slug
        text, hash = memory.section()
        assert slug in text, (slug, text)
        print(slug, hash, flush=True)
"""


def start(
    code: str, *arguments: object, environ: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """Start a child in the project's root; its pipes are text."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, **(environ or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(child: subprocess.Popen[str], last_word: str = "") -> str:
    """Let a child end well, and return what it printed since it was last read."""
    out, errors = child.communicate(last_word, timeout=120)
    assert child.returncode == 0, errors
    return out


@contextmanager
def asked_by_line(code: str, *arguments: object) -> Iterator[Callable[[str], Any]]:
    """Start a child that answers each line of JSON with one; give a call that asks it."""
    child = start(code, *arguments)
    questions, answers = child.stdin, child.stdout
    assert questions is not None
    assert answers is not None

    def asked(question: str) -> list[tuple[Any, ...]]:
        print(json.dumps(question), file=questions, flush=True)
        return [tuple(each) for each in json.loads(answers.readline())]

    yield asked
    ended(child)
