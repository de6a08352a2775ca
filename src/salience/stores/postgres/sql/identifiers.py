"""SQL and scores of routes that compare names: trigram similarity and exact matches."""

from __future__ import annotations

from typing import Any

from salience.language.entities import fold_name
from salience.language.tokens import strings_in
from salience.retrieval.query import Query
from salience.retrieval.routes import Trigram

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
