"""SQL and scores of routes that compare names: trigram similarity and exact matches."""

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
    return [query.text, *(sorted(query.entities) if route.entities else ())]


def text_fields(names: Sequence[str], path: str) -> list[str]:
    """The fields of a route that compares texts.

    Raises:
        InvalidInput: one holds no text.
    """
    for name in names:
        kind = FIELDS[name].type if name in FIELDS else "json"
        if kind in ("number", "time", "times"):
            raise InvalidInput(path, f"{name} is not a text field")
    return list(names)


def has_value(name: str) -> Condition:
    """The condition that a memory `m` has a value of a field, or of a key of its metadata."""
    if name in FIELDS:
        return Condition(f"m.{name} IS NOT NULL")
    return compile_filter(Compare(name, "exists", True), "m")


def column_expression(name: str) -> str:
    """The column to read of a memory `m` for a field or a key of its metadata; see `cell_value`."""
    return f"m.{name}" if name in FIELDS else "m.metadata::text"


def cell_value(name: str, cell: Any) -> Any:
    """The value of a field or a key of the metadata in the column read for it."""
    return cell if name in FIELDS else codec.metadata_value(cell, name.removeprefix("metadata."))


def trigram_scores(texts: Sequence[str], rows: Sequence[Sequence[Any]]) -> Floats:
    """The best trigram similarity of some texts with any of the values of each row."""
    queries = [trigrams(text) for text in texts]
    score_of: dict[str, float] = {}
    scores = np.zeros(len(rows))
    for place, values in enumerate(rows):
        for value in values:
            text = " ".join(strings_in(value))
            if text not in score_of:
                own = trigrams(text)
                score_of[text] = max(trigram_similarity(query, own) for query in queries)
            scores[place] = max(scores[place], score_of[text])
    return scores


def exact_names(query: Query) -> list[str]:
    """The folded names that an exact route looks for."""
    return sorted(query.aliases.spellings({query.aliases.key(query.text), *query.entities}))


def exact_scores(query: Query, rows: Sequence[Sequence[Any]]) -> Floats:
    """1 where one of the values of a row is, or holds, the query or a name in it, else 0."""
    names = set(exact_names(query))
    scores = np.zeros(len(rows))
    for place, values in enumerate(rows):
        texts = (text for value in values for text in strings_in(value))
        scores[place] = float(any(fold_name(text) in names for text in texts))
    return scores
