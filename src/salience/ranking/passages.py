"""Passages of a long text: how well they match a query, and which of them are looked at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from salience.language.passages import LONG_CHARACTERS
from salience.retrieval.candidates import Rows
from salience.retrieval.operations import FindPassages, FoundPassage
from salience.retrieval.plan import Plan, ask
from salience.retrieval.query import Query
from salience.retrieval.routes import Lexical, Route

MAX_PASSAGES = 3
"""The most passages of a text that match."""
_LEAST_SHARE = 0.5  # of the score of the best passage, which another one that matches has
PLAIN_WORDS = Lexical(passages=True)
"""The route that scores the words of passages where a profile has none that does."""


def passage_route(routes: Iterable[Route]) -> Lexical:
    """The first of some routes that scores the words of passages, or else `PLAIN_WORDS`."""
    candidates = (each for each in routes if isinstance(each, Lexical) and each.passages)
    return next(candidates, PLAIN_WORDS)


def find_passages(
    route: Lexical, query: Query, rows: Rows, contents: Sequence[str | None]
) -> Plan[list[Sequence[FoundPassage]]]:
    """The plan of finding the passages of rows with these contents; () for short ones."""
    passage_lists: list[Sequence[FoundPassage]] = [()] * len(contents)
    long = [at for at, text in enumerate(contents) if text and len(text) >= LONG_CHARACTERS]
    if long:
        answers = yield from ask(FindPassages(rows[np.array(long)], route, query))
        for place, passages in zip(long, answers, strict=True):
            passage_lists[place] = passages
    return passage_lists


def passage_scores(passages: Sequence[FoundPassage]) -> list[float]:
    """(BM25 / the largest BM25 of a passage of the text + max(0, cosine)) / 2, in [0, 1]."""
    most = max((passage.words for passage in passages), default=0.0)
    return [
        0.5 * (passage.words / most if most else 0.0) + 0.5 * max(0.0, passage.cosine or 0.0)
        for passage in passages
    ]


def best_passages(content: str, passages: Sequence[FoundPassage]) -> list[tuple[int, float]]:
    """(place, score) of the passages with at least half the score of the best one, the best first.

    At most `MAX_PASSAGES`; none for a short text, and for one that was edited since.
    """
    if not passages or passages[-1].end > len(content):
        return []
    scores = passage_scores(passages)
    least = max(scores) * _LEAST_SHARE
    places = sorted(range(len(passages)), key=lambda place: (-scores[place], place))
    return [
        (place, scores[place])
        for place in places[:MAX_PASSAGES]
        if scores[place] >= least and scores[place] > 0.0
    ]
