"""The benchmark of the MCP server runs, and says what it promises; how fast it is, no test asks."""

from pathlib import Path

import pytest

from benchmarks import mcp


def test_it_prints_a_table_of_80_columns_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mcp.main(["--notes", "20", "--starts", "2", "--dir", str(tmp_path)])

    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split("  ")[0] for line in lines[4:]] == list(mcp._ROWS.values())  # noqa: SLF001
    assert list(tmp_path.iterdir()) == []
