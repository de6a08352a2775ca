"""Columns that are worked out of the contents of a memory: all that it is found by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from salience.records.fields import FIELDS, LEXICAL
from salience.records.filters import FOLDED_FIELDS, folded
from salience.records.record import Draft, MemoryRecord
from salience.stores import codec
from salience.stores.postgres.sql.columns import codec_values_of, spelling_keys
from salience.stores.postgres.sql.filters import folded_column
from salience.stores.postgres.wire.commands import Many

DERIVED: Mapping[str, str] = {
    "features": "bytea",
    "greets": "text",
    "text_key": "int8",
    "attribute_key": "int8",
    "passages": "text",
    "spellings": "text[]",
    **{folded_column(name): "text[]" for name in sorted(FOLDED_FIELDS)},
}
"""The columns of `memories`, with their types."""
TERMS = (*LEXICAL, "passages")
"""The columns of `words`."""
_COLUMNS = ("namespace", "row", *FIELDS, *DERIVED, *(f"terms.{name}" for name in TERMS))
_FIELD_COLUMNS = ", ".join("m.metadata::text" if n == "metadata" else f'm."{n}"' for n in FIELDS)
SELECT_MEMORIES = (
    f'SELECT m.namespace, m."row", {_FIELD_COLUMNS}, {", ".join(f"m.{name}" for name in DERIVED)}, '
    f"{', '.join(f'w.{name}' for name in TERMS)} FROM memories m "
    'LEFT JOIN words w ON w.namespace = m.namespace AND w."row" = m."row"'
)
"""Reads memories for `Found.of`."""
_SET_DERIVED = (
    f"UPDATE memories SET {', '.join(f'{name} = %s' for name in DERIVED)} "
    'WHERE namespace = %s AND "row" = %s'
)
_SET_TERMS = (
    f'INSERT INTO words (namespace, "row", {", ".join(TERMS)}) '
    f'VALUES (%s, %s, {", ".join(["%s"] * len(TERMS))}) ON CONFLICT (namespace, "row") '
    f"DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in TERMS)}"
)


def names_of(record: MemoryRecord) -> dict[str, list[str] | None]:
    """The columns of a memory with its names as routes and filters compare them."""
    return {
        "spellings": spelling_keys(record),
        **{folded_column(n): list(folded(getattr(record, n))) or None for n in FOLDED_FIELDS},
    }


def terms_of(values: Mapping[str, Any]) -> list[bytes | None]:
    """The columns of `TERMS` out of the values of `codec.encode_draft`."""
    return [values[f"terms.{name}"] for name in TERMS]


class Found(NamedTuple):
    """The columns of a memory as they are to be; `is_stale` if they are stored otherwise."""

    namespace: str
    row: int
    id: str
    derived: Sequence[Any]
    terms: Sequence[bytes | None]
    is_stale: bool

    @classmethod
    def of(cls, read: Sequence[Any]) -> Found | str:
        """Those of a row of SELECT_MEMORIES; the id and the error if it cannot be read."""
        stored = dict(zip(_COLUMNS, read, strict=True))
        try:
            values = codec_values_of([stored[name] for name in FIELDS])
            record = codec.record_of(stored["namespace"], values)
            encoded = {**codec.encode_draft(Draft(record, {})), **names_of(record)}
        except (ValueError, TypeError, OverflowError) as error:
            return f"{stored['id']}: {error}"
        derived, terms = [encoded[name] for name in DERIVED], terms_of(encoded)
        kept = [stored[name] for name in DERIVED], [stored[f"terms.{name}"] for name in TERMS]
        is_stale = kept != (derived, terms)
        return cls(record.namespace, stored["row"], record.id, derived, terms, is_stale)


def written(found: Sequence[Found]) -> list[Many]:
    """Set the columns of some memories."""
    return [
        Many(_SET_DERIVED, [(*each.derived, each.namespace, each.row) for each in found]),
        Many(_SET_TERMS, [(each.namespace, each.row, *each.terms) for each in found]),
    ]
