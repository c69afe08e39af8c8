"""Folders of files for the import tests, and the real ones that lie beside the repository."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from memlog.exchange.importing import import_notes
from memlog.exchange.items import Report
from memlog.memory import Memory
from memlog.note import Note
from memlog.settings import Settings
from memlog.testing import open_log

NOTES = Path(__file__).resolve().parents[3] / "shared" / "data" / "notes"

FEW = settings(max_examples=max(10, settings().max_examples // 4))
"""For tests whose every example opens stores on disk or reads folders."""

needs_notes = pytest.mark.skipif(
    not NOTES.exists(), reason="../shared/data/notes is not here: 307 real files were not imported"
)


def put(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a folder and return it."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


@contextmanager
def scope(settings: Settings | None = None) -> Iterator[Memory]:
    """Give the notes of a fresh scope."""
    with open_log(settings=settings) as log:
        yield log.scope("owner", "alice")


def bring(memory: Memory, path: Path, **options: Any) -> Report:  # noqa: ANN401  # those of import_notes
    """Import and return the report."""
    return import_notes(memory, path, **options)


def all_notes(memory: Memory) -> dict[str, Note]:
    """Return every note of a scope by slug, superseded ones too."""
    return {note.slug: note for note in memory.notes(limit=100_000)}


def only(memory: Memory) -> Note:
    """Return the one note of a scope."""
    (note,) = all_notes(memory).values()
    return note


def edges(memory: Memory) -> set[tuple[str, str, str, str | None]]:
    """Return every edge of a scope."""
    return {
        (link.from_slug, link.to_slug, link.rel, link.label)
        for slug in all_notes(memory)
        for link in memory.read(slug).links
    }


def last_seq(memory: Memory) -> int:
    """Return how many events the scope has."""
    return sum(1 for _ in memory.events())
