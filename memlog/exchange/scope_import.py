"""Read a scope's file (`logfile`): check every event and its proof, and give its notes as items.

A scope is never imported as a log. Its notes may come in as new ones, of provenance `import`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from memlog import codec, proof
from memlog.decide import violations
from memlog.errors import DamageError, format_error
from memlog.events import Event
from memlog.exchange import portable
from memlog.exchange.items import Item, Parsed, Reference, Told
from memlog.exchange.logfile import (
    SCOPE_FORMAT,
    Lines,
    ScopeEnd,
    ScopeHead,
    ScopeLine,
    check_checkpoint,
    hash_of,
)
from memlog.exchange.placing import Extra
from memlog.note import Note
from memlog.proof import VerifierKey
from projections.notes.fold import Fold


class Handed(msgspec.Struct, frozen=True, kw_only=True):
    """What a scope's file holds, all of it proven.

    Attributes:
        log_id: the log it is from.
        stream: the scope's stream there.
        events: how many events.
        signed: a key of the reader's signed the root that the proofs lead to.
        fold: the notes and links.
    """

    log_id: str
    stream: str
    events: int
    signed: bool
    fold: Fold


def read_scope(path: Path, *, keys: Iterable[VerifierKey] = ()) -> Handed:
    """Return what a scope's file holds.

    Args:
        path: the file.
        keys: one of them must have signed the file's checkpoint, if any are given.

    Raises:
        FileRefusedError: something in it does not hold; names the line.
        OSError: it cannot be read.
    """
    with path.open("rb") as opened:
        lines = Lines(opened, file=path.name)
        head = lines.head(ScopeHead)
        if head.format != SCOPE_FORMAT:
            raise lines.refused(f"its format is {head.format!a}, not {SCOPE_FORMAT}")
        root = hash_of(head.root, lines)
        fold = Fold()
        last = 0
        for line in lines.rest(ScopeLine, ScopeEnd):
            if isinstance(line, ScopeEnd):
                break
            if line.position <= last:
                raise lines.refused("its position does not follow the one above")
            last = line.position
            event = _proven(line, head, root, lines)
            if event.seq != fold.last_seq + 1:
                raise lines.refused(f"its seq is {event.seq}, not {fold.last_seq + 1}")
            broken = violations(fold, event.payload)
            if broken:
                raise lines.refused(f"it breaks a rule of the log: {broken[0]}")
            fold.add(event)
        assert isinstance(line, ScopeEnd)
        if line.events != fold.last_seq:
            raise lines.refused(f"it tells of {line.events} events, there are {fold.last_seq}")
        signed = check_checkpoint(
            line.checkpoint, log_id=head.log, size=head.size, root=root, keys=keys, lines=lines
        )
    return Handed(
        log_id=head.log, stream=head.stream, events=fold.last_seq, signed=signed, fold=fold
    )


def _proven(line: ScopeLine, head: ScopeHead, root: bytes, lines: Lines) -> Event:
    state = bytes(line.state)
    try:
        event = codec.decode(state, position=line.position)
        envelope = codec.decode_envelope(state, position=line.position)
        parts = codec.split(state, position=line.position)
        codec.check_commitment(parts, envelope, position=line.position)
        proof.check_inclusion(
            proof.leaf_hash(parts.envelope),
            index=line.position - 1,
            size=head.size,
            proof=[hash_of(each, lines) for each in line.proof],
            root=root,
        )
    except DamageError as error:
        raise lines.refused(format_error(error)) from None
    except proof.ProofError as error:
        raise lines.refused(f"it is not proven: {error}") from None
    if (envelope.log, event.stream) != (head.log, head.stream):
        raise lines.refused(f"it is of {event.stream!a} in the log {envelope.log}")
    return event


def parsed(handed: Handed, path: Path) -> Parsed:
    """Return the notes of a scope's file as items, to be written as one transaction."""
    remarks: list[Told] = []

    def remark(sentence: str) -> None:
        remarks.append(Told(file=path.name, line=0, reason=sentence))

    # Who signed nothing may claim to be any log: its notes are the same only by their file.
    whence = handed.log_id if handed.signed else f"{path.resolve()}\n{handed.log_id}"

    def identity(slug: str) -> str:
        return f"log\n{whence}\n{handed.stream}\n{slug}"

    def item(note: Note) -> Item:
        kept, origin = portable.portable(note), portable.origin(note)
        extra = Extra(remark)
        all_extra = portable.extra_of(
            kept.extra, provenance=origin.provenance, written_at=origin.written_at
        )
        for name, value in all_extra.items():
            extra.add(name, value)
        return Item(
            identity=identity(note.slug),
            line=0,
            title=note.title,
            body=note.body,
            topics=note.topics,
            confidence=note.confidence,
            source=kept.source,
            extra=extra.strings,
            names=(note.slug,),
            pinned=note.pinned,
            may_pin=not note.ever_untrusted and kept.provenance not in ("web", "compaction"),
            slug=note.slug,
        )

    references = (
        Reference(
            identity=identity(link.from_slug),
            line=0,
            name=link.to_slug,
            rel=link.rel,
            label=link.label,
            told=True,
        )
        for link in handed.fold.links
    )
    return Parsed(
        file=path.name,
        items=tuple(map(item, handed.fold.notes.values())),
        references=tuple(references),
        closed=True,
        remarks=tuple(remarks),
        relations=len(handed.fold.links),
    )
