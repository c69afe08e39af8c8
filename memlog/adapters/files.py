"""The notes of a scope as files below `/memories`: what Anthropic's memory tool sees.

Every live note is a file. One that was made through here lies where it was made; its path is kept
in `extra` and gives its slug (`memlog.adapters.named`). Every other note lies at
`/memories/<slug>.md`. Folders are what the paths say.

- `delete` retires: the note stays in the log, superseded by the note `retired`.
- `rename` writes a new note that supersedes the old one.
- `str_replace` and `insert` write only on top of what they read (`if_seq`).
- What the model reads is wrapped, under the standing line, as everywhere: first that line, then the
  reply in the words of Anthropic's own implementation, with the numbered lines inside the wrapper.
  Text that was defused for showing is found by `str_replace` as it was shown, too.
- The writes are a model's: provenance `agent` (`web` and `compaction` stay what they are), nothing
  untrusted is pinned, and a person's pinned notes cannot be changed (`Memory.guarded`).

A listing costs a pass over the scope's live notes; all else a few point reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from memlog import requests
from memlog.adapters import named
from memlog.adapters.filetext import (
    LEVELS,
    LINES_MAX,
    PATH_KEY,
    ROOT,
    FileError,
    ancestors,
    checked,
    listing,
    numbered,
    only_place,
    path_of,
)
from memlog.defuse import STANDING_LINE, defuse_line
from memlog.errors import MemlogError, StaleWriteError, format_error
from memlog.note import NO_SOURCE, Note, Provenance, Source
from memlog.requests import Origin, Write
from memlog.text import byte_length, has_lone_surrogate
from memlog.together import Together, together

if TYPE_CHECKING:
    from memlog.memory import Memory

_PAGE_NOTES = 500
_CONTEXT_LINES = 2
_RANGE_NUMBERS = 2


class MemoryFiles:
    """The six commands over the notes of one scope; each raises FileError when it cannot be done.

    Safe to share between threads.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        actor: str | None = None,
        conversation_id: str | None = None,
        allow_user_notes: bool = False,
    ) -> None:
        """Serve the notes of `memory`; the options are those of its writes and of `guarded`."""
        self._memory = memory.guarded(allow_user_notes=allow_user_notes)
        self._origin = Origin(actor=actor, conversation_id=conversation_id)
        self._bytes_max = memory._settings.max_body_bytes  # noqa: SLF001  # an edge of ours

    # --- Finding

    def _find(self, path: str) -> named.Named:
        """Return where a path leads."""
        found = named.find(self._memory.get, path)
        slug = path.removeprefix(f"{ROOT}/").removesuffix(".md")
        note = None if found.note is not None else self._memory.get(slug)
        if note is not None and note.live and path_of(note) == path:
            return named.Named(slug, note)
        return found

    def _file(self, given: str) -> Note:
        path = checked(given)
        note = self._find(path).note
        if note is None:
            if path == ROOT or any(self._below(path)):
                raise FileError(f"The path {given} is not a file.")
            raise FileError(f"The path {given} does not exist. Please provide a valid path.")
        return note

    def _below(self, path: str) -> Iterator[tuple[str, Note]]:
        """Yield the files below a folder with their paths."""
        before = None
        while page := self._memory.notes(limit=_PAGE_NOTES, before=before, live_only=True):
            for note in page:
                file = path_of(note)
                if file is not None and file.startswith(f"{path}/"):
                    yield file, note
            before = page[-1].written_seq

    def _at_or_below(self, path: str) -> list[tuple[str, Note]]:
        note = self._find(path).note
        return list(self._below(path)) if note is None else [(path, note)]

    def _check_free(self, path: str, taken: str) -> None:
        """Refuse a path that is a file or folder, or lies below a file."""
        if path == ROOT or self._at_or_below(path):
            raise FileError(taken)
        for folder in ancestors(path):
            if self._find(folder).note is not None:
                raise FileError(f"The path {folder} is a file, not a directory.")

    # --- Reading

    def view(self, given: str, view_range: Sequence[int] | None = None) -> str:
        """Show a file with line numbers, or list a folder two levels deep."""
        path = checked(given)
        note = self._find(path).note
        if note is not None:
            return self._view_file(path, note, view_range)
        files = list(self._below(path))
        if path != ROOT and not files:
            raise FileError(f"The path {given} does not exist. Please provide a valid path.")
        head = (
            f"Here're the files and directories up to {LEVELS} levels deep in {path}, "
            "excluding hidden items:"
        )
        lines = listing(path, [(file, byte_length(note.body)) for file, note in files])
        return "\n".join((STANDING_LINE, defuse_line(head), *lines))

    def _view_file(self, path: str, note: Note, view_range: Sequence[int] | None) -> str:
        lines = note.body.split("\n")
        if len(lines) > LINES_MAX:
            message = f"File {path} exceeds maximum line limit of {LINES_MAX:,} lines."
            raise FileError(message)
        first, last = 1, len(lines)
        if view_range is not None and len(view_range) == _RANGE_NUMBERS:
            first = max(1, view_range[0])
            last = len(lines) if view_range[1] == -1 else view_range[1]
        head = defuse_line(f"Here's the content of {path} with line numbers:")
        return f"{STANDING_LINE}\n{head}\n{numbered(note, lines, first, last)}"

    # --- Writing

    def create(self, given: str, file_text: str) -> str:
        """Make a file; an existing one is not replaced."""
        path = checked(given)
        self._check_free(path, f"File {given} already exists")
        self._check_text(given, file_text)
        request = self._request(
            path.removeprefix(f"{ROOT}/"),
            file_text,
            slug=self._find(path).slug,
            extra={PATH_KEY: path},
            if_seq=0,
        )
        self._write(given, request)
        return f"File created successfully at: {given}"

    def str_replace(self, given: str, old: str, new: str) -> str:
        """Replace a text that stands in the file exactly once."""
        note = self._file(given)
        start, end = only_place(note.body, old, given)
        written = self._edit(given, note, note.body[:start] + new + note.body[end:])
        line, lines = written.body.count("\n", 0, start) + 1, written.body.split("\n")
        first, last = max(1, line - _CONTEXT_LINES), min(len(lines), line + _CONTEXT_LINES)
        head = (
            "The memory file has been edited. Here is the snippet showing the change "
            "(with line numbers):"
        )
        return f"{STANDING_LINE}\n{head}\n{numbered(written, lines, first, last)}"

    def insert(self, given: str, insert_line: int, text: str) -> str:
        """Put a text behind a line of the file; 0 is before the first."""
        note = self._file(given)
        lines = note.body.split("\n")
        if lines[-1] == "":
            lines.pop()
        if not 0 <= insert_line <= len(lines):
            raise FileError(
                f"Invalid `insert_line` parameter: {insert_line}. "
                f"It should be within the range [0, {len(lines)}]."
            )
        lines.insert(insert_line, text.rstrip("\n"))
        edited = "\n".join(lines)  # An empty last line goes, as in the SDK's own tool.
        self._edit(given, note, edited if edited.endswith("\n") else f"{edited}\n")
        return f"The file {given} has been edited."

    def delete(self, given: str) -> str:
        """Retire a file, or all files below a folder, in one transaction."""
        path = checked(given)
        if path == ROOT:
            raise FileError(f"Cannot delete the {ROOT} directory itself")
        notes = [note for _, note in self._at_or_below(path)]
        if not notes:
            raise FileError(f"The path {given} does not exist")
        with _told(given), together(self._memory) as opened:
            for note in notes:
                _check_unchanged(opened, note)
            slugs = [note.slug for note in notes]
            named.retire(opened, slugs, self._origin, max_body_bytes=self._bytes_max)
        return f"Successfully deleted {given}"

    def rename(self, old_given: str, new_given: str) -> str:
        """Move a file, or all files below a folder, in one transaction."""
        old, new = checked(old_given), checked(new_given)
        if old == ROOT:
            raise FileError(f"Cannot rename the {ROOT} directory itself")
        moved = self._at_or_below(old)
        if not moved:
            raise FileError(f"The path {old_given} does not exist")
        self._check_free(new, f"The destination {new_given} already exists")
        if new.startswith(f"{old}/"):
            raise FileError(f"Cannot move {old_given} into itself")
        writes = [
            (note, self._moved(note, checked(new + path[len(old) :]))) for path, note in moved
        ]
        with _told(old_given), together(self._memory) as opened:
            for note, request in writes:
                _check_unchanged(opened, note)
                slug = opened.write(request, self._origin)
                opened.ask(requests.add_link(slug, note.slug, "supersedes"), self._origin)
        return f"Successfully renamed {old_given} to {new_given}"

    def _moved(self, note: Note, path: str) -> Write:
        if note.ever_untrusted and note.untrusted is None:
            # A new slug has no past, so what must not be pinned could be.
            raise FileError(
                f"Cannot rename {path_of(note)}: an earlier version of it came from the web or a "
                "compaction; create a new file instead"
            )
        return self._request(
            path.removeprefix(f"{ROOT}/") if PATH_KEY in note.extra else note.title,
            note.body,
            slug=self._find(path).slug,
            extra={**note.extra, PATH_KEY: path},
            if_seq=0,
            kept=note,
            edited=False,
        )

    def _edit(self, given: str, note: Note, body: str) -> Note:
        self._check_text(given, body)
        request = self._request(
            note.title,
            body,
            slug=note.slug,
            extra=note.extra,
            if_seq=note.updated_seq,
            kept=note,
            edited=body != note.body,
        )
        return self._write(given, request)

    def _request(
        self,
        title: str,
        body: str,
        *,
        slug: str,
        extra: Mapping[str, str],
        if_seq: int,
        kept: Note | None = None,
        edited: bool = True,
    ) -> Write:
        """Return the write of a file; of an older version it keeps all but what is given."""
        pinned = kept is not None and kept.pinned and not kept.ever_untrusted
        return requests.write(
            title=title,
            body=body,
            slug=slug,
            extra=extra,
            if_seq=if_seq,
            pinned=pinned,
            topics=() if kept is None else kept.topics,
            confidence=1.0 if kept is None else kept.confidence,
            source=_source(NO_SOURCE if kept is None else kept.source),
            provenance=None if kept is None else _provenance(kept, edited=edited),
            max_body_bytes=self._bytes_max,
        )

    def _write(self, given: str, request: Write) -> Note:
        with _told(given), together(self._memory) as opened:
            note = opened.note(opened.write(request, self._origin))
            assert note is not None
            return note

    def _check_text(self, given: str, text: str) -> None:
        """Refuse what no note can hold, in the tool's own form."""
        if has_lone_surrogate(text) or "\0" in text:
            raise FileError(f"The file {given} would hold characters that are no text.")
        if not text.strip():
            raise FileError(f"The file {given} would hold only white space. Nothing was done.")
        if byte_length(text) > self._bytes_max:
            raise FileError(
                f"File {given} would have {byte_length(text):,} bytes, at most "
                f"{self._bytes_max:,} are kept. Split it into several files."
            )


def _source(source: Source) -> dict[str, str]:
    given = msgspec.structs.asdict(source)
    return {name: value for name, value in given.items() if value is not None}


def _provenance(note: Note, *, edited: bool) -> Provenance | None:
    """Return who a version comes from: a model, unless it moves a text or touches a harvest's."""
    if note.provenance == "compaction" or (not edited and note.provenance in ("user", "import")):
        return note.provenance
    return None


def _check_unchanged(opened: Together, seen: Note) -> None:
    now = opened.note(seen.slug)
    if now is None or now.updated_seq != seen.updated_seq:
        raise FileError(f"The file {path_of(seen)} was changed meanwhile. View it again.")


@contextmanager
def _told(given: str) -> Iterator[None]:
    """Raise what memlog refuses in the tool's own form."""
    try:
        yield
    except StaleWriteError:
        raise FileError(f"The file {given} was changed meanwhile. View it again.") from None
    except MemlogError as error:
        raise FileError(format_error(error)) from None
