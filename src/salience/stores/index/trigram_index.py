"""Trigram similarity of a query with the distinct values of a text column."""

from __future__ import annotations

import numpy as np

from salience.language.tokens import strings_in, term_id
from salience.language.trigrams import trigrams
from salience.retrieval.candidates import Floats
from salience.stores.index.columns import CodedColumn
from salience.stores.index.words.postings import Postings


class TrigramIndex:
    """Postings of the trigrams of a column's distinct values, kept up with the column."""

    def __init__(self, column: CodedColumn) -> None:
        self._column = column
        self._postings = Postings()

    def similarities(self, text: str) -> Floats:
        """|A n B| / |A u B| with every distinct value of the column, by its code."""
        known = len(self._postings.lengths)
        fresh = [" ".join(strings_in(value)) for value in self._column.distinct[known:]]
        self._postings.extend([_ids(value).tobytes() for value in fresh])
        asked = _ids(text)
        hits = self._postings.hits(asked)
        lengths = self._postings.lengths
        shared = np.bincount(hits.ordinal, minlength=len(lengths)).astype(np.float64)
        either = len(asked) + lengths - shared
        return np.divide(shared, either, out=np.zeros(len(lengths)), where=either > 0)

    @property
    def nbytes(self) -> int:
        return self._postings.nbytes


def _ids(text: str) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.array(sorted(term_id(trigram) for trigram in trigrams(text)), dtype=np.uint64)
