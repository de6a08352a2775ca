"""Stages: each turns a candidate table into another; a pipeline is stages joined by `>>`.

    retrieve             the union of the rows that routes find
    spread               activation that follows links
    changes              newer memories that may have taken the place of others
    conflict             penalties for memories that contradict stronger ones
    score                the values of a formula as a column
    keep, min_value      the best rows by a column; a lower bound on a column
    access_log           all times of access, for an exact base level
    session_first        sessions before their turns
    ModelScores          scores of a model that reads query and text together
    mmr                  relevance against redundancy
    cut, pack            the k hits to return, within the token budget
    neighbors            the turns right before and after each hit

A stage that is not a formula leaves its reasons as columns, `<column>.<reason>`.
"""

from salience.ranking.stages.access_log import AccessLog, access_log
from salience.ranking.stages.change import Changes, changes
from salience.ranking.stages.conflict import Conflict, conflict
from salience.ranking.stages.cutoff import Cut, Keep, MinValue, Pack, cut, keep, min_value, pack
from salience.ranking.stages.mmr import Mmr, mmr
from salience.ranking.stages.rerank import ModelScores
from salience.ranking.stages.retrieve import Retrieve, retrieve
from salience.ranking.stages.score import Score, score
from salience.ranking.stages.sessions import Neighbors, SessionFirst, neighbors, session_first
from salience.ranking.stages.spreading_activation import Spread, spread
from salience.ranking.stages.stage import STORED, Depth, Pipeline, Stage, is_stored

__all__ = [
    "STORED",
    "AccessLog",
    "Changes",
    "Conflict",
    "Cut",
    "Depth",
    "Keep",
    "MinValue",
    "Mmr",
    "ModelScores",
    "Neighbors",
    "Pack",
    "Pipeline",
    "Retrieve",
    "Score",
    "SessionFirst",
    "Spread",
    "Stage",
    "access_log",
    "changes",
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
