"""A tour of memlog on real text: the help topics that every CPython ships, as notes of a scope."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import msgspec

import memlog
from memlog.cli.words import scope_name
from memlog.demo import steps
from memlog.demo.steps import Say
from memlog.demo.topics import topics
from memlog.note import Scope
from memlog.settings import Settings

__all__ = ["SCOPE_NAME", "Told", "new_path", "run"]

SCOPE_NAME = "owner:demo"


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What a run of the demo found.

    Attributes:
        path: the log's file.
        scope: whose notes it wrote.
        notes: number of notes, superseded ones included.
        events: number of events.
        replay_equal: whether the log, folded in memory, gives the same notes and links.
        rebuild_differences: what a rebuild of the tables found otherwise.
        section_hash: hash of the section at the end.
        verified: whether everything stored was found to be right.
    """

    path: str
    scope: str
    notes: int
    events: int
    replay_equal: bool
    rebuild_differences: tuple[str, ...]
    section_hash: str
    verified: bool


def new_path() -> Path:
    """Return a file name in a new temporary directory of this user."""
    return Path(tempfile.mkdtemp(prefix="memlog-demo-")) / "notes.db"


def run(target: str | os.PathLike[str], *, scope: Scope, program: str, say: Say) -> Told:
    """Tell the whole story in a new log.

    Args:
        target: where the log is made; there must be none.
        scope: whose notes are written.
        program: how the reader calls the `memlog` command.
        say: takes each line.
    """
    with memlog.open(target, settings=Settings()) as log:
        memory = log.scope(scope)
        steps.write_topics(memory, topics(), say=say)
        steps.rewrite(memory, say=say)
        steps.supersede(memory, say=say)
        steps.pin_and_link(memory, say=say)
        steps.show_log(log, say=say)
        steps.show_history(memory, "assert", say=say)
        equal = steps.replay(log, memory, say=say)
        differences = steps.rebuild(log, say=say)
        steps.search(memory, say=say)
        section_hash = steps.section(memory, say=say)
        steps.time_travel(memory, section_hash, say=say)
        verified = steps.verify(log, say=say)
        told = Told(
            path=log.target,
            scope=scope_name(scope),
            notes=len(memory.notes()),
            events=log.position(),
            replay_equal=equal,
            rebuild_differences=differences,
            section_hash=section_hash,
            verified=verified,
        )
    steps.farewell(told.path, told.scope, program=program, say=say)
    return told
