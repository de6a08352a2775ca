"""The schemas of the stores: for each, SQL files that are applied in order.

The n-th file of a store makes version n of its schema out of version n - 1. `sqlite.sql` makes a
new file with the schema of the last version.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent


@cache
def migrations(store: str) -> tuple[str, ...]:
    """The steps of a store's schema in order; applying the n-th makes version n."""
    start = f"{store}-"
    names = sorted(entry.name for entry in _FOLDER.iterdir() if entry.name.startswith(start))
    return tuple((_FOLDER / name).read_text(encoding="utf-8") for name in names)


@cache
def present_schema(store: str) -> str:
    """The script of a new store, which has the schema of the last step."""
    return (_FOLDER / f"{store}.sql").read_text(encoding="utf-8")
