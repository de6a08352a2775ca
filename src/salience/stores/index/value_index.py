"""The distinct values of a text column: those equal to a query, and their similarity to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from salience.language.entities import fold_name
from salience.language.tokens import strings_in, term_id, trigrams
from salience.retrieval.candidates import Floats
from salience.stores.index.columns import CodedColumn
from salience.stores.index.words.postings import Postings


class TrigramIndex:
    """Postings of the trigrams of a column's distinct values, extended as the column grows."""

    def __init__(self, column: CodedColumn) -> None:
        self._column = column
        self._postings = Postings()

    def similarities(self, text: str) -> Floats:
        """|A n B| / |A u B| with every distinct value of the column, by its code."""
        indexed = len(self._postings.lengths)
        new_values = self._column.distinct[indexed:]
        texts = [" ".join(strings_in(value)) for value in new_values]
        self._postings.extend([_trigram_ids(value).tobytes() for value in texts])
        query_ids = _trigram_ids(text)
        hits = self._postings.hits(query_ids)
        lengths = self._postings.lengths
        shared = np.bincount(hits.ordinal, minlength=len(lengths)).astype(np.float64)
        union = len(query_ids) + lengths - shared
        return np.divide(shared, union, out=np.zeros(len(lengths)), where=union > 0)

    @property
    def nbytes(self) -> int:
        return self._postings.nbytes


def _trigram_ids(text: str) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.array(sorted(term_id(trigram) for trigram in trigrams(text)), dtype=np.uint64)


class ExactIndex:
    """The places of a growing list of values by the folded texts they are or hold."""

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = values
        self._indexed = 0  # values
        self._places: dict[str, list[int]] = {}

    def places(self, names: Iterable[str]) -> list[int]:
        """The places of the values that are or hold one of some folded names."""
        if self._indexed < len(self._values):
            self._extend()
        return [place for name in names for place in self._places.get(name, ())]

    def _extend(self) -> None:
        """Enter the values that are new."""
        places_of = defaultdict[str, list[int]](list)  # by texts as they are: many are the same
        for place, value in enumerate(self._values[self._indexed :], self._indexed):
            for text in value if type(value) is tuple else strings_in(value):
                if isinstance(text, str):  # metadata may hold anything in its tuples
                    places_of[text].append(place)
        for text, places in places_of.items():
            known_places = self._places.setdefault(fold_name(text), places)
            if known_places is not places:
                known_places += places
        self._indexed = len(self._values)

    @property
    def nbytes(self) -> int:
        return 150 * len(self._places)
