"""Values of memories in the server's types, and the keys by which names are found there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from salience.language.entities import fold_name
from salience.language.tokens import strings_in
from salience.records.fields import FIELDS
from salience.retrieval.query import Query
from salience.retrieval.routes import Trigram
from salience.stores import codec
from salience.stores.postgres.wire.types import float_list

WHOLE_NUMBERS = tuple(name for name, field in FIELDS.items() if field.whole)
"""The fields that are whole numbers, which the server keeps as `double precision`."""


def codec_values_of(values: Sequence[Any]) -> dict[str, Any]:
    """Values as read, in the order of the fields, as `codec` has them."""
    return codec_values(dict(zip(FIELDS, values, strict=True)))


def codec_values(values: dict[str, Any]) -> dict[str, Any]:
    """Values as read, by name, as `codec` has them: JSON for lists, bytes for times."""
    converted = dict(values)
    for name in ("tags", "entities"):
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
