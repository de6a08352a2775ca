"""Results: the schemas of answers, read off the dataclasses that methods return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import cleandoc
from typing import Any, get_type_hints

from salience.display.result import Result, field_names
from salience.language.analysis_types import TimeRange
from salience.lifecycle.audit import Finding
from salience.ranking.explanation import Explanation
from salience.ranking.rejection import OnRoute, Part
from salience.records.access_key import AccessKey
from salience.search.compare import Compared, Comparison, Move, Standing
from salience.search.explain import ExplainReport
from salience.search.explain.counterfactuals import Change
from salience.search.results import ALWAYS_GIVEN, GIVEN_IF_ANY, Hit, SearchResult
from salience.server.models.schema import Schema, schema_of
from salience.write.outcomes import AddResult

_NUMBER_OR_NULL: Schema = {"type": ["number", "null"]}


@dataclass(frozen=True)
class Renamed:
    """A result in other names; `items` are the elements of those of its members that are lists.

    `plus` are the schemas of what it has besides.
    """

    name: str
    kind: type[Result]
    names: Mapping[str, str]
    items: Mapping[str, Renamed] = field(default_factory=dict)
    plus: Mapping[str, Schema] = field(default_factory=dict)


class Schemas:
    """The components of the document: the schemas that others refer to, by their names."""

    def __init__(self, others: Mapping[str, Schema]) -> None:
        self.components: dict[str, Schema] = dict(others)

    def refer(self, kind: type[Result]) -> Schema:
        """The reference to the schema of a result, which is entered if it is new."""
        name = kind.__name__
        if name not in self.components:
            self.components[name] = {}  # a result may hold others of its kind
            self.components[name] = self._of(kind)
        return {"$ref": f"#/components/schemas/{name}"}

    def of(self, body: Any) -> Schema:
        """The schema of the body of an answer: of a type, or of a mapping from names to types."""
        if isinstance(body, Mapping):
            return _object({name: self.of(kind) for name, kind in body.items()})
        if isinstance(body, list):
            return {"type": "array", "items": self.of(body[0])}
        if isinstance(body, tuple):
            return {"anyOf": [self.of(each) for each in body]}
        if isinstance(body, Renamed):
            return self._renamed(body)
        return schema_of(body, {}, self.refer)

    def _renamed(self, body: Renamed) -> Schema:
        """The reference to the schema of a result in other names."""
        self.refer(body.kind)
        schema = self.components[body.kind.__name__]
        properties = {body.names.get(n, n): each for n, each in schema["properties"].items()}
        for name, item in body.items.items():
            properties[name] = {"type": "array", "items": self.of(item)}
        properties |= body.plus
        named = (body.names.get(name, name) for name in schema["required"])
        required = [*dict.fromkeys((*named, *body.plus))]
        self.components[body.name] = schema | {"properties": properties, "required": required}
        return {"$ref": f"#/components/schemas/{body.name}"}

    def _of(self, kind: type[Result]) -> Schema:
        properties = {name: schema_of(t, {}, self.refer) for name, t in _members(kind).items()}
        optional: frozenset[str] = frozenset()
        if kind in _SHAPES:
            names, others, optional = _SHAPES[kind]
            known = properties | {name: self._resolved(other) for name, other in others.items()}
            properties = {name: known[name] for name in known if name in {*names, *optional}}
        if kind in _MAY_BE_UNDEFINED:
            properties = {
                name: _NUMBER_OR_NULL if schema == {"type": "number"} else schema
                for name, schema in properties.items()
            }
        schema = _object(properties, optional)
        return {"description": _summary(kind)} | schema

    def _resolved(self, other: Any) -> Schema:
        return other if isinstance(other, dict) else schema_of(other, {}, self.refer)


def _members(kind: type[Result]) -> dict[str, Any]:
    """The fields and computed properties of a result, with their annotations."""
    hints = get_type_hints(kind)
    members = {name: hints[name] for name in field_names(kind) if name in hints}
    for name in kind._computed:
        members[name] = get_type_hints(getattr(kind, name).fget)["return"]
    return members


def _summary(kind: type[Result]) -> str:
    return " ".join(cleandoc(kind.__doc__ or "").split("\n\n")[0].split())


def _object(properties: Mapping[str, Schema], optional: frozenset[str] = frozenset()) -> Schema:
    required = [name for name in properties if name not in optional]
    return {
        "type": "object",
        "properties": dict(properties),
        "required": required,
        "additionalProperties": False,
    }


_PAIR = {"part": {"type": "string"}, "shift": _NUMBER_OR_NULL}
_TEXT: Schema = {"type": "string"}
_TIME: Schema = {"type": "string", "format": "date-time"}

_SHAPES: dict[type[Result], tuple[tuple[str, ...], dict[str, Any], frozenset[str]]] = {
    SearchResult: (
        (
            *("query", "profile", "search_type", "min_score", "during", "search_id"),
            *("probability", "probability_model", "approximate", "degraded", "taken"),
            *("timings_ms", "hits"),
        ),
        {},
        frozenset(),
    ),
    Hit: (
        ALWAYS_GIVEN,
        {
            "assumed": tuple[str, ...],
            "supporting_turn_count": int,
            "best_turn": str,
            "best_turn_routes": dict[str, int],
        },
        frozenset(GIVEN_IF_ANY),
    ),
    Explanation: (
        ("label", "value"),
        {"value": _NUMBER_OR_NULL},
        frozenset(("how", "note", "doc", "group", "children")),
    ),
    Move: (("by", "causes"), {"causes": {"type": "array", "items": _object(_PAIR)}}, frozenset()),
    Compared: (
        ("id", "content", "record", "standings", "moves"),
        {"id": str, "content": str},
        frozenset(),
    ),
    Comparison: (
        ("query", "profiles", "limit", "shared", "memories", "degraded", "taken"),
        {"shared": list[int]},
        frozenset(),
    ),
    ExplainReport: (
        (
            *("query", "id", "content", "namespace", "record", "profile", "limit", "found"),
            *("verdict", "rank", "of", "score", "routes", "why", "why_not", "changes", "left"),
            *("probability", "passages", "degraded", "taken"),
        ),
        {
            "id": str,
            "content": str,
            "namespace": str,
            "found": bool,
            "verdict": str,
        },
        frozenset(),
    ),
    Finding: (
        ("name", "count", "of", "rate", "examples", "remedy"),
        {
            "examples": {
                "type": "array",
                "items": _object({"id": {"type": "string"}, "why": {"type": "string"}}),
            }
        },
        frozenset(),
    ),
    AddResult: (
        ("id", "items", "degraded", "pending", "ids"),
        {"id": str | None},
        frozenset(),
    ),
    AccessKey: (AccessKey.visible(), {}, frozenset()),
    TimeRange: (("start", "end", "words"), {"start": _TIME, "end": _TIME}, frozenset()),
}
"""Results whose `to_dict` has another shape: its members, their types, and those it may lack."""

_MAY_BE_UNDEFINED = frozenset({Change, Part, OnRoute, Standing})
"""Results of which a number may be undefined: JSON has null for it."""
