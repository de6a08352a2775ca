"""A problem of a PostgreSQL store: what was found, and what mends it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from salience.retrieval.safety import Finding


@dataclass(frozen=True)
class Problem:
    """A finding, with what mends it; that raises `StoreError` where it cannot."""

    finding: Finding
    mend: Callable[[], object] | None = None
