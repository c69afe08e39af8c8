"""The words of a scope against a dict of every word's notes, through any batching."""

import sqlite3
from contextlib import closing
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memlog.errors import DriftError
from projections.notes import tables, words
from projections.notes.postings import numbers, outline_of
from projections.notes.waiting import Waiting, waiting_of
from projections.notes.words import Words

TABLE = tables.SETS[0].words
WORDS = ["tea", "te", "ea", "a", "kettle", "茶", "茶壶", "=0f", "é"]
ADD, REMOVE, REOPEN = "add", "remove", "reopen"

actions = st.lists(
    st.one_of(
        st.tuples(st.just(ADD), st.sets(st.sampled_from(WORDS), max_size=5)),
        st.tuples(st.just(REMOVE), st.integers(0, 100)),
        st.tuples(st.just(REOPEN), st.none()),
    ),
    max_size=60,
)


@example([(ADD, {"tea"})] * 3 + [(REMOVE, 0)] * 3, 1, 2, 1)  # A sealed part, and nothing after it.
@given(actions, st.integers(1, 12), st.integers(1, 4), st.integers(1, 9))
def test_words_hold_what_was_added_and_not_removed(
    taken: list[tuple[str, object]], waiting: int, part: int, newest: int
) -> None:
    sizes = patch.multiple(
        words, WAITING_POSTINGS=waiting, PART_POSTINGS=part, NEWEST_POSTINGS=newest
    )
    with closing(sqlite3.connect(":memory:")) as db, sizes:
        for statement in tables.ddl():
            db.execute(statement)
        held = Words(db, TABLE, 1, b"")
        model: dict[int, set[str]] = {}
        for seq, (action, argument) in enumerate(taken, start=1):
            if action == ADD:
                assert isinstance(argument, set)
                held.add(argument, seq=seq, outline=outline_of(argument))
                model[seq] = argument
            elif action == REMOVE and model:
                assert isinstance(argument, int)
                chosen = [*model][argument % len(model)]
                held.remove(model.pop(chosen), seq=chosen)
            elif action == REOPEN:
                held = Words(db, TABLE, 1, held.flush())
        assert_holds(held, model, newest)
        assert_holds(Words(db, TABLE, 1, held.flush()), model, newest)


def assert_holds(held: Words, model: dict[int, set[str]], newest: int) -> None:
    windows = held.rarest(WORDS, len(WORDS))
    for word in WORDS:
        carrying = [seq for seq, carried in model.items() if word in carried]
        assert sorted(held.all_seqs(word)) == carrying
        window = windows[word]
        assert [*window.seqs] == carrying[-newest:]
        assert [*numbers("Q", window.outlines)] == [
            outline_of(model[seq]) for seq in carrying[-newest:]
        ]
        if window.whole:
            assert len(carrying) <= newest


@pytest.mark.parametrize(
    "stored",
    [
        b"\x00",
        msgspec.msgpack.encode((b"\1", b"", b"")),
        msgspec.msgpack.encode((b"", b"", b" \n")),
        msgspec.msgpack.encode((b"\1\0\0\0", bytes(8), b" \xff \n")),
    ],
)
def test_what_waits_is_refused_when_it_was_changed(stored: bytes) -> None:
    with pytest.raises(DriftError, match="the words that wait are damaged"):
        waiting_of(stored)


def test_most_writes_change_no_part() -> None:
    changes: list[str] = []
    with closing(sqlite3.connect(":memory:")) as db:
        for statement in tables.ddl():
            db.execute(statement)
        db.set_trace_callback(changes.append)
        stored = b""
        for seq in range(1, 129):
            held = Words(db, TABLE, 1, stored)
            held.add({f"word{seq}", "tea", "green", "leaf"}, seq=seq, outline=0)
            stored = held.flush()
    writes = [change for change in changes if change.lstrip().startswith("INSERT")]
    # All in one merge: the newest part of each word, and a full one of each common word.
    assert len(writes) == words.WAITING_POSTINGS // 4 + 3 + 3
    assert Waiting() == waiting_of(stored)
