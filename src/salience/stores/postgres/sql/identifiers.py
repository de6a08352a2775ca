"""Names as they are spelt: what routes for misspelt names and identifiers compare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from salience.errors import InvalidInput
from salience.language.entities import fold_name
from salience.language.tokens import strings_in
from salience.language.trigrams import trigram_similarity, trigrams
from salience.records.fields import FIELDS
from salience.records.filters import Compare
from salience.retrieval.candidates import Floats
from salience.retrieval.query import Query
from salience.retrieval.routes import Trigram
from salience.stores import codec
from salience.stores.postgres.sql.filters import Condition, compile_filter

SPELLED_FIELDS = ("id", "title", "speaker", "user_id", "entities")
"""The fields whose folded values are kept, for routes that look for names."""


def spelling_key(field: str, name: str) -> str:
    """How a folded value of a field is kept."""
    return f"{field}\x1f{name}"


def spelling_keys(values: Any) -> list[str]:
    """The folded values of a record by field, as kept."""
    found: dict[str, None] = {}
    for field in SPELLED_FIELDS:
        value = getattr(values, field)
        for text in strings_in(value):
            found[spelling_key(field, fold_name(text))] = None
    return list(found)


def trigram_texts(query: Query, route: Trigram) -> list[str]:
    """The texts that a route for misspelt names compares with."""
    return [query.text, *(sorted(query.entities) if route.entities else ())]


def text_fields(names: Sequence[str], path: str) -> list[str]:
    """The fields of a route that looks at texts."""
    for name in names:
        kind = FIELDS[name].type if name in FIELDS else "json"
        if kind in ("number", "time", "times"):
            raise InvalidInput(path, f"{name} is not a text field")
    return list(names)


def has_value(name: str) -> Condition:
    """That a memory `m` has a value of a field, or of a key of its metadata."""
    if name in FIELDS:
        return Condition(f"m.{name} IS NOT NULL")
    return compile_filter(Compare(name, "exists", True), "m")


def column_expression(name: str) -> str:
    """What is read of a memory `m` for a field or a key of its metadata; see `value`."""
    return f"m.{name}" if name in FIELDS else "m.metadata::text"


def cell_value(name: str, cell: Any) -> Any:
    """The value of a field or a key of the metadata in what was read for it."""
    return cell if name in FIELDS else codec.metadata_value(cell, name.removeprefix("metadata."))


def trigram_scores(texts: Sequence[str], rows: Sequence[Sequence[Any]]) -> Floats:
    """The best trigram similarity of some texts with any of the values of each row."""
    asked = [trigrams(text) for text in texts]
    known: dict[str, float] = {}
    found = np.zeros(len(rows))
    for place, values in enumerate(rows):
        for value in values:
            text = " ".join(strings_in(value))
            if text not in known:
                own = trigrams(text)
                known[text] = max(trigram_similarity(each, own) for each in asked)
            found[place] = max(found[place], known[text])
    return found


def exact_names(query: Query) -> list[str]:
    """The folded names that a route for identifiers looks for."""
    return sorted(query.aliases.spellings({query.aliases.key(query.text), *query.entities}))


def exact_scores(query: Query, rows: Sequence[Sequence[Any]]) -> Floats:
    """1 where one of the values of a row is, or holds, what the query is or names."""
    names = set(exact_names(query))
    found = np.zeros(len(rows))
    for place, values in enumerate(rows):
        texts = (text for value in values for text in strings_in(value))
        found[place] = float(any(fold_name(text) in names for text in texts))
    return found
