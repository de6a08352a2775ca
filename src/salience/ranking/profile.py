"""A profile: a named pipeline as plain data, checked, printable and JSON both ways."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import salience.ranking.signals  # noqa: F401  (the kinds of signals that JSON may name)
from salience.closing import regular_file
from salience.errors import InvalidInput, InvalidProfile, shown
from salience.lazily import dataclass, field, fields, replace
from salience.ranking.expressions import Signal
from salience.ranking.formulas.parts import ScorePart, score_parts
from salience.ranking.formulas.rendering import render_formula
from salience.ranking.serialization import from_data, to_data
from salience.ranking.stages import Pipeline, Stage
from salience.ranking.weights import weighted, with_weights
from salience.records.limits import STATUSES
from salience.records.validation import finite, mapping, native
from salience.retrieval.routes import Lexical, Route, SearchType

_PARTS = {
    "name": str,
    "doc": str,
    "statuses": tuple[str, ...],
    "stages": tuple[Stage, ...],
    "fitted": Any,
}


@dataclass(frozen=True)
class Profile:
    """A way to rank: `pipeline` under a `name`, with a sentence on what it is for.

    Only memories with one of the `statuses` are candidates. `fitted` tells where learned weights
    come from, as JSON-ready data.
    """

    name: str
    pipeline: Pipeline
    doc: str = ""
    statuses: tuple[str, ...] = ("active",)
    fitted: Any = field(default=None, compare=False, repr=False)

    def check(self) -> Profile:
        """This profile, checked.

        Raises:
            InvalidProfile: a status does not exist, or a stage reads a column that nothing writes.
        """
        for status in self.statuses:
            if status not in STATUSES:
                remedy = f"use some of {', '.join(STATUSES)}"
                raise InvalidProfile("statuses", f"hold {shown(status)}", remedy)
        self.pipeline.check()
        return self

    @cached_property
    def routes(self) -> tuple[Route, ...]:
        """The routes that its candidates come from."""
        return tuple(route for s in self.pipeline.stages for route in s.searched_routes())

    @cached_property
    def entity_fields(self) -> frozenset[str]:
        """The fields that it compares with the entities that a query names."""
        inputs = (signal.inputs() for signal in self.signals())
        overlaps = (names & {"entities", "speaker"} for names in inputs if "entities" in names)
        return frozenset().union(*(route.entity_fields for route in self.routes), *overlaps)

    @cached_property
    def heeds_labels(self) -> bool:
        """True if it looks for the words of a query, and other names for them, in the labels."""
        return any("labels.matched" in signal.inputs() for signal in self.signals())

    @cached_property
    def heeds_validity(self) -> bool:
        """True if it depends on whether facts held at the time that a query is about."""
        return any("valid_to" in signal.inputs() for signal in self.signals())

    @cached_property
    def spelt_fields(self) -> tuple[str, ...]:
        """The fields of its routes that take misspelt words for others."""
        routes = (route for route in self.routes if isinstance(route, Lexical) and route.spelling)
        return tuple(dict.fromkeys(name for route in routes for name, _ in route.fields))

    @cached_property
    def search_type(self) -> SearchType:
        """The comparison that finds its candidates: vectors, words or both."""
        types = {route.search_type for route in self.routes}
        if "semantic" not in types:
            return "text"
        return "hybrid" if "text" in types else "semantic"

    @property
    def signal(self) -> Signal:
        """The formula of the score."""
        formulas = (stage.formulas() for stage in reversed(self.pipeline.stages))
        return next(columns["score"] for columns in formulas if "score" in columns)

    @cached_property
    def parts(self) -> tuple[tuple[ScorePart, Signal], ...]:
        """The parts of its score in their order, each with the signal of its value."""
        return score_parts(self.signal, self.pipeline.stages)

    def signals(self) -> Iterator[Signal]:
        """The formulas of all stages, in their order."""
        for stage in self.pipeline.stages:
            yield from stage.signals()

    @property
    def weights(self) -> dict[str, float]:
        """The weight of every named part of its formulas; that of the score where several have."""
        weights: dict[str, float] = {}
        for formula in self.signals():
            weights.update(weighted(formula))
        return {**weights, **weighted(self.signal)}

    def weighted(self, weights: Mapping[str, float] | None) -> Profile:
        """The same profile with the weights of named parts replaced.

        Formulas that give a part the weight which `weights` tells change together.

        Raises:
            InvalidInput: no part has that name, or a weight is not a finite number.
        """
        if weights is None:
            return self
        present = self.weights
        checked = _checked_weights(weights, present, self.name)
        if not checked:
            return self
        stages = tuple(reweighted(stage, checked, present) for stage in self.pipeline.stages)
        return replace(self, pipeline=Pipeline(stages))

    def formula(self, width: int = 100) -> str:
        """The stages, the score with its weights aligned, and what each named part is, as text."""
        return render_formula(self.pipeline.stages, width)

    def to_dict(self) -> dict[str, Any]:
        """The profile as JSON-ready data."""
        return {
            "name": self.name,
            "doc": self.doc,
            "statuses": list(self.statuses),
            "stages": to_data(self.pipeline.stages),
            **({} if self.fitted is None else {"fitted": self.fitted}),
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
            if name not in _PARTS:
                raise InvalidProfile(
                    str(name), "is not a part of a profile", f"use {', '.join(_PARTS)}"
                )
        for name in ("name", "stages"):
            if name not in data:
                raise InvalidProfile(name, "is missing", "a profile has a name and stages")
        try:
            parts = {name: from_data(value, _PARTS[name], name) for name, value in data.items()}
        except RecursionError:
            raise InvalidProfile("stages", "are nested too deeply") from None
        return cls(pipeline=Pipeline(parts.pop("stages")), **parts).check()

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
            with regular_file(path) as file:
                text = file.read().decode("utf-8")
        except UnicodeDecodeError:
            raise InvalidProfile("profile", f"{path} is not UTF-8 text") from None
        except (OSError, ValueError) as problem:
            why = getattr(problem, "strerror", None) or "no file can have that path"
            raise InvalidProfile("profile", f"{path} cannot be read: {why}") from None
        return cls.from_json(text)


def _checked_weights(weights: Any, parts: Iterable[str], profile: str) -> dict[str, float]:
    weights = mapping("weights", weights)
    names = ", ".join(parts)
    remedy = f"use one of {names}" if names else f"{profile} weighs no parts by name"
    checked: dict[str, float] = {}
    for name, value in weights.items():
        if name not in parts:
            raise InvalidInput(f"weights.{name}", f"{profile} has no part of that name", remedy)
        checked[name] = native(value)
        if isinstance(checked[name], bool) or not isinstance(checked[name], (int, float)):
            raise InvalidInput(f"weights.{name}", f"is {shown(value)}", "give a number")
        if not finite(checked[name]):
            raise InvalidInput(f"weights.{name}", f"is {shown(value)}", "give a finite number")
    return checked


def reweighted(stage: Stage, weights: Mapping[str, float], own: Mapping[str, float]) -> Stage:
    """A stage with other weights, where it has those of the profile's `own` that they replace."""
    changed = {}
    for name in (each.name for each in fields(stage)):
        formula = getattr(stage, name)
        if isinstance(formula, Signal):
            present = weighted(formula)
            shared = {part: w for part, w in weights.items() if present.get(part) == own[part]}
            changed[name] = with_weights(formula, shared)
    return replace(stage, **changed) if changed else stage
