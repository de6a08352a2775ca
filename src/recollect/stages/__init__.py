"""Stages: each turns a candidate table into another; a pipeline is stages joined by `>>`.

    recall       the union of what routes find               (recall.py)
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

from recollect.stages.conflict import Conflict, conflict
from recollect.stages.core import STORED, Depth, Pipeline, Score, Stage, is_stored, score
from recollect.stages.least import AtLeast, at_least
from recollect.stages.mmr import Mmr, mmr
from recollect.stages.pack import Cut, Keep, Pack, cut, keep, pack
from recollect.stages.recall import Recall, recall
from recollect.stages.sessions import Neighbors, SessionFirst, neighbors, session_first
from recollect.stages.spread import Spread, spread

__all__ = [
    "STORED",
    "AtLeast",
    "Conflict",
    "Cut",
    "Depth",
    "Keep",
    "Mmr",
    "Neighbors",
    "Pack",
    "Pipeline",
    "Recall",
    "Score",
    "SessionFirst",
    "Spread",
    "Stage",
    "at_least",
    "conflict",
    "cut",
    "is_stored",
    "keep",
    "mmr",
    "neighbors",
    "pack",
    "recall",
    "score",
    "session_first",
    "spread",
]
