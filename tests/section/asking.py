"""Ask a log what a strategy drew, watch what a section costs, and render one without the tables."""

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from memlog.errors import RequestError
from memlog.events import Event, NotePinned, NotesLinked, NotesUnlinked, NoteUnpinned, NoteWritten
from memlog.log import Log
from memlog.memory import Memory
from memlog.note import Outcome, Scope
from memlog.requests import AddLink, AnyRequest, Harvest, Pin, RemoveLink, Unpin, Write
from projections.digest.headline import Headline
from projections.digest.render import render
from projections.notes.fold import Fold

STREAMS = ("owner/alice", "global/")


def ask(memory: Memory, request: AnyRequest) -> Outcome | None:
    """Make the public call that a request stands for; None when it is refused."""
    try:
        match request:
            case Write():
                return memory.write(**request.given)
            case Pin():
                untrusted = request.allow_pin_untrusted
                return memory.pin(request.slug, allow_pin_untrusted=untrusted)
            case Unpin():
                return memory.unpin(request.slug)
            case AddLink(link=link):
                return memory.link(link.from_slug, link.to_slug, link.rel, label=link.label)
            case RemoveLink(link=link):
                return memory.unlink(link.from_slug, link.to_slug, link.rel, label=link.label)
            case Harvest():
                raise AssertionError(request)  # No public call stands for it.
    except RequestError:
        return None


def touches(event: Event) -> bool:
    """Tell by the words of DESIGN 2 whether an event touches a note."""
    match event.payload:
        case NoteWritten() | NotePinned() | NoteUnpinned():
            return True
        case NotesLinked(rel=rel) | NotesUnlinked(rel=rel):
            return rel == "supersedes"
        case _:
            return False


def scope_of(log: Log, stream: str) -> Memory:
    return log.scope(Scope.of_stream(stream))


def pure(log: Log, stream: str = STREAMS[0]) -> str:
    """Render a section from the scope's events alone, through the fold."""
    fold = Fold.of(scope_of(log, stream).events())
    live = [note for note in fold.notes.values() if note.superseded_by is None]
    newest = sorted(live, key=lambda note: note.written_seq)[-5_000:]
    return render(
        [Headline.of(note) for note in newest if not note.pinned],
        [note for note in newest if note.pinned],
        len(live),
        log.settings.index_token_budget,
        log.settings.pinned_body_bytes,
    )


def forget(log: Log) -> None:
    """Drop every stored digest, so that the next section is rendered anew."""
    with log._store.transaction() as transaction:  # noqa: SLF001  # nobody else has a reason to
        transaction.cursor.execute("DELETE FROM digests")


def count(log: Log, table: str) -> int:
    """Return how many rows a table has."""
    with log._store.reading() as cursor:  # noqa: SLF001  # as in `forget`
        rows: int = cursor.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        return rows


@contextmanager
def renders() -> Iterator[list[str]]:
    """Collect a word for each rendering in this thread."""
    seen: list[str] = []

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code is render.__code__:
            seen.append("rendered")

    sys.setprofile(profile)
    try:
        yield seen
    finally:
        sys.setprofile(None)


@contextmanager
def statements(log: Log) -> Iterator[list[str]]:
    """Collect the SQL that this thread's next reads run, without the ends of transactions."""
    seen: list[str] = []
    with log._store.reading() as cursor:  # noqa: SLF001  # the one that the next read will take
        assert isinstance(cursor, sqlite3.Cursor)
        connection = cursor.connection
    connection.set_trace_callback(
        lambda sql: None if sql in ("BEGIN", "BEGIN ", "ROLLBACK") else seen.append(sql)
    )
    try:
        yield seen
    finally:
        connection.set_trace_callback(None)
