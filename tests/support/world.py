"""A world for stages: rows, links, texts and vectors in plain dictionaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from salience.ranking.stages import Stage
from salience.retrieval.candidates import Candidates
from salience.retrieval.operations import (
    Edge,
    FetchColumns,
    FetchVectors,
    LinksBetween,
    Op,
    ReadTexts,
    SessionNeighbors,
)
from salience.retrieval.plan import drive
from salience.retrieval.query import Query


def query(k: int = 10, **more: Any) -> Query:
    return Query("anything", ("default",), now=0.0, k=k, **more)


def table(ids: Sequence[str], first: int = 1, **columns: Sequence[Any]) -> Candidates:
    """Candidates with these ids, in rows from `first` on; texts and tuples as object columns."""
    data: dict[str, Any] = {"id": column(ids)}
    data |= {name.replace("__", "."): column(values) for name, values in columns.items()}
    return Candidates(np.arange(first, first + len(ids), dtype=np.int64), data)


def column(values: Sequence[Any]) -> np.ndarray[Any, Any]:
    if all(isinstance(value, (int, float)) for value in values):
        return np.array(values, dtype=np.float64)
    objects = np.empty(len(values), dtype=object)
    objects[:] = list(values)
    return objects


@dataclass
class World:
    """The answers to the stages under test; ids by row, the rest by id."""

    ids: Mapping[int, str]
    links: Sequence[tuple[str, str, float, str]] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    vectors: Mapping[str, Sequence[float]] = field(default_factory=dict)
    sessions: Sequence[Sequence[str]] = ()

    def run(self, stage: Stage, query: Query, candidates: Candidates) -> Candidates:
        return drive(stage.plan(query, candidates, frozenset()), self.batch)

    def batch(self, ops: Sequence[Op]) -> list[Any]:
        return [self._answer(op) for op in ops]

    def _answer(self, op: Op) -> Any:
        if isinstance(op, LinksBetween):
            row = {id: row for row, id in self.ids.items()}
            asked = set(op.rows.tolist())
            edges = [
                Edge(row[a], row[b], weight, type)
                for a, b, weight, type in self.links
                if op.type in (None, type)
            ]
            return [edge for edge in edges if edge.source in asked or edge.target in asked]
        if isinstance(op, FetchColumns):
            assert op.names == ("id",)
            return {"id": column([self.ids[row] for row in op.rows.tolist()])}
        if isinstance(op, ReadTexts):
            return [self.texts[self.ids[row]] for row in op.rows.tolist()]
        if isinstance(op, FetchVectors):
            wide = max((len(v) for v in self.vectors.values()), default=0)
            rows = [self.vectors.get(self.ids[r], [np.nan] * wide) for r in op.rows.tolist()]
            return np.array(rows, dtype=np.float32).reshape(len(rows), wide)
        assert isinstance(op, SessionNeighbors)
        return np.array([self._beside(self.ids[row]) for row in op.rows.tolist()]).T

    def _beside(self, id: str) -> tuple[int, int]:
        row = {id: row for row, id in self.ids.items()}
        session = next((s for s in self.sessions if id in s), [id])
        at = list(session).index(id)
        return (
            row[session[at - 1]] if at else -1,
            row[session[at + 1]] if at + 1 < len(session) else -1,
        )
