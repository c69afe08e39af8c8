"""The engines that `benchmarks.search` compares, each as a user would take it."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import msgspec

from benchmarks.common import NoteText
from projections.search.protocol import Document, Weights

HITS = 10
START = datetime(2026, 1, 1, tzinfo=UTC)
NOW = START + timedelta(days=100)


class Engine(Protocol):
    """A search engine over notes under test; `__init__` opens what lies at the path."""

    def build(self, notes: Sequence[NoteText]) -> None:
        """Index many notes into nothing."""

    def write(self, note: NoteText) -> None:
        """Add one note, so that the next search finds it."""

    def search(self, query: str) -> int:
        """Return how many hits a query has, at most ten, each read with title and body."""

    def close(self) -> None:
        """Let go of files."""


class ListLog:
    """The log side of memlog's search, in memory: only search is measured here."""

    log_id, stream, hmac_key = "5f0c6f0a-5d9c-4b65-9d0e-0f6a1f8f7f11", "owner/bench", bytes(32)

    def __init__(self, path: Path) -> None:
        self._path = path
        self.documents: list[Document] = []

    def append(self, note: NoteText) -> None:
        seq = len(self.documents) + 1
        self.documents.append(
            Document(
                slug=f"note-{seq}",
                title=note.title,
                body=note.body,
                topics=note.topics,
                provenance="agent",
                confidence=1.0,
                pinned=False,
                written_at=START + timedelta(minutes=seq),
                written_seq=seq,
                updated_seq=seq,
            )
        )

    def written_at_once(self) -> None:
        """Make all notes as old as the first."""
        self.documents = [msgspec.structs.replace(d, written_at=START) for d in self.documents]

    def head(self) -> tuple[int, str]:
        return len(self.documents), str(len(self.documents))

    def event_id(self, seq: int) -> str | None:
        return str(seq)

    def touched(self, *, after_seq: int, up_to: int) -> list[Document]:
        return self.documents[after_seq:up_to]

    def all(self, *, up_to: int) -> Iterator[Document]:
        return iter(self.documents[:up_to])


class Stored(ListLog):
    """A log of which only the length is known: the index must have the rest."""

    def head(self) -> tuple[int, str]:
        count = (self._path / "count").read_text()
        return int(count), count


class Memlog:
    def __init__(self, path: Path, log: type[ListLog] = ListLog) -> None:
        from projections.search.backend import WhooshBackend

        self._path = path
        self._log = log(path)
        self._weights = Weights()
        self._backend = WhooshBackend(path / "index")

    def build(self, notes: Sequence[NoteText]) -> None:
        for note in notes:
            self._log.append(note)
        self._backend.rebuild(self._log)
        (self._path / "count").write_text(str(len(notes)))

    def write(self, note: NoteText) -> None:
        self._log.append(note)

    def search(self, query: str) -> int:
        return len(
            self._backend.search(self._log, query, now=NOW, limit=HITS, weights=self._weights)
        )

    def close(self) -> None:
        self._backend.close()


class Fts5:
    tuned = False

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path / "notes.db", isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.execute("CREATE TABLE IF NOT EXISTS note (id INTEGER PRIMARY KEY, title, body)")
        self._db.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS found USING fts5"
            "(title, body, content='note', content_rowid='id', tokenize='porter')"
        )

    def build(self, notes: Sequence[NoteText]) -> None:
        self._db.execute("BEGIN")
        for note in notes:
            self._insert(note)
        self._db.execute("COMMIT")

    def _insert(self, note: NoteText) -> None:
        values = (note.title, note.body)
        row = self._db.execute("INSERT INTO note (title, body) VALUES (?, ?)", values).lastrowid
        self._db.execute("INSERT INTO found (rowid, title, body) VALUES (?, ?, ?)", (row, *values))

    def write(self, note: NoteText) -> None:
        self.build([note])

    def search(self, query: str) -> int:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query))
        if self.tuned:
            statement = (
                "SELECT title, body FROM (SELECT rowid AS id, rank FROM found WHERE found MATCH ?"
                " ORDER BY rank LIMIT ?) JOIN note USING (id) ORDER BY rank"
            )
        else:
            statement = (
                "SELECT note.title, note.body FROM found JOIN note ON note.id = found.rowid"
                " WHERE found MATCH ? ORDER BY rank LIMIT ?"
            )
        return len(self._db.execute(statement, (words, HITS)).fetchall())

    def close(self) -> None:
        self._db.close()


class Fts5Tuned(Fts5):
    tuned = True


class Bm25s:
    def __init__(self, path: Path) -> None:
        import bm25s
        import Stemmer

        self._path, self._library = path, bm25s
        self._stemmer = Stemmer.Stemmer("english")
        self._notes: list[NoteText] = []
        if (path / "index").exists():
            self._index = bm25s.BM25.load(path / "index", mmap=True)
            self._notes = msgspec.json.decode((path / "n.json").read_bytes(), type=list[NoteText])

    def _tokens(self, texts: list[str], *, ids: bool) -> Any:  # noqa: ANN401 # untyped library
        return self._library.tokenize(
            texts, stemmer=self._stemmer, show_progress=False, return_ids=ids
        )

    def build(self, notes: Sequence[NoteText]) -> None:
        self._notes = list(notes)
        self._index = self._library.BM25()
        tokens = self._tokens([f"{note.title} {note.body}" for note in notes], ids=True)
        self._index.index(tokens, show_progress=False)
        self._index.save(self._path / "index")
        (self._path / "n.json").write_bytes(msgspec.json.encode(self._notes))

    def write(self, note: NoteText) -> None:
        self.build([*self._notes, note])

    def search(self, query: str) -> int:
        tokens = self._tokens([query], ids=False)
        found, _ = self._index.retrieve(tokens, k=min(HITS, len(self._notes)), show_progress=False)
        return len([self._notes[number] for number in found[0]])

    def close(self) -> None:
        self._notes = []


class Tantivy:
    def __init__(self, path: Path) -> None:
        import tantivy

        self._library = tantivy
        builder = tantivy.SchemaBuilder()
        for name in ("title", "body"):
            builder.add_text_field(name, stored=True, tokenizer_name="en_stem")
        (path / "index").mkdir(exist_ok=True)
        self._index = tantivy.Index(builder.build(), path=str(path / "index"))
        self._index.reload()

    def build(self, notes: Sequence[NoteText]) -> None:
        writer = self._index.writer()
        for note in notes:
            writer.add_document(self._library.Document(title=note.title, body=note.body))
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()

    def write(self, note: NoteText) -> None:
        self.build([note])

    def search(self, query: str) -> int:
        searcher = self._index.searcher()
        parsed = self._index.parse_query(query, ["title", "body"])
        hits = searcher.search(parsed, HITS).hits
        return len([searcher.doc(address)["body"] for _, address in hits])

    def close(self) -> None:
        """Nothing to close."""


class StockWhoosh:
    def __init__(self, path: Path) -> None:
        from whoosh import fields, index, qparser

        text = fields.TEXT(stored=True)
        path = path / "index"
        path.mkdir(exist_ok=True)
        if index.exists_in(str(path)):
            self._index = index.open_dir(str(path))
        else:
            self._index = index.create_in(str(path), fields.Schema(title=text, body=text))
        schema, group = self._index.schema, qparser.OrGroup
        self._parser = qparser.MultifieldParser(["title", "body"], schema, group=group)
        self._searcher = self._index.searcher()

    def build(self, notes: Sequence[NoteText]) -> None:
        writer = self._index.writer()
        for note in notes:
            writer.add_document(title=note.title, body=note.body)
        writer.commit()
        self._searcher = self._index.searcher()

    def write(self, note: NoteText) -> None:
        self.build([note])

    def search(self, query: str) -> int:
        hits = self._searcher.search(self._parser.parse(query), limit=HITS)
        return len([hit["body"] for hit in hits])

    def close(self) -> None:
        self._searcher.close()


ENGINES: dict[str, Callable[[Path], Engine]] = {
    "memlog": Memlog,
    "fts5 tuned": Fts5Tuned,
    "fts5": Fts5,
    "tantivy": Tantivy,
    "bm25s": Bm25s,
    "whoosh": StockWhoosh,
}
