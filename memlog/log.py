"""The handle of an open log, and `open`, which makes one."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, get_args

from memlog import codec, fields, jobs
from memlog.errors import InvalidRequestError
from memlog.events import Event
from memlog.follow import POLL_S, follow
from memlog.memory import Memory
from memlog.note import Scope, ScopeInfo
from memlog.proving import Proving
from memlog.rebuild import Progress, Rebuilt, rebuild_notes
from memlog.repair import rebuild_sections, rebuild_tree
from memlog.searching import Searcher
from memlog.settings import Settings
from memlog.step import Ids
from memlog.store.counters import Counts
from memlog.store.files import file_errors
from memlog.store.location import is_postgres, sqlite_path
from memlog.store.protocol import Store
from memlog.store.rows import decoded
from memlog.store.sqlite import SQLiteStore
from projections import checkpoints, tree
from projections.digest import conversations
from projections.digest import tables as digest_tables
from projections.notes import reader, tables

Projection = Literal["tree", "notes", "section", "search"]


def default_path() -> Path:
    """Return where notes are kept when no target is named: in the user's data directory."""
    from platformdirs import user_data_path

    return user_data_path("memlog", appauthor=False) / "notes.db"


def utc_now() -> datetime:
    """Return the time of this machine, aware UTC."""
    return datetime.now(UTC)


def _new_id() -> str:
    return str(uuid.uuid4())


def _new_salt() -> bytes:
    return os.urandom(codec.SALT_BYTES)


def open(
    target: str | os.PathLike[str] | None = None,
    *,
    settings: Settings | None = None,
    read_only: bool = False,
    create: bool = True,
    clock: Callable[[], datetime] = utc_now,
    new_id: Callable[[], str] = _new_id,
    new_salt: Callable[[], bytes] = _new_salt,
) -> Log:
    """Open a log, and make it first when there is none.

    Args:
        target: a path, `sqlite:///PATH`, `postgresql://…` or `:memory:`; the user's data directory
            when None.
        settings: the defaults when None.
        read_only: open an existing log so that nothing can be written.
        create: make the log when there is none.
        clock: gives the time, aware; read once a write.
        new_id: gives a fresh UUID as text.
        new_salt: gives 32 fresh random bytes.

    Raises:
        TargetError: there is no log at the target, it is something else, it is of a newer format,
            or its place cannot hold one.
        DamageError: it is damaged.
        ReadOnlyError: it cannot be written, and `read_only` was not asked for.
    """
    if target is None:
        target = default_path()
        if create and not read_only:
            with file_errors(target):
                target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    chosen = Settings() if settings is None else settings
    if not isinstance(chosen, Settings):  # Not shown: a key may be in it.
        raise InvalidRequestError("settings", type(chosen).__name__, "give a memlog.Settings")
    for name, given in (("clock", clock), ("new_id", new_id), ("new_salt", new_salt)):
        if not callable(given):
            raise InvalidRequestError(name, given, "give a function")
    store = open_store(
        target,
        clock=clock,
        lock_timeout_s=chosen.lock_timeout_s,
        read_only=read_only,
        create=create,
    )
    searcher = Searcher(store, settings=chosen, clock=clock)
    ids = Ids(new_id, new_salt)
    return Log(store, settings=chosen, searcher=searcher, ids=ids, clock=clock)


def open_store(
    target: str | os.PathLike[str],
    *,
    clock: Callable[[], datetime],
    lock_timeout_s: float,
    read_only: bool = False,
    create: bool = True,
) -> Store:
    """Open the store at a target on its engine, with the tables of all inline projections."""
    ddl = (
        *tables.ddl(),
        *digest_tables.ddl(),
        *conversations.ddl(),
        *tree.ddl(),
        *checkpoints.ddl(),
        *jobs.ddl(),
    )
    if is_postgres(target):
        try:
            from memlog.store.postgres import PostgresStore
        except ModuleNotFoundError as error:
            if error.name not in ("psycopg", "psycopg_pool"):
                raise
            rule = "it needs the driver: pip install 'agent-memlog[postgres]'"
            raise InvalidRequestError("target", "postgresql://***", rule) from error
        return PostgresStore(
            str(target),
            clock=clock,
            lock_timeout_s=lock_timeout_s,
            tables=ddl,
            read_only=read_only,
            create=create,
        )
    return SQLiteStore(
        sqlite_path(target),
        clock=clock,
        lock_timeout_s=lock_timeout_s,
        tables=ddl,
        read_only=read_only,
        create=create,
    )


class Log(Proving):
    """An open log. Safe to share between threads, not across a fork; close it, or use `with`.

    Attributes:
        target: the file's path, or `:memory:`.
        log_id: the log's random UUID.
        settings: what it was opened with.
        clock: gives the time, aware.
    """

    def __init__(
        self,
        store: Store,
        *,
        settings: Settings,
        searcher: Searcher,
        ids: Ids,
        clock: Callable[[], datetime],
    ) -> None:
        super().__init__(store, settings=settings, index_dir=searcher.index_dir)
        self._searcher, self._ids, self.clock = searcher, ids, clock

    def scope(self, kind: Literal["owner", "global"] | Scope, principal: str = "") -> Memory:
        """Return the notes of a scope: `scope("owner", "alice")`, or `scope("global")`.

        Raises:
            InvalidRequestError: kind or principal do not fit.
        """
        scope = kind if isinstance(kind, Scope) else Scope(kind, principal)
        return Memory(
            self._store, scope, settings=self.settings, searcher=self._searcher, ids=self._ids
        )

    def scopes(self) -> tuple[ScopeInfo, ...]:
        """Return every scope that has events, by stream name."""
        with self._store.reading() as cursor:
            return reader.scopes(cursor, reader.live_set(cursor))

    def events(self, *, after: int = 0) -> Iterator[Event]:
        """Yield the log's events with a position above `after`, in order.

        Raises:
            InvalidRequestError: `after` is no whole number of at least 0.
            DamageError: an event's bytes are not canonical, of an unknown type, or misfiled.
        """
        return map(decoded, self._store.rows(after=fields.whole("after", after)))

    def follow(
        self, *, after: int = 0, poll_s: float = POLL_S, timeout_s: float | None = None
    ) -> Iterator[Event]:
        """Yield the log's events above `after` as they commit, each once, in order, without end.

        It waits for new ones, reconnects when a connection breaks, and reads on only when the
        caller has taken what was read, at most 200 events. It ends when the log is closed.

        Args:
            after: the position that the caller has seen last.
            poll_s: how long an event may stay unseen where nobody tells of it.
            timeout_s: end when nothing came for so long; never when None.

        Raises:
            InvalidRequestError: the log ends before `after`.
            DamageError: an event cannot be read, or the log lost what was handed out.
        """
        fields.whole("after", after)
        return follow(self._store, after=after, poll_s=poll_s, timeout_s=timeout_s)

    def counters(self) -> Counts:
        """Return what this handle has done since it was opened, in numbers."""
        return self._store.counters.counts()

    def position(self) -> int:
        """Return the position of the last event, 0 when there is none."""
        with self._store.reading() as cursor:
            head: int = cursor.execute("SELECT position FROM log").fetchone()[0]
            return head

    def rebuild(
        self, projection: Projection = "notes", *, progress: Progress | None = None
    ) -> Rebuilt:
        """Make a projection anew from the log, beside the live one; compare; swap.

        Readers and writers go on meanwhile, and never see half of it. Where the notes differed, the
        search indexes, which were made from them, are made anew as well.

        Args:
            projection: `tree`, `notes`, `section` or `search`. A section is dropped, and rendered
                when it is next asked for; the record of those handed out stays.
            progress: called with (events done, events to do) about every 500 events, or with
                (scopes done, scopes to do) for `search`.
        """
        fields.function("progress", progress)
        if projection == "tree":
            return rebuild_tree(self._store, progress=progress)
        if projection == "section":
            return rebuild_sections(self._store)
        if projection == "notes":
            rebuilt = rebuild_notes(self._store, progress=progress)
            if rebuilt.differences:  # The search indexes were made from the tables as they were.
                self._rebuild_search(None)
            return rebuilt
        if projection != "search":
            raise InvalidRequestError(
                "projection", projection, f"use one of {', '.join(get_args(Projection))}"
            )
        self._rebuild_search(progress)
        return Rebuilt(projection=projection, events=self.position(), differences=())

    def _rebuild_search(self, progress: Progress | None) -> None:
        scopes = self.scopes()
        for done, each in enumerate(scopes, start=1):
            self._searcher.rebuild(each.scope.stream)
            if progress is not None:
                progress(done, len(scopes))

    def close(self) -> None:
        """Close the log; a second call does nothing."""
        self._searcher.close()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Log {self.target!r}>"
