"""Postings in tables: segments cut into chunks of consecutive terms, and put together again.

What a segment is, and how it answers, is `salience.stores.index.postings`; here it only gets onto
disk in pieces small enough that a query reads little besides its own terms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from salience.records.fields import LEXICAL
from salience.stores.index.postings import Postings, Segment
from salience.stores.postgres import schema
from salience.stores.postgres.wire.commands import Command, Copy, Statement, Steps

FLUSH_AT = 4096  # rows outside segments at which they become one
_RATIO = 4  # a segment up to this many times as large as its right neighbour is merged with it
_FULL = 1 << 18  # rows beyond which segments are not merged
_CHUNK = 512  # postings a chunk holds, except where a single term has more
_HEADER = 8

CHUNKS = (
    "SELECT c.field, c.first, d.size, c.data FROM (SELECT DISTINCT s.field, s.first, s.size, k.term"
    " FROM segments s CROSS JOIN unnest(%s::bigint[]) AS wanted(term) CROSS JOIN LATERAL (SELECT"
    " term FROM chunks WHERE namespace = %s AND field = s.field AND first = s.first"
    " AND term <= wanted.term ORDER BY term DESC LIMIT 1) k"
    " WHERE s.namespace = %s AND s.field = ANY(%s)) d JOIN chunks c ON c.namespace = %s"
    " AND c.field = d.field AND c.first = d.first AND c.term = d.term"
)


class StoredPostings(Postings):
    """The postings of one field as far as a query needs them, and the field's lengths."""

    def __init__(self, segments: Sequence[Segment], lengths: NDArray[np.int32]) -> None:
        self._segments = list(segments)
        self._fixed = lengths

    @property
    def lengths(self) -> NDArray[np.int32]:
        """Words per memory, by ordinal."""
        return self._fixed


def fetch(namespace: str, terms: Iterable[int], fields: Sequence[str]) -> Statement:
    """Read the chunks that hold some terms."""
    wanted = sorted(set(terms))
    return Statement(CHUNKS, (wanted, namespace, namespace, list(fields), namespace))


def fetched(rows: Iterable[tuple[str, int, int, bytes]]) -> dict[str, list[Segment]]:
    """Segments by field out of the chunks read, each with the terms of these chunks alone."""
    parts: dict[tuple[str, int, int], list[bytes]] = {}
    for field, first, size, data in rows:
        parts.setdefault((field, first, size), []).append(data)
    found: dict[str, list[Segment]] = {}
    for (field, first, size), blobs in sorted(parts.items()):
        found.setdefault(field, []).append(joined(first, size, blobs))
    return found


def chunks(segment: Segment) -> Iterator[tuple[int, bytes]]:
    """A segment in chunks: the first term of each, and its bytes."""
    begin = 0
    counts = np.diff(segment.start)
    while begin < len(segment.terms):
        end = begin + 1
        total = int(counts[begin])
        while end < len(segment.terms) and total + int(counts[end]) <= _CHUNK:
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


def joined(first: int, size: int, blobs: Sequence[bytes]) -> Segment:
    """The segment that chunks, in any order, make."""
    parts = sorted((_parsed(blob) for blob in blobs), key=lambda part: int(part[0][0]))
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    terms, counts, ordinals, tf, head, tail = columns
    start = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    return Segment(first, size, terms, start, ordinals, tf, head, tail)


def _parsed(blob: bytes) -> tuple[NDArray[np.generic], ...]:
    terms, postings = np.frombuffer(blob, dtype="<u4", count=2).tolist()
    found, at = [], _HEADER
    for dtype, count in (
        ("<u8", terms),
        ("<u4", terms),
        ("<i4", postings),
        ("<u2", postings),
        ("u1", postings),
        ("u1", postings),
    ):
        part = np.frombuffer(blob, dtype=dtype, count=count, offset=at)
        found.append(part)
        at += part.nbytes
    return tuple(found)


def flush(namespace: str, merged: int, counter: int) -> Steps[None]:
    """Make a segment of the rows after `merged`; merge it with small ones before it.

    Whoever does it has locked the namespace.
    """
    columns = ", ".join(LEXICAL)
    tail, kept = yield [
        Statement(
            f'SELECT "row", {columns} FROM words WHERE namespace = %s AND "row" > %s'
            ' AND "row" <= %s ORDER BY "row"',
            (namespace, merged, counter),
        ),
        Statement(
            "SELECT field, first, size FROM segments WHERE namespace = %s ORDER BY first",
            (namespace,),
        ),
    ]
    fresh = built(tail, merged, counter)
    removed: list[tuple[str, int]] = []
    for field, segment in list(fresh.items()):
        before = [(first, size) for name, first, size in kept if name == field]
        while before and _joins(before[-1][1], segment.size):
            first, size = before.pop()
            [rows] = yield [
                Statement(
                    "SELECT data FROM chunks WHERE namespace = %s AND field = %s AND first = %s",
                    (namespace, field, first),
                )
            ]
            removed.append((field, first))
            if rows:
                segment = joined(first, size, [data for (data,) in rows]).merged(segment)
        fresh[field] = segment
    commands = _replacing(namespace, removed, fresh, counter)
    if counter.bit_length() > merged.bit_length():  # it has doubled: plans are of another time
        commands.append(schema.LOOK)
    yield commands


def _joins(left: int, right: int) -> bool:
    return left <= right * _RATIO and left + right <= _FULL


def built(
    rows: Iterable[tuple[int, bytes | None, bytes | None]], after: int, until: int
) -> dict[str, Segment]:
    """A segment of each field that has words in the rows from `after` + 1 to `until`."""
    size = until - after
    tokens: dict[str, list[bytes | None]] = {name: [None] * size for name in LEXICAL}
    for row, *blobs in rows:
        for name, blob in zip(LEXICAL, blobs, strict=True):
            tokens[name][row - after - 1] = blob
    found = {}
    for name, each in tokens.items():
        flat = b"".join(blob for blob in each if blob)
        if flat:
            lengths = np.array([len(blob) // 8 if blob else 0 for blob in each], dtype=np.int64)
            found[name] = Segment.build(after, lengths, np.frombuffer(flat, dtype=np.uint64))
    return found


def _replacing(
    namespace: str,
    removed: Sequence[tuple[str, int]],
    fresh: Mapping[str, Segment],
    counter: int,
) -> list[Command]:
    commands: list[Command] = [
        Statement(
            f"DELETE FROM {table} WHERE namespace = %s AND field = %s AND first = %s",
            (namespace, field, first),
        )
        for field, first in removed
        for table in ("segments", "chunks")
    ]
    commands += [
        Copy(
            "segments",
            ("namespace", "field", "first", "size"),
            ("text", "text", "int4", "int4"),
            [(namespace, field, each.first, each.size) for field, each in fresh.items()],
        ),
        Copy(
            "chunks",
            ("namespace", "field", "first", "term", "data"),
            ("text", "text", "int4", "int8", "bytea"),
            (
                (namespace, field, each.first, term, data)
                for field, each in fresh.items()
                for term, data in chunks(each)
            ),
        ),
        Statement("UPDATE spaces SET merged = %s WHERE namespace = %s", (counter, namespace)),
    ]
    return commands
