"""Who pays for the command line: only those who use it."""

import ast
import subprocess
import sys
from pathlib import Path

import memlog

ROOT = Path(memlog.__file__).resolve().parents[1]
EDGE = {"typer", "rich"}


def _imported(source: str) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add((node.module or "").partition(".")[0])
    return names


def test_typer_and_rich_belong_to_the_command_line() -> None:
    found = {
        path.relative_to(ROOT).as_posix()
        for package in ("memlog", "projections")
        for path in (ROOT / package).rglob("*.py")
        if _imported(path.read_text("utf-8")) & EDGE
    }

    assert found
    assert {path for path in found if not path.startswith("memlog/cli/")} == set()


def test_the_command_line_loads_nothing_before_it_runs() -> None:
    code = (
        "import sys, memlog, memlog.cli, memlog.cli.words, memlog.demo\n"
        "print({'typer', 'rich', 'whoosh', 'numpy', 'pydantic'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "set()\n"
