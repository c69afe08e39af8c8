"""The seam costs nothing to import, and what lies on disk is a Whoosh index."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from whoosh.index import FileIndex
from whoosh.query import Or, Term

from projections.search import Weights, WhooshBackend
from projections.search.directory import private_path, read_files, verified
from projections.search.segments import INDEX, CheckedStorage
from tests.search.notebook import START, Notebook

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.parametrize("module", ["projections.search", "projections.search.protocol"])
def test_importing_the_seam_imports_neither_whoosh_nor_numpy(module: str) -> None:
    code = f"import sys, {module}; assert not {{'whoosh', 'numpy'}} & set(sys.modules)"

    done = subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=ROOT, check=False)

    assert done.returncode == 0


def test_whoosh_itself_can_search_the_index(tmp_path: Path) -> None:
    notes = Notebook()
    notes.write("tea", body="Oolong steeps for three minutes")
    notes.write("coffee", body="Espresso needs 30 seconds")
    notes.write("tea", body="Sencha steeps for one minute")
    backend = WhooshBackend(tmp_path, idle_s=3_600.0)
    backend.commit(notes)
    notes.write("coffee", body="Espresso steeps too")
    backend.commit(notes)
    backend.close()
    path = private_path(tmp_path, log_id=notes.log_id, stream=notes.stream)
    manifest = verified((path / "manifest.json").read_bytes(), key=notes.hmac_key)

    with FileIndex(CheckedStorage(read_files(path, manifest)), indexname=INDEX).searcher() as found:
        for terms, expected in (
            ([("main", "steep")], 2), ([("main", "espresso"), ("main", "sencha")], 2),
            ([("main", "oolong")], 0), ([("slug", "tea")], 1),
        ):  # fmt: skip
            query = Or([Term(*term) for term in terms])
            assert len(list(query.docs(found))) == expected


@pytest.mark.parametrize(
    "wrong",
    [
        {"recency_weight": -0.1}, {"pinned_bonus": float("nan")}, {"half_life_days": 0.0},
        {"half_life_days": float("inf")}, {"recency_weight": float("inf")},
    ],
)  # fmt: skip
def test_weights_that_mean_nothing_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Weights(**wrong)


def test_a_pause_stores_what_is_fresh_and_the_thread_ends(tmp_path: Path) -> None:
    notes = Notebook()
    notes.write("tea", body="Oolong")
    backend = WhooshBackend(tmp_path, idle_s=0.0)
    backend.search(notes, "oolong", now=START, weights=Weights())
    path = private_path(tmp_path, log_id=notes.log_id, stream=notes.stream) / "manifest.json"
    while not path.exists() or any(t.name == "memlog-search" for t in threading.enumerate()):
        time.sleep(0.01)

    again = WhooshBackend(tmp_path, idle_s=3_600.0)
    notes.calls.clear()
    assert again.search(notes, "oolong", now=START, weights=Weights())
    assert "all" not in notes.calls
    again.close()
    backend.close()


def test_no_search_stores_anything_itself(tmp_path: Path) -> None:
    notes = Notebook()
    backend = WhooshBackend(tmp_path / "index", idle_s=3_600.0)
    for number in range(30):
        notes.write(f"n-{number}", body="tea")
        backend.search(notes, "tea", now=START, weights=Weights())

    assert not (tmp_path / "index").exists()
    backend.close()
    assert (tmp_path / "index").exists()
