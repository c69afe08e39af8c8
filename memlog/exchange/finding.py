"""Find the item that a name stands for, among those that one import brought. Pure.

A name is a path from the folder that was named (`/vault/tea.md`), or what a person calls a note: a
title, an alias, a permalink, a file's name, the end of a path. Exact first, then without regard to
case. Of several notes the nearest one counts: in the same folder, then nearest to the root, then
first by path.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from memlog.exchange.items import Item, Parsed
from memlog.text import fold


class Finder:
    """The names of all items of one import; holds no bodies."""

    def __init__(self) -> None:
        self._by_path: dict[str, str] = {}
        self._by_name: dict[str, list[tuple[str, str]]] = {}
        self._by_fold: dict[str, list[tuple[str, str]]] = {}

    def add(self, parsed: Parsed) -> None:
        """Take in the items of one file."""
        for item in parsed.items:
            path = f"/{parsed.file}"
            if len(parsed.items) == 1:
                self._by_path[path] = item.identity
            for name in _names(item, parsed.file):
                for index, key in ((self._by_name, name), (self._by_fold, fold(name))):
                    places = index.setdefault(key, [])
                    if (path, item.identity) not in places:
                        places.append((path, item.identity))

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
        for index, key in lookups:
            places = index.get(key)
            if places:
                return _nearest(places, file), len({identity for _, identity in places}) > 1
        return None, False


def _names(item: Item, file: str) -> Iterable[str]:
    yield from item.names
    without = PurePosixPath(file).with_suffix("")
    for start in range(1, len(without.parts)):
        yield "/".join(without.parts[start:])


def _nearest(places: list[tuple[str, str]], file: str) -> str:
    folder = PurePosixPath(f"/{file}").parent

    def distance(place: tuple[str, str]) -> tuple[bool, int, str]:
        path = PurePosixPath(place[0])
        return path.parent != folder, len(path.parts), place[0]

    return min(places, key=distance)[1]
