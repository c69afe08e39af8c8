"""What a terminal gets to see of text that somebody else wrote."""

import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlog.cli.terminal import steers, visible, visible_json, visible_lines
from memlog.defuse import is_invisible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("部署 हिन्दी é 🎉", "部署 हिन्दी é 🎉"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
        ("\x7f\x9b", "\\x7f\\x9b"),
        ("\u202eevil\u2066", "\\u202eevil\\u2066"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("\u2028\u2029", "\\u2028\\u2029"),
        ("\ufe0f\u3164\u115f", "\\ufe0f\\u3164\\u115f"),
        ("\U000e0041", "\\U000e0041"),
        ("\udc80", "\\udc80"),
        ("\\x1b", "\\x1b"),
    ],
)
def test_what_could_steer_a_terminal_shows_as_an_escape(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_a_block_keeps_its_lines_and_tabs_and_nothing_else() -> None:
    assert visible_lines("a\n\tb\r\n\x1b[1mc") == "a\n\tb\\r\n\\x1b[1mc"


def test_every_control_format_and_separator_character_steers() -> None:
    named = {
        chr(code)
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) in {"Cc", "Cf", "Cs", "Zl", "Zp"}
    }

    assert all(map(steers, named))
    assert not any(steers(character) for character in "aé部ह 🎉́" if character not in named)


def test_what_hides_from_a_model_hides_from_no_reader() -> None:
    hidden = {chr(code) for code in range(sys.maxunicode + 1) if is_invisible(chr(code))}

    assert {"\u200b", "\u202e", "\ufe0f", "\u3164", "\u034f", "\U000e0041"} < hidden
    assert all(map(steers, hidden))
    assert not any(is_invisible(character) for character in "aé部ह 🎉́\n\x1b")


@given(st.text(st.characters()))
def test_escaping_twice_is_escaping_once(text: str) -> None:
    assert visible(visible(text)) == visible(text)
    assert not any(map(steers, visible(text)))


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_json_for_a_terminal_has_the_same_value_and_steers_nothing(text: str) -> None:
    document = visible_json(json.dumps({"text": text}, ensure_ascii=False))

    assert json.loads(document) == {"text": text}
    assert not any(map(steers, document))
