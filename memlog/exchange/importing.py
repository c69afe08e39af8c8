"""Import notes: read what lies at a place, write its items, then the links between them.

One file is one transaction, so that none is half there; links that name other files come after all
notes, a transaction for those of each file. An import that was interrupted is simply started again:
what is there is recognised (`memlog.exchange.applying`), and the rest comes in.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Literal

import msgspec

from memlog.errors import InvalidRequestError
from memlog.exchange import folders, graphs, markdown, mem0, records
from memlog.exchange.applying import Applier, Became, Long, Options, Refusal, prepared
from memlog.exchange.finding import Finder
from memlog.exchange.folders import Content
from memlog.exchange.items import FileRefusedError, Item, Parsed, Reference, Report, Told
from memlog.exchange.rehearsal import Rehearsal, rehearsal
from memlog.memory import Memory
from memlog.note import Link
from memlog.together import together

Format = Literal["auto", "markdown", "mcp", "mem0", "text"]
FORMATS: tuple[Format, ...] = ("auto", "markdown", "mcp", "mem0", "text")
Progress = Callable[[int, int], None]
"""Called with (files done, files to do)."""

_TEXT_SUFFIXES = (".txt", ".text")
_MEMORY_TOOL_FOLDER = "memories"  # Anthropic's memory tool keeps everything below one of this name.


def import_notes(
    memory: Memory,
    path: Path,
    *,
    format_: Format = "auto",
    long: Long = "split",
    keep_pins: bool = False,
    actor: str | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Import the notes at a path into a scope; notes that are there already are left alone.

    Args:
        memory: the scope's notes.
        path: a file, or a folder with all that lies below it.
        format_: what the files are; `auto` goes by their names and what is in them. `text` takes
            every file as a note, as in the folders of Anthropic's memory tool.
        long: split bodies over the limit into linked notes, or refuse them.
        keep_pins: pin what memlog's own Markdown files say was pinned.
        actor: opaque id of who asks; stays in the log for ever.
        dry_run: write nothing, tell what would be done; takes no lock, and a log that is open for
            reading only will do.
        progress: see `Progress`.

    Returns:
        What came in, and what did not and why.

    Raises:
        OSError: the path cannot be read.
        InvalidRequestError: an option is none.
        RetryError, DamageError, ReadOnlyError: as for `Memory.write`; what came in by then stays.
    """
    if format_ not in FORMATS:
        raise InvalidRequestError("format", format_, f"use one of {', '.join(FORMATS)}")
    if long not in ("split", "refuse"):
        raise InvalidRequestError("long", long, "use 'split' or 'refuse'")
    return run(
        memory,
        (_parsed(each, format_) for each in _found(path, format_)),
        long=long,
        keep_pins=keep_pins,
        actor=actor,
        dry_run=dry_run,
        progress=None if progress is None else partial(_told_of, progress, _file_count(path)),
    )


def _told_of(progress: Progress, total: int, done: int) -> None:
    progress(done, max(done, total))


def _file_count(path: Path) -> int:
    """Return about how many files an import will look at."""
    return sum(len(files) for _, _, files in os.walk(path)) if path.is_dir() else 1


def run(
    memory: Memory,
    parsed: Iterable[Parsed | FileRefusedError | Told],
    *,
    long: Long = "split",
    keep_pins: bool = False,
    actor: str | None = None,
    dry_run: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Report:
    """Import what was parsed; see `import_notes`. Progress is told how many files are done."""
    options = Options(
        body_bytes_max=memory._settings.max_body_bytes,  # noqa: SLF001  # an edge of ours
        long=long,
        keep_pins=keep_pins,
        actor=actor,
    )
    importing = _Import(memory, options, dry_run=dry_run)
    with importing.opened():
        for done, each in enumerate(parsed, start=1):
            importing.take(each)
            if progress is not None:
                progress(done)
        importing.link_all()
    return importing.report


def _found(path: Path, format_: Format) -> Iterator[folders.Found]:
    if path.is_dir():
        yield from folders.walk(path, wanted=lambda file: _parser(file, format_) is not None)
        return
    try:
        yield folders.read_file(path)
    except FileRefusedError as refused:
        yield refused


def _parsed(found: folders.Found, format_: Format) -> Parsed | FileRefusedError | Told:
    if not isinstance(found, Content):
        return found
    parser = _parser(found.file, format_)
    if parser is None:  # It was named itself: a folder's are not read at all.
        return FileRefusedError(found.file, 0, folders.OTHER_KIND)
    try:
        return parser(found)
    except FileRefusedError as refused:
        return refused


def _parser(file: str, format_: Format) -> Callable[[Content], Parsed] | None:
    """Return what reads a file of this name, or None when nothing does."""
    path = PurePosixPath(file)
    suffix = path.suffix.lower()
    if format_ == "text":
        return markdown.parse_plain
    if format_ in ("auto", "markdown") and suffix in markdown.SUFFIXES:
        return markdown.parse
    if format_ in ("auto", "mcp", "mem0") and suffix in records.SUFFIXES:
        return partial(_of_records, format_=format_)
    is_text = suffix in _TEXT_SUFFIXES or _MEMORY_TOOL_FOLDER in path.parts
    return markdown.parse_plain if format_ == "auto" and is_text else None


def _of_records(content: Content, *, format_: Format) -> Parsed:
    """Return what a file of JSON gives; one that gives nothing is refused."""
    all_records = records.read(content)
    is_mem0 = any(mem0.is_memory(record.fields) for record in all_records)
    if format_ == "mem0" or (format_ == "auto" and is_mem0):
        parsed = mem0.parse(content, all_records)
    else:
        parsed = graphs.parse(content, all_records)
    if not parsed.items:
        first = parsed.refused[0] if parsed.refused else None
        line, reason = (first.line, first.reason) if first else (1, "it holds no records")
        raise FileRefusedError(content.file, line, reason)
    return parsed


class _Pending(msgspec.Struct, frozen=True):
    """The references of one file, until all files are in."""

    file: str
    references: tuple[Reference, ...]
    changed: frozenset[str]


class _Import:
    """One import while it goes on."""

    def __init__(self, memory: Memory, options: Options, *, dry_run: bool) -> None:
        self._memory, self._options = memory, options
        self.report = Report(dry_run=dry_run)
        self._finder = Finder()
        self._slugs: dict[str, str] = {}
        self._pending: list[_Pending] = []
        self._rehearsal: Rehearsal | None = None

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Look at one moment of the scope for a dry run; else each file has its transaction."""
        if not self.report.dry_run:
            yield
            return
        with rehearsal(self._memory) as self._rehearsal:
            yield

    @contextmanager
    def _applier(self) -> Iterator[Applier]:
        if self._rehearsal is not None:
            yield Applier(self._memory, self._rehearsal, self._options)
            return
        with together(self._memory) as opened:
            yield Applier(self._memory, opened, self._options)

    def take(self, each: Parsed | FileRefusedError | Told) -> None:
        """Write the items of one file, or tell why not."""
        match each:
            case FileRefusedError():
                self.report.refused.append(each.told)
            case Told():
                self.report.skipped.append(each)
            case Parsed():
                self._take(each)

    def _take(self, parsed: Parsed) -> None:
        report = self.report
        report.refused.extend(parsed.refused)
        report.remarks.extend(parsed.remarks)
        report.entities += parsed.entities
        report.texts += parsed.texts
        report.observations += parsed.observations
        report.relations += parsed.relations
        ready = list(self._ready(parsed))
        with self._applier() as applier:
            changed = [item.identity for item, parts in ready if self._put(applier, parsed, parts)]
            pending = _Pending(parsed.file, parsed.references, frozenset(changed))
            self._finder.add(parsed)
            if parsed.closed:
                by_name = {item.names[0]: item.identity for item in parsed.items if item.names}
                self._link(applier, pending, by_name)
        report.files += bool(ready)
        if not parsed.closed:
            self._pending.append(pending)

    def _ready(self, parsed: Parsed) -> Iterator[tuple[Item, tuple[Item, ...]]]:
        for item in parsed.items:
            try:
                yield item, prepared(item, self._options)
            except Refusal as refused:
                self._refuse(parsed.file, item.line, str(refused))

    def _refuse(self, file: str, line: int, reason: str) -> None:
        self.report.refused.append(Told(file=file, line=line, reason=reason))

    def _put(self, applier: Applier, parsed: Parsed, parts: tuple[Item, ...]) -> bool:
        try:
            became = applier.put(parts)
        except Refusal as refused:
            self._refuse(parsed.file, parts[0].line, str(refused))
            return False
        self._count(became)
        self._slugs[parts[0].identity] = became.slugs[0]
        for remark in became.remarks:
            told = Told(file=parsed.file, line=parts[0].line, reason=remark)
            self.report.remarks.append(told)
        return became.changed

    def _count(self, became: Became) -> None:
        for kind in became.kinds:
            setattr(self.report, kind, getattr(self.report, kind) + 1)

    # --- Links

    def link_all(self) -> None:
        """Add the links between files, now that all notes are there."""
        for pending in self._pending:
            if pending.references or pending.changed:
                with self._applier() as applier:
                    self._link(applier, pending, None)

    def _link(self, applier: Applier, pending: _Pending, by_name: dict[str, str] | None) -> None:
        kept: dict[str, list[Link]] = {identity: [] for identity in pending.changed}
        for reference in pending.references:
            link = self._resolved(pending.file, reference, by_name)
            if link is not None:
                new = reference.identity in pending.changed
                kept.setdefault(reference.identity, []).append(link)
                self._add(applier, pending.file, reference, link, new=new)
        for identity in pending.changed:
            links = kept[identity]
            self.report.unlinked += applier.unlink_others(self._slugs[identity], links)

    def _resolved(
        self, file: str, reference: Reference, by_name: dict[str, str] | None
    ) -> Link | None:
        start = self._slugs.get(reference.identity)
        if start is None:  # It was refused, and told.
            return None
        if by_name is not None:
            identity, several = by_name.get(reference.name), False
        else:
            identity, several = self._finder.find(reference.name, file=file)
        end = None if identity is None else self._slugs.get(identity)
        if end is None:
            reason = f"{reference.name[:80]!a} names nothing that was imported"
            self.report.dangling.append(Told(file=file, line=reference.line, reason=reason))
            return None
        if several:
            reason = f"{reference.name[:80]!a} stands for several notes; linked to {end!r}"
            told = Told(file=file, line=reference.line, reason=reason)
            self.report.remarks.append(told)
        if end == start:
            return None
        return Link(start, end, reference.rel, reference.label)

    def _add(
        self, applier: Applier, file: str, reference: Reference, link: Link, *, new: bool
    ) -> None:
        try:
            self.report.links += applier.link(link, new=new)
        except Refusal as refused:
            self._refuse(file, reference.line, str(refused))
