"""Full-text search over the notes of a scope: a disposable projection of the log.

`protocol` is the seam to the rest of the program and costs nothing to import; whoosh and numpy
are imported by the modules behind `WhooshBackend`, so with the first use of that name.
"""

from typing import TYPE_CHECKING

from projections.search.protocol import Document, Feed, Hit, SearchBackend, Weights

if TYPE_CHECKING:
    from projections.search.backend import WhooshBackend

__all__ = ["Document", "Feed", "Hit", "SearchBackend", "Weights", "WhooshBackend"]


def __getattr__(name: str) -> object:
    if name == "WhooshBackend":
        from projections.search.backend import WhooshBackend

        return WhooshBackend
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")  # noqa: TRY003
