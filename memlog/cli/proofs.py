"""`memlog keygen`, `checkpoint`, `prove` and `proof`: sign a log, and prove what it says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal, cast

import typer

from memlog.cli import output
from memlog.cli.exits import REFUSED, UsageError
from memlog.cli.progress import progress
from memlog.cli.session import AsJson, Db, session
from memlog.errors import InvalidRequestError, format_error
from memlog.proof import NoCryptographyError, ProofError
from memlog.shown import shown
from memlog.store.location import is_beside_a_store

_NO_CRYPTOGRAPHY = "signatures need the package cryptography: pip install 'agent-memlog[sign]'"
_WHAT_TO_PROVE = "give the position of an event, or --since CHECKPOINT"
_SQLITE = b"SQLite format 3\0"
_FORMS = ("bundle", "tlog-proof")

Output = Annotated[
    Path | None,
    typer.Option("--output", metavar="FILE", help="Write it there, not to standard output."),
]
Vkeys = Annotated[
    list[str],
    typer.Option("--key", metavar="VKEY", help="Whom you trust to sign. [may be given often]"),
]


@contextmanager
def _with_cryptography() -> Iterator[None]:
    try:
        yield
    except NoCryptographyError:
        raise UsageError(_NO_CRYPTOGRAPHY) from None


def _give(content: bytes, target: Path | None) -> None:
    """Write a file, or print its text.

    Raises:
        UsageError: the file is a database, such as the log itself, or named like a part of one.
    """
    if target is None:
        output.body(content.decode())
        return
    if _is_database(target):
        sentence = f"{target}: there is a database at this place; name another file"
        raise UsageError(sentence)
    if is_beside_a_store(target):
        sentence = f"{target}: files of such names belong to the store beside them; name another"
        raise UsageError(sentence)
    target.write_bytes(content)


def _is_database(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as opened:
        return opened.read(len(_SQLITE)) == _SQLITE


def keygen(
    context: typer.Context,
    key_file: Annotated[Path, typer.Argument(metavar="FILE", help="Where the private key goes.")],
    *,
    name: Annotated[
        str,
        typer.Option(
            "--name",
            metavar="NAME",
            help="The name it signs under, such as example.org/notes: no white space, no +.",
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Make a key that signs checkpoints, and print its public half.

    The file can be read by its owner only, and never replaces another. What is printed, the vkey,
    is for everybody who is to check a proof.
    """
    asked = session(context, db=None, as_json=as_json)
    from memlog.signing import SigningKey

    with _with_cryptography():
        key = SigningKey.generate(name)
    key.save(key_file)
    if asked.as_json:
        output.record({"key_file": str(key_file), "vkey": str(key.verifier)})
    else:
        output.line(str(key.verifier))


def checkpoint(
    context: typer.Context,
    *,
    key_file: Annotated[
        Path, typer.Option("--key-file", metavar="FILE", help="A key that memlog keygen made.")
    ],
    full: Annotated[
        bool,
        typer.Option("--full", help="Verify the whole log, not only what came since the last one."),
    ] = False,
    target: Output = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Sign the size and root of the log, and print the signed checkpoint.

    Refused when the log does not verify, or does not continue the last checkpoint of this key, of
    which one copy lies in the store and one beside the key.
    """
    asked = session(context, db=db, as_json=as_json)
    with _with_cryptography(), asked.log_for_writing() as log, progress("verifying") as show:
        note = log.checkpoint(key_file, full=full, progress=show)
    if asked.as_json:
        output.record({**_said(note), "note": note.decode()})
    if target is not None or not asked.as_json:
        _give(note, target)


def _said(note: bytes) -> dict[str, object]:
    from memlog.proof import parse_checkpoint, parse_note

    found = parse_checkpoint(parse_note(note).text)
    return {"origin": found.origin, "size": found.size, "root": found.root.hex()}


def prove(
    context: typer.Context,
    position: Annotated[
        int | None,
        typer.Argument(metavar="[POSITION]", min=1, help="The event's place in the log."),
    ] = None,
    *,
    since: Annotated[
        Path | None,
        typer.Option(
            "--since",
            metavar="FILE",
            help="Prove instead that the log of this older checkpoint is a beginning of this one.",
        ),
    ] = None,
    withhold: Annotated[
        bool, typer.Option("--withhold", help="Leave out what the event says.")
    ] = False,
    form: Annotated[
        str,
        typer.Option(
            "--form",
            metavar="bundle|tlog-proof",
            autocompletion=lambda: list(_FORMS),
            help="bundle holds the event too; tlog-proof is for whoever has its bytes.",
        ),
    ] = "bundle",
    under: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint", metavar="FILE", help="Under this checkpoint, not the last one."
        ),
    ] = None,
    target: Output = None,
    db: Db = None,
) -> None:
    """Prove that an event is in the log, for somebody who has neither the log nor this program.

    Needs a checkpoint that was signed since the event.
    """
    asked = session(context, db=db)
    if (position is None) == (since is None):
        raise UsageError(_WHAT_TO_PROVE)
    if form not in _FORMS:
        sentence = f"--form {shown(form)} is not accepted: give bundle or tlog-proof"
        raise UsageError(sentence)
    with asked.log_for_reading() as log:
        if since is not None:
            proof = log.prove_consistency(since.read_bytes())
        else:
            assert position is not None
            proof = log.prove(
                position,
                form=cast("Literal['bundle', 'tlog-proof']", form),
                withhold=withhold,
                checkpoint=None if under is None else under.read_bytes(),
            )
    _give(proof, target)


# --- Checking, without a store

proof = typer.Typer(
    name="proof",
    help="Check what was proven, without a store.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@proof.callback()
def _proof() -> None:
    """Check what was proven, without a store."""


@proof.command()
def check(
    context: typer.Context,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A bundle, a .tlog-proof, or a checkpoint.")
    ],
    *,
    keys: Vkeys,
    envelope: Annotated[
        Path | None,
        typer.Option("--envelope", metavar="FILE", help="The event's bytes, for a .tlog-proof."),
    ] = None,
    since: Annotated[
        Path | None,
        typer.Option(
            "--since", metavar="FILE", help="The checkpoint that you kept, for a consistency proof."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a proof: that of one event, that a log continues another one, or a checkpoint.

    No store is opened. Exits with 1 when it does not hold, with 2 when it could not look.
    """
    asked = session(context, db=None, as_json=as_json or _asked_above(context))
    from memlog.cli.proofcheck import checked
    from memlog.verify.run import verifier_keys

    content = file.read_bytes()
    leaf = None if envelope is None else envelope.read_bytes()
    old = None if since is None else since.read_bytes()
    try:
        trusted = verifier_keys(keys)
    except InvalidRequestError as error:  # 1 would say that something does not hold.
        raise UsageError(format_error(error)) from None
    with _with_cryptography():
        try:
            found = checked(content, trusted, leaf=leaf, old=old)
        except NoCryptographyError:
            raise
        except ProofError as error:
            output.notice(f"memlog: not proven: {error}")
            raise typer.Exit(REFUSED) from None
    if asked.as_json:
        output.record(found)
        return
    for name, value in found.items():
        output.line(f"{name}: {value}")


def _asked_above(context: typer.Context) -> bool:
    """Tell whether --json stands before `proof`, two levels up."""
    above = context.parent and context.parent.parent
    return bool(above and above.params.get("as_json"))
