"""What a file of somebody else's gives: items, references between them, and what was not taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from memlog.errors import RequestError
from memlog.note import Rel

Kind = Literal["created", "rewritten", "unchanged"]


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One note to be.

    Attributes:
        identity: what it is the same by when it is imported again: the file's place, an entity's
            name in it, an id. Never stored, only as an HMAC.
        line: where it begins in its file, from 1.
        title: at most 500 bytes.
        body: of any length; it is split or refused later.
        topics: normalised, at most 8 of at most 40 characters.
        confidence: 0 to 1.
        source: fields of `memlog.note.Source`; times are aware.
        extra: strings, at most 8,000 bytes.
        names: by which references find it, the best one first.
        pinned: it was, in the log that wrote it down.
        may_pin: it did not come from the web or a compaction there.
        slug: the slug that it had in the log that wrote it down.
        base: the mark of memlog's own Markdown export, see `memlog.exchange.portable`.
        portable: the form that `base` is a mark of.
    """

    identity: str
    line: int = 1
    title: str
    body: str
    topics: tuple[str, ...] = ()
    confidence: float = 1.0
    source: dict[str, str] = msgspec.field(default_factory=dict)
    extra: dict[str, str] = msgspec.field(default_factory=dict)
    names: tuple[str, ...] = ()
    pinned: bool = False
    may_pin: bool = False
    slug: str | None = None
    base: str | None = None
    portable: str | None = None


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """A link as a file says it: from an item to a name.

    Attributes:
        identity: the item it leaves.
        line: where it stands, from 1.
        name: what it names; for the finder to find.
        rel: `related`, unless memlog itself wrote the file.
        label: at most 200 bytes, or None.
        told: it was one of those that the report counts as relations.
    """

    identity: str
    line: int
    name: str
    rel: Rel = "related"
    label: str | None = None
    told: bool = False


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """One sentence about one place of one file.

    Attributes:
        file: the file, from the folder that was named.
        line: from 1; 0 when it is about the whole file.
        reason: what is so, without the place.
    """

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.reason}"


class Parsed(msgspec.Struct, frozen=True, kw_only=True):
    """What one file gives. It comes in whole or not at all.

    Attributes:
        file: the file, from the folder that was named.
        items: the notes to be.
        references: the links to be.
        closed: the references name items of this file only.
        refused: parts that cannot come in, each with its place.
        remarks: what came in otherwise than it stood there.
        entities: how many records of things of a graph were read.
        texts: how many other records were read.
        observations: how many facts about things were read.
        relations: how many relations were read, those to nowhere too.
    """

    file: str
    items: tuple[Item, ...] = ()
    references: tuple[Reference, ...] = ()
    closed: bool = False
    refused: tuple[Told, ...] = ()
    remarks: tuple[Told, ...] = ()
    entities: int = 0
    texts: int = 0
    observations: int = 0
    relations: int = 0


class Report(msgspec.Struct, kw_only=True):
    """What an import did; grows while it goes on.

    Attributes:
        files: files that came in.
        created: notes that were made.
        rewritten: notes whose file changed since it was imported.
        unchanged: notes that were there as they are.
        links: links that were added.
        unlinked: links that were taken away, because the file has them no more.
        entities: records of things of a graph that were read.
        texts: other records that were read, such as memories.
        observations: facts about things that were read.
        relations: relations that were read.
        dangling: references that name nothing that was imported.
        refused: files and parts of files that should have come in and did not, and why.
        skipped: what is no note by its name: hidden files and folders, other kinds of files.
        remarks: what came in otherwise than it stood there.
        dry_run: nothing was written.
    """

    files: int = 0
    created: int = 0
    rewritten: int = 0
    unchanged: int = 0
    links: int = 0
    unlinked: int = 0
    entities: int = 0
    texts: int = 0
    observations: int = 0
    relations: int = 0
    dangling: list[Told] = msgspec.field(default_factory=list)
    refused: list[Told] = msgspec.field(default_factory=list)
    skipped: list[Told] = msgspec.field(default_factory=list)
    remarks: list[Told] = msgspec.field(default_factory=list)
    dry_run: bool = False

    @property
    def changed(self) -> bool:
        """Whether anything was written, or would have been."""
        return bool(self.created or self.rewritten or self.links or self.unlinked)


class FileRefusedError(RequestError):
    """A file cannot come in as it is; nothing of it did.

    Attributes:
        file: the file, from the folder that was named.
        line: from 1; 0 when it is about the whole file.
        reason: what is wrong and what to do.
    """

    def __init__(self, file: str, line: int, reason: str) -> None:
        super().__init__(file, line, reason)
        self.file, self.line, self.reason = file, line, reason

    @property
    def told(self) -> Told:
        """The same as a value for a report."""
        return Told(file=self.file, line=self.line, reason=self.reason)

    def __str__(self) -> str:
        place = f"{self.file}, line {self.line}" if self.line else self.file
        return f"{ascii(place)[1:-1]}: {self.reason}"


def sole(values: Sequence[str]) -> str | None:
    """Return the value that all have in common, or None."""
    return values[0] if values and len(set(values)) == 1 else None


def without_blanks(mapping: Mapping[str, str | None]) -> dict[str, str]:
    """Return the pairs whose value says something."""
    return {name: value for name, value in mapping.items() if value and value.strip()}
