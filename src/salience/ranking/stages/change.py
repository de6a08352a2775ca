"""Change: the newer candidates that may replace older ones, as noted when they were added."""

from __future__ import annotations

import numpy as np

from salience.language.change import LIKELY
from salience.lazily import dataclass
from salience.ranking.stages.stage import Stage
from salience.retrieval.candidates import Candidates, CategoricalColumn
from salience.retrieval.operations import LinksBetween
from salience.retrieval.plan import Plan
from salience.retrieval.query import Query


@dataclass(frozen=True)
class Changes(Stage):
    """Writes for each candidate the newer ones that may have replaced it, None if there are none.

    `change.by` has the probability and the id of each, the likeliest first; `change.marks` the ids
    of the likely ones.
    """

    link: str = "may_replace"

    def reads(self) -> frozenset[str]:
        return frozenset({"id"})

    def writes(self) -> frozenset[str]:
        return frozenset({"change.by", "change.marks"})

    def reasons(self) -> frozenset[str]:
        return frozenset({"change.marks"})

    def plan(
        self, query: Query, candidates: Candidates, wanted: frozenset[str]
    ) -> Plan[Candidates]:
        [edges] = yield [LinksBetween(candidates.rows, query, self.link)]
        newer: dict[int, list[tuple[float, str]]] = {}
        if edges:
            ids, place = candidates["id"], {row: at for at, row in enumerate(candidates.rows)}
            for source, target, weight, *_ in edges:
                if source in place and target in place and weight > 0.0:
                    newer.setdefault(place[target], []).append((weight, ids[place[source]]))
        if not newer:
            none = CategoricalColumn(np.zeros(len(candidates), np.intp), [None], none=0)
            return candidates.with_columns(**dict.fromkeys(self.writes(), none))
        by, marks = np.full((2, len(candidates)), None, dtype=object)
        for at, pairs in newer.items():
            pairs.sort(reverse=True)
            by[at] = tuple(pairs)
            if pairs[0][0] >= LIKELY:
                marks[at] = tuple(id for weight, id in pairs if weight >= LIKELY)
        return candidates.with_columns(**{"change.by": by, "change.marks": marks})


def changes() -> Changes:
    """Note for each candidate which newer ones may have replaced it."""
    return Changes()
