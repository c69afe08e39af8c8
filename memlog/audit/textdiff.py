"""Two texts as a unified diff, in bounded time whatever they are. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

_COMPARED_MAX = 250_000  # pairs of lines; difflib is cubic on what was made to be so
_CONTEXT_LINES = 3

# tag, and the lines from where to where in the old and in the new text
_Opcode = tuple[str, int, int, int, int]


def unified(old: str, new: str, *, old_name: str, new_name: str) -> str:
    r"""Return what to do to `old` to get `new`, as `diff -u` says it; "" when they are equal.

    A line is what stands between line feeds (so a text that ends in one has an empty last line),
    and no other character is touched. Texts of very many and very different lines come as all of
    the old ones and then all of the new ones.
    """
    if old == new:
        return ""
    old_lines, new_lines = old.split("\n"), new.split("\n")
    matcher = SequenceMatcher[str](None, (), ())
    matcher.opcodes = _opcodes(old_lines, new_lines)  # type: ignore[attr-defined]  # what it groups
    head = [f"--- {old_name}", f"+++ {new_name}"]
    groups = matcher.get_grouped_opcodes(_CONTEXT_LINES)
    return "\n".join(
        [*head, *(line for group in groups for line in _hunk(group, old_lines, new_lines))]
    )


def _opcodes(old: Sequence[str], new: Sequence[str]) -> list[_Opcode]:
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    middle = old[start : len(old) - end], new[start : len(new) - end]
    opcodes: list[_Opcode] = [("replace", 0, len(middle[0]), 0, len(middle[1]))]
    if len(middle[0]) * len(middle[1]) <= _COMPARED_MAX:
        opcodes = [*SequenceMatcher(None, *middle).get_opcodes()]
    shifted = [(tag, *(start + each for each in places)) for tag, *places in opcodes]
    return [
        *_equal(0, 0, start),
        *shifted,  # type: ignore[list-item]  # four places again
        *_equal(len(old) - end, len(new) - end, end),
    ]


def _equal(old: int, new: int, count: int) -> list[_Opcode]:
    return [("equal", old, old + count, new, new + count)] if count else []


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    """Return how many lines from the first on are equal."""
    pairs = zip(left, right, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(left), len(right)))


def _hunk(group: Sequence[_Opcode], old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    first, last = group[0], group[-1]
    yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@"
    for tag, old_start, old_end, new_start, new_end in group:
        if tag == "equal":
            yield from (f" {line}" for line in old[old_start:old_end])
            continue
        yield from (f"-{line}" for line in old[old_start:old_end])
        yield from (f"+{line}" for line in new[new_start:new_end])


def _range(start: int, end: int) -> str:
    """Return lines as a hunk's head names them; an empty range by the line before it."""
    count = end - start
    return f"{start + 1 if count else start},{count}"
