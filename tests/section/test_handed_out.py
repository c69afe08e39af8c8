"""From the hash of a section that was handed out: the exact text again, in its own scope only."""

import sqlite3
import zlib
from pathlib import Path

from hypothesis import given as for_all
from hypothesis import strategies as st

import memlog
from memlog.requests import AnyRequest
from memlog.settings import Settings
from memlog.testing import FixedClock, open_log, strategies
from memlog.text import utc_text
from projections.digest.render import hash_text
from tests.section.asking import STREAMS, ask, scope_of

ASKED = st.lists(
    st.tuples(st.sampled_from(STREAMS), st.booleans(), strategies.requests()), max_size=20
)


@for_all(ASKED)
def test_every_hash_gives_its_text_in_its_scope(asked: list[tuple[str, bool, AnyRequest]]) -> None:
    known: dict[str, dict[str, str]] = {stream: {} for stream in STREAMS}
    small, large = Settings(index_token_budget=0), Settings()
    with open_log() as log:
        for stream, is_small, request in asked:
            log.settings = small if is_small else large
            memory = scope_of(log, stream)
            ask(memory, request)
            text, hash_ = memory.section()
            assert known[stream].setdefault(hash_, text) == text
        log.rebuild()
        for stream, texts in known.items():
            for hash_, text in texts.items():
                assert scope_of(log, stream).section_text(hash_) == text
                assert hash_text(text) == hash_
                others = [each for each in STREAMS if each != stream and hash_ not in known[each]]
                for other in others:
                    assert scope_of(log, other).section_text(hash_) is None


def test_it_is_there_after_reopening_for_a_reader_too(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    with open_log(path) as log:
        memory = log.scope("owner", "alice")
        memory.write(title="支払い", body="翌月末 \U0001f375", pinned=True)
        old = memory.section()
        memory.unpin(memory.notes()[0].slug)
        assert memory.section() != old
    with memlog.open(path, read_only=True) as log:
        assert log.scope("owner", "alice").section_text(old.hash) == old.text


def test_what_is_no_hash_of_a_section_gives_none() -> None:
    with open_log() as log:
        memory = log.scope("owner", "alice")
        for unknown in ("", "0" * 16, memory.section().hash.upper() + "x", "\0", "\ud800", "茶"):
            assert memory.section_text(unknown) is None


def test_the_record_holds_what_the_design_says(tmp_path: Path) -> None:
    path, clock = tmp_path / "notes.db", FixedClock()
    with open_log(path, clock=clock) as log:
        memory = log.scope("owner", "alice")
        memory.write(title="Tea", body="green")
        memory.write(title="Cup", body="blue", pinned=True)
        text, hash_ = memory.section(conversation_id="c-17")
        memory.section(conversation_id="c-18")  # It is current: nothing is handed out anew.

    with sqlite3.connect(path) as db:
        (row,) = db.execute(
            "SELECT stream, hash, updated_seq, settings, conversation_id, handed_out_at, text "
            "FROM sections"
        )
    db.close()
    assert row[:3] == ("owner/alice", hash_, 3)
    assert row[3].startswith("2000:2000:1/")
    assert row[4:6] == ("c-17", utc_text(clock.now))
    assert zlib.decompress(row[6]).decode() == text
