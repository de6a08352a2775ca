"""Checks of what the memories of a namespace are found by, against their texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from salience.records.fields import FIELDS, LEXICAL
from salience.records.record import Draft
from salience.retrieval.safety import Finding
from salience.stores import codec
from salience.stores.index.words.postings import Segment
from salience.stores.postgres.safety.problem import Problem
from salience.stores.postgres.sql.columns import codec_values_of
from salience.stores.postgres.sql.postings import build_segments, join_chunks
from salience.stores.postgres.wire.commands import Many, Statement, Steps
from salience.stores.postgres.write.put import DERIVED, TERMS, names_of, terms_of
from salience.stores.postgres.write.segments import remake_segments
from salience.stores.safety.findings import EXAMPLES, FIX, stale_words

_PAGE_MEMORIES = 1_000
_FIELD_COLUMNS = ", ".join("m.metadata::text" if n == "metadata" else f'm."{n}"' for n in FIELDS)
_DERIVED_COLUMNS = ", ".join(f"m.{name}" for name in DERIVED)
_TERM_COLUMNS = ", ".join(f"w.{name}" for name in TERMS)
_SELECT_MEMORIES = f"""
SELECT m."row", {_FIELD_COLUMNS}, {_DERIVED_COLUMNS}, {_TERM_COLUMNS}
FROM memories m LEFT JOIN words w ON w.namespace = %s AND w."row" = m."row"
WHERE m.namespace = %s AND m."row" > %s ORDER BY m."row" LIMIT {_PAGE_MEMORIES}
"""
_SET_DERIVED = (
    f"UPDATE memories SET {', '.join(f'{name} = %s' for name in DERIVED)} "
    'WHERE namespace = %s AND "row" = %s'
)
_SET_TERMS = (
    f'INSERT INTO words (namespace, "row", {", ".join(TERMS)}) '
    f'VALUES (%s, %s, {", ".join(["%s"] * len(TERMS))}) ON CONFLICT (namespace, "row") '
    f"DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in TERMS)}"
)
_OUTSIDE = (
    'SELECT count(*) FROM words w WHERE w.namespace = %s AND w."row" <= %s AND w.{field} IS NOT '
    "NULL AND NOT EXISTS (SELECT FROM segments s WHERE s.namespace = %s AND s.field = %s "
    'AND w."row" > s.first AND w."row" <= s.first + s.size)'
)
Read = Callable[..., list[Any]]
"""Answers statements about the namespace."""
Mend = Callable[[Callable[[int], Steps[None]]], None]
"""Runs steps that write to the namespace, given its next version."""


class _Found(NamedTuple):
    """The columns that a memory is found by, as they are to be."""

    row: int
    id: str
    derived: Sequence[Any]
    terms: Sequence[bytes | None]


class WordChecks:
    """The checks of terms, features, keys and postings."""

    def __init__(self, namespace: str, read: Read, mend: Mend) -> None:
        self._namespace = namespace
        self._read = read
        self._mend = mend

    def stale_words(self) -> Iterator[Problem]:
        """Memories whose terms, features or keys are not those of their texts."""
        stale: list[_Found] = []
        unreadable: list[str] = []
        for stored in self._memories():
            try:
                wanted = self._computed(stored)
            except (ValueError, TypeError, OverflowError) as error:
                unreadable.append(f"{stored['id']}: {error}")
                continue
            own = [stored[name] for name in DERIVED], [stored[f"terms.{n}"] for n in TERMS]
            if own != (wanted.derived, wanted.terms):
                stale.append(wanted)
        if stale:
            finding = stale_words(len(stale), [each.id for each in stale[:EXAMPLES]])
            yield Problem(finding, partial(self._mend, partial(self._renew, stale)))
        if unreadable:
            problem = f"{len(unreadable):,} memories cannot be read"
            examples = tuple(unreadable[:EXAMPLES])
            remedy = "correct the values, or restore the database from a dump (pg_restore)"
            yield Problem(Finding("memories", problem, len(unreadable), examples, remedy))

    def _memories(self) -> Iterator[dict[str, Any]]:
        """The stored values of all memories, page by page."""
        names = ("row", *FIELDS, *DERIVED, *(f"terms.{name}" for name in TERMS))
        after = 0
        while True:
            [rows] = self._read(
                Statement(_SELECT_MEMORIES, (self._namespace, self._namespace, after))
            )
            for row in rows:
                yield dict(zip(names, row, strict=True))
            if len(rows) < _PAGE_MEMORIES:
                return
            after = rows[-1][0]

    def _computed(self, stored: Mapping[str, Any]) -> _Found:
        """The columns that a memory is to be found by, worked out of its contents."""
        values = codec_values_of([stored[name] for name in FIELDS])
        record = codec.record_of(self._namespace, values)
        encoded = {**codec.encode_draft(Draft(record, {})), **names_of(record)}
        derived = [encoded[name] for name in DERIVED]
        return _Found(stored["row"], stored["id"], derived, terms_of(encoded))

    def _renew(self, stale: Sequence[_Found], version: int) -> Steps[None]:
        """Set what memories are found by; their lengths and postings are looked at next."""
        name = self._namespace
        yield [
            Many(_SET_DERIVED, [(*each.derived, name, each.row) for each in stale]),
            Many(_SET_TERMS, [(name, each.row, *each.terms) for each in stale]),
        ]

    # Postings

    def stale_postings(self) -> Iterator[Problem]:
        """Fields whose segments do not hold the terms of the memories."""
        wrong = self._wrong_fields()
        if wrong:
            wrong &= self._wrong_fields()  # others may have merged segments in between
        if wrong:
            problem = f"the postings of {len(wrong):,} fields are not those of the memories"
            remedy = f"{FIX} makes them anew"
            finding = Finding("postings", problem, len(wrong), tuple(sorted(wrong)), remedy)
            yield Problem(finding, partial(self._mend, partial(remake_segments, self._namespace)))

    def _wrong_fields(self) -> set[str]:
        """The fields with a segment that is wrong, or with memories in none."""
        name = self._namespace
        [[[merged]], segments] = self._read(
            Statement("SELECT merged FROM spaces WHERE namespace = %s", (name,)),
            Statement(
                "SELECT field, first, size FROM segments WHERE namespace = %s ORDER BY 1, 2",
                (name,),
            ),
        )
        return {field for field in LEXICAL if self._outside(field, merged)} | {
            field
            for field, first, size in segments
            if field not in LEXICAL or not self._is_right(field, first, size)
        }

    def _outside(self, field: str, merged: int) -> int:
        """The number of memories that should be in a segment and are in none."""
        parameters = (self._namespace, merged, self._namespace, field)
        [[[count]]] = self._read(Statement(_OUTSIDE.format(field=field), parameters))
        return int(count)

    def _is_right(self, field: str, first: int, size: int) -> bool:
        """Test whether a segment holds the terms of its memories; the dead do not matter."""
        of_segment = (self._namespace, field, first)
        words, chunks = self._read(
            Statement(
                f'SELECT "row", {field} FROM words WHERE namespace = %s AND "row" > %s '
                'AND "row" <= %s ORDER BY "row"',
                (self._namespace, first, first + size),
            ),
            Statement(
                "SELECT data FROM chunks WHERE namespace = %s AND field = %s AND first = %s",
                of_segment,
            ),
        )
        rows = (
            (row, *(blob if name == field else None for name in LEXICAL)) for row, blob in words
        )
        expected = build_segments(rows, first, first + size).get(field)
        alive = np.zeros(size, dtype=bool)
        alive[[row - first - 1 for row, _ in words]] = True
        try:
            stored = join_chunks(first, size, [data for (data,) in chunks]) if chunks else None
            return _same(_living(stored, alive), _living(expected, alive))
        except (ValueError, IndexError, TypeError):  # chunks that are cut short
            return False


def _living(segment: Segment | None, alive: Any) -> tuple[Any, ...] | None:
    """The postings of the living memories of a segment, as columns; None without any."""
    if segment is None:
        return None
    kept = alive[segment.ordinals]
    if not kept.any():
        return None
    terms = np.repeat(segment.terms, np.diff(segment.start))
    columns = (terms, segment.ordinals, segment.tf, segment.head, segment.tail)
    return tuple(column[kept] for column in columns)


def _same(one: tuple[Any, ...] | None, other: tuple[Any, ...] | None) -> bool:
    if one is None or other is None:
        return one is other
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
