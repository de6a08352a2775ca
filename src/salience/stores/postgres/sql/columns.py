"""Columns of memories: values in the server's types, and all that is computed from contents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from salience.language.entities import fold_name
from salience.language.tokens import strings_in
from salience.records.fields import FIELDS, LEXICAL
from salience.records.filters import FOLDED_FIELDS, folded
from salience.records.record import Draft, MemoryRecord
from salience.retrieval.query import Query
from salience.retrieval.routes import Trigram
from salience.stores import codec
from salience.stores.migrations import migrations
from salience.stores.postgres.sql.filters import folded_column
from salience.stores.postgres.wire.types import float_list
from salience.stores.tables.commands import Many

VERSION = f"version_{len(migrations('postgres'))}"
"""The column of `spaces` with the number of the last write, which every write raises.

It is named after the schema: the server refuses the reads and writes of programs that were started
before the tables got another schema.
"""
WHOLE_NUMBERS = tuple(name for name, field in FIELDS.items() if field.whole)
"""The fields that are whole numbers, which the server keeps as `double precision`."""


def codec_values_of(values: Sequence[Any]) -> dict[str, Any]:
    """Values as read, in the order of the fields, as `codec` has them."""
    return codec_values(dict(zip(FIELDS, values, strict=True)))


def codec_values(values: dict[str, Any]) -> dict[str, Any]:
    """Values as read, by name, as `codec` has them: JSON for lists, bytes for times."""
    converted = dict(values)
    for name in {"tags", "entities"} & values.keys():  # events change neither
        converted[name] = codec.encode(name, tuple(values[name])) if values[name] else None
    converted["accesses"] = codec.pack_times(float_list(values["accesses"]))
    for name in WHOLE_NUMBERS:
        converted[name] = int(values[name])
    return converted


SPELLED_FIELDS = ("id", "title", "speaker", "user_id", "entities")
"""The fields whose folded values are stored, for routes that look for names."""


def spelling_key(field: str, name: str) -> str:
    """A folded value of a field, as it is stored."""
    return f"{field}\x1f{name}"


def spelling_keys(values: Any) -> list[str]:
    """The folded values of the fields of a record, as they are stored."""
    keys: dict[str, None] = {}
    for field in SPELLED_FIELDS:
        value = getattr(values, field)
        for text in strings_in(value):
            keys[spelling_key(field, fold_name(text))] = None
    return list(keys)


def trigram_texts(query: Query, route: Trigram) -> list[str]:
    """The texts that a trigram route compares the fields with."""
    return [query.name_text, *(sorted(query.entities) if route.entities else ())]


def exact_names(query: Query) -> list[str]:
    """The folded names that an exact route looks for."""
    return sorted(query.aliases.spellings({query.aliases.key(query.name_text), *query.entities}))


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
    """The columns of a memory as they should be; `is_stale` if the stored ones differ."""

    namespace: str
    row: int
    id: str
    derived: Sequence[Any]
    terms: Sequence[bytes | None]
    is_stale: bool

    @classmethod
    def of(cls, read: Sequence[Any]) -> Found | str:
        """Read a row of SELECT_MEMORIES; the id and the error if it cannot be read."""
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
