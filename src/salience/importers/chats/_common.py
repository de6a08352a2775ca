"""Shared by the tables of chats: conversations of entries."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from salience.importers._entries import entries
from salience.importers._source import Place, Told
from salience.importers.shapes import Entry


def turns(entry: Mapping[str, Any], messages: Iterable[Any]) -> Entry:
    return {**entry, "messages": list(messages)}


def dicts(value: Any) -> list[Entry]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def lines_of(place: Place, document: Any, told: Told) -> list[Entry]:
    """The objects of a document that is a file of lines, or one of these."""
    return [entry for _, entry in entries(place, document, told=told)]


def decoded(value: Any) -> Any:
    try:
        return json.loads(value)
    except (ValueError, TypeError, RecursionError):
        return None
