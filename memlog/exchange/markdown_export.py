"""Export the notes of a scope as a folder of Markdown files, one each; see `portable` for the form.

The folder is written beside its place and renamed when it is whole, so that no half of one is ever
taken for all of it.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from memlog.errors import InvalidRequestError
from memlog.exchange import portable
from memlog.exchange.applying import base
from memlog.exchange.requirements import missing
from memlog.fields import WHOLE_MAX
from memlog.memory import Memory
from memlog.note import Link, Note
from projections.notes.reader import Reader, live_set

_PAGE_NOTES = 500

Progress = Callable[[int, int], None]


def export_markdown(memory: Memory, folder: Path, *, progress: Progress | None = None) -> int:
    """Write every note of a scope, superseded ones too, into a folder; return how many.

    All of them are as of one moment.

    Args:
        memory: the notes.
        folder: where to; it must not exist, or be empty.
        progress: called with (notes done, notes to do).

    Raises:
        InvalidRequestError: there is something else at this place.
        OSError: it cannot be written.
    """
    place = Path(os.path.realpath(folder))
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise InvalidRequestError("output", str(folder), "give a folder that is new or empty")
    if not place.parent.is_dir():
        rule = "the folder above it does not exist; make that first"
        raise InvalidRequestError("output", str(folder), rule)
    beside = place.with_name(f".{place.name[:100]}-{uuid.uuid4()}")
    beside.mkdir(mode=0o700)
    try:
        count = 0
        for count, (note, links, total) in enumerate(_notes(memory), start=1):
            _write(beside / f"{portable.stem(note.slug)}.md", text_of(memory, note, links))
            if progress is not None:
                progress(count, total)
        if place.exists():
            place.rmdir()
        beside.rename(place)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    return count


def _notes(memory: Memory) -> Iterator[tuple[Note, tuple[Link, ...], int]]:
    with memory._store.reading() as cursor:  # noqa: SLF001  # one view for notes and links
        reader = Reader(cursor, live_set(cursor), memory.scope.stream)
        before = WHOLE_MAX
        while page := list(reader.notes(before=before, limit=_PAGE_NOTES, live_only=False)):
            for note in page:
                yield note, reader.reading(note).links, reader.counters.notes
            before = page[-1].written_seq


def text_of(memory: Memory, note: Note, links: tuple[Link, ...]) -> str:
    """Return the content of a note's file."""
    mark = base(memory, portable.portable(note).marked)
    head = _yaml(portable.front_matter(note, links, base=mark))
    return f"---\n{head}---\n{note.body}{portable.tail(note.body, links)}"


def _yaml(fields: dict[str, Any]) -> str:
    dumper = _dumper_class()  # First, since it says what to install.
    import yaml

    text: str = yaml.dump(
        fields,
        Dumper=dumper,
        allow_unicode=True,
        sort_keys=False,
        default_flow_style=False,
        width=10_000,
    )
    return text


@cache
def _dumper_class() -> Any:  # noqa: ANN401  # made late, since PyYAML is an extra
    """Return PyYAML's safe dumper, but with escapes for whatever is no plain character.

    Its own choice of quotes folds U+0085 and the like, which YAML takes for line breaks.
    """
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise missing("PyYAML") from error

    class Escaping(yaml.SafeDumper):
        """Strings of plain characters as PyYAML likes, all others in double quotes."""

    def string(dumper: Any, value: str) -> Any:  # noqa: ANN401  # PyYAML's types
        style = None if value.isprintable() else '"'
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Escaping.add_representer(str, string)
    return Escaping


def _write(path: Path, text: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(text.encode())
