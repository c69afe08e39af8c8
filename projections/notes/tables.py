"""The tables of the notes projection: two sets of them, and a pointer to the live one.

A set holds notes, links, words, requests and one row a scope. Writers keep the live set in the
append's own transaction. A rebuild fills the other set from the log and then moves the pointer in
one transaction, so that no reader ever sees half a table and nothing needs DDL at run time.

Row ids come from the log (a note's and a link's is the position of the event that made it, a
scope's that of its first event), so both sets give the same ids.
"""

from __future__ import annotations

from typing import Literal

import msgspec

TableSet = Literal["a", "b"]


class Names(msgspec.Struct, frozen=True):
    """The names of one set's tables."""

    set: TableSet

    @property
    def scopes(self) -> str:
        """One row a scope: its counters, and the notes that wait to be filed under their words."""
        return f"scopes_{self.set}"

    @property
    def notes(self) -> str:
        """One row a note, superseded ones included."""
        return f"notes_{self.set}"

    @property
    def links(self) -> str:
        """One row an edge."""
        return f"links_{self.set}"

    @property
    def requests(self) -> str:
        """One row a request id that appended events."""
        return f"requests_{self.set}"

    @property
    def words(self) -> str:
        """One row a word and part: which live notes carry it (`projections.notes.words`)."""
        return f"words_{self.set}"

    @property
    def all(self) -> tuple[str, ...]:
        """Every table of the set."""
        return (self.scopes, self.notes, self.links, self.requests, self.words)


SETS: tuple[Names, Names] = (Names("a"), Names("b"))


def other(names: Names) -> Names:
    """Return the set that is not live while this one is."""
    return SETS[1] if names == SETS[0] else SETS[0]


def ddl() -> tuple[str, ...]:
    """Return the statements that make both sets and the pointer, in order."""
    pointer = (
        (
            "CREATE TABLE notes_pointer ("
            "id INTEGER PRIMARY KEY CHECK (id = 1), live TEXT NOT NULL, rebuild TEXT)"
        ),
        "INSERT INTO notes_pointer VALUES (1, 'a', NULL)",
    )
    return (*pointer, *(statement for names in SETS for statement in _ddl_of(names)))


def _ddl_of(names: Names) -> tuple[str, ...]:
    return (
        f"""
        CREATE TABLE {names.scopes} (
            id INTEGER PRIMARY KEY,
            stream TEXT NOT NULL UNIQUE,
            live INTEGER NOT NULL,
            notes INTEGER NOT NULL,
            last_seq INTEGER NOT NULL,
            touched_seq INTEGER NOT NULL,
            waiting BLOB NOT NULL
        )
        """,
        f"""
        CREATE TABLE {names.notes} (
            id INTEGER PRIMARY KEY,
            scope INTEGER NOT NULL,
            slug TEXT NOT NULL,
            stem TEXT NOT NULL,
            number INTEGER NOT NULL,
            title TEXT NOT NULL,
            topics TEXT NOT NULL,
            confidence REAL NOT NULL,
            provenance TEXT NOT NULL,
            source TEXT NOT NULL,
            extra TEXT NOT NULL,
            pinned INTEGER NOT NULL,
            created_seq INTEGER NOT NULL,
            written_seq INTEGER NOT NULL,
            updated_seq INTEGER NOT NULL,
            created_at TEXT NOT NULL,
            written_at TEXT NOT NULL,
            superseded_by TEXT,
            ever_untrusted INTEGER NOT NULL,
            body TEXT NOT NULL
        )
        """,
        # A slug is its stem and number and nothing else, so this one index finds a note by its
        # slug, keeps slugs unique, and knows the highest number of a stem.
        f"CREATE UNIQUE INDEX {names.notes}_slug ON {names.notes} (scope, stem, number)",
        # It holds all that the section shows of a note, so that reading 5,000 of them touches no
        # page with a body on it.
        (
            f"CREATE INDEX {names.notes}_written ON {names.notes} (scope, written_seq, "
            "superseded_by, pinned, slug, title, topics, provenance, written_at)"
        ),
        f"CREATE INDEX {names.notes}_pinned ON {names.notes} (scope) WHERE pinned = 1",
        f"CREATE UNIQUE INDEX {names.notes}_updated ON {names.notes} (scope, updated_seq)",
        f"""
        CREATE TABLE {names.links} (
            id INTEGER PRIMARY KEY,
            scope INTEGER NOT NULL,
            from_slug TEXT NOT NULL,
            to_slug TEXT NOT NULL,
            rel TEXT NOT NULL,
            label TEXT
        )
        """,
        f"CREATE INDEX {names.links}_from ON {names.links} (scope, from_slug, to_slug)",
        f"CREATE INDEX {names.links}_to ON {names.links} (scope, to_slug)",
        f"""
        CREATE TABLE {names.requests} (
            scope INTEGER NOT NULL,
            request_id TEXT NOT NULL,
            slug TEXT NOT NULL,
            created INTEGER NOT NULL,
            first_position INTEGER NOT NULL,
            seq INTEGER NOT NULL,
            position INTEGER NOT NULL,
            PRIMARY KEY (scope, request_id)
        ) WITHOUT ROWID
        """,
        f"""
        CREATE TABLE {names.words} (
            scope INTEGER NOT NULL,
            word TEXT NOT NULL,
            part INTEGER NOT NULL,
            sealed INTEGER NOT NULL,
            seqs BLOB NOT NULL,
            outlines BLOB NOT NULL,
            PRIMARY KEY (scope, word, part)
        ) WITHOUT ROWID
        """,
    )
