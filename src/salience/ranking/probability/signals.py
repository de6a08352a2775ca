"""Signals of absolute evidence: how much of what is asked a memory holds, and the best of all."""

from __future__ import annotations

import math

import numpy as np

from salience.arithmetic import row_sums
from salience.language.speakers import name_terms
from salience.lazily import dataclass
from salience.ranking.evaluation import Evaluation, Values
from salience.ranking.expressions import Elementwise, Signal
from salience.retrieval.candidates import Floats


@dataclass(frozen=True)
class Coverage(Signal):
    """sum of idf(t) over the terms held / sum of idf(t) over all terms asked for, in [0, 1].

    A term that no memory has counts among those asked for. The words of a date do not: the date is
    one thing that is asked for, held by a memory as far as `date` says; it weighs the mean of the
    terms, or 1 without any. With `among`, what those of its session hold together where `among` is
    above 0. 0 where nothing is asked.
    """

    date: Signal
    among: Signal | None = None
    route: str = "lexical"

    def columns(self) -> frozenset[str]:
        names = {f"{self.route}.matched", f"{self.route}.weights"}
        return frozenset(names | ({"session_id"} if self.among else set()))

    def compute(self, ev: Evaluation, date: Values, among: Values | None = None) -> Values:
        words = ev.query.reading.topic_terms
        matched = ev.candidates[f"{self.route}.matched"][:, words]
        weights = ev.candidates[f"{self.route}.weights"][:, words]
        if _names_date(ev):
            weight = row_sums(weights) / len(words) if words else np.ones(len(matched))
            weights = np.column_stack([weights, weight])
            matched = np.column_stack([matched, weight * ev.spread(date)])
        if among is not None:
            groups = ev.groups("session_id")
            matched = groups.largest(matched * (ev.spread(among) > 0.0)[:, None])[groups.of]
        total = row_sums(weights)
        return np.divide(row_sums(matched), total, out=np.zeros(len(matched)), where=total > 0.0)

    def label(self) -> str:
        return "session coverage" if self.among else "coverage"

    def how(self) -> str:
        return "share of the information asked for"


@dataclass(frozen=True)
class NamesMissing(Signal):
    """1 - sum of idf(t) over the names held / sum of idf(t) over all names asked for, in [0, 1].

    Names are the terms that the query writes with a capital, but those of speakers, which are no
    terms. 0 where it names nothing.
    """

    route: str = "lexical"

    def columns(self) -> frozenset[str]:
        return frozenset({f"{self.route}.matched", f"{self.route}.weights"})

    def compute(self, ev: Evaluation) -> Values:
        flags = name_terms(ev.query.text, ev.query.reading.terms)
        names = [place for place, is_name in enumerate(flags) if is_name]
        matched = row_sums(ev.candidates[f"{self.route}.matched"][:, names])
        total = row_sums(ev.candidates[f"{self.route}.weights"][:, names])
        return 1.0 - np.divide(matched, total, out=np.ones(len(matched)), where=total > 0.0)

    def label(self) -> str:
        return "names missing"

    def how(self) -> str:
        return "share of the names asked for that it does not hold"


@dataclass(frozen=True)
class Asked(Signal):
    """sqrt(n), n the terms that the query asks for; a date that it names counts as one."""

    def compute(self, ev: Evaluation) -> Values:
        words = ev.query.reading.topic_terms
        return math.sqrt(len(words) + _names_date(ev))

    def __str__(self) -> str:
        return "asked"


@dataclass(frozen=True)
class Requested(Signal):
    """The probability that the query asks for advice or a piece of work, in [0, 1]."""

    def compute(self, ev: Evaluation) -> Values:
        return ev.query.reading.request

    def __str__(self) -> str:
        return "request"


@dataclass(frozen=True)
class Best(Elementwise):
    """max of x over the candidates where `among` is above 0 (all of them without it), 0 if none."""

    of: Signal
    among: Signal | None = None

    def combine(self, values: Values, among: Values = 1.0) -> Values:
        values, among = np.broadcast_arrays(values, among)
        counting = values[among > 0.0]
        return float(counting.max()) if counting.size else 0.0

    def how(self) -> str:
        return "largest of the candidates" if self.among is None else "largest of those that count"

    def label(self) -> str:
        return f"best({self.of.label()})"


@dataclass(frozen=True)
class AnyOf(Elementwise):
    """1 - product of (1 - x) over the `first` largest x: the chance of at least one of them."""

    of: Signal
    first: int

    def combine(self, values: Values) -> Values:
        return any_of(np.sort(np.atleast_1d(values))[-self.first :])

    def how(self) -> str:
        return f"at least one of the first {self.first}"

    def label(self) -> str:
        return f"any_of({self.of.label()})"


def any_of(chances: Floats) -> float:
    """1 - product of (1 - x), each x in [0, 1); taken by size, so that no order matters."""
    any_so_far = 0.0
    for chance in np.sort(chances).tolist():
        any_so_far += chance - any_so_far * chance
    return any_so_far


@dataclass(frozen=True)
class AtBest(Elementwise):
    """x of the candidate with the largest y of those where `among` is above 0, 0 if there is none.

    Of several with the same y, the smallest x.
    """

    of: Signal
    by: Signal
    among: Signal

    def combine(self, values: Values, by: Values, among: Values) -> Values:
        values, by, among = np.broadcast_arrays(values, by, among)
        values, by = values[among > 0.0], by[among > 0.0]
        return float(values[by == by.max()].min()) if values.size else 0.0

    def how(self) -> str:
        return "of the best of those that count"

    def label(self) -> str:
        return f"at_best({self.of.label()})"


@dataclass(frozen=True)
class AboveMedian(Elementwise):
    """(x - m) / (1 - m), at least 0: how far x rises from the median m of the candidates to 1."""

    of: Signal

    def combine(self, values: Values) -> Values:
        median = float(np.nanmedian(values)) if np.size(values) else 0.0
        if not median < 1.0:
            return values * 0.0
        return np.maximum(0.0, (values - median) / (1.0 - median))

    def how(self) -> str:
        return "above the median of the candidates"

    def label(self) -> str:
        return f"above_median({self.of.label()})"


def _names_date(ev: Evaluation) -> bool:
    return "query_names_date" in ev.query.reading.features
