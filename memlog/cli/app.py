"""The command line as a whole: its commands, and the options that may stand before them."""

from __future__ import annotations

from typing import Annotated

import typer

import memlog
from memlog.cli import (
    at,
    copies,
    demo,
    diff,
    doctor,
    exchange,
    follow,
    harvest,
    links,
    logs,
    mcp,
    notes,
    output,
    pins,
    prompt,
    proofs,
    search,
    section,
    stores,
    taint,
    timeline,
    verify,
    write,
)
from memlog.cli.exits import USAGE
from memlog.cli.session import AsJson, Db, In

app = typer.Typer(
    name="memlog",
    help="Durable notes for AI agents, kept as an append-only log.",
    epilog="Exit codes: 0 done, 1 the request was refused, 2 wrong call or no such store, "
    "3 try again, 4 something stored is damaged.",
    rich_markup_mode=None,  # Help and errors are plain words; markup could come from arguments.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> None:  # noqa: FBT001  # typer calls it so
    if asked:
        output.line(f"memlog {memlog.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    *,
    db: Db = None,  # noqa: ARG001  # this and the next two are read by `session`
    scope: In = None,  # noqa: ARG001
    as_json: AsJson = False,  # noqa: ARG001
    version: Annotated[  # noqa: ARG001  # acted on by its callback
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Durable notes for AI agents, kept as an append-only log."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(USAGE)


for _name, _command in (
    ("write", write.write),
    ("read", notes.read),
    ("list", notes.list_notes),
    ("search", search.search),
    ("index", section.index),
    ("link", links.link),
    ("unlink", links.unlink),
    ("pin", pins.pin),
    ("unpin", pins.unpin),
    ("history", logs.history),
    ("log", logs.log),
    ("at", at.at),
    ("diff", diff.diff),
    ("timeline", timeline.timeline),
    ("prompt", prompt.prompt),
    ("taint", taint.taint),
    ("export", exchange.export),
    ("import", exchange.import_),
    ("scopes", logs.scopes),
    ("verify", verify.verify),
    ("checkpoint", proofs.checkpoint),
    ("prove", proofs.prove),
    ("keygen", proofs.keygen),
    ("rebuild", stores.rebuild),
    ("stats", stores.stats),
    ("follow", follow.follow),
    ("doctor", doctor.doctor),
    ("backup", copies.backup),
    ("restore", copies.restore),
    ("copy", copies.copy),
    ("mcp", mcp.mcp),
    ("demo", demo.demo),
):
    app.command(_name)(_command)
app.add_typer(proofs.proof)
app.add_typer(harvest.harvest)
