"""Look at a store from outside, change nothing, and say what is well and what is not.

What is stored is not read: that is what `log.verify()` does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from memlog import log as logs
from memlog.doctor import indexes, postgres, sqlite
from memlog.doctor.symptom import Symptom
from memlog.errors import CorruptStoreError, DamageError, format_error
from memlog.log import Log
from memlog.settings import Settings
from memlog.store.location import is_postgres, sqlite_path

__all__ = ["Diagnosis", "Symptom", "diagnose"]


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """What was found.

    Attributes:
        target: the store.
        engine: what it is on.
        symptoms: one for each thing that was looked at, the place first, then what is in it.
    """

    target: str
    engine: Literal["sqlite", "postgres"]
    symptoms: tuple[Symptom, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is bad; what is only worth knowing does not count."""
        return not any(symptom.state == "bad" for symptom in self.symptoms)


def diagnose(target: str | os.PathLike[str], *, settings: Settings | None = None) -> Diagnosis:
    """Look at a store and where it is.

    Args:
        target: as for `memlog.open`; a file or a database.
        settings: say where search indexes lie.

    Raises:
        TargetError: there is no store.
        UnreachableError: there is no server.
    """
    chosen = settings or Settings()
    on_postgres = is_postgres(target)
    path = None if on_postgres else sqlite_path(target)
    symptoms: list[Symptom] = []
    shown = "postgresql://***" if on_postgres else os.fspath(target)
    if path is not None:
        symptoms += sqlite.place_symptoms(path)
    try:
        with logs.open(target, settings=chosen, read_only=True, create=False) as log:
            shown = log.target
            symptoms += _inside(log, path)
    except DamageError as error:
        if isinstance(error, CorruptStoreError):
            shown = error.target
        symptoms.append(Symptom("store", "bad", format_error(error)))
    return Diagnosis(
        target=shown,
        engine="postgres" if on_postgres else "sqlite",
        symptoms=tuple(symptoms),
    )


def _inside(log: Log, path: Path | None) -> Iterator[Symptom]:
    with log._store.reading() as cursor:  # noqa: SLF001  # an edge of ours
        if path is None:
            yield from postgres.symptoms(cursor)
        else:
            yield from sqlite.file_symptoms(cursor, path=path)
        yield _rebuild(cursor.execute("SELECT rebuild FROM notes_pointer").fetchone()[0])
    yield from indexes.symptoms(log)


def _rebuild(token: str | None) -> Symptom:
    if token is None:
        return Symptom("rebuild", "well", "none is under way")
    return Symptom("rebuild", "known", "one is under way, or was broken off; start it again")
