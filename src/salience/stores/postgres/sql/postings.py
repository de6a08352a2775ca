"""Postings in tables: segments cut into chunks of consecutive terms, and put together again.

Segments are those of `salience.stores.index.words.postings`; here they are only stored, in pieces
small enough that a query reads little besides its own terms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from salience.records.fields import LEXICAL
from salience.stores.index.words.postings import Postings, Segment
from salience.stores.index.words.recent_postings import RecentPostings
from salience.stores.postgres.wire.commands import Statement

_CHUNK_POSTINGS = 512  # postings a chunk holds, except where a single term has more
_HEADER_BYTES = 8

_SELECT_CHUNKS = (
    "SELECT c.field, c.first, d.size, c.data FROM (SELECT DISTINCT s.field, s.first, s.size, k.term"
    " FROM segments s CROSS JOIN unnest(%s::bigint[]) AS wanted(term) CROSS JOIN LATERAL (SELECT"
    " term FROM chunks WHERE namespace = %s AND field = s.field AND first = s.first"
    " AND term <= wanted.term ORDER BY term DESC LIMIT 1) k"
    " WHERE s.namespace = %s AND s.field = ANY(%s)) d JOIN chunks c ON c.namespace = %s"
    " AND c.field = d.field AND c.first = d.first AND c.term = d.term"
)
# The terms of a chunk follow its header, eight bytes each.
_SELECT_CHUNKS_HELD = (
    "SELECT DISTINCT c.field, c.first, s.size, c.data FROM segments s"
    " CROSS JOIN unnest(%s::bigint[], %s::bytea[]) AS wanted(term, bytes)"
    " CROSS JOIN LATERAL (SELECT field, first, term, data FROM chunks WHERE namespace = %s"
    " AND field = s.field AND first = s.first AND term <= wanted.term"
    " ORDER BY term DESC LIMIT 1) c"
    " WHERE s.namespace = %s AND s.field = ANY(%s)"
    f" AND position(wanted.bytes IN substring(c.data FROM 9 FOR {8 * _CHUNK_POSTINGS})) > 0"
)


class StoredPostings(Postings):
    """The postings of one field as far as a query needs them, and the field's lengths."""

    _recent = RecentPostings()  # empty: all are in segments

    def __init__(self, segments: Sequence[Segment], lengths: NDArray[np.int32]) -> None:
        self._segments = list(segments)
        self._fixed = lengths

    @property
    def lengths(self) -> NDArray[np.int32]:
        """Words per memory, by ordinal."""
        return self._fixed


def select_chunks(namespace: str, terms: Iterable[int], fields: Sequence[str]) -> Statement:
    """Read the chunks that hold some terms."""
    wanted = sorted(set(terms))
    return Statement(_SELECT_CHUNKS, (wanted, namespace, namespace, list(fields), namespace))


def select_chunks_held(namespace: str, terms: Iterable[int], fields: Sequence[str]) -> Statement:
    """Read the chunks that hold some of many terms, most of which are in none."""
    wanted = sorted(set(terms))
    bytes_of = [term.to_bytes(8, "little") for term in wanted]
    return Statement(_SELECT_CHUNKS_HELD, (wanted, bytes_of, namespace, namespace, list(fields)))


def parse_chunks(rows: Iterable[tuple[str, int, int, bytes]]) -> dict[str, list[Segment]]:
    """Segments by field, each with the terms of the chunks read alone."""
    parts: dict[tuple[str, int, int], list[bytes]] = {}
    for field, first, size, data in rows:
        parts.setdefault((field, first, size), []).append(data)
    segments: dict[str, list[Segment]] = {}
    for (field, first, size), blobs in sorted(parts.items()):
        segments.setdefault(field, []).append(join_chunks(first, size, blobs))
    return segments


def split_segment(segment: Segment) -> Iterator[tuple[int, bytes]]:
    """A segment in chunks: the first term of each, and its bytes."""
    begin = 0
    counts = np.diff(segment.start)
    while begin < len(segment.terms):
        end = begin + 1
        total = int(counts[begin])
        while end < len(segment.terms) and total + int(counts[end]) <= _CHUNK_POSTINGS:
            total += int(counts[end])
            end += 1
        low, high = int(segment.start[begin]), int(segment.start[end])
        yield (
            int(segment.terms[begin]),
            b"".join(
                (
                    np.array([end - begin, high - low], dtype="<u4").tobytes(),
                    segment.terms[begin:end].astype("<u8").tobytes(),
                    counts[begin:end].astype("<u4").tobytes(),
                    segment.ordinals[low:high].astype("<i4").tobytes(),
                    segment.tf[low:high].astype("<u2").tobytes(),
                    segment.head[low:high].tobytes(),
                    segment.tail[low:high].tobytes(),
                )
            ),
        )
        begin = end


def join_chunks(first: int, size: int, blobs: Sequence[bytes]) -> Segment:
    """The segment that chunks, in any order, make."""
    parts = sorted((_parse_chunk(blob) for blob in blobs), key=lambda part: int(part[0][0]))
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    terms, counts, ordinals, tf, head, tail = columns
    start = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    return Segment(first, size, terms, start, ordinals, tf, head, tail)


def _parse_chunk(blob: bytes) -> tuple[NDArray[np.generic], ...]:
    terms, postings = np.frombuffer(blob, dtype="<u4", count=2).tolist()
    columns, at = [], _HEADER_BYTES
    for dtype, count in (
        ("<u8", terms),
        ("<u4", terms),
        ("<i4", postings),
        ("<u2", postings),
        ("u1", postings),
        ("u1", postings),
    ):
        part = np.frombuffer(blob, dtype=dtype, count=count, offset=at)
        columns.append(part)
        at += part.nbytes
    return tuple(columns)


def build_segments(
    rows: Iterable[tuple[int, bytes | None, bytes | None]], after: int, until: int
) -> dict[str, Segment]:
    """A segment of each field with words in the rows from `after` + 1 to `until`."""
    size = until - after
    tokens: dict[str, list[bytes | None]] = {name: [None] * size for name in LEXICAL}
    for row, *blobs in rows:
        for name, blob in zip(LEXICAL, blobs, strict=True):
            tokens[name][row - after - 1] = blob
    segments = {}
    for name, each in tokens.items():
        flat = b"".join(blob for blob in each if blob)
        if flat:
            lengths = np.array([len(blob) // 8 if blob else 0 for blob in each], dtype=np.int64)
            segments[name] = Segment.build(after, lengths, np.frombuffer(flat, dtype=np.uint64))
    return segments
