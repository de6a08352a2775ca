"""Routes: one function for each operation, which parses, calls a method and renders its result."""

from salience.server.operation import OPERATIONS
from salience.server.routes import (
    judgments,
    keys,
    links,
    listings,
    memories,
    search,
    system,
    transfer,
    upkeep,
)

__all__ = [
    "OPERATIONS",
    "judgments",
    "keys",
    "links",
    "listings",
    "memories",
    "search",
    "system",
    "transfer",
    "upkeep",
]
