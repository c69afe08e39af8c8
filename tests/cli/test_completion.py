"""Help, version and shell completion."""

import os
import subprocess
import sys

from typer.testing import CliRunner

import memlog
from memlog.cli.app import app
from tests.cli.running import Run

COMMANDS = (
    *("write", "read", "list", "link", "unlink", "pin", "unpin", "history", "log", "scopes"),
    *("rebuild", "stats", "demo"),
)


def offered(words: str) -> list[str]:
    """Return what bash is offered for an unfinished command line."""
    environ = {
        **os.environ,
        "_MEMLOG_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    command = [sys.executable, "-m", "memlog"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout.split()


def test_help_names_every_command_and_fits_80_columns() -> None:
    runner = CliRunner()
    shown = runner.invoke(app, ["--help"])

    assert shown.exit_code == 0
    for command in COMMANDS:
        assert f"\n  {command} " in shown.output
        lines = runner.invoke(app, [command, "-h"]).output.splitlines()
        assert lines[0].startswith(f"Usage: memlog {command}")
        assert max(map(len, lines)) <= 80
        assert any(line.strip().startswith("--db TARGET") for line in lines)
        assert any(line.strip().startswith("--json") for line in lines)


def test_version_is_the_packages(run: Run) -> None:
    assert run("--version") == (0, f"memlog {memlog.__version__}\n".encode(), "")


def test_a_shell_completes_commands() -> None:
    assert offered("memlog un") == ["unlink", "unpin"]


def test_a_shell_completes_slugs_and_relations(alice: Run) -> None:
    for title in ("Green tea", "Grey tea", "Coffee"):
        alice("write", title, "--body", "x")

    assert offered("memlog read gr") == ["grey-tea", "green-tea"]
    assert offered("memlog link coffee grey-tea ") == ["related", "derived_from", "supersedes"]
    assert offered("memlog read --scope owner:bob gr") == []


def test_completion_is_quiet_where_there_is_no_log(alice: Run) -> None:
    del alice  # It names a log that does not exist.
    assert offered("memlog read gr") == []


def test_completion_scripts_are_shown() -> None:
    environ = {
        **os.environ,
        "SHELL": "/bin/bash",
        "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1",
    }
    command = [sys.executable, "-m", "memlog", "--show-completion", "bash"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)

    assert "COMPLETE=complete_bash" in done.stdout, done
