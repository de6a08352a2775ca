"""Stages: each turns a candidate table into another; a pipeline is stages joined by `>>`.

    retrieve     the union of what routes find               (retrieve.py)
    spread       activation that follows links               (spread.py)
    conflict     who loses to whom it contradicts            (conflict.py)
    score        a signal's value as a column                (core.py)
    keep         the best by a column                        (pack.py)
    at_least     a lower bound on a column                   (least.py)
    session_first, neighbors                                 (sessions.py)
    mmr          relevance against redundancy                (mmr.py)
    cut, pack    the k that are returned, within the budget  (pack.py)

A stage that is no formula leaves its reasons as columns, `<column>.<reason>`.
"""

from salience.ranking.stages.conflict import Conflict, conflict
from salience.ranking.stages.cutoff import Cut, Keep, MinValue, Pack, cut, keep, min_value, pack
from salience.ranking.stages.mmr import Mmr, mmr
from salience.ranking.stages.retrieve import Retrieve, retrieve
from salience.ranking.stages.sessions import Neighbors, SessionFirst, neighbors, session_first
from salience.ranking.stages.spreading_activation import Spread, spread
from salience.ranking.stages.stage import STORED, Depth, Pipeline, Score, Stage, is_stored, score

__all__ = [
    "STORED",
    "Conflict",
    "Cut",
    "Depth",
    "Keep",
    "MinValue",
    "Mmr",
    "Neighbors",
    "Pack",
    "Pipeline",
    "Retrieve",
    "Score",
    "SessionFirst",
    "Spread",
    "Stage",
    "conflict",
    "cut",
    "is_stored",
    "keep",
    "min_value",
    "mmr",
    "neighbors",
    "pack",
    "retrieve",
    "score",
    "session_first",
    "spread",
]
