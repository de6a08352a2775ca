"""Phrases: words that have to occur one after the other in one field."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from salience.language.tokens import term_id, terms
from salience.stores.index.words.postings import Hits


def phrase_terms(phrase: str) -> NDArray[np.uint64]:
    """The terms of a phrase, in its order."""
    return np.array([term_id(term) for term in terms(phrase)], dtype=np.uint64)


def holds_all_terms(hits: Hits, phrase: NDArray[np.uint64], size: int) -> NDArray[np.bool_]:
    """True for each of `size` memories that holds every term of a phrase, in any order.

    `hits` are those of one field for the distinct terms.
    """
    return np.bincount(hits.ordinal, minlength=size) == len(np.unique(phrase))


def holds_phrase(phrase: NDArray[np.uint64], field: bytes | None) -> bool:
    """Test whether the terms of a phrase occur one after the other among those of a field.

    `field` holds the terms of a text in its order, eight bytes each.
    """
    if not field:
        return False
    wanted = phrase.tobytes()
    at = field.find(wanted)
    while at >= 0 and at % 8:
        at = field.find(wanted, at + 1)
    return at >= 0
