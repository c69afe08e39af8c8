"""The benchmarks run, and say what they promise; how fast anything is, no test asks."""

import json
import random
from itertools import islice
from pathlib import Path

import pytest

import memlog
from benchmarks import common, replay, write
from benchmarks.common import DATA_SETS, Spread

CONTENDERS = ["bare", "fts5", "memlog"]


@pytest.mark.parametrize("name", DATA_SETS)
def test_a_data_set_is_the_same_for_the_same_seed_and_no_title_comes_twice(name: str) -> None:
    notes = list(islice(DATA_SETS[name](7), 300))
    random.seed(0)

    assert notes == list(islice(DATA_SETS[name](7), 300))
    assert notes != list(islice(DATA_SETS[name](8), 300))
    assert len({note.title for note in notes}) == 300
    assert all(40 <= len(note.body.split()) <= 200 for note in notes)


def test_notes_alike_share_most_of_their_title_words() -> None:
    first, second = islice(DATA_SETS["alike"](1), 2)

    shared = set(first.title.split()) & set(second.title.split())

    assert len(shared) / len(first.title.split()) > 0.5


def test_a_spread_is_the_median_and_the_95th_percentile() -> None:
    times_ns = [number * 1_000_000 for number in range(101)]

    assert Spread.of(times_ns) == Spread(50.0, 95.0)
    assert str(Spread.of(times_ns).ratio_to(Spread(25.0, 38.0))) == "2.00 / 2.50"
    assert str(Spread(9.999, 123.4)) == "10.0 / 123"


def test_a_table_too_wide_for_a_terminal_is_refused() -> None:
    with pytest.raises(AssertionError):
        common.table("wide", ("a", "b"), [("x" * 50, "y" * 50)])


@pytest.mark.parametrize("name", CONTENDERS)
def test_a_contender_keeps_every_note_that_it_was_given(name: str, tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    first, *others = islice(DATA_SETS["plain"](1), 4)
    contender = write.CONTENDERS[name](path)

    contender.load(others)
    contender.write(first)
    contender.close()

    count = write.CONTENDERS[name](path).count()
    assert count == 4


def test_the_fts5_peer_finds_what_it_keeps_and_numbers_equal_titles(tmp_path: Path) -> None:
    peer = write.FTS5(tmp_path / "peer.db")
    note = common.NoteText("Deploy keys", "They rotate.", ("deploy",))

    peer.load([note, note])

    assert peer.search("rotating") == ["deploy-keys", "deploy-keys-2"]
    peer.close()


@pytest.mark.parametrize("name", CONTENDERS)
def test_every_contender_has_the_same_page_size_and_durability(name: str, tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    contender = write.CONTENDERS[name](path)
    texts = DATA_SETS["plain"](1)
    contender.write(next(texts))

    pages = write.pages_a_commit(path, contender, texts)

    contender.close()
    assert pages >= 1
    assert path.read_bytes()[16:20] == b"\x10\x00\x02\x02"  # 4,096-byte pages, WAL both ways.


def test_fsyncs_are_counted_or_said_to_be_unknown(tmp_path: Path) -> None:
    path = tmp_path / "bare.db"
    write.Bare(path).close()

    fsyncs = write.fsyncs_a_write(path, "bare", "plain", calls=20, seed=3)

    assert fsyncs is None or fsyncs >= 1  # One a commit: it is durable.


def test_without_strace_fsyncs_are_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert write.fsyncs_a_write(tmp_path / "x.db", "bare", "plain", calls=1, seed=3) is None


def test_the_write_benchmark_prints_tables_of_80_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))  # Without strace: it takes most of the time.

    write.main(["--sizes", "10,40", "--calls", "5", "--dir", str(tmp_path)])

    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 80
    assert [line.split()[:2] for line in printed.splitlines() if line.startswith("alike")][:2] == [
        ["alike", "10"],
        ["alike", "40"],
    ]
    assert list(tmp_path.iterdir()) == []


def test_the_write_benchmark_prints_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write.main(
        ["--sizes", "10", "--calls", "3", "--data", "plain", "--json", "--dir", str(tmp_path)]
    )

    result = json.loads(capsys.readouterr().out)
    (measured,) = result["measured"]
    assert (measured["data"], measured["notes"]) == ("plain", 10)
    assert list(measured["times"]) == list(measured["pages"]) == CONTENDERS
    assert measured["pages"]["bare"] >= 1
    assert set(result["growth"]["plain"]) == set(CONTENDERS)


def test_an_unknown_data_set_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        write.main(["--data", "plain,poetry"])

    assert "poetry" in capsys.readouterr().err


def test_a_replay_log_has_mixed_types_and_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("one.db", "two.db")]
    for path in paths:
        replay.build(path, events=800, seed=1)

    logs = [memlog.open(path) for path in paths]
    payloads = [[event.payload for event in log.events()] for log in logs]
    for log in logs:
        log.close()
    assert payloads[0] == payloads[1]
    assert {type(payload).__name__ for payload in payloads[0]} == {
        "NoteWritten",
        "NotePinned",
        "NoteUnpinned",
        "NotesLinked",
        "NotesUnlinked",
    }


def test_every_replay_step_does_all_events(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    replay.build(path, events=300, seed=1)

    done = {name: step(path) for name, step in replay.STEPS.items()}

    assert len(set(done.values())) == 1
    assert done["bare SELECT"] >= 300


def test_the_replay_benchmark_prints_a_table_and_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--events", "150", "--rounds", "1", "--dir", str(tmp_path)]

    replay.main(given)
    printed = capsys.readouterr().out
    replay.main([*given, "--json"])
    result = json.loads(capsys.readouterr().out)

    assert max(map(len, printed.splitlines())) <= 80
    assert [rate["step"] for rate in result["rates"]] == list(replay.STEPS)
    assert result["events"] >= 150
    assert sum(result["by_type"].values()) == result["events"]
