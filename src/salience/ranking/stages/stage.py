"""What a stage and a pipeline are, and the stage that every profile has: scoring."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from salience.errors import InvalidInput, InvalidProfile, shown
from salience.language.features import FEATURES
from salience.ranking.evaluation import Evaluation, Program
from salience.ranking.expressions import Col, Signal
from salience.ranking.serialization import misread
from salience.ranking.weights import rewrite
from salience.records.fields import FIELDS, GRAPH
from salience.retrieval.candidates import Candidates, Floats
from salience.retrieval.operations import TopK, TopKResult
from salience.retrieval.plan import Plan, ask
from salience.retrieval.query import Query
from salience.retrieval.routes import Route

STORED = frozenset(
    {
        *FIELDS,
        *FEATURES,
        *(f"previous.{name}" for name in FEATURES),
        "position",
        "namespace",
        *GRAPH,
    }
    - {"metadata"}
)


def is_stored(column: str) -> bool:
    """Whether a store can be asked for the column of that name."""
    return column in STORED or column.startswith("metadata.")


@dataclass(frozen=True)
class Depth:
    """max(per_k * k, least): a number of rows that grows with the number of hits wanted."""

    per_k: int
    least: int = 0

    def __post_init__(self) -> None:
        for name in ("per_k", "least"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise InvalidInput(f"depth.{name}", f"is {shown(value)}", "give a whole number")
        if self.per_k == self.least == 0:
            raise InvalidInput("depth", "is never more than 0 rows")

    def of(self, query: Query) -> int:
        """The number of rows for a query."""
        return max(self.per_k * query.k, self.least)


@dataclass(frozen=True)
class Stage:
    """A step of a pipeline. Pure stages override `apply`; those that ask the world, `plan`."""

    begins: ClassVar[bool] = False  # whether a pipeline may begin with it
    ends: ClassVar[bool] = False  # whether at most the hits wanted are left after it
    around: ClassVar[str | None] = None  # what it asks: "links", or who stands "beside" hits
    ranks: ClassVar[bool] = False  # whether it leaves the best by score and looks at no others

    @property
    def called(self) -> str:
        """How it is written in a recipe: `session_first` for SessionFirst."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()

    def reads(self) -> frozenset[str]:
        """The columns this stage needs."""
        return frozenset()

    def writes(self) -> frozenset[str]:
        """The columns this stage adds, besides stored ones."""
        return frozenset()

    def routed(self) -> frozenset[str]:
        """The names of the routes this stage walks."""
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

    def everything(self) -> tuple[Route, ...]:
        """The routes of which it leaves every row, if it does."""
        return ()

    def begin(
        self, query: Query, wanted: frozenset[str], best: TopKResult | None
    ) -> Plan[Candidates]:
        """The table of a pipeline that begins with it; of the best rows alone if they are given."""
        return (yield from self.plan(query, Candidates.empty(), wanted))

    def __rshift__(self, other: Stage | Pipeline) -> Pipeline:
        return Pipeline((self,)) >> other


@dataclass(frozen=True)
class Score(Stage):
    """Writes the value of a signal to the column `into`; every candidate has to have a score."""

    signal: Signal
    into: str = "score"

    def reads(self) -> frozenset[str]:
        return self.signal.inputs()

    def writes(self) -> frozenset[str]:
        return frozenset({self.into})

    def apply(self, query: Query, candidates: Candidates) -> Candidates:
        ev = Evaluation(query, candidates, layout=self._layout(query.reading.facts))
        values = ev.column(self.signal)
        if self.into == "score" and not np.isfinite(values).all():
            self._refuse(query, candidates, values)
        return candidates.with_columns(**{self.into: values})

    def _refuse(self, query: Query, candidates: Candidates, values: Floats) -> None:
        """Refuse a memory without a score: names the innermost part that has no value there.

        What was erased since it was found has none of anything; later stages leave it out.
        """
        ids = candidates["id"].tolist() if "id" in candidates.columns else []
        unscored = np.flatnonzero(~np.isfinite(values)).tolist()
        row = next((at for at in unscored if ids and ids[at] is not None), None)
        if row is None:
            return
        ev, part = Evaluation(query, candidates), self.signal
        while lacking := [p for p in part.children() if not math.isfinite(ev.at(p, row))]:
            part = lacking[0]
        raise InvalidProfile(
            "score",
            f"has no value for the memory {shown(ids[row])}, as {part.label()} has none there",
            "say what stands in for it: .default(0.0) after that part",
        )

    def _layout(self, facts: Mapping[str, float]) -> Program:
        """How the signal is computed for a question of these facts, kept."""
        key = tuple(facts.items())
        layout = self._layouts.get(key)
        if layout is None:
            layout = Program(facts)
            layout(self.signal)
            self._layouts[key] = layout
        return layout

    @cached_property
    def _layouts(self) -> dict[tuple[tuple[str, float], ...], Program]:
        return {}


def score(signal: Signal, into: str = "score") -> Score:
    """Score every candidate with a signal."""
    return Score(signal, into)


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

    @cached_property
    def around(self) -> frozenset[str]:
        """What its stages ask of what is around memories."""
        return frozenset(stage.around for stage in self.stages if stage.around is not None)

    @cached_property
    def decisive(self) -> Signal | None:
        """The one formula that decides who of the first stage's rows is left at the end.

        None where more than scoring and the final cut decides.
        """
        scores: dict[str, Signal] = {}
        for stage in self.stages[1:-1]:
            if not isinstance(stage, Score):
                return None
            scores[stage.into] = rewrite(
                stage.signal,
                lambda node: scores.get(node.name) if isinstance(node, Col) else None,
            )
        return scores.get("score") if self.stages[-1].ranks else None

    def check(self) -> None:
        """Refuse a pipeline in which a stage reads what nothing before it provides.

        Raises:
            InvalidProfile: names the stage and the column, or the routes of the same name.
        """
        self._sound  # noqa: B018

    @cached_property
    def _sound(self) -> None:
        if not self.stages or not self.stages[0].begins:
            raise InvalidProfile("stages[0]", "retrieves nothing", "begin with retrieve(...)")
        if not any(stage.ends for stage in self.stages):
            last = f"stages[{len(self.stages) - 1}]"
            raise InvalidProfile(last, "is no cut", "end with cut() or pack()")
        if not any(isinstance(s, Score) and s.into == "score" for s in self.stages):
            raise InvalidProfile("stages", "have no score", "add score(...)")
        known: set[str] = set()
        routes: set[str] = set()
        for place, stage in enumerate(self.stages):
            again = sorted(routes.intersection(stage.routed()))
            if again:
                raise InvalidProfile(
                    f"stages[{place}].routes",
                    f"{shown(again[0])} occurs twice",
                    "rename one of the two",
                )
            routes.update(stage.routed())
            for name in sorted(stage.reads() - known):
                if not is_stored(name):
                    raise misread(f"stages[{place}]", stage, name, sorted(known | STORED))
            known |= stage.writes()

    def best(self, query: Query) -> Plan[TopKResult | None]:
        """The rows among which all hits are, where the store can tell them without the others."""
        routes = self.stages[0].everything()
        if self.decisive is None or not routes or query.token_budget is not None:
            return None
        found: TopKResult | None = yield from ask(TopK(routes, self.decisive, query))
        return found

    def plan(self, query: Query) -> Plan[list[Candidates]]:
        """Run the stages; the table after each of them."""
        best = (yield from self.best(query)) if query.hits_only else None
        first, *rest = zip(self.stages, self.wanted, strict=True)
        tables = [(yield from first[0].begin(query, first[1], best))]
        for stage, wanted in rest:
            tables.append((yield from stage.plan(query, tables[-1], wanted)))
        return tables
