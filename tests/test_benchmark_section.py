"""The benchmark of the section runs, and says what it promises; how fast it is, no test asks."""

import json
from pathlib import Path

import pytest

from benchmarks import section

SMALL = ["--notes", "30", "--calls", "4", "--renders", "2"]


def test_it_prints_tables_of_80_columns_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    section.main([*SMALL, "--dir", str(tmp_path)])

    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split("  ")[0] for line in lines if " / " in line and ":" not in line] == [
        "", "dict", "point read", "section", "", "section", "read + render", "render"
    ]  # fmt: skip
    assert list(tmp_path.iterdir()) == []


def test_it_prints_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    section.main([*SMALL, "--json", "--dir", str(tmp_path)])

    result = json.loads(capsys.readouterr().out)
    assert (result["notes"], result["calls"], result["renders"]) == (30, 4, 2)
    assert list(result["warm"]) == ["dict", "point read", "section"]
    assert list(result["cold"]) == list(result["cold_cpu_ms"])
    assert result["warm_to_point_read"]["p50_ms"] > 0
    assert 500 < result["text_bytes"] <= 8_000
