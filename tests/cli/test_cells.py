"""How text is cut and wrapped by the room that it takes on a terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlog.cli import cells

WORDS = st.text(st.sampled_from("ab 部署é\u0301🎉हि-"), max_size=60)


@pytest.mark.parametrize(
    ("text", "width"), [("abc", 3), ("部署", 4), ("🎉", 2), ("e\u0301", 1), ("हि", 2), ("", 0)]
)
def test_wide_characters_take_two_cells_and_marks_none(text: str, width: int) -> None:
    assert cells.width(text) == width


def test_a_cut_never_halves_a_wide_character() -> None:
    assert cells.cut("部署密钥", 8) == "部署密钥"
    assert cells.cut("部署密钥", 7) == "部署密…"
    assert cells.cut("部署密钥", 6) == "部署…"


def test_words_wrap_and_long_ones_break() -> None:
    assert cells.wrap("linked a to b", 8) == ["linked a", "to b"]
    assert cells.wrap("see abcdefghij", 6) == ["see", "abcdef", "ghij"]
    assert cells.wrap("部署密钥轮换", 5) == ["部署", "密钥", "轮换"]
    assert cells.wrap("", 5) == [""]


@given(WORDS, st.integers(2, 30))
def test_nothing_is_wider_than_it_may_be_and_wrapping_loses_only_spaces(
    text: str, room: int
) -> None:
    lines = cells.wrap(text, room)

    assert all(cells.width(line) <= room for line in [*lines, cells.cut(text, room)])
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
