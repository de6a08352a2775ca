"""Runs: an evaluation kept in a file, and a later one beside it, question by question."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from salience.closing import regular_file
from salience.errors import InvalidInput
from salience.retrieval import metrics
from salience.retrieval.metrics import CONFIDENCE, MEASURES, Interval, Metrics, mean, mean_intervals

# Outcomes: what each question of a set was answered, and the means of them


@dataclass(frozen=True, slots=True)
class Judged:
    """The measures of one question of a conversation."""

    conversation: str
    id: str
    category: str | None
    metrics: Metrics


@dataclass(frozen=True)
class Outcome:
    """The measures of all questions of one set, with one profile and embedder."""

    set: str
    profile: str
    embedder: str
    judged: tuple[Judged, ...]
    ms_per_query: float

    @property
    def queries(self) -> int:
        """The number of questions."""
        return len(self.judged)

    @cached_property
    def metrics(self) -> Metrics:
        """The mean of each measure."""
        return mean([each.metrics for each in self.judged])

    @cached_property
    def intervals(self) -> dict[str, Interval]:
        """The interval in which the mean of each measure is, with a confidence of 95 percent."""
        return intervals(self.judged)

    @cached_property
    def by_category(self) -> dict[str, tuple[Judged, ...]]:
        """The questions of each category, by its name."""
        names = sorted({each.category for each in self.judged if each.category is not None})
        return {name: tuple(e for e in self.judged if e.category == name) for name in names}

    @cached_property
    def categories(self) -> dict[str, tuple[int, Metrics]]:
        """The number of questions of each category, and the mean of each measure."""
        return {
            name: (len(judged), mean([each.metrics for each in judged]))
            for name, judged in self.by_category.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "set": self.set,
            "profile": self.profile,
            "embedder": self.embedder,
            "queries": self.queries,
            "metrics": self.metrics,
            "intervals": self.intervals,
            "categories": {
                name: {
                    "queries": count,
                    **values,
                    "intervals": intervals(self.by_category[name]),
                }
                for name, (count, values) in self.categories.items()
            },
            "ms_per_query": self.ms_per_query,
        }


def intervals(judged: Sequence[Judged]) -> dict[str, Interval]:
    """The interval of the mean of each measure, over conversations resampled."""
    return metrics.intervals([e.metrics for e in judged], [e.conversation for e in judged])


FORMAT = "salience.eval/1"
COMPARED = ("R@10", "MRR")


@dataclass(frozen=True, slots=True)
class Change:
    """The difference of a figure from the run before, over the questions that both have asked.

    `low` and `high` are its interval; `category` is None for all questions of the set.
    """

    set: str
    profile: str
    embedder: str
    category: str | None
    measure: str
    queries: int
    before: float
    after: float
    low: float
    high: float

    @property
    def fell(self) -> bool:
        """True if the figure is lower, and not by chance."""
        return self.high < 0.0

    @property
    def rose(self) -> bool:
        """True if the figure is higher, and not by chance."""
        return self.low > 0.0

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        names = (*self.__slots__, "fell", "rose")
        return {name: getattr(self, name) for name in names}


def run_to_json(outcomes: Iterable[Outcome]) -> str:
    """A run as text: the measures of each question by its id, without its words."""
    results = [
        {
            "set": outcome.set,
            "profile": outcome.profile,
            "embedder": outcome.embedder,
            "ms_per_query": outcome.ms_per_query,
            "questions": [
                [each.conversation, each.id, each.category, *each.metrics.values()]
                for each in outcome.judged
            ],
        }
        for outcome in outcomes
    ]
    lines = ",\n".join(json.dumps(result, ensure_ascii=False) for result in results)
    head = {"format": FORMAT, "version": version("salience"), "measures": MEASURES}
    return f'{json.dumps(head)[:-1]}, "results": [\n{lines}\n]}}'


def read_run(path: Path) -> list[Outcome]:
    """The outcomes of a run that was saved.

    Raises:
        InvalidInput: the file cannot be read, or is no run.
    """
    remedy = "give a file that `salience eval --save` has written"
    try:
        with regular_file(path) as file:
            document = json.loads(file.read().decode("utf-8"))
    except OSError as problem:
        raise InvalidInput("run", f"{path} cannot be read: {problem.strerror}", remedy) from None
    except ValueError as problem:
        raise InvalidInput("run", f"{path} is not JSON: {problem}", remedy) from None
    try:
        if document["format"] != FORMAT:
            raise ValueError(document["format"])
        return [
            Outcome(
                str(result["set"]),
                str(result["profile"]),
                str(result["embedder"]),
                tuple(_judged(question, document["measures"]) for question in result["questions"]),
                float(result["ms_per_query"]),
            )
            for result in document["results"]
        ]
    except (KeyError, TypeError, ValueError) as problem:
        reason = f"{path} is no run of this version ({type(problem).__name__}: {problem})"
        raise InvalidInput("run", reason, remedy) from None


def _judged(question: Sequence[Any], measures: Sequence[str]) -> Judged:
    conversation, id, category, *values = question
    metrics = {name: float(v) for name, v in zip(measures, values, strict=True)}
    return Judged(str(conversation), str(id), category, {n: metrics[n] for n in MEASURES})


def compare_runs(
    before: Sequence[Outcome], after: Sequence[Outcome], confidence: float = CONFIDENCE
) -> tuple[Change, ...]:
    """The change of Recall@10 and MRR of each set, profile, embedder and category.

    Outcomes are compared that agree in set, profile and embedder, over the questions of both. The
    intervals hold all together with the confidence: with m of them, each leaves out 1 / m of what
    it leaves out (Bonferroni).

    Raises:
        InvalidInput: the runs have no question in common.
    """
    formers = {(one.set, one.profile, one.embedder): one for one in before}
    groups = [
        (outcome, category, pairs)
        for outcome in after
        if (former := formers.get((outcome.set, outcome.profile, outcome.embedder))) is not None
        for category, pairs in _groups(former, outcome)
    ]
    if not groups:
        raise InvalidInput(
            "run",
            "has no question of a set, profile and embedder in common with this one",
            "compare runs over the same folders, with the same --profile and --embedder",
        )
    each_confidence = 1.0 - (1.0 - confidence) / (len(groups) * len(COMPARED))
    return tuple(
        change
        for outcome, category, pairs in groups
        for change in _changes(outcome, category, pairs, each_confidence)
    )


Pair = tuple[Judged, Judged]


def _groups(before: Outcome, after: Outcome) -> Iterator[tuple[str | None, list[Pair]]]:
    """The questions of both: all of them, then those of each category."""
    waiting: defaultdict[tuple[str, str], list[Judged]] = defaultdict(list)
    for judged in reversed(before.judged):
        waiting[judged.conversation, judged.id].append(judged)
    pairs = [
        (waiting[judged.conversation, judged.id].pop(), judged)
        for judged in after.judged
        if waiting[judged.conversation, judged.id]
    ]
    if pairs:
        yield None, pairs
    for category in after.by_category:
        if of_category := [pair for pair in pairs if pair[1].category == category]:
            yield category, of_category


def _changes(
    outcome: Outcome, category: str | None, pairs: Sequence[Pair], confidence: float
) -> Iterator[Change]:
    first, second = (
        np.array([[pair[side].metrics[name] for name in COMPARED] for pair in pairs])
        for side in (0, 1)
    )
    conversations = [judged.conversation for _, judged in pairs]
    bounds = mean_intervals(second - first, conversations, confidence)
    for column, (measure, (low, high)) in enumerate(zip(COMPARED, bounds, strict=True)):
        yield Change(
            outcome.set,
            outcome.profile,
            outcome.embedder,
            category,
            measure,
            len(pairs),
            float(first[:, column].mean()),
            float(second[:, column].mean()),
            low,
            high,
        )
