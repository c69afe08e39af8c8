"""How postings lie in a Whoosh segment: the schema and the codec of a scope's index.

The inverted lists are ours: flat little-endian arrays, which are written and read a hundred
times faster than lists of pickled blocks of 128 postings, and which hold nothing that could run.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from whoosh import columns, fields
from whoosh.codec import base, whoosh3
from whoosh.filedb.filestore import Storage
from whoosh.filedb.structfile import StructFile
from whoosh.matching import ListMatcher
from whoosh.reading import TermInfo, TermNotFound

from projections.search.columns import ROW
from projections.search.fields import NAMES
from projections.search.postings import Keys, Postings, keys_of

_MAGIC = np.frombuffer(b"mlpost01", dtype=np.uint8)

ROW_COLUMN = columns.FixedBytesColumn(ROW.itemsize)
NOTE_COLUMN = columns.VarBytesColumn()


def schema() -> fields.Schema:
    """Return the schema: one exact field for each of ours, a row and the note's bytes."""
    made = fields.Schema(**{name: fields.ID() for name in NAMES})
    made.add("row", fields.COLUMN(ROW_COLUMN))
    made.add("note", fields.COLUMN(NOTE_COLUMN))
    return made


def packed(postings: Postings) -> Iterator[bytes]:
    """Yield the content of a postings file: magic, two counts, then the five arrays."""
    yield _MAGIC.tobytes()
    yield np.array([len(postings.keys), len(postings.documents)], dtype="<u8").tobytes()
    yield postings.keys.high.astype("<u8").tobytes()
    yield postings.keys.low.astype("<u8").tobytes()
    yield postings.starts.astype("<u4").tobytes()
    yield postings.documents.astype("<u4").tobytes()
    yield postings.counts.astype("<u2").tobytes()


def unpacked(content: bytes) -> Postings:
    """Return the postings that `packed` was given, without a copy.

    Raises:
        ValueError: The content has another format or length.
    """
    if content[:8] != _MAGIC.tobytes():
        raise ValueError(content[:8])
    terms, postings = np.frombuffer(content, dtype="<u8", count=2, offset=8).tolist()
    arrays, offset = [], 24
    for kind, count in (
        ("<u8", terms),
        ("<u8", terms),
        ("<u4", terms + 1),
        ("<u4", postings),
        ("<u2", postings),
    ):
        arrays.append(np.frombuffer(content, dtype=kind, count=count, offset=offset))
        offset += arrays[-1].nbytes
    return Postings(Keys(arrays[0], arrays[1]), *arrays[2:])


class BlockFieldWriter(base.FieldWriter):  # type: ignore[misc]
    """Writes a whole block's postings at once."""

    def __init__(self, file: StructFile) -> None:
        self._file = file
        self.is_closed = False

    def add_block(self, postings: Postings) -> None:
        """Write the one block of this segment."""
        for piece in packed(postings):
            self._file.write(piece)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self.is_closed = True


class BlockTermsReader(base.TermsReader):  # type: ignore[misc]
    """Answers Whoosh's questions about a term from the arrays. Terms cannot be enumerated."""

    def __init__(self, postings: Postings) -> None:
        self.postings = postings

    def _list(self, field: str, term: bytes) -> slice | None:
        number = int(self.postings.find(keys_of([(NAMES.index(field), term.decode())]))[0])
        if number < 0:
            return None
        return slice(*self.postings.starts[number : number + 2].tolist())

    def __contains__(self, term: tuple[str, bytes]) -> bool:
        return self._list(*term) is not None

    def term_info(self, field: str, term: bytes) -> TermInfo:
        """Return the statistics of a term, as Whoosh's scorers want them."""
        span = self._list(field, term)
        if span is None:
            raise TermNotFound(field, term)
        documents, counts = self.postings.documents[span], self.postings.counts[span]
        return TermInfo(
            weight=float(counts.sum()), df=len(documents), maxweight=float(counts.max()),
            minid=int(documents[0]), maxid=int(documents[-1]),
        )  # fmt: skip

    def doc_frequency(self, field: str, term: bytes) -> int:
        """Return how many documents of the segment have a term, deleted ones included."""
        return int(self.term_info(field, term).doc_frequency())

    def matcher(
        self, field: str, term: bytes, format_: object, scorer: object = None
    ) -> ListMatcher:
        """Return a term's postings as Whoosh iterates over them."""
        info, span = self.term_info(field, term), self._list(field, term)
        return ListMatcher(
            self.postings.documents[span].tolist(), self.postings.counts[span].tolist(),
            format=format_, scorer=scorer, term=(field, term), terminfo=info,
        )  # fmt: skip

    def indexed_field_names(self) -> Sequence[str]:
        """Return the names of the fields that have terms."""
        return NAMES

    def close(self) -> None:
        """Nothing is open: the arrays are views of the checked bytes."""


class BlockCodec(whoosh3.W3Codec):  # type: ignore[misc]
    """Whoosh's own codec with the inverted lists of a `Postings`."""

    length_stats = False

    def field_writer(self, storage: Storage, segment: whoosh3.W3Segment) -> BlockFieldWriter:
        """Return what writes the postings of a new segment."""
        return BlockFieldWriter(segment.create_file(storage, self.POSTS_EXT))

    def terms_reader(self, storage: Storage, segment: whoosh3.W3Segment) -> BlockTermsReader:
        """Return what reads the postings of a segment."""
        name = segment.make_filename(self.POSTS_EXT)
        with storage.open_file(name) as file:
            return BlockTermsReader(unpacked(file.get(0, storage.file_length(name))))
