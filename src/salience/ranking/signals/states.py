"""States: what holds of several things that were said of one attribute at different times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from salience.ranking.evaluation import Evaluation, Values
from salience.ranking.expressions import Signal
from salience.retrieval.candidates import Floats

_ALIKE = 0.7  # of the best match: what states the same thing where no attribute is known


@dataclass(frozen=True)
class StateInForce(Signal):
    """max(x) - x + 1 for the state asked about, over all that was said of its attribute; else 0.

    So whoever "moved to Lyon" is found by "where do I live?" before whoever "lived in Bonn". Said
    of it is what speaks of the attribute that the query asks for, of the same person; where no
    attribute is known, whatever matches at least 0.7 times as well as the best. The state asked
    about is the newest; where the query asks for the past, any of the others; for the time that it
    names, the newest of then.
    """

    of: Signal

    def columns(self) -> frozenset[str]:
        return frozenset(
            {"state", "created_at", "is_question", "speaker", "lexical.matched", "mentions_named"}
        )

    def compute(self, ev: Evaluation, values: Values) -> Values:
        match = ev.spread(values)
        said = self._said(ev, match)
        if not said.any():
            return 0.0
        time = np.where(said, ev.candidates.floats("created_at"), np.nan)
        first, last = ev.query.reading.past_interval or (ev.query.now, ev.query.now)
        newest = np.fmax.reduce(np.where(time <= last, time, np.nan))
        chosen = said & (time < newest if first == -np.inf else time == newest)
        best = np.fmax.reduce(np.where(said, match, np.nan))
        return np.where(chosen, best - match + 1.0, 0.0)

    @staticmethod
    def _said(ev: Evaluation, match: Floats) -> NDArray[np.bool_]:
        """True for what was said of the attribute, and is no question."""
        reading, table = ev.query.reading, ev.candidates
        told = table.floats("is_question") == 0.0
        if not reading.state:
            best = np.fmax.reduce(match)
            return told & (match >= _ALIKE * best) if best > 0.0 else told & False
        said = told & (table.floats("state") == reading.state)
        if reading.speakers:
            places, speakers = ev.distinct("speaker")
            own = np.array([speaker in reading.speakers for speaker in speakers], dtype=bool)[
                places
            ]
            said |= told & own & (table.floats("state") == abs(reading.state))
            return said & (own | (table.floats("mentions_named") > 0.0))
        if reading.state < 0.0 and reading.state_subject:
            matched = table["lexical.matched"][:, list(reading.state_subject)]
            # A term that no candidate has says nothing.
            said &= ((matched > 0.0) | (np.maximum.reduce(matched, axis=0) == 0.0)).all(axis=1)
        return said
