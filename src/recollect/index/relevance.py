"""How relevant each memory is to the words of a query, by the measure that a route names."""

from __future__ import annotations

from recollect.index.bm25 import bm25
from recollect.index.ts_rank import ts_rank

MEASURES = {"bm25": bm25, "ts_rank": ts_rank}
"""By the name that `Lexical.measure` has; each gives the score of every memory, by ordinal."""
