"""docs/AUDIT.md is executed: each command, in order, shows what the page prints."""

import re
import shutil
from pathlib import Path

from memlog import proof
from tests.docs.terminal import on_terminal

PAGE = Path(__file__).resolve().parents[2] / "docs" / "AUDIT.md"

_MARK = "===== next block ====="
_DIFFERING = (
    (r"\d{4}-\d\d-\d\d(T|, | at | )\d\d:\d\d(:\d\d(\.\d{6})?)?Z?", "<time>"),
    (r"\d{4}-\d\d-\d\d", "<time>"),
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<id>"),
    (r"\+[0-9a-f]{8}\+[A-Za-z0-9+/]+=*", "+<key>"),
    (r"\b[0-9a-f]{16,64}\b", "<hash>"),
    (r"(?<![A-Za-z0-9+/.])[A-Za-z0-9+/]{43,}={0,2}", "<base64>"),
)


def blocks(page: str) -> list[str]:
    """Return what stands in the console blocks of a page, in order."""
    return re.findall(r"^```console\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)


def shown(page: str, directory: Path) -> list[str]:
    """Run the commands of a page in one shell, and return what each block then shows."""
    script = [f"PATH={directory / 'bin'}:$PATH"]
    for block in blocks(page):
        for command in re.findall(r"^\$ (.*)$", block, re.MULTILINE):
            quoted = command.replace("'", "'\\''")
            script += [f"printf '%s\\n' '$ {quoted}'", command]
        script.append(f"echo '{_MARK}'")
    shutil.copy(proof.__file__, directory / "proof.py")
    output = on_terminal("\n".join([*script, "true"]), directory)
    return output.split(f"{_MARK}\n")[:-1]


def alike(block: str) -> str:
    """Return a block without what differs from one run to the next."""
    for pattern, name in _DIFFERING:
        block = re.sub(pattern, name, block)
    return block


def test_every_command_shows_what_the_page_prints(tmp_path: Path) -> None:
    page = PAGE.read_text("utf-8")
    found = shown(page, tmp_path)

    assert len(found) == len(blocks(page))
    for printed, block in zip(blocks(page), found, strict=True):
        assert alike(block.replace(f"{tmp_path.resolve()}/", "…/")) == alike(printed)


def test_what_differs_each_time_is_all_that_is_left_out() -> None:
    key = "example.org/notes+0a1b2c3d+AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA="

    assert alike(f"at 2026-11-30T19:15:00Z by {key}: ok, 3 events") == (
        "at <time> by example.org/notes+<key>: ok, 3 events"
    )


def rewrite() -> None:
    """Print into the page what its commands show now: `python -m tests.docs.test_audit`."""
    import tempfile

    page = PAGE.read_text("utf-8")
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory).resolve()
        for old, new in zip(blocks(page), shown(page, root), strict=True):
            page = page.replace(
                f"```console\n{old}```", f"```console\n{new}```".replace(f"{root}/", "…/")
            )
    PAGE.write_text(page, "utf-8")


if __name__ == "__main__":
    rewrite()
