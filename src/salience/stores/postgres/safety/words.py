"""Checks of what the memories of a namespace are found by, against their texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from salience.records.fields import FIELDS
from salience.records.record import Draft
from salience.retrieval.safety import Finding
from salience.stores import codec
from salience.stores.postgres.safety.problem import Problem
from salience.stores.postgres.sql.columns import codec_values_of
from salience.stores.postgres.wire.commands import Many, Send, Statement
from salience.stores.postgres.write.put import DERIVED, TERMS, names_of, terms_of
from salience.stores.safety.findings import EXAMPLES, stale_words

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
Read = Callable[..., list[Any]]
"""Answers statements about the namespace."""
Mend = Callable[[Callable[[int, Send], None]], None]
"""Runs what writes to the namespace, given its next version."""


class _Found(NamedTuple):
    """The columns that a memory is found by, as they are to be."""

    row: int
    id: str
    derived: Sequence[Any]
    terms: Sequence[bytes | None]


class WordChecks:
    """The checks of terms, features and keys."""

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

    def _renew(self, stale: Sequence[_Found], version: int, send: Send) -> None:
        """Set what memories are found by."""
        name = self._namespace
        send(
            Many(_SET_DERIVED, [(*each.derived, name, each.row) for each in stale]),
            Many(_SET_TERMS, [(name, each.row, *each.terms) for each in stale]),
        )
