"""Named signals: formulas that the algebra alone cannot express, each with its source.

A signal is a frozen dataclass, or a function that builds a tree, with a formula in its first line.
To add one, write it into the module of its family and name it here.
"""

from salience.ranking.signals.knowledge import StateInForce, Trusted
from salience.ranking.signals.normalization import (
    GroupMax,
    MaxScaled,
    MinMax,
    access,
    confidence,
    feedback,
    importance,
    likeness,
    memory_score,
    rrf,
    similarity,
    strength,
)
from salience.ranking.signals.query_match import (
    EntityOverlap,
    HoldsTopic,
    LabelCover,
    MentionsName,
    OnDate,
    RepeatsQuery,
    SaidBy,
    TellsOfDay,
)
from salience.ranking.signals.session_context import NeighborMass, SessionCover
from salience.ranking.signals.user_settings import Sunk, WhereIs, WhereJudged, WhereSet
from salience.ranking.signals.validity import (
    Contradicted,
    CurrentVersion,
    Expired,
    IsFact,
    LatestFact,
)
from salience.ranking.signals.vitality import (
    DAY,
    Age,
    BaseLevel,
    days_since,
    decay,
    hourly_rate,
    hours_since,
    vitality,
    zone,
)

__all__ = [
    "DAY",
    "Age",
    "BaseLevel",
    "Contradicted",
    "CurrentVersion",
    "EntityOverlap",
    "Expired",
    "GroupMax",
    "HoldsTopic",
    "IsFact",
    "LabelCover",
    "LatestFact",
    "MaxScaled",
    "MentionsName",
    "MinMax",
    "NeighborMass",
    "OnDate",
    "RepeatsQuery",
    "SaidBy",
    "SessionCover",
    "StateInForce",
    "Sunk",
    "TellsOfDay",
    "Trusted",
    "WhereIs",
    "WhereJudged",
    "WhereSet",
    "access",
    "confidence",
    "days_since",
    "decay",
    "feedback",
    "hourly_rate",
    "hours_since",
    "importance",
    "likeness",
    "memory_score",
    "rrf",
    "similarity",
    "strength",
    "vitality",
    "zone",
]
