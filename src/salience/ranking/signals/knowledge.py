"""Knowledge: how far to trust the cosine of a memory, by what the embedder can read."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from salience.language.languages.table import SCRIPTS
from salience.lazily import dataclass
from salience.ranking.evaluation import KERNEL_OF, Evaluation, Program, Values
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
    shares = np.array([query.knows(script) for script in SCRIPTS])
    scripts = np.nan_to_num(ev.candidates.floats("script")).astype(np.intp)
    of_memory = (1.0 - share) * shares[0] + share * shares[scripts]
    trust = np.minimum(query.known, of_memory)
    return None if (trust == 1.0).all() else trust


class _Trust:
    """The trust in each candidate as a step of a program; the number NaN where all of it is 1."""

    def compile(self, program: Program) -> int:
        return program.step(self._compute, (Program.EVALUATION,))

    @staticmethod
    def _compute(ev: Evaluation) -> Values:
        trust = ev.shared(_trust)
        return math.nan if trust is None else trust


_TRUST = _Trust()


def _weighed(trust: Values, of: Values, instead: Values) -> Values:
    return of if trust.__class__ is float else trust * of + (1.0 - trust) * instead


KERNEL_OF[_weighed] = "trusted"


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

    def compile(self, program: Program) -> int:
        places = [program.place(part) for part in (_TRUST, self.of, self.instead)]
        return program.step(_weighed, places)

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


# States: what holds of several things that were said of one attribute at different times

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
        states = self._stating(ev, match)
        if not states.any():
            return 0.0
        time = np.where(states, ev.candidates.floats("created_at"), np.nan)
        first, last = ev.query.reading.past_interval or (ev.query.now, ev.query.now)
        newest = np.fmax.reduce(np.where(time <= last, time, np.nan))
        chosen = states & (time < newest if first == -np.inf else time == newest)
        best = np.fmax.reduce(np.where(states, match, np.nan))
        return np.where(chosen, best - match + 1.0, 0.0)

    @staticmethod
    def _stating(ev: Evaluation, match: Floats) -> NDArray[np.bool_]:
        """True for what was said of the attribute, and is not a question."""
        reading, table = ev.query.reading, ev.candidates
        statements = table.floats("is_question") == 0.0
        if not reading.state:
            best = np.fmax.reduce(match)
            return statements & (match >= _ALIKE * best) if best > 0.0 else statements & False
        states = statements & (table.floats("state") == reading.state)
        if reading.speakers:
            places, speakers = ev.distinct("speaker")
            by_speaker = np.array(
                [speaker in reading.speakers for speaker in speakers], dtype=bool
            )[places]
            states |= statements & by_speaker & (table.floats("state") == abs(reading.state))
            return states & (by_speaker | (table.floats("mentions_named") > 0.0))
        if reading.state < 0.0 and reading.state_subject:
            matched = table["lexical.matched"][:, list(reading.state_subject)]
            # A term that no candidate has says nothing.
            states &= ((matched > 0.0) | (np.maximum.reduce(matched, axis=0) == 0.0)).all(axis=1)
        return states
