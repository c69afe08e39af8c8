"""Find the item that a name stands for, among those that one import brought. Pure.

A name is a path from the folder that was named (`/vault/tea.md`), or what a person calls a note: a
title, an alias, a permalink, a file's name, the end of a path. Exact first, then without regard to
case. Of several notes the nearest one counts: in the same folder, then nearest to the root, then
first by path.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import NamedTuple

from memlog.exchange.items import Item, Parsed
from memlog.text import fold

_ANYWHERE = ""


class _Place(NamedTuple):
    """A note of some name; the first of two is the nearer one, seen from another folder."""

    depth: int
    path: str
    identity: str


class _Places:
    """The notes of one name: the nearest one of each folder, and of all."""

    def __init__(self) -> None:
        self._nearest: dict[str, _Place] = {}
        self.identity: str | None = None
        self.several = False

    def add(self, place: _Place, folder: str) -> None:
        self.several |= self.identity not in (None, place.identity)
        self.identity = place.identity
        for each in (folder, _ANYWHERE):
            known = self._nearest.get(each)
            if known is None or place[:2] < known[:2]:
                self._nearest[each] = place

    def nearest(self, folder: str) -> str:
        return (self._nearest.get(folder) or self._nearest[_ANYWHERE]).identity


class Finder:
    """The names of all items of one import; holds no bodies."""

    def __init__(self) -> None:
        self._by_path: dict[str, str] = {}
        self._by_name: defaultdict[str, _Places] = defaultdict(_Places)
        self._by_fold: defaultdict[str, _Places] = defaultdict(_Places)

    def add(self, parsed: Parsed) -> None:
        """Take in the items of one file."""
        path = PurePosixPath(f"/{parsed.file}")
        folder, depth = str(path.parent), len(path.parts)
        for item in parsed.items:
            if len(parsed.items) == 1:
                self._by_path[str(path)] = item.identity
            place = _Place(depth, str(path), item.identity)
            for name in _names(item, parsed.file):
                self._by_name[name].add(place, folder)
                self._by_fold[fold(name)].add(place, folder)

    def find(self, name: str, *, file: str) -> tuple[str | None, bool]:
        """Return the identity that a name stands for in a file, and whether there were several."""
        if name.startswith("/"):
            found = self._by_path.get(name) or self._by_path.get(f"{name}.md")
            if found is not None:
                return found, False
            name = name.rpartition("/")[2]  # Published links often lack their folder.
        bare = name.removesuffix(".md").removeprefix("./")
        lookups = [(self._by_name, name), (self._by_name, bare)]
        lookups += [(self._by_fold, fold(name)), (self._by_fold, fold(bare))]
        folder = str(PurePosixPath(f"/{file}").parent)
        for index, key in lookups:
            places = index.get(key)
            if places is not None:
                return places.nearest(folder), places.several
        return None, False


def _names(item: Item, file: str) -> Iterable[str]:
    yield from item.names
    without = PurePosixPath(file).with_suffix("")
    for start in range(1, len(without.parts)):
        yield "/".join(without.parts[start:])
