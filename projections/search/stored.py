"""The commit protocol: how an index gets from memory to its directory and back.

A commit writes new files beside the old ones, then replaces the manifest, then deletes what the
new manifest does not name. Whatever moment a process dies at, the manifest on disk names files that
are all there, unless it is the power that fails: nothing is fsynced, and then the hashes tell.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct, field
from whoosh.codec.whoosh3 import W3Segment

from projections.search.compaction import Merged, Plan
from projections.search.directory import (
    FORMAT,
    Cursor,
    FileEntry,
    Manifest,
    StoredIndexError,
    read_files,
    read_manifest,
    signed,
    verified,
)
from projections.search.memory import ScopeNotes
from projections.search.segments import (
    install,
    read_segment,
    read_toc,
    sweep,
    write,
    write_lock,
)

_READS_MAX = 3
"""Another process may replace the index while it is read; then it is read again."""


class Identity(Struct, frozen=True):
    """Whose index it is, and the key that signs it."""

    log: str
    stream: str
    key: bytes


class Stored(Struct, frozen=True):
    """What this process knows of the index on disk: the manifest that it read or wrote last.

    `manifest` are the file's bytes; None: none was there, or it was not usable.
    """

    manifest: bytes | None = None
    cursor: Cursor = Cursor()
    segments: dict[str, W3Segment] = field(default_factory=dict)
    files: dict[str, FileEntry] = field(default_factory=dict)


def manifest_in(path: Path) -> bytes | None:
    """Return the manifest's bytes, unchecked; None when there is nothing that can be read."""
    try:
        return read_manifest(path)
    except StoredIndexError:
        return None


class Loaded(Struct, frozen=True):
    """An index as it was read from disk."""

    stored: Stored
    notes: ScopeNotes


def load(path: Path, identity: Identity) -> Loaded | None:
    """Return the stored index of a scope, checked; None when there is none.

    Raises:
        StoredIndexError: There is one, but it is damaged, foreign, or open to others.
    """
    content = read_manifest(path)
    for _ in range(_READS_MAX):
        if content is None:
            return None
        try:
            return _load(path, content, identity)
        except StoredIndexError:
            newer = read_manifest(path)
            if newer == content:
                raise
            content = newer
    raise StoredIndexError(path, "was replaced again and again while it was read")


def _load(path: Path, content: bytes, identity: Identity) -> Loaded:
    manifest = verified(content, key=identity.key)
    if (manifest.log, manifest.stream) != (identity.log, identity.stream):
        raise StoredIndexError(path, f"holds {manifest.stream!r} of log {manifest.log}")
    files = read_files(path, manifest)
    segments = read_toc(files, manifest.toc)
    notes = ScopeNotes()
    for segment in segments:
        read = read_segment(files, segment)
        base = notes.columns.size
        notes.add_block(read.postings, read.rows, read.notes, segment=read.name)
        notes.columns.retire(read.deleted + base)
    return Loaded(_stored(content, manifest, segments), notes)


def _stored(content: bytes, manifest: Manifest, segments: list[W3Segment]) -> Stored:
    return Stored(
        manifest=content,
        cursor=manifest.cursor,
        segments={segment.segment_id(): segment for segment in segments},
        files=manifest.files,
    )


def store(
    path: Path, identity: Identity, before: Stored, *, seen: bytes | None, cursor: Cursor,
    plan: Plan, new: Sequence[Merged],
) -> Stored | None:  # fmt: skip
    """Write a plan to disk. None: another process holds the lock or was faster; look again later.

    Args:
        path: The scope's directory, which exists.
        identity: Goes into the manifest.
        before: The index that the plan's kept segments belong to.
        seen: The manifest that the plan was made for: the one that may be replaced.
        cursor: How far the notes have got.
        plan: Which segments stay.
        new: What the groups of the plan were merged to.

    Raises:
        OSError: There is no space, or no right to write.
    """
    with write_lock(path) as held:
        if not held or manifest_in(path) != seen:
            return None
        kept = [
            (before.segments[str(part.segment)], np.flatnonzero(~part.current))
            for part in plan.kept
        ]
        written = write(path, kept=kept, new=new, entries=before.files)
        manifest = Manifest(
            format=FORMAT, log=identity.log, stream=identity.stream, cursor=cursor,
            toc=written.toc, files=written.files,
        )  # fmt: skip
        content = signed(manifest, key=identity.key)
        install(path, content)
        sweep(path, written.files)
        return _stored(content, manifest, written.segments)
