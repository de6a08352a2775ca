"""Probability: the chance that a memory answers the query, and that any of them does.

signals   the evidence: information asked for and held, the best of the candidates
model     weights by embedder, as data; the formulas that they make
estimate  the probabilities of a run, and the trees behind them
"""

from salience.ranking.probability.estimate import Estimate, estimate, has_probability
from salience.ranking.probability.model import GENERIC, Model, evidence_columns, model_for

__all__ = [
    "GENERIC",
    "Estimate",
    "Model",
    "estimate",
    "evidence_columns",
    "has_probability",
    "model_for",
]
