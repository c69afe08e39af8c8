"""The audit benchmark runs, and says what it promises; how fast anything is, no test asks."""

import json
from pathlib import Path

import pytest

from benchmarks import audit


def test_it_measures_everything_and_prints_it(tmp_path: Path) -> None:
    result = audit.run(tmp_path / "log.db", events=300, calls=5, seed=1)

    assert result.events == 300 + 5 + 1
    assert [each.skipped for each in result.verified] == [("index",), ("index", "pages", "words")]
    assert all(each.events_s > 0 for each in result.verified)
    assert result.tree_share > 0
    assert "consistency proof" in audit.report(result)


def test_the_command_line_gives_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    audit.main(["--events", "60", "--calls", "2", "--json", "--dir", str(tmp_path)])

    result = json.loads(capsys.readouterr().out)

    assert result["calls"] == 2
    assert {"write", "tree", "proof", "consistency", "verified"} <= set(result)
