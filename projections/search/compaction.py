"""Fewer, larger parts: which parts of a scope to merge, and the merge.

The sizes of segments grow by a factor of four, so a scope of n notes has about log4 n of them and
a note is rewritten that often in its life.
"""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from projections.search.columns import ROW
from projections.search.memory import ScopeNotes
from projections.search.parts import Block, Tail
from projections.search.postings import Postings, merged

_GROWTH = 4
_MERGED_POSTINGS_MAX = 8_000_000


class Part(Struct, frozen=True):
    """One part as it was at one moment: its rows, and which of its documents were current."""

    source: Block | Tail
    rows: NDArray[np.void]
    current: NDArray[np.bool_]

    @property
    def segment(self) -> str | None:
        """The segment on disk that holds this part."""
        return self.source.segment if isinstance(self.source, Block) else None


class Merged(Struct, frozen=True):
    """Documents without their retired predecessors, as one block."""

    postings: Postings
    rows: NDArray[np.void]
    notes: list[bytes]


class Plan(Struct, frozen=True):
    """What stays as it is, and what is merged into one new block each."""

    kept: list[Part]
    groups: list[list[Part]]


def snapshot(notes: ScopeNotes) -> list[Part]:
    """Return all parts as they are, and make new notes go elsewhere. Costs a copy of the rows."""
    sources = [part for part in notes.parts if part.notes]
    rows, current = notes.columns.rows.copy(), notes.columns.current.copy()
    spans = [slice(part.base, part.base + len(part.notes)) for part in sources]
    notes.rotate()
    return [
        Part(source, rows[span], current[span]) for source, span in zip(sources, spans, strict=True)
    ]


def _size(part: Part) -> int:
    source = part.source
    return len(source.postings.documents) if isinstance(source, Block) else 0


def plan_to_store(parts: Sequence[Part], *, anew: bool) -> Plan:
    """Plan to write all that is in no segment, and segments that are small beside it.

    Args:
        parts: All parts of a scope.
        anew: Write every part, also those that a segment holds.
    """
    fresh = [part for part in parts if anew or part.segment is None]
    return _plan(fresh, [part for part in parts if not anew and part.segment])


def plan_in_memory(parts: Sequence[Part]) -> Plan:
    """Plan to make a block of all tails, and of blocks that are small beside them."""
    tails = [part for part in parts if isinstance(part.source, Tail)]
    return _plan(tails, [part for part in parts if isinstance(part.source, Block)])


def _plan(fresh: Sequence[Part], stored: Sequence[Part]) -> Plan:
    small = [part for part in fresh if _size(part) < _MERGED_POSTINGS_MAX // 4]
    large = [[part] for part in fresh if _size(part) >= _MERGED_POSTINGS_MAX // 4]
    documents, size = sum(len(p.rows) for p in small), sum(map(_size, small))
    for part in sorted(stored, key=lambda part: len(part.rows)) if small else []:
        mostly_retired = part.current.sum() * 3 < len(part.rows) * 2
        fits = size + _size(part) <= _MERGED_POSTINGS_MAX
        if fits and (len(part.rows) < _GROWTH * documents or mostly_retired):
            small.append(part)
            documents, size = documents + len(part.rows), size + _size(part)
    merged_ids = {id(part) for part in small}
    kept = [part for part in stored if id(part) not in merged_ids]
    return Plan(kept, [*large, small] if small else large)


def assembled(plan: Plan, new: Sequence[Merged], names: Sequence[str | None]) -> ScopeNotes:
    """Return the notes that a plan leads to.

    Args:
        plan: What stays.
        new: What the groups were merged to.
        names: The segment that holds each of them; None where none does.
    """
    notes = ScopeNotes()
    for part in plan.kept:
        source, base = part.source, notes.columns.size
        assert isinstance(source, Block)
        notes.add_block(source.postings, part.rows, source.notes, segment=source.segment)
        notes.columns.retire(np.flatnonzero(~part.current) + base)
    for merged_part, name in zip(new, names, strict=True):
        notes.add_block(merged_part.postings, merged_part.rows, merged_part.notes, segment=name)
    return notes


def merge(parts: Sequence[Part]) -> Merged:
    """Merge parts into one block; retired documents are dropped."""
    sources, rows, notes, base = [], [], [], 0
    for part in parts:
        numbers = np.where(part.current, np.cumsum(part.current) - 1 + base, -1)
        source = part.source
        sources.append((source.inverted(), numbers))
        rows.append(part.rows[part.current])
        notes += [source.notes[at] for at in np.flatnonzero(part.current).tolist()]
        base = len(notes)
    return Merged(merged(sources), np.concatenate(rows).astype(ROW), notes)
