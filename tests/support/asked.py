"""The arguments of a search, with the further ones where they belong."""

from __future__ import annotations

from typing import Any

from salience.search.context import TextOptions
from salience.search.request import RankingOptions

FURTHER = RankingOptions.__annotations__.keys() | TextOptions.__annotations__.keys()


def in_options(given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a method, those that it takes as `options` moved there."""
    further = {name: value for name, value in given.items() if name in FURTHER}
    others = {name: value for name, value in given.items() if name not in FURTHER}
    return {**others, "options": {**others.get("options", {}), **further}} if further else others
