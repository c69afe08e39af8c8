"""What people and models read, kept byte for byte. `python -m tests.digest.golden` writes anew."""

import pytest

from tests.digest import golden, section_parser


@pytest.mark.parametrize("count", golden.COUNTS)
def test_the_section_is_what_was_looked_at(count: int) -> None:
    assert f"{golden.section(count)}\n" == golden.path(count).read_text("utf-8")


@pytest.mark.parametrize("count", golden.COUNTS)
def test_a_golden_section_accounts_for_every_note_that_was_read(count: int) -> None:
    section = section_parser.parse(golden.path(count).read_text("utf-8").removesuffix("\n"))

    assert section.accounted == min(count, golden.READ_MAX)
    assert section.live == count


@pytest.mark.parametrize("count", golden.COUNTS)
def test_no_fixed_line_is_wider_than_a_terminal(count: int) -> None:
    lines = golden.path(count).read_text("utf-8").splitlines()

    assert [line for line in lines if len(line) > 80 and not line.startswith("- ")] == []
