"""Named signals: formulas of their own that the algebra alone cannot say, each with its source.

A signal is a frozen dataclass, or a function that builds a tree, with a formula in its first line.
To add one, write it into the module of its family and name it here.
"""

from recollect.signals.asked import EntityOverlap, OnDate, SaidBy
from recollect.signals.factors import (
    access,
    confidence,
    feedback,
    importance,
    likeness,
    memory_score,
    similarity,
    strength,
)
from recollect.signals.fusion import rrf
from recollect.signals.scaling import BestOf, MinMax, OverMax
from recollect.signals.sessions import Nearby, SessionCover
from recollect.signals.times import DAY, Age, days_since, decay, hourly_rate, hours_since
from recollect.signals.validity import Lapsed, Latest
from recollect.signals.vitality import BaseLevel, vitality, zone

__all__ = [
    "DAY",
    "Age",
    "BaseLevel",
    "BestOf",
    "EntityOverlap",
    "Lapsed",
    "Latest",
    "MinMax",
    "Nearby",
    "OnDate",
    "OverMax",
    "SaidBy",
    "SessionCover",
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
