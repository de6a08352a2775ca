"""How relevant each memory is to the words of a query, by the measure that the route names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from recollect.index.bm25 import Lengths, WordScores, bm25
from recollect.index.postings import Postings
from recollect.index.ts_rank import ts_rank
from recollect.query import Term
from recollect.routes import Lexical

_MEASURES = {"bm25": bm25, "ts_rank": ts_rank}


def relevance(
    fields: Mapping[str, Postings],
    route: Lexical,
    terms: Sequence[Term],
    lengths: Lengths,
    alive: NDArray[np.bool_],
    neighbours: tuple[NDArray[np.int32], NDArray[np.int32]],
) -> WordScores:
    """The route's score of every memory, by ordinal."""
    return _MEASURES[route.measure](fields, route, terms, lengths, alive, neighbours)
