"""What the benchmarks share: Zipf text without a source, percentiles, tables of 80 columns.

Everything random comes from one seed, so two runs measure the same notes.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, timedelta
from functools import lru_cache
from itertools import accumulate, count, islice, product
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from memlog.store.location import file_system

Item = TypeVar("Item")

ROOT = Path(__file__).resolve().parent.parent
TABLE_COLUMNS_MAX = 80

_VOCABULARY_WORDS = 20_000
_TOPICS = 200
_ZIPF_EXPONENT = 1.05
_BODY_WORDS_MIN, _BODY_WORDS_MAX = 40, 200
_SENTENCE_WORDS = 14
_TITLE_WORDS_MIN, _TITLE_WORDS_MAX = 3, 8
_FIRST_DAY = date(2020, 1, 1)


class NoteText(NamedTuple):
    """What a benchmark writes as one note."""

    title: str
    body: str
    topics: tuple[str, ...]


# --- Text


@lru_cache(maxsize=1)
def _vocabulary() -> tuple[list[str], list[float]]:
    """Return words by falling frequency and their cumulated weights, the same for every seed."""
    onsets = ("b", "br", "d", "f", "gl", "k", "l", "m", "n", "p", "r", "s", "st", "t", "v", "z")
    syllables = [onset + vowel for onset, vowel in product(onsets, "aeiou")]
    base = len(syllables)
    numbers = random.Random(0).sample(range(base**3), _VOCABULARY_WORDS)
    words = [
        syllables[number // base**2] + syllables[number // base % base] + syllables[number % base]
        for number in numbers
    ]
    weights = (1 / rank**_ZIPF_EXPONENT for rank in range(1, _VOCABULARY_WORDS + 1))
    return words, list(accumulate(weights))


class Prose:
    """Words whose frequency falls with their rank (Zipf), from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._words, self._weights = _vocabulary()

    def words(self, count_min: int, count_max: int) -> list[str]:
        """Return between `count_min` and `count_max` words."""
        count = self.random.randint(count_min, count_max)
        return self.random.choices(self._words, cum_weights=self._weights, k=count)

    def title(self) -> str:
        """Return a title of 3 to 8 words."""
        return " ".join(self.words(_TITLE_WORDS_MIN, _TITLE_WORDS_MAX)).capitalize()

    def body(self) -> str:
        """Return 40 to 200 words in sentences."""
        words = self.words(_BODY_WORDS_MIN, _BODY_WORDS_MAX)
        starts = range(0, len(words), _SENTENCE_WORDS)
        sentences = (" ".join(words[at : at + _SENTENCE_WORDS]).capitalize() for at in starts)
        return ". ".join(sentences) + "."

    def topics(self) -> tuple[str, ...]:
        """Return 1 to 3 topics of a few hundred."""
        chosen = self.random.choices(
            self._words[:_TOPICS],
            cum_weights=self._weights[:_TOPICS],
            k=self.random.randint(1, 3),
        )
        return tuple(dict.fromkeys(chosen))


def plain_notes(seed: int) -> Iterator[NoteText]:
    """Yield notes without end, each with a title that no other of them has."""
    prose = Prose(seed)
    titles: set[str] = set()
    while True:
        title = prose.title()
        if title not in titles:
            titles.add(title)
            yield NoteText(title, prose.body(), prose.topics())


def alike_notes(seed: int) -> Iterator[NoteText]:
    """Yield notes without end that share most of their title words: a summary a day and project."""
    prose = Prose(seed)
    projects = list(dict.fromkeys(Prose(0).words(40, 40)))
    first_day = _FIRST_DAY.replace(year=_FIRST_DAY.year + seed % 1_000)
    for number in count():
        day = first_day + timedelta(days=number)
        for project in projects:
            title = f"Daily summary of project {project} {day}"
            yield NoteText(title, prose.body(), (project, "daily"))


DATA_SETS: dict[str, Callable[[int], Iterator[NoteText]]] = {
    "plain": plain_notes,
    "alike": alike_notes,
}


# --- Numbers


class Spread(msgspec.Struct, frozen=True):
    """How long the calls of one contender took.

    Attributes:
        p50_ms: the median.
        p95_ms: the 95th percentile.
    """

    p50_ms: float
    p95_ms: float

    @classmethod
    def of(cls, times_ns: Sequence[int]) -> Spread:
        """Return the spread of at least two measured times."""
        cuts = statistics.quantiles(times_ns, n=20, method="inclusive")
        return cls(statistics.median(times_ns) / 1e6, cuts[-1] / 1e6)

    def ratio_to(self, other: Spread) -> Spread:
        """Return this spread in units of another one."""
        return Spread(self.p50_ms / other.p50_ms, self.p95_ms / other.p95_ms)

    def __str__(self) -> str:
        """Return `p50 / p95`."""
        return f"{_short(self.p50_ms)} / {_short(self.p95_ms)}"


def _short(number: float) -> str:
    """Return a number with at most two decimals in at most four characters, below 10,000."""
    decimals = max(0, 2 - (number >= 9.995) - (number >= 99.95))  # As it would be rounded.
    return f"{number:.{decimals}f}"


# --- Running and printing


def arguments(parser: argparse.ArgumentParser, given: Sequence[str] | None) -> argparse.Namespace:
    """Add what every benchmark takes, and parse."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--seed", type=int, default=1, help="of all text (default: %(default)s)")
    parser.add_argument(
        "--dir", type=Path, help="make the stores in a directory of this one (on a real disk)"
    )
    return parser.parse_args(given)


def work_directory(under: Path | None) -> tempfile.TemporaryDirectory[str]:
    """Return a new directory for the stores; warn where a durable write costs nothing."""
    directory = tempfile.TemporaryDirectory(prefix="memlog-bench-", dir=under)
    if file_system(Path(directory.name)) in ("tmpfs", "ramfs"):
        progress(f"{directory.name} is in memory: an fsync is free there; name a disk with --dir")
    return directory


def progress(line: str) -> None:
    """Tell on stderr what goes on."""
    print(line, file=sys.stderr, flush=True)


def batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield the items in lists of `size`, the last one shorter."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of plain text: the first column to the left, the others to the right."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    text = [title, ""]
    for line in lines:
        first, *others = (
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        text.append("  ".join((first, *others)).rstrip())
    text.insert(3, "-" * max(map(len, text[2:])))
    assert max(map(len, text)) <= TABLE_COLUMNS_MAX
    return "\n".join(text)


def print_json(result: object) -> None:
    """Print a result as JSON that a person can read too."""
    print(json.dumps(msgspec.to_builtins(result), indent=2))
