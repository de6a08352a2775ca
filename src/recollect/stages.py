"""Stages: each turns a candidate table into another; a pipeline is stages joined by `>>`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recollect.candidates import Candidates, Column, best_first, union
from recollect.errors import InvalidProfile
from recollect.expr import Evaluation, Signal
from recollect.features import FEATURES
from recollect.fields import FIELDS
from recollect.ops import Fetch, Matched, Mentions, Op, Search
from recollect.ops import Score as ScoreOp
from recollect.plan import Plan
from recollect.query import Query
from recollect.routes import Lexical, Route, check_depth

STORED = frozenset(
    {*FIELDS, *FEATURES, *(f"previous.{name}" for name in FEATURES), "position"} - {"metadata"}
)
_NAMES = "mentions_named"


def is_stored(column: str) -> bool:
    """Whether a store can be asked for the column of that name."""
    return column in STORED or column.startswith("metadata.")


@dataclass(frozen=True)
class Stage:
    """A step of a pipeline. Pure stages override `apply`; those that ask the world, `plan`."""

    def reads(self) -> frozenset[str]:
        """The columns this stage needs."""
        return frozenset()

    def writes(self) -> frozenset[str]:
        """The columns this stage adds, besides stored ones."""
        return frozenset()

    def apply(self, query: Query, candidates: Candidates) -> Candidates:
        """The table after this stage, without asking the world."""
        raise TypeError(f"{type(self).__name__} has to override apply or plan")

    def plan(
        self, query: Query, candidates: Candidates, wanted: frozenset[str]
    ) -> Plan[Candidates]:
        """The table after this stage; `wanted` are columns that later stages will read."""
        return self.apply(query, candidates)
        yield []  # makes this a generator

    def __rshift__(self, other: Stage | Pipeline) -> Pipeline:
        return Pipeline((self,)) >> other


@dataclass(frozen=True)
class Recall(Stage):
    """The union of the first `depth` rows of each route (all rows for None).

    Writes `<route>.rank`, and on demand the exact `<route>.score` of every candidate, whichever
    route found it, `previous.<route>.score`, and for a lexical route `<route>.matched`, the weight
    of each of the query's terms that the memory holds, and `mentions_named`, whether the memory's
    words hold a name that the question names. A store needs two round trips for it.
    """

    routes: tuple[Route, ...]
    depth: int | None = 200

    def __post_init__(self) -> None:
        check_depth(self.depth)

    def writes(self) -> frozenset[str]:
        return frozenset({_NAMES}) | frozenset(
            name
            for route in self.routes
            for name in (
                f"{route.name}.rank",
                f"{route.name}.score",
                f"previous.{route.name}.score",
                *([f"{route.name}.matched"] if isinstance(route, Lexical) else []),
            )
        )

    def plan(
        self, query: Query, candidates: Candidates, wanted: frozenset[str]
    ) -> Plan[Candidates]:
        rankings = yield [Search(route, query, self.depth) for route in self.routes]
        rows, places = union([ranking.rows for ranking in rankings])
        columns: dict[str, Column] = {}
        for route, where in zip(self.routes, places, strict=True):
            ranks = np.full(len(rows), np.nan)
            ranks[where] = np.arange(1, len(where) + 1)
            columns[f"{route.name}.rank"] = ranks
        stored = tuple(sorted(name for name in wanted if is_stored(name)))
        scored: dict[str, Op] = {}
        for route in self.routes:
            if f"{route.name}.score" in wanted:
                scored[f"{route.name}.score"] = ScoreOp(route, query, rows)
            if f"previous.{route.name}.score" in wanted:
                scored[f"previous.{route.name}.score"] = ScoreOp(route, query, rows, "previous")
            if isinstance(route, Lexical) and f"{route.name}.matched" in wanted:
                scored[f"{route.name}.matched"] = Matched(route, query, rows)
        if _NAMES in wanted:
            scored[_NAMES] = Mentions(query.reading.name_terms, rows)
        fetched, *scores = yield [Fetch(rows, stored), *scored.values()]
        columns.update(fetched)
        columns.update(zip(scored, scores, strict=True))
        return Candidates(rows, columns)


@dataclass(frozen=True)
class Score(Stage):
    """Writes the value of a signal to the column `into`."""

    signal: Signal
    into: str = "score"

    def reads(self) -> frozenset[str]:
        return self.signal.inputs()

    def writes(self) -> frozenset[str]:
        return frozenset({self.into})

    def apply(self, query: Query, candidates: Candidates) -> Candidates:
        values = Evaluation(query, candidates).column(self.signal)
        return candidates.with_columns(**{self.into: values})


@dataclass(frozen=True)
class Cut(Stage):
    """The best k of the query by `score` descending, then id, at or above its `min_score`."""

    def reads(self) -> frozenset[str]:
        return frozenset({"score", "id"})

    def apply(self, query: Query, candidates: Candidates) -> Candidates:
        if query.min_score is not None:
            candidates = candidates.take(candidates.floats("score") >= query.min_score)
        ids = candidates["id"]
        order = best_first(candidates.floats("score"), lambda at: ids[at].tolist(), query.k)
        return candidates.take(order)


def recall(*routes: Route, depth: int | None = 200) -> Recall:
    """The union of the first `depth` rows of each route."""
    return Recall(routes, depth)


def score(signal: Signal) -> Score:
    """Score every candidate with a signal."""
    return Score(signal)


def cut() -> Cut:
    """Keep the best k."""
    return Cut()


@dataclass(frozen=True)
class Pipeline:
    """Stages in order; `a >> b` appends."""

    stages: tuple[Stage, ...]

    def __rshift__(self, other: Stage | Pipeline) -> Pipeline:
        more = other.stages if isinstance(other, Pipeline) else (other,)
        return Pipeline(self.stages + more)

    @cached_property
    def wanted(self) -> tuple[frozenset[str], ...]:
        """For each stage, the columns that later stages read and none of them writes before."""
        found: list[frozenset[str]] = []
        needed: frozenset[str] = frozenset()
        for stage in reversed(self.stages):
            found.append(needed)
            needed = (needed - stage.writes()) | stage.reads()
        return tuple(reversed(found))

    def check(self) -> None:
        """Refuse a pipeline in which a stage reads what nothing before it provides.

        Raises:
            InvalidProfile: names the stage and the column.
        """
        if not self.stages or not isinstance(self.stages[0], Recall):
            raise InvalidProfile("stages[0]", "is no recall", "begin with recall(...)")
        if not isinstance(self.stages[-1], Cut):
            raise InvalidProfile(f"stages[{len(self.stages) - 1}]", "is no cut", "end with cut()")
        known: set[str] = set()
        for place, stage in enumerate(self.stages):
            for name in sorted(stage.reads() - known):
                if not is_stored(name):
                    raise InvalidProfile(
                        f"stages[{place}]",
                        f"{type(stage).__name__.lower()} reads {name!r}, which no earlier stage "
                        "writes and no memory has",
                        f"there are {', '.join(sorted(known | STORED))}",
                    )
            known |= stage.writes()

    def plan(self, query: Query) -> Plan[list[Candidates]]:
        """Run the stages; the table after each of them."""
        tables: list[Candidates] = []
        candidates = Candidates.empty()
        for stage, wanted in zip(self.stages, self.wanted, strict=True):
            candidates = yield from stage.plan(query, candidates, wanted)
            tables.append(candidates)
        return tables
