"""BM25 over the postings of a namespace: the score of every memory for one query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.candidates import Floats
from recollect.index.postings import WINDOW, Hits, Postings
from recollect.routes import Lexical

U64 = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Bm25:
    """BM25 of every memory of a namespace by ordinal, zero where no term occurs.

    `own` is over a memory's words, `head` and `tail` over its first and last WINDOW words, which
    are what the turn before and the turn after it draw on.
    """

    own: Floats
    head: Floats | None
    tail: Floats | None


def bm25(
    fields: Mapping[str, Postings], route: Lexical, terms: U64, alive: NDArray[np.bool_]
) -> Bm25:
    """BM25 for `terms` (distinct term ids) as `Lexical` defines it, over the memories alive."""
    weights = {name: weight for name, weight in route.fields if name in fields}
    size, living = len(alive), int(np.count_nonzero(alive))
    lengths = np.zeros(size)
    for name in weights:
        lengths += fields[name].lengths
    average = float(lengths.sum(where=alive)) / living if living else 0.0
    found = _pooled({name: fields[name].hits(terms) for name in weights}, weights, size)
    if living < size:
        found = found.only(alive)
    df = np.bincount(found.term, minlength=len(terms))
    idf = np.log1p((living - df + 0.5) / (df + 0.5))[found.term]

    def scores(tf: Floats, spans: NDArray[Any]) -> Floats:
        length = spans[found.ordinal] / average if average else np.zeros(len(tf))
        gain = idf * tf * (route.k1 + 1.0) / (tf + route.k1 * (1.0 - route.b + route.b * length))
        return np.bincount(found.ordinal, gain, size).astype(np.float64, copy=False)

    own = scores(found.tf, lengths)
    if not (route.before or route.after) or "content" not in fields:
        return Bm25(own, None, None)
    spans = np.minimum(fields["content"].lengths, WINDOW)
    return Bm25(own, scores(found.head, spans), scores(found.tail, spans))


@dataclass(frozen=True, eq=False)
class _Pooled:
    """Occurrences by term and memory: the weighted tf of all fields, the content's windows."""

    term: NDArray[np.intp]
    ordinal: NDArray[np.int64]
    tf: Floats
    head: Floats
    tail: Floats

    def only(self, alive: NDArray[np.bool_]) -> _Pooled:
        keep = alive[self.ordinal]
        return _Pooled(
            self.term[keep], self.ordinal[keep], self.tf[keep], self.head[keep], self.tail[keep]
        )


def _pooled(hits: Mapping[str, Hits], weights: Mapping[str, float], size: int) -> _Pooled:
    """The hits of several fields, those of one memory and term added up."""
    parts = [
        _Pooled(
            hit.term,
            hit.ordinal,
            np.multiply(hit.tf, weights[name], dtype=np.float64),
            np.multiply(hit.head, float(name == "content"), dtype=np.float64),
            np.multiply(hit.tail, float(name == "content"), dtype=np.float64),
        )
        for name, hit in hits.items()
        if len(hit.term)
    ]
    if not parts:
        none, zero = np.empty(0, dtype=np.int64), np.empty(0)
        return _Pooled(none, none, zero, zero, zero)
    if len(parts) == 1:
        return parts[0]
    key = np.concatenate([part.term * size + part.ordinal for part in parts])
    pairs, where = np.unique(key, return_inverse=True)

    def summed(values: list[Floats]) -> Floats:
        return np.bincount(where, np.concatenate(values)).astype(np.float64, copy=False)

    return _Pooled(
        pairs // size,
        pairs % size,
        summed([part.tf for part in parts]),
        summed([part.head for part in parts]),
        summed([part.tail for part in parts]),
    )
