"""The golden sections. `python -m tests.digest.golden` writes them anew; then read the diff."""

from pathlib import Path

from projections.digest.render import render
from tests.digest.examples import headlines, pins, team_memory

COUNTS = (0, 1, 30, 500, 5_000, 20_000)
READ_MAX = 5_000
DIRECTORY = Path(__file__).resolve().parent.parent / "golden" / "section"


def path(count: int) -> Path:
    """Return the file that holds the section of that many notes, and a line break."""
    return DIRECTORY / f"{count}.txt"


def section(count: int) -> str:
    """Return the section of that many notes under the default settings."""
    read = team_memory(count)[-READ_MAX:]
    return render(
        headlines(read), pins(read), live_count=count, budget_tokens=2_000, pinned_body_bytes=2_000
    )


if __name__ == "__main__":
    for each in COUNTS:
        path(each).write_text(f"{section(each)}\n", "utf-8", newline="\n")
