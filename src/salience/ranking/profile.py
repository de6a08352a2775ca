"""A profile: a named pipeline as plain data, checked, printable and JSON both ways."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import salience.ranking.signals  # noqa: F401  (the kinds of signals that JSON may name)
from salience.errors import InvalidInput, InvalidProfile, shown
from salience.ranking.evaluation import Evaluation
from salience.ranking.explanation import Explanation
from salience.ranking.expressions import Named, Signal
from salience.ranking.rendering import written
from salience.ranking.serialization import from_data, nodes, to_data
from salience.ranking.stages import Pipeline, Recall, Score, Stage
from salience.ranking.weights import weighted, with_weights
from salience.records.fields import STATUSES
from salience.records.record import finite, native
from salience.retrieval.candidates import Candidates
from salience.retrieval.plan import Plan
from salience.retrieval.query import Query
from salience.retrieval.routes import Exact, Lexical, Route, SearchType, Trigram, Vector

_DUE = {"name": str, "doc": str, "statuses": tuple[str, ...], "stages": tuple[Stage, ...]}


@dataclass(frozen=True)
class Profile:
    """A way to rank: `pipeline` under a `name`, with a sentence on what it is for.

    Only memories with one of the `statuses` are candidates.
    """

    name: str
    pipeline: Pipeline
    doc: str = ""
    statuses: tuple[str, ...] = ("active",)

    def check(self) -> Profile:
        """This profile, if its statuses exist and every stage finds the columns it reads.

        InvalidProfile otherwise.
        """
        for status in self.statuses:
            if status not in STATUSES:
                known = ", ".join(STATUSES)
                raise InvalidProfile("statuses", f"hold {shown(status)}", f"use some of {known}")
        self.pipeline.check()
        return self

    @cached_property
    def routes(self) -> tuple[Route, ...]:
        """Where its candidates come from."""
        recalls = (s for s in self.pipeline.stages if isinstance(s, Recall))
        return tuple(route for stage in recalls for route in stage.routes)

    @cached_property
    def names_entities(self) -> bool:
        """Whether it asks which entities a question names."""
        return any(
            isinstance(route, Exact) or (isinstance(route, Trigram) and route.entities)
            for route in self.routes
        ) or any("entities" in signal.inputs() for signal in self.signals())

    @cached_property
    def heeds_validity(self) -> bool:
        """Whether it tells apart what held at the time asked about from what did not."""
        return any("valid_to" in signal.inputs() for signal in self.signals())

    @cached_property
    def search_type(self) -> SearchType:
        """Whether its candidates are compared by vectors, by words or by both."""
        semantic = any(isinstance(route, Vector) for route in self.routes)
        text = any(isinstance(route, (Lexical, Trigram, Exact)) for route in self.routes)
        return "hybrid" if semantic and text else "semantic" if semantic else "text"

    @property
    def signal(self) -> Signal:
        """The formula of the score."""
        return next(
            stage.signal
            for stage in reversed(self.pipeline.stages)
            if isinstance(stage, Score) and stage.into == "score"
        )

    def signals(self) -> Iterator[Signal]:
        """The formulas of all stages, in their order."""
        for stage in self.pipeline.stages:
            held = (getattr(stage, f.name) for f in fields(stage))
            yield from (each for each in held if isinstance(each, Signal))

    @property
    def weights(self) -> dict[str, float]:
        """The weight of every named part of its formulas; that of the score where several have."""
        found: dict[str, float] = {}
        for each in self.signals():
            found.update(weighted(each))
        return {**found, **weighted(self.signal)}

    def weighted(self, weights: Mapping[str, float] | None) -> Profile:
        """The same profile with the weights of named parts replaced.

        Raises:
            InvalidInput: no part has that name, or a weight is not a finite number.
        """
        if weights is None:
            return self
        checked = _checked_weights(weights, self.weights, self.name)
        if not checked:
            return self
        return replace(
            self, pipeline=Pipeline(tuple(_reweighted(s, checked) for s in self.pipeline.stages))
        )

    def plan(self, query: Query) -> Plan[Ranked]:
        """Run the pipeline on a query."""
        tables = yield from self.pipeline.plan(query)
        return Ranked(self, query, tables)

    def formula(self, width: int = 100) -> str:
        """The stages, the score with its weights aligned, and what each named part is, as text."""
        return written(self.pipeline.stages, width)

    def to_dict(self) -> dict[str, Any]:
        """The profile as JSON-ready data."""
        return {
            "name": self.name,
            "doc": self.doc,
            "statuses": list(self.statuses),
            "stages": to_data(self.pipeline.stages),
        }

    @classmethod
    def from_dict(cls, data: Any) -> Profile:
        """The profile of `to_dict`, checked.

        Raises:
            InvalidProfile: names the path of the node that is wrong, and what would be right.
        """
        if not isinstance(data, Mapping):
            raise InvalidProfile("profile", f"must be an object, not {type(data).__name__}")
        for name in data:
            if name not in _DUE:
                raise InvalidProfile(str(name), "is no part of a profile", f"use {', '.join(_DUE)}")
        for name in ("name", "stages"):
            if name not in data:
                raise InvalidProfile(name, "is missing", "a profile has a name and stages")
        try:
            given = {name: from_data(value, _DUE[name], name) for name, value in data.items()}
        except RecursionError:
            raise InvalidProfile("stages", "are nested too deeply") from None
        return cls(pipeline=Pipeline(given.pop("stages")), **given).check()

    def to_json(self) -> str:
        """The profile as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Profile:
        """The profile of `to_json`, checked.

        Raises:
            InvalidProfile: the text is not JSON, or see `from_dict`.
        """
        try:
            data = json.loads(text)
        except (ValueError, TypeError, RecursionError) as problem:
            raise InvalidProfile("profile", f"is not JSON: {problem}") from None
        return cls.from_dict(data)

    @classmethod
    def load(cls, path: str | Path) -> Profile:
        """The profile in a JSON file.

        Raises:
            InvalidProfile: the file cannot be read, or see `from_json`.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise InvalidProfile("profile", f"{path} is not UTF-8 text") from None
        except (OSError, ValueError) as problem:
            why = getattr(problem, "strerror", None) or "no file can have that path"
            raise InvalidProfile("profile", f"{path} cannot be read: {why}") from None
        return cls.from_json(text)


def _checked_weights(weights: Any, known: Iterable[str], profile: str) -> dict[str, float]:
    if not isinstance(weights, Mapping):
        raise InvalidInput("weights", "must be a mapping of parts to numbers")
    names = ", ".join(known)
    remedy = f"use one of {names}" if names else f"{profile} weighs no parts by name"
    found: dict[str, float] = {}
    for name, value in weights.items():
        if name not in known:
            raise InvalidInput(f"weights.{name}", f"{profile} has no part of that name", remedy)
        found[name] = native(value)
        if isinstance(found[name], bool) or not isinstance(found[name], (int, float)):
            raise InvalidInput(f"weights.{name}", f"is {shown(value)}", "give a number")
        if not finite(found[name]):
            raise InvalidInput(f"weights.{name}", f"is {shown(value)}", "give a finite number")
    return found


def _reweighted(stage: Stage, weights: Mapping[str, float]) -> Stage:
    held = {f.name: getattr(stage, f.name) for f in fields(stage)}
    changed = {n: with_weights(v, weights) for n, v in held.items() if isinstance(v, Signal)}
    return replace(stage, **changed) if changed else stage


@dataclass(frozen=True, eq=False)
class Ranked:
    """A finished search: the table after each stage of the profile that made it."""

    profile: Profile
    query: Query
    tables: list[Candidates]
    _evaluations: dict[int, Evaluation] = field(default_factory=dict, repr=False)

    @property
    def final(self) -> Candidates:
        """The table that the last stage left, best first."""
        return self.tables[-1]

    @property
    def scored(self) -> Candidates:
        """The table right after the score was written: every candidate that has one."""
        return self.tables[self._writer("score", len(self.tables))]

    def explain(self, rows: Any) -> list[Explanation | None]:
        """The score's tree for each row; None for one that was no candidate."""
        trees = [self.tree(row) for row in np.asarray(rows).tolist()]
        label = f"score ({self.profile.name})"
        return [tree and replace(tree, label=label) for tree in trees]

    def tree(
        self, row: int, column: str = "score", before: int | None = None
    ) -> Explanation | None:
        """The tree of a scored column for a row, as the stages before a place left it."""
        at = self._writer(column, len(self.tables) if before is None else before)
        return self._tree(at, row, column)

    def parts(self) -> dict[str, Any]:
        """The values of every named part over the candidates that its stage scored."""
        found: dict[str, Any] = {}
        for at, stage in enumerate(self.profile.pipeline.stages):
            if isinstance(stage, Score):
                ev = self._evaluation(at)
                for _, node in nodes(stage.signal, ""):
                    if isinstance(node, Named):
                        found[node.name] = ev.column(node)
        return found

    def rank(self, row: int) -> int | None:
        """The rank (from 1) among all scored candidates, before the cut; None for no candidate."""
        scored = self.scored
        place = scored.position(row)
        if place is None:
            return None
        scores, ids = scored.floats("score"), scored["id"]
        tied = (id or "" for id in ids[scores == scores[place]].tolist())
        own = ids[place] or ""  # there is none for a memory that was erased meanwhile
        better = np.count_nonzero(scores > scores[place]) + sum(id < own for id in tied)
        return int(better) + 1

    def last_seen(self, row: int) -> int | None:
        """The last stage, by place, whose table still holds the row; None if none ever did."""
        held = [at for at, table in enumerate(self.tables) if table.position(row) is not None]
        return held[-1] if held else None

    def _writer(self, column: str, before: int) -> int:
        """The last scoring stage before a place that wrote the column; -1 for none."""
        stages = self.profile.pipeline.stages[:before]
        return max(
            (i for i, s in enumerate(stages) if isinstance(s, Score) and s.into == column),
            default=-1,
        )

    def _evaluation(self, at: int) -> Evaluation:
        """The evaluation of the scoring stage at a place, over the table that it was given."""
        if at not in self._evaluations:
            before = self.tables[at - 1]

            def origin(column: str, place: int) -> Explanation | None:
                return self._tree(self._writer(column, at), int(before.rows[place]), column)

            self._evaluations[at] = Evaluation(self.query, before, origin)
        return self._evaluations[at]

    def _tree(self, at: int, row: int, label: str) -> Explanation | None:
        """The tree of what the scoring stage at a place wrote for a row."""
        place = None if at < 0 else self.tables[at - 1].position(row)
        if place is None:
            return None
        stage = self.profile.pipeline.stages[at]
        assert isinstance(stage, Score)
        return replace(stage.signal.explain(self._evaluation(at), place), label=label)
