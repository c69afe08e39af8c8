"""How well the right notes are found, on sets with judged answers, beside FTS5 and bm25s.

    python -m benchmarks.retrieval [--data DIRECTORY] [--sets locomo,scifact] [--json]

One setting for all sets. A document is a note: its title is the document's, or the speaker; its
body is the text, without a title that the text repeats at its start, and the caption. A group of
documents is a scope. All notes are written at one moment; `weights 0` ranks by relevance alone,
`defaults` with the default weights of age and pin, which must then change next to nothing. `a log`
writes and searches through the public face, where a document without a title gets its id as one.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import math
import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

import memlog
from benchmarks import common
from benchmarks.common import ROOT, progress, table
from benchmarks.search_engines import NOW, ListLog
from projections.search.protocol import Weights

DATA = ROOT.parent / "shared" / "data" / "retrieval"
SETS = ("locomo", "scifact", "cranfield", "xquad_en", "xquad_zh", "xquad_hi", "jsquad")
ADVERSARIAL = 5  # LoCoMo's category of questions without an answer: reported apart


class Judged(msgspec.Struct, frozen=True):
    """One question: the scope to ask, and the documents that answer it."""

    text: str
    group: str
    category: int | None
    grades: Mapping[str, float]


class Case(msgspec.Struct, frozen=True):
    """One set: (id, title, body) of its documents by scope, and its questions."""

    scopes: Mapping[str, Sequence[tuple[str, str, str]]]
    questions: Sequence[Judged]


class Ranker(Protocol):
    """A search engine over one scope."""

    def __init__(self, documents: Sequence[tuple[str, str, str]]) -> None: ...

    def best(self, query: str) -> list[str]:
        """Return the ids of the ten best documents."""


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def _note(document: Mapping[str, Any]) -> tuple[str, str, str]:
    title = document.get("speaker") or document.get("title") or ""
    body = document["text"]
    if document.get("title"):
        body = body.removeprefix(title).lstrip()
    if document.get("caption"):
        body = f"{body} {document['caption']}"
    return document["id"], title, body or title


def load(path: Path) -> Case:
    """Read one set."""
    grades: dict[str, dict[str, float]] = defaultdict(dict)
    for line in (path / "qrels.tsv").read_text("utf-8").splitlines():
        query, document, grade = line.split("\t")
        grades[query][document] = float(grade)
    scopes = defaultdict(list)
    for each in _lines(path / "docs.jsonl.gz"):
        scopes[each.get("group", "")].append(_note(each))
    questions = [
        Judged(query["text"], query.get("group", ""), query.get("cat"), grades[query["id"]])
        for query in _lines(path / "queries.jsonl.gz")
        if any(grade > 0 for grade in grades[query["id"]].values())
    ]
    return Case(scopes, questions)


class Memlog:
    weights = Weights(recency_weight=0.0, pinned_bonus=0.0)

    def __init__(self, documents: Sequence[tuple[str, str, str]]) -> None:
        from projections.search.backend import WhooshBackend

        self._log = ListLog(Path())
        self._ids = {}
        for id_, title, body in documents:
            self._log.append(common.NoteText(title, body, ()))
            self._ids[self._log.documents[-1].slug] = id_
        self._log.written_at_once()
        self._backend = WhooshBackend(None)

    def best(self, query: str) -> list[str]:
        hits = self._backend.search(self._log, query, now=NOW, limit=10, weights=self.weights)
        return [self._ids[hit.slug] for hit in hits]


class MemlogDefaults(Memlog):
    weights = Weights()


class MemlogWhole:
    """What a user gets: a log, written and searched through its public face."""

    def __init__(self, documents: Sequence[tuple[str, str, str]]) -> None:
        self._memory = memlog.open(":memory:").scope("global")
        items = [{"title": title or id_, "body": body or id_} for id_, title, body in documents]
        written = self._memory.write_many(items)
        self._ids = {
            each.note.slug: id_
            for each, (id_, _, _) in zip(written, documents, strict=True)
            if each.created  # A document that repeats another one is no note of its own.
        }

    def best(self, query: str) -> list[str]:
        return [self._ids[hit.slug] for hit in self._memory.search(query)]


class Fts5:
    def __init__(self, documents: Sequence[tuple[str, str, str]]) -> None:
        self._db = sqlite3.connect(":memory:")
        self._db.execute("CREATE VIRTUAL TABLE f USING fts5(id UNINDEXED, b, tokenize='porter')")
        rows = [(id_, f"{title} {body}") for id_, title, body in documents]
        self._db.executemany("INSERT INTO f VALUES (?, ?)", rows)

    def best(self, query: str) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query))
        found = self._db.execute(
            "SELECT id FROM f WHERE f MATCH ? ORDER BY rank LIMIT 10", (words,)
        )
        return [id_ for (id_,) in found] if words else []


class Bm25s:
    def __init__(self, documents: Sequence[tuple[str, str, str]]) -> None:
        import bm25s
        import Stemmer

        self._library, self._stemmer = bm25s, Stemmer.Stemmer("english")
        self._ids = [id_ for id_, _, _ in documents]
        self._index = bm25s.BM25()
        texts = [f"{title} {body}" for _, title, body in documents]
        self._index.index(self._tokens(texts, ids=True), show_progress=False)

    def _tokens(self, texts: list[str], *, ids: bool) -> Any:  # noqa: ANN401 # untyped library
        return self._library.tokenize(
            texts, stemmer=self._stemmer, show_progress=False, return_ids=ids
        )

    def best(self, query: str) -> list[str]:
        count = min(10, len(self._ids))
        found, scores = self._index.retrieve(
            self._tokens([query], ids=False), k=count, show_progress=False
        )
        return [self._ids[at] for at, score in zip(found[0], scores[0], strict=True) if score > 0]


RANKERS: dict[str, type[Ranker]] = {
    "memlog, weights 0": Memlog,
    "memlog, defaults": MemlogDefaults,
    "memlog, a log": MemlogWhole,
    "fts5": Fts5,
    "bm25s": Bm25s,
}


class Quality(msgspec.Struct):
    """Means over the questions of a set that have an answer; nDCG with linear gains."""

    set: str
    engine: str
    questions: int
    recall_5: float
    recall_10: float
    ndcg_10: float


def _recall(found: Sequence[str], grades: Mapping[str, float]) -> float:
    relevant = {id_ for id_, grade in grades.items() if grade > 0}
    return len(relevant & set(found)) / len(relevant)


def _ndcg(found: Sequence[str], grades: Mapping[str, float]) -> float:
    ideal = sorted(grades.values(), reverse=True)[:10]
    gained = [grades.get(id_, 0.0) for id_ in found]
    return _dcg(gained) / _dcg(ideal)


def _dcg(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains))


def quality(name: str, engine: str, answered: Sequence[tuple[Judged, list[str]]]) -> Quality:
    """Return the means over some answered questions."""

    def mean(measure: Callable[[Sequence[str], Mapping[str, float]], float], cut: int) -> float:
        return sum(measure(found[:cut], each.grades) for each, found in answered) / len(answered)

    return Quality(
        name, engine, len(answered), mean(_recall, 5), mean(_recall, 10), mean(_ndcg, 10)
    )


def _parts(name: str, answered: Sequence[tuple[Judged, list[str]]]) -> Iterator[tuple[str, Any]]:
    categories = sorted({each.category for each, _ in answered if each.category is not None})
    yield name, [pair for pair in answered if pair[0].category != ADVERSARIAL]
    for category in categories:
        yield f"{name} {category}", [pair for pair in answered if pair[0].category == category]


def measure(name: str, case: Case, engines: Sequence[str]) -> list[Quality]:
    """Ask every engine every question of a set."""
    found = []
    for engine in engines:
        ranker = RANKERS[engine]
        if ranker is Bm25s and not importlib.util.find_spec("bm25s"):
            progress("without bm25s: it is not installed")
            continue
        progress(f"{name}: {engine}")
        scopes = {group: ranker(documents) for group, documents in case.scopes.items()}
        answered = [(each, scopes[each.group].best(each.text)) for each in case.questions]
        found += [quality(part, engine, pairs) for part, pairs in _parts(name, answered)]
    return sorted(found, key=lambda each: each.set)


def main(given: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure retrieval on sets with judged answers.")
    parser.add_argument("--data", type=Path, default=DATA, help="where the sets lie")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--engines", default=";".join(RANKERS), help="separated by ;")
    options = common.arguments(parser, given)
    rows: list[Quality] = []
    for name in options.sets.split(","):
        if not (options.data / name / "docs.jsonl.gz").exists():
            progress(f"{name}: not there, skipped (name its directory with --data)")
            continue
        rows += measure(name, load(options.data / name), options.engines.split(";"))
    if options.json:
        common.print_json(rows)
        return
    header = ("set", "engine", "questions", "R@5", "R@10", "nDCG@10")
    cells = [
        (
            row.set,
            row.engine,
            str(row.questions),
            *(f"{value:.4f}" for value in (row.recall_5, row.recall_10, row.ndcg_10)),
        )
        for row in rows
    ]
    print(table("Retrieval", header, cells))


if __name__ == "__main__":
    main()
