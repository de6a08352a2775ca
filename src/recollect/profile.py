"""A profile: a named pipeline as plain data, checked, printable and JSON both ways."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from recollect import expr, routes, signals, stages
from recollect.candidates import Candidates
from recollect.errors import InvalidInput, InvalidProfile
from recollect.explain import Explanation
from recollect.expr import Evaluation, Signal, with_weights
from recollect.plan import Plan
from recollect.query import Query
from recollect.stages import Pipeline, Score

_TYPES: dict[str, type] = {
    name: kind
    for module in (expr, signals, routes, stages)
    for name, kind in vars(module).items()
    if isinstance(kind, type) and is_dataclass(kind) and kind.__module__ == module.__name__
    if kind not in (expr.Signal, stages.Stage, stages.Pipeline)
}


@dataclass(frozen=True)
class Profile:
    """A way to rank: `pipeline` under a `name`, with a sentence on what it is for."""

    name: str
    pipeline: Pipeline
    doc: str = ""

    def check(self) -> Profile:
        """This profile, if every stage finds the columns it reads; InvalidProfile otherwise."""
        self.pipeline.check()
        return self

    @property
    def signal(self) -> Signal:
        """The formula of the score."""
        return next(
            stage.signal
            for stage in reversed(self.pipeline.stages)
            if isinstance(stage, Score) and stage.into == "score"
        )

    def weighted(self, weights: Mapping[str, float] | None) -> Profile:
        """The same profile with the weights of named parts replaced."""
        if not weights:
            return self
        changed = with_weights(self.signal, weights)
        return replace(
            self,
            pipeline=Pipeline(
                tuple(
                    replace(s, signal=changed) if isinstance(s, Score) and s.into == "score" else s
                    for s in self.pipeline.stages
                )
            ),
        )

    def plan(self, query: Query) -> Plan[Ranked]:
        """Run the pipeline on a query."""
        tables = yield from self.pipeline.plan(query)
        return Ranked(self, query, tables)

    def to_dict(self) -> dict[str, Any]:
        """The profile as JSON-ready data."""
        return {"name": self.name, "doc": self.doc, "stages": _to(self.pipeline.stages)}

    @classmethod
    def from_dict(cls, data: Any) -> Profile:
        """The profile of `to_dict`, checked.

        Raises:
            InvalidProfile: names the path of the node that is wrong.
        """
        if not isinstance(data, Mapping):
            raise InvalidProfile("profile", f"must be an object, not {type(data).__name__}")
        unknown = set(data) - {"name", "doc", "stages"}
        if unknown or not isinstance(data.get("name"), str):
            raise InvalidProfile("profile", "has to have name, stages and perhaps doc, no more")
        try:
            built = _from(data.get("stages"), "stages")
        except RecursionError:
            raise InvalidProfile("stages", "are nested too deeply") from None
        if not isinstance(built, tuple) or not all(isinstance(s, stages.Stage) for s in built):
            raise InvalidProfile("stages", "must be a list of stages")
        return cls(data["name"], Pipeline(built), str(data.get("doc", ""))).check()

    def to_json(self) -> str:
        """The profile as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Profile:
        """The profile of `to_json`, checked."""
        try:
            data = json.loads(text)
        except (ValueError, TypeError, RecursionError) as problem:
            raise InvalidProfile("profile", f"is not JSON: {problem}") from None
        return cls.from_dict(data)


@dataclass(frozen=True, eq=False)
class Ranked:
    """A finished search: the table after each stage of the profile that made it."""

    profile: Profile
    query: Query
    tables: list[Candidates]

    @property
    def final(self) -> Candidates:
        """The table that the last stage left, best first."""
        return self.tables[-1]

    def _scored(self) -> Candidates:
        at = max(
            i
            for i, stage in enumerate(self.profile.pipeline.stages)
            if isinstance(stage, Score) and stage.into == "score"
        )
        return self.tables[at]

    def explain(self, rows: Any) -> list[Explanation | None]:
        """The score's tree for each row; None for one that was no candidate."""
        scored = self._scored()
        ev = Evaluation(self.query, scored)
        found: list[Explanation | None] = []
        for row in np.asarray(rows).tolist():
            place = scored.position(row)
            tree = None if place is None else self.profile.signal.explain(ev, place)
            if tree is not None:
                tree = replace(tree, label=f"score ({self.profile.name})")
            found.append(tree)
        return found

    def rank(self, row: int) -> int | None:
        """The rank (from 1) among all scored candidates, before the cut; None for no candidate."""
        scored = self._scored()
        place = scored.position(row)
        if place is None:
            return None
        scores, ids = scored.floats("score"), scored["id"]
        better = scores > scores[place]
        tied = (scores == scores[place]) & np.array(
            [(i or "") < (ids[place] or "") for i in ids], dtype=bool
        )
        return int(np.count_nonzero(better | tied)) + 1


def _to(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {
            "type": type(value).__name__,
            **{f.name: _to(getattr(value, f.name)) for f in fields(value)},
        }
    return [_to(item) for item in value] if isinstance(value, tuple) else value


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of the type that a field is declared with; numbers have to be finite."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, each) for each in inner)
    if origin is Literal:
        return isinstance(value, str) and value in inner
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        each = inner[:1] * len(value) if inner[-1] is ... else inner
        return len(each) == len(value) and all(map(_fits, value, each))
    if hint in (int, float):
        return (
            isinstance(value, (int, hint)) and not isinstance(value, bool) and math.isfinite(value)
        )
    return isinstance(value, hint)


def _from(value: Any, path: str) -> Any:
    if isinstance(value, list):
        return tuple(_from(item, f"{path}[{i}]") for i, item in enumerate(value))
    if not isinstance(value, Mapping):
        return value
    kind = _TYPES.get(str(value.get("type")))
    if kind is None:
        raise InvalidProfile(path, f"has the type {value.get('type')!r}", f"use {sorted(_TYPES)}")
    known = {f.name for f in fields(kind)}
    given = {name: _from(item, f"{path}.{name}") for name, item in value.items() if name != "type"}
    if set(given) - known:
        raise InvalidProfile(
            path, f"{kind.__name__} has no {', '.join(sorted(set(given) - known))}", f"use {known}"
        )
    hints = get_type_hints(kind)
    for name, item in given.items():
        if not _fits(item, hints[name]):
            raise InvalidProfile(
                f"{path}.{name}", f"is {item!r:.80}", f"give {kind.__annotations__[name]}"
            )
    try:
        return kind(**given)
    except InvalidInput as problem:
        raise InvalidProfile(f"{path}.{problem.field}", problem.problem, problem.remedy) from None
    except (TypeError, ValueError) as problem:
        raise InvalidProfile(path, str(problem)) from None
