"""The schemas of the stores: for each, SQL files that are applied in order.

The n-th file of a store makes version n of its schema out of version n - 1.
"""

from __future__ import annotations

from importlib import resources


def migrations(store: str) -> list[str]:
    """The steps of a store's schema in order; applying the n-th makes version n."""
    folder = resources.files("salience.stores.migrations")
    start = f"{store}-"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.startswith(start))
    return [(folder / name).read_text(encoding="utf-8") for name in names]
