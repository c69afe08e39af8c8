"""What the second process of a verification does; see `memlog.verify.beside`.

It reads one line, its task, and writes its answer. It ends when the process that started it does,
and any error is its end.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import closing
from threading import Thread

import msgspec

from memlog.store.connecting import open_connection
from memlog.verify import structure, sums
from memlog.verify.report import Findings
from memlog.verify.words import WordSums, check_words


class File(msgspec.Struct, frozen=True):
    """How to open the store.

    Attributes:
        uri: an SQLite URI, of a file that is only read.
        timeout_s: how long to wait for other programs.
    """

    uri: str
    timeout_s: float

    def opened(self) -> sqlite3.Connection:
        """Return a connection that writes nothing.

        Raises:
            sqlite3.Error: it cannot be opened.
        """
        return open_connection(self.uri, timeout_s=self.timeout_s, read_only=True, query_only=True)


class Task(msgspec.Struct, frozen=True):
    """What to look at.

    Attributes:
        file: the store.
        secret: the key of the sums.
        words: whether to check the words.
        pages: whether to check the pages.
    """

    file: File
    secret: bytes
    words: bool
    pages: bool


class Found(msgspec.Struct, frozen=True):
    """What was found.

    Attributes:
        set: the name of the tables that are live.
        sums: what those hold.
        live_notes: how many notes have words, all of which are as the notes say; None when some are
            not, or were not looked at.
        page_faults: what is wrong with the pages; None when they were not looked at.
    """

    set: str
    sums: sums.Sums
    live_notes: int | None
    page_faults: list[str] | None


def find(task: Task) -> Found:
    """Do a task.

    Raises:
        Exception: of any kind, for a store that is damaged.
    """
    with closing(task.file.opened()) as connection:
        cursor = connection.cursor()
        cursor.execute("BEGIN")
        names = structure.live_set(cursor)
        assert names is not None
        words, findings = WordSums(), Findings()
        found = sums.of_tables(cursor, names, task.secret, words)
        if task.words:
            check_words(cursor, names, words, findings)
        return Found(
            set=names.set,
            sums=found,
            live_notes=words.notes if task.words and not findings.count("words") else None,
            page_faults=structure.page_faults(cursor) if task.pages else None,
        )


def main() -> None:
    """Do the task that is read from standard input."""
    task = msgspec.json.decode(sys.stdin.buffer.readline(), type=Task)
    end_with_the_other()
    sys.stdout.buffer.write(msgspec.json.encode(find(task)))


def end_with_the_other() -> None:
    """Let this process end as soon as the one that started it does."""
    Thread(target=_wait_for_the_end, daemon=True).start()


def _wait_for_the_end() -> None:
    while os.read(sys.stdin.fileno(), 1):  # Nothing comes; and no lock is held at the end.
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
