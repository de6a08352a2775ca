"""Knowledge: how far the cosine of a memory is to be trusted, by what the embedder can read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from salience.language.languages.scripts import SCRIPTS
from salience.ranking.evaluation import Evaluation, Values
from salience.ranking.explanation import Explanation
from salience.ranking.expressions import Signal
from salience.retrieval.candidates import Floats


def _trust(ev: Evaluation) -> Floats | None:
    """min(known(query), known(memory)) of each candidate; None where all of it is 1.

    known(memory) = (1 - s) knows("latin") + s knows(its other script), s its share of other
    scripts.
    """
    query = ev.query
    if query.knows is None:
        return None
    share = ev.candidates.floats("script_share")
    if query.known == query.knows(SCRIPTS[0]) == 1.0 and not np.count_nonzero(share > 0.0):
        return None
    share = np.nan_to_num(share)
    known = np.array([query.knows(script) for script in SCRIPTS])
    scripts = np.nan_to_num(ev.candidates.floats("script")).astype(np.intp)
    of_memory = (1.0 - share) * known[0] + share * known[scripts]
    trust = np.minimum(query.known, of_memory)
    return None if (trust == 1.0).all() else trust


@dataclass(frozen=True)
class Trusted(Signal):
    """t x + (1 - t) y, t = min(known(query), known(memory)): y for what x cannot tell.

    x is computed from a cosine, y is not. How far an embedder knows a text, in [0, 1], says its
    method `knows`; one without it is taken to know everything, and x stays as it is.
    """

    of: Signal
    instead: Signal

    def columns(self) -> frozenset[str]:
        return frozenset({"script", "script_share"})

    def compute(self, ev: Evaluation, of: Values, instead: Values) -> Values:
        trust = ev.shared(_trust)
        return of if trust is None else trust * of + (1.0 - trust) * instead

    def explain(self, ev: Evaluation, row: int) -> Explanation:
        trust = ev.shared(_trust)
        if trust is None or trust[row] == 1.0:
            return self.of.explain(ev, row)
        parts = (self.of.explain(ev, row), self.instead.explain(ev, row))
        note = f"the embedder knows {trust[row]:.2f} of the words"
        return Explanation(self.label(), ev.at(self, row), self.how(), parts, note)

    def how(self) -> str:
        return "by cosine as far as the embedder knows the words, else by words"

    def label(self) -> str:
        return f"trusted({self.of.label()})"
