"""README.md is executed: its Python, its tour of the command line, and its lists of commands."""

import pkgutil
import re
from pathlib import Path

import pytest
from typer.main import get_command

import memlog
from memlog.cli import exits
from memlog.cli.app import app
from tests.docs.terminal import on_terminal

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
PAGES = [README, *(path.read_text("utf-8") for path in (ROOT / "docs").rglob("*.md"))]
COMMANDS = list(get_command(app).commands)  # type: ignore[attr-defined]  # a group


def blocks(language: str) -> list[str]:
    """Return the fenced blocks of a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def test_the_python_examples_run_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    examples = blocks("python")
    assert examples
    names: dict[str, object] = {}
    for example in examples:
        exec(compile(example, "README.md", "exec"), names)  # noqa: S102  # our own page


def test_the_tour_of_the_command_line_shows_what_a_terminal_shows(tmp_path: Path) -> None:
    (tour,) = blocks("console")
    commands = re.findall(r"^\$ (.*)$", tour, re.MULTILINE)
    script = "\n".join(f"echo '$ {_quoted(command)}'\n{command}" for command in commands)

    shown = on_terminal(script, tmp_path)

    assert _timeless(shown) == _timeless(tour.replace("…/", f"{tmp_path.resolve()}/"))


def _quoted(command: str) -> str:
    return command.replace("'", "'\\''")


def _timeless(shown: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d)?", "<time>", shown)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_documented(command: str) -> None:
    assert any(f"`memlog {command}" in page for page in PAGES)


def test_no_command_is_documented_that_does_not_exist() -> None:
    documented = {name for page in PAGES for name in re.findall(r"`memlog ([a-z]+)", page)}

    assert documented - set(COMMANDS) == set()


def test_every_exit_code_is_documented() -> None:
    table = README[README.index("| exit code |") :].split("\n\n")[0]
    documented = {
        int(code)
        for cell in re.findall(r"^\| ([\d, ]+) \|", table, re.MULTILINE)
        for code in cell.split(",")
    }
    ours = {code for name, code in vars(exits).items() if name.isupper()}

    assert documented == ours | {0}


def test_every_public_name_that_the_page_names_exists() -> None:
    named = set(re.findall(r"\b((?:memlog|projections)(?:\.[A-Za-z_]+)+)", README))

    assert {"memlog.open", "memlog.defuse.wrap"} < named
    for name in named:
        pkgutil.resolve_name(name)
    of_memlog = {name.split(".")[1] for name in named if name.startswith("memlog.")}
    assert of_memlog - set(memlog.__all__) == {"defuse", "errors"}


def test_every_relative_link_leads_somewhere() -> None:
    for link in re.findall(r"\]\((?!https?://)([^)#]+)", README):
        assert (ROOT / link).exists(), link
