"""Scopes: what a key may do."""

from __future__ import annotations

from typing import Any, get_args

from salience.api.operations import Scope
from salience.errors import InvalidInput, shown
from salience.records.validation import texts

SCOPES: tuple[Scope, ...] = get_args(Scope)
"""All scopes: read, write and delete memories, upkeep, export and import, and keys."""


def parse_scopes(scopes: Any) -> tuple[Scope, ...]:
    """Scopes in the order of `SCOPES`, each once; one text is one of them.

    Raises:
        InvalidInput: there is no such scope, or none is given.
    """
    listed = texts("scopes", scopes)
    for scope in listed:
        if scope not in SCOPES:
            raise InvalidInput("scopes", f"has no {shown(scope)}", f"use {', '.join(SCOPES)}")
    if not listed:
        raise InvalidInput("scopes", "is empty", f"give some of {', '.join(SCOPES)}")
    return tuple(scope for scope in SCOPES if scope in listed)
