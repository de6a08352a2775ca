"""The postings of the memories added last, in a dictionary: too few yet for a segment.

Source: the memory table of a log-structured merge tree (O'Neil et al., 1996).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

WINDOW = 40  # words at the start and the end of a memory that its neighbours' scores draw on
_MAX_TF = 65_535  # as segments count

Posting = tuple[int, int, int, int]
"""The ordinal of a memory that holds a term; how often, and how often in its first and last words.
"""


class RecentPostings:
    """Postings by term; `memories` are those with words, as (ordinal, the bytes of its terms)."""

    def __init__(self) -> None:
        self.memories: list[tuple[int, bytes]] = []
        self.words = 0
        self._by_term: dict[int, list[Posting]] = {}

    def add(self, ordinal: int, blob: bytes) -> None:
        """Add a memory beyond the last one."""
        terms: list[int] = np.frombuffer(blob, dtype=np.uint64).tolist()
        counts = Counter(terms)
        is_short = len(terms) <= WINDOW
        head = counts if is_short else Counter(terms[:WINDOW])
        tail = counts if is_short else Counter(terms[-WINDOW:])
        for term, tf in counts.items():
            posting = (ordinal, min(tf, _MAX_TF), head[term], tail[term])
            self._by_term.setdefault(term, []).append(posting)
        self.memories.append((ordinal, blob))
        self.words += len(terms)

    def find(self, terms: Iterable[int]) -> Iterator[tuple[int, Posting]]:
        """Every posting of the terms with the place of its term, each term's by ordinal."""
        for place, term in enumerate(terms):
            for posting in self._by_term.get(term, ()):
                yield place, posting

    @property
    def nbytes(self) -> int:
        """Memory used, roughly, in bytes."""
        return 150 * self.words
