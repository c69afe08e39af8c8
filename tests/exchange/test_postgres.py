"""The same on PostgreSQL: notes in, the log out and in."""

from pathlib import Path

import pytest

import memlog
from memlog.errors import InvalidRequestError
from memlog.exchange.items import FileRefusedError
from memlog.exchange.log_export import export_log
from memlog.exchange.log_import import import_log
from tests.exchange.places import bring, edges, put


def test_notes_and_the_log_travel_between_engines(postgres_url: str, tmp_path: Path) -> None:
    put(
        tmp_path / "vault",
        {"a.md": "[[b]]", "b.md": "x", "g.jsonl": '{"name":"E","observations":["o"]}'},
    )
    with memlog.open(tmp_path / "lite.db") as lite:
        memory = lite.scope("owner", "alice")
        bring(memory, tmp_path / "vault")
        export_log(lite, tmp_path / "lite.jsonl")
        wrong = (tmp_path / "lite.jsonl").read_bytes().replace(b"[[b]]", b"[[c]]")
        (tmp_path / "wrong.jsonl").write_bytes(wrong)

        with pytest.raises(FileRefusedError, match="line 2"):
            import_log(tmp_path / "wrong.jsonl", postgres_url)
        imported = import_log(tmp_path / "lite.jsonl", postgres_url)
        assert (imported.created, imported.log_id) == (True, lite.log_id)
        with memlog.open(postgres_url) as big:
            there = big.scope("owner", "alice")
            assert there.section() == memory.section()
            export_log(big, tmp_path / "big.jsonl")
            assert not bring(there, tmp_path / "vault").changed
            for text in ("one [[b]]", "two [[b]]"):
                put(tmp_path / "vault", {"c.md": text})
                bring(there, tmp_path / "vault")
            assert not bring(there, tmp_path / "vault").changed
            assert there.read("c").note.body == "two [[b]]"
            assert edges(there) == {
                ("a", "b", "related", None),
                ("c", "b", "related", None),
            }
    assert (tmp_path / "lite.jsonl").read_bytes() == (tmp_path / "big.jsonl").read_bytes()
    with memlog.open(tmp_path / "other.db") as other:
        other.scope("global").write(title="x", body="y")
        export_log(other, tmp_path / "other.jsonl")
    with pytest.raises(InvalidRequestError, match="a copy of itself"):
        import_log(tmp_path / "other.jsonl", postgres_url)
