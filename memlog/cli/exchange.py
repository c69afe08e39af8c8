"""`memlog export` and `memlog import`: logs and notes, out and in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

import memlog
from memlog.cli import cells, options, output
from memlog.cli.exits import REFUSED, UsageError
from memlog.cli.progress import progress
from memlog.cli.session import AsJson, Db, In, Session, parse_scope, session
from memlog.cli.terminal import visible
from memlog.cli.words import counted, scope_name
from memlog.errors import StoreNotFoundError
from memlog.exchange.items import FileRefusedError, Report, Told
from memlog.exchange.logfile import FIRST_LINE_BYTES, LOG_FORMAT, SCOPE_FORMAT, format_of
from memlog.log import Log, default_path
from memlog.note import Scope
from memlog.proof import FormatError, VerifierKey, parse_vkey

_EXPORT_FORMATS = ("log", "markdown")
_SHOWN_MAX = 20
_MANY_FILES = 100
_NO_SUCH = "there is nothing at this place"

Key = Annotated[
    list[str] | None,
    typer.Option(
        "--key", metavar="VKEY", help="A key that must have signed the checkpoint; repeatable."
    ),
]


# --- export


def export(
    context: typer.Context,
    *,
    out: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="PLACE", help="The file, or the new folder."),
    ],
    format_: Annotated[
        str,
        typer.Option(
            "--format", metavar="log|markdown", autocompletion=lambda: list(_EXPORT_FORMATS)
        ),
    ] = "log",
    since: Annotated[
        int,
        typer.Option(
            "--since", metavar="N", min=0, help="Only what follows this position, for a copy."
        ),
    ] = 0,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint", metavar="FILE", help="A signed note for the log as it is, to add."
        ),
    ] = None,
    db: Db = None,
    scope: In = None,
    as_json: AsJson = False,
) -> None:
    """Export the log, or notes as Markdown.

    The log goes into one file, without loss: 'memlog import' makes the same log of it. With --scope
    (MEMLOG_SCOPE does not count here) the events of that scope only, each with the proof that the
    log holds it, to hand over. --format markdown writes a folder with a file for each note of the
    scope, for Obsidian, basic-memory and whatever reads Markdown.
    """
    asked = session(context, db=db, scope=scope, as_json=as_json)
    if format_ not in _EXPORT_FORMATS:
        sentence = f"format {format_!a} is not known: give log or markdown"
        raise UsageError(sentence)
    if format_ == "markdown":
        if since or checkpoint is not None:
            sentence = "--since and --checkpoint are for a log, not for Markdown"
            raise UsageError(sentence)
        _export_markdown(asked, out)
        return
    named = scope or (context.parent.params.get("scope") if context.parent else None)
    signed = None if checkpoint is None else checkpoint.read_text("utf-8")
    _export_log(asked, out, since=since, checkpoint=signed, named=named)


def _export_markdown(asked: Session, folder: Path) -> None:
    from memlog.exchange.markdown_export import export_markdown

    with asked.notes_for_reading() as memory, progress("exporting") as show:
        count = export_markdown(memory, folder, progress=show)
    if asked.as_json:
        output.record({"output": str(folder), "notes": count})
    else:
        output.line(f"exported {counted(count, 'note')} to {folder}")


def _export_log(
    asked: Session, path: Path, *, since: int, checkpoint: str | None, named: str | None
) -> None:
    from memlog.exchange.log_export import export_log, export_scope

    whose = None if named is None else parse_scope(named)
    if whose is not None and since:
        sentence = "--since is for a whole log; a scope is handed over from its beginning"
        raise UsageError(sentence)
    with asked.log_for_reading() as log, progress("exporting") as show:
        if whose is None:
            done = export_log(log, path, since=since, checkpoint=checkpoint, progress=show)
        else:
            done = export_scope(log, whose, path, checkpoint=checkpoint, progress=show)
    if asked.as_json:
        output.record({"output": str(path), **msgspec.structs.asdict(done)})
        return
    what = counted(done.events, "event") + ("" if whose is None else f" of {scope_name(whose)}")
    output.line(f"exported {what} to {path}")
    output.line(f"  log {done.log_id}, position {done.head}")
    output.line(f"  root {done.root}")


# --- import


def import_(
    context: typer.Context,
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A file or a folder.", show_default=False)
    ],
    *,
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="KIND",
            help="auto, markdown, mcp, mem0, or text: every file is a note.",
        ),
    ] = "auto",
    long: Annotated[
        str,
        typer.Option(
            "--long", metavar="split|refuse", help="What becomes of a text too long for one note."
        ),
    ] = "split",
    keep_pins: Annotated[
        bool, typer.Option("--keep-pins", help="Pin what memlog's own export says was pinned.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Write nothing, tell what would be done.")
    ] = False,
    as_notes: Annotated[
        bool,
        typer.Option("--as-notes", help="Take the notes of an exported scope in as new ones."),
    ] = False,
    key: Key = None,
    actor: options.Actor = None,
    db: Db = None,
    scope: In = None,
    as_json: AsJson = False,
) -> None:
    """Import notes, or a log.

    Notes: a folder or file of Markdown (Obsidian, basic-memory, Claude memories, memlog's own), the
    JSON of the MCP memory server or of mem0, a folder of Anthropic's memory tool. They come into
    the scope; what is there already is left alone, a file that changed rewrites its note. A log
    that memlog exported goes into a new store, or continues a copy of itself. Exits 1 when
    something that should have come in did not.
    """
    asked = session(context, db=db, scope=scope, as_json=as_json)
    keys = _keys(key or ())
    if not path.exists():
        sentence = f"{path}: {_NO_SUCH}"
        raise UsageError(sentence)
    kind = _kind(path) if path.is_file() else None
    if kind == LOG_FORMAT:
        if as_notes or dry_run:
            sentence = "--as-notes and --dry-run are for notes, and this file is a log"
            raise UsageError(sentence)
        _import_log(asked, path, keys)
    elif kind == SCOPE_FORMAT and not as_notes:
        reason = "it is one scope of a log and cannot be imported as a log; --as-notes takes its "
        raise FileRefusedError(path.name, 1, f"{reason}notes in as new ones")
    elif kind is not None and kind != SCOPE_FORMAT:
        raise FileRefusedError(path.name, 1, f"its format {kind!a} is not known to this release")
    else:
        importing = progress("importing", many=_MANY_FILES)
        with _scope_for_import(asked, dry_run=dry_run) as (log, whose), importing as show:
            report = _import_notes(
                log,
                whose,
                path,
                is_scope=kind == SCOPE_FORMAT,
                keys=keys,
                show=show,
                options={
                    "long": long,
                    "keep_pins": keep_pins,
                    "actor": actor,
                    "dry_run": dry_run,
                },
                format_=format_,
            )
        _tell(asked, report, whose)
        if report.refused:
            raise typer.Exit(REFUSED)


def _keys(texts: list[str] | tuple[str, ...]) -> list[VerifierKey]:
    try:
        return [parse_vkey(text) for text in texts]
    except FormatError as error:
        sentence = f"--key: {error}"
        raise UsageError(sentence) from None


def _kind(path: Path) -> str | None:
    with path.open("rb") as opened:
        return format_of(opened.readline(FIRST_LINE_BYTES))


def _import_log(asked: Session, path: Path, keys: list[VerifierKey]) -> None:
    from memlog.exchange.log_import import import_log

    target = asked.target or str(default_path())
    with progress("importing", many=1_000_000) as show:
        done = import_log(
            path, target, settings=memlog.from_env(os.environ), keys=keys, progress=show
        )
    if asked.as_json:
        output.record(done)
        return
    verb = "a new log:" if done.created else "continued"
    output.line(f"{verb} {target}, {counted(done.events, 'event')} added")
    output.line(f"  log {done.log_id}, position {done.head}")
    output.line(f"  root {done.root}{' (signed by a key of yours)' if done.signed else ''}")


@contextmanager
def _scope_for_import(asked: Session, *, dry_run: bool) -> Iterator[tuple[Log, Scope]]:
    """Open the log; a dry run only reads it, and makes none."""
    whose = asked.scope()
    with ExitStack() as stack:
        try:
            opened = asked.log_for_reading() if dry_run else asked.log_for_writing(create=True)
            log = stack.enter_context(opened)
        except StoreNotFoundError:
            log = memlog.open(":memory:", settings=memlog.from_env(os.environ))
            stack.enter_context(log)
        if log.position() == 0 and not dry_run:
            output.notice(f"a new log: {log.target}")
        yield log, whose


def _import_notes(
    log: Log,
    whose: Scope,
    path: Path,
    *,
    is_scope: bool,
    keys: list[VerifierKey],
    show: Any,  # noqa: ANN401  # a Show, or None
    options: dict[str, Any],
    format_: str,
) -> Report:
    from memlog.exchange import importing, scope_import

    memory = log.scope(whose)
    if is_scope:
        handed = scope_import.read_scope(path, keys=keys)
        return importing.run(memory, [scope_import.parsed(handed, path)], **options)
    chosen: Any = format_
    return importing.import_notes(memory, path, format_=chosen, progress=show, **options)


def _tell(asked: Session, report: Report, whose: Scope) -> None:
    if asked.as_json:
        output.record(report)
        return
    would = "would have " if report.dry_run else ""
    notes = f"{counted(report.created, 'new note')}, {report.rewritten} rewritten"
    output.line(f"{would}imported {counted(report.files, 'file')} into {scope_name(whose)}")
    output.line(f"  {notes}, {report.unchanged} there already")
    links = f"{counted(report.links, 'link')} added, {report.unlinked} taken away"
    output.line(f"  {links}, {len(report.dangling)} to nothing that is there")
    if report.entities or report.relations or report.observations or report.texts:
        counts = (
            f"{report.entities:,} {'entity' if report.entities == 1 else 'entities'}",
            counted(report.observations, "observation"),
            counted(report.relations, "relation"),
            counted(report.texts, "other record"),
        )
        output.line(f"  read: {', '.join(counts)}")
    _list("refused", report.refused, every=True)
    _list("skipped", report.skipped)
    _list("remarks", report.remarks)
    _list("links to nothing", report.dangling)


def _list(heading: str, told: list[Told], *, every: bool = False) -> None:
    """List what is told; all of it only where somebody must act, or into a pipe."""
    if not told:
        return
    shown = told if every or not output.on_terminal() else told[:_SHOWN_MAX]
    output.line(output.bold(f"{heading} ({len(told)})"))
    for each in shown:
        if not output.on_terminal():
            output.line(f"  {each}")
            continue
        first, *more = cells.wrap(visible(str(each)), output.width() - 4)
        output.line(f"  {first}")
        for part in more:
            output.line(f"    {part}")
    if len(shown) < len(told):
        output.line(f"  and {len(told) - len(shown)} more; --json tells all")
