"""Segments of the inverted index: the newest rows become one, which is merged with small ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from salience.records.fields import LEXICAL
from salience.stores.index.words.postings import Segment
from salience.stores.postgres import schema
from salience.stores.postgres.sql.postings import build_segments, join_chunks, split_segment
from salience.stores.postgres.wire.commands import Command, Copy, Statement, Steps

FLUSH_ROWS = 4096  # rows outside segments at which they become one
_MERGE_SIZE_RATIO = (
    4  # a segment up to this many times as large as its right neighbour is merged with it
)
_MAX_SEGMENT_ROWS = 1 << 18  # rows beyond which segments are not merged


def flush_segments(namespace: str, merged: int, counter: int) -> Steps[None]:
    """Make a segment of the rows after `merged`; merge it with small ones before it.

    Whoever does it has locked the namespace.
    """
    columns = ", ".join(LEXICAL)
    words, existing = yield [
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
    fresh = build_segments(words, merged, counter)
    removed: list[tuple[str, int]] = []
    for field, segment in list(fresh.items()):
        before = [(first, size) for name, first, size in existing if name == field]
        while before and _is_merged(before[-1][1], segment.size):
            first, size = before.pop()
            [rows] = yield [
                Statement(
                    "SELECT data FROM chunks WHERE namespace = %s AND field = %s AND first = %s",
                    (namespace, field, first),
                )
            ]
            removed.append((field, first))
            if rows:
                segment = join_chunks(first, size, [data for (data,) in rows]).merged(segment)
        fresh[field] = segment
    commands = _replace_segments(namespace, removed, fresh, counter)
    if counter.bit_length() > merged.bit_length():  # plans are of half the size
        commands.append(schema.ANALYZE_ALL)
    yield commands


def remake_segments(namespace: str, version: int) -> Steps[None]:
    """Make all segments of a namespace anew from the terms of its memories, for any version."""
    *_, [[erased, counter]] = yield [
        Statement("DELETE FROM chunks WHERE namespace = %s", (namespace,)),
        Statement("DELETE FROM segments WHERE namespace = %s", (namespace,)),
        Statement(
            "UPDATE spaces SET merged = erased WHERE namespace = %s RETURNING erased, counter",
            (namespace,),
        ),
    ]
    for begin in range(erased, counter, _MAX_SEGMENT_ROWS):
        yield from flush_segments(namespace, begin, min(begin + _MAX_SEGMENT_ROWS, counter))


def _is_merged(left: int, right: int) -> bool:
    return left <= right * _MERGE_SIZE_RATIO and left + right <= _MAX_SEGMENT_ROWS


def _replace_segments(
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
                for term, data in split_segment(each)
            ),
        ),
        Statement("UPDATE spaces SET merged = %s WHERE namespace = %s", (counter, namespace)),
    ]
    return commands
