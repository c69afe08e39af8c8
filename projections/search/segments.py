"""A scope's Whoosh index on disk: its segments are read from checked bytes, and written.

Whoosh keeps the table of contents, the segments with their deletions, the columns and the write
lock. It never reads a byte that was not checked: it gets a storage over bytes in memory, and the
writer gets the table of contents as a value.
"""

import contextlib
import copy
import os
import pickle
import re
import shutil
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from whoosh.codec.whoosh3 import W3Segment
from whoosh.filedb.filestore import FileStorage, Storage
from whoosh.filedb.structfile import BufferFile, StructFile
from whoosh.index import TOC, FileIndex
from whoosh.index import IndexError as WhooshIndexError
from whoosh.writing import SegmentWriter

from projections.search.codec import NOTE_COLUMN, ROW_COLUMN, BlockCodec, schema
from projections.search.columns import ROW
from projections.search.compaction import Merged
from projections.search.directory import (
    MANIFEST,
    FileEntry,
    StoredIndexError,
    entry_of,
)
from projections.search.postings import Postings

INDEX = "MAIN"
LOCK = f"{INDEX}_WRITELOCK"


class CheckedStorage(Storage):  # type: ignore[misc]
    """A read-only storage over bytes that were checked; what happens on disk changes nothing."""

    readonly = True
    supports_mmap = False

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files

    def list(self) -> list[str]:
        """Return the names of all files."""
        return list(self._files)

    def file_exists(self, name: str) -> bool:
        """Tell whether there is such a file."""
        return name in self._files

    def file_length(self, name: str) -> int:
        """Return a file's size in bytes."""
        return len(self._files[name])

    def open_file(self, name: str) -> BufferFile:
        """Return one file, from its start."""
        return BufferFile(self._files[name], name=name)


class _DirectoryStorage(FileStorage):  # type: ignore[misc]
    """Whoosh's directory, where a file that a crash left behind is no obstacle."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._files: list[StructFile] = []

    def create_file(self, name: str, excl: bool = False, mode: str = "wb") -> StructFile:  # noqa: FBT001, FBT002
        file = super().create_file(name, excl=excl, mode=mode)
        self._files.append(file)
        return file

    def rename_file(self, oldname: str, newname: str, safe: bool = False) -> None:  # noqa: FBT001, FBT002
        del safe
        Path(self._fpath(oldname)).replace(self._fpath(newname))

    def temp_storage(self, name: str | None = None) -> Storage:
        made = _DirectoryStorage(self._fpath(name or f"{INDEX}.tmp")).create()
        made._files = self._files  # noqa: SLF001 # one of us
        return made

    def abandon(self) -> None:
        """Let go of files that a failed commit left open."""
        for file in self._files:
            with contextlib.suppress(OSError):  # what the buffer held cannot be written either
                file.file.close()


class _Index(FileIndex):  # type: ignore[misc]
    """An index whose table of contents is a value, not a file that would have to be trusted."""

    def __init__(self, storage: Storage, toc: TOC) -> None:
        self.storage, self.indexname, self._schema = storage, INDEX, toc.schema
        self._toc = toc

    def _read_toc(self) -> TOC:
        return self._toc


class _Writer(SegmentWriter):  # type: ignore[misc]
    """Writes one merged block as one segment, without Whoosh's pool of postings."""

    _postings: Postings

    def add_block(self, merged: Merged) -> None:
        writer = self.perdocwriter
        for row, note in zip(merged.rows, merged.notes, strict=True):
            writer.start_doc(self.docnum)
            writer.add_column_value("row", ROW_COLUMN, row.tobytes())
            writer.add_column_value("note", NOTE_COLUMN, note)
            writer.finish_doc()
            self.docnum += 1
        self._postings, self._added = merged.postings, True

    def _flush_segment(self) -> None:
        self.perdocwriter.close()
        self.fieldwriter.add_block(self._postings)
        self.fieldwriter.close()

    def _commit_toc(self, segments: list[W3Segment]) -> None:
        TOC(self.schema, segments, self.generation).write(self.storage, self.indexname)


class Segment(Struct, frozen=True):
    """One segment as it was read: its documents, and the numbers of the deleted ones."""

    name: str
    postings: Postings
    rows: NDArray[np.void]
    notes: Sequence[bytes]
    deleted: NDArray[np.int64]


class Written(Struct, frozen=True):
    """A table of contents on disk, not yet in any manifest."""

    toc: str
    segments: list[W3Segment]
    files: dict[str, FileEntry]


# What Whoosh, pickle and numpy raise for content that they cannot read.
_UNREADABLE = (
    WhooshIndexError, pickle.UnpicklingError, struct.error, AssertionError, AttributeError,
    EOFError, ImportError, LookupError, NameError, TypeError, ValueError,
)  # fmt: skip


def read_toc(files: Mapping[str, bytes], name: str) -> list[W3Segment]:
    """Return the segments of a table of contents. `files` must have been checked: it is a pickle.

    Raises:
        StoredIndexError: The table cannot be read.
    """
    try:
        generation = int(name.rpartition("_")[2].removesuffix(".toc"))
        toc = TOC.read(CheckedStorage(files), INDEX, gen=generation, schema=schema())
        return list(toc.segments)
    except _UNREADABLE as error:
        raise StoredIndexError(name, f"cannot be read: {error!r}") from error


def read_segment(files: Mapping[str, bytes], segment: W3Segment) -> Segment:
    """Return the content of one segment. Arrays are views of the bytes in `files`.

    Raises:
        StoredIndexError: The segment cannot be read.
    """
    storage, codec = CheckedStorage(files), segment.codec()
    try:
        documents = codec.per_document_reader(storage, segment)
        row_file = files[codec.column_filename(segment, "row")]
        return Segment(
            name=segment.segment_id(),
            postings=codec.terms_reader(storage, segment).postings,
            rows=np.frombuffer(row_file, dtype=ROW, count=segment.doc_count_all()),
            notes=documents.column_reader("note", NOTE_COLUMN),
            deleted=np.array(sorted(segment.deleted_docs()), dtype=np.int64),
        )
    except _UNREADABLE as error:
        raise StoredIndexError(segment.segment_id(), f"cannot be read: {error!r}") from error


@contextlib.contextmanager
def write_lock(path: Path) -> Iterator[bool]:
    """Try to take Whoosh's write lock of a directory; yield whether it is held.

    Raises:
        OSError: The lock file cannot be made.
    """
    lock = _DirectoryStorage(str(path)).lock(LOCK)
    held = lock.acquire()
    try:
        yield held
    finally:
        if held:
            lock.release()


def write(
    path: Path, *, kept: Sequence[tuple[W3Segment, NDArray[np.int64]]], new: Sequence[Merged],
    entries: Mapping[str, FileEntry],
) -> Written:  # fmt: skip
    """Write new segments and a table of contents beside what is there. Needs the write lock.

    Args:
        path: The private directory.
        kept: Segments that stay, with the numbers of their documents that are deleted by now.
        new: One segment each.
        entries: What the last manifest says of the kept segments' files.

    Raises:
        OSError: There is no space, or no right to write.
    """
    storage = _DirectoryStorage(str(path))
    segments = [_with_deletions(segment, deleted) for segment, deleted in kept]
    toc = TOC(schema(), segments, _generation_max(path) + 1)
    try:
        if not new:
            toc.write(storage, INDEX)
        for merged in new:
            toc = _written(storage, toc, merged)
    finally:
        storage.abandon()
    segments = toc.segments
    toc_name = f"_{INDEX}_{toc.generation}.toc"
    names = {segment.segment_id() for segment in segments}
    files = {name: entry for name, entry in entries.items() if name.split(".")[0] in names}
    for file in sorted(path.iterdir()):
        if file.name == toc_name or (file.name.split(".")[0] in names and file.name not in files):
            files[file.name] = entry_of(file.read_bytes())
    return Written(toc_name, segments, files)


def _with_deletions(segment: W3Segment, deleted: NDArray[np.int64]) -> W3Segment:
    changed = copy.deepcopy(segment)
    for number in deleted.tolist():
        changed.delete_document(number)
    return changed


def _generation_max(path: Path) -> int:
    """Return the highest generation that any file has: a new table must not replace another."""
    found = (re.fullmatch(rf"_{INDEX}_(\d{{1,8}})\.toc", file.name) for file in path.iterdir())
    return max((int(match[1]) for match in found if match), default=0)


def _written(storage: Storage, toc: TOC, merged: Merged) -> TOC:
    """Write one segment and the table of contents that follows `toc`."""
    writer = _Writer(_Index(storage, toc), _lk=False, codec=BlockCodec(), compound=False)
    writer.add_block(merged)
    writer.commit(merge=False)
    return TOC(toc.schema, [*toc.segments, writer.newsegment], writer.generation)


def install(path: Path, manifest: bytes) -> None:
    """Make a manifest the directory's, atomically: this is the commit."""
    temporary = path / f"{MANIFEST}.new"
    temporary.write_bytes(manifest)
    temporary.replace(path / MANIFEST)


def sweep(path: Path, keep: Mapping[str, FileEntry]) -> None:
    """Delete whatever no commit needs: older segments, and what crashes left behind."""
    for entry in list(os.scandir(path)):
        if entry.name in keep or entry.name in {MANIFEST, LOCK}:
            continue
        with contextlib.suppress(OSError):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                Path(entry.path).unlink()
