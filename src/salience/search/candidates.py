"""Candidates: all that a search ranked, as columns: the routes, the parts of the score, the stages.

score = the sum of weight * value over the parts, from left to right
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from salience.display.result import Result
from salience.lazily import dataclass, field
from salience.ranking.formulas.parts import ScorePart
from salience.ranking.formulas.rendering import stage_text
from salience.ranking.probability import Estimate, estimate
from salience.ranking.run import RankedRun
from salience.ranking.stages.spreading_activation import Gift, Spread
from salience.records.record import MemoryRecord
from salience.retrieval.candidates import Candidates, Floats, Rows, best_first
from salience.retrieval.operations import ReadRecords
from salience.retrieval.plan import Plan, ask
from salience.search.request import SearchRequest
from salience.search.search import rank

DEFAULT_CANDIDATES = 200
TEXT_CHARACTERS = 280
Numbers = tuple[float | None, ...]
"""A number for each row, None where it has none."""


@dataclass(frozen=True, repr=False)
class RankingStep(Result):
    """A stage of a ranking: how many candidates entered it, and how many left it for the next.

    `by` is the column by which it decides, `last` the value there of the last that went on; None
    where it decides otherwise.
    """

    label: str
    kind: str
    entered: int
    left: int
    by: str | None
    last: float | None


@dataclass(frozen=True, repr=False)
class RouteColumn(Result):
    """A route: the rank there and the exact score of each row, None for none.

    `taken` is how many candidates it brought, `last` the score of the last of them.
    """

    rank: tuple[int | None, ...]
    score: Numbers
    taken: int
    last: float | None


@dataclass(frozen=True, repr=False)
class PartColumn(ScorePart):
    """A part of the score with its value for each row; `values` is None where all are 0."""

    values: Numbers | None


@dataclass(frozen=True, repr=False)
class Path(Result):
    """A link by which activation came to a memory, the `target`, and what it gave or raised it by.

    `source` and `type` are None for what the memory has by its own match.
    """

    source: str | None
    target: str
    type: str | None
    given: float


@dataclass(frozen=True, repr=False)
class CandidateRow(Result):
    """A candidate: the beginning of its text, its score, and where it left.

    `is_cut` says that the text goes on. `left` is the place in `stages`, from 0, of the stage that
    dropped it; None for a hit. `score` is None for one that left before it was scored. Where the
    profile spreads activation over links, what its `paths` gave adds up to its activation.
    """

    id: str
    namespace: str
    title: str | None
    text: str
    is_cut: bool
    kind: str
    speaker: str | None
    session_id: str | None
    created_at: datetime
    valid_from: datetime | None
    valid_to: datetime | None
    tags: tuple[str, ...]
    score: float | None
    probability: float | None
    left: int | None
    paths: tuple[Path, ...] = ()
    may_be_replaced_by: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class CandidateTable(Result):
    """All that a search for the first `hits` ranked; the hits are first, in their order.

    Listed are the first `limit` of the `of` candidates: behind the hits those that left last, by
    their score. `additive` says that the score is the sum of weight * value, from left to right;
    else it is that sum, if there is any, times the factors among the `parts`. `probability` is the
    chance that any hit answers, None where the profile gives none. Columns are in the order of the
    rows.
    """

    _shown: ClassVar[tuple[str, ...]] = ("query", "profile", "of", "limit", "additive")

    query: str
    profile: str
    of: int
    limit: int
    hits: int
    probability: float | None
    additive: bool
    stages: tuple[RankingStep, ...]
    routes: Mapping[str, RouteColumn]
    parts: tuple[PartColumn, ...]
    rows: tuple[CandidateRow, ...]
    degraded: tuple[str, ...] = ()
    taken: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def candidates(request: SearchRequest, listed: int) -> Plan[CandidateTable]:
    """The plan of listing what a search ranks; nothing is touched."""
    run, degraded, _ = yield from rank(request)
    likely = estimate(run)
    tables = run.tables
    cut = request.cutoff.apply(run, likely)
    if len(cut.final) < len(run.final):
        tables = [*tables, cut.final]
    order, exits = _order(run, tables)
    rows, exits = order[:listed], exits[:listed]
    records = yield from ask(ReadRecords(rows, sound=True))
    there = np.array([record is not None for record in records], dtype=bool)  # not erased since
    rows, exits = rows[there], exits[there]
    gifts = yield from _gifts(run)
    return CandidateTable(
        request.text,
        request.profile.name,
        len(order),
        listed,
        request.limit,
        None if likely is None else likely.of_any(cut.final.rows),
        not any(part.factor for part, _ in run.profile.parts),
        tuple(_steps(run, tables, likely)),
        {route.name: _route(tables[0], route.name, rows) for route in run.profile.routes},
        tuple(_parts(run, rows)),
        tuple(_rows(run, rows, exits, records, likely, len(tables), gifts)),
        degraded,
        run.query.reading.taken,
    )


def _order(run: RankedRun, tables: Sequence[Candidates]) -> tuple[Rows, NDArray[np.intp]]:
    """All rows, the hits first and then those that left last; and the stages at which they left.

    Those that left together stand by score, then id; those without a score behind them.
    """
    order, exits = [tables[-1].rows], [np.full(len(tables[-1]), len(tables), dtype=np.intp)]
    for place in range(len(tables) - 1, 0, -1):
        before, after = tables[place - 1], tables[place]
        dropped = before.take(~np.isin(before.rows, after.rows))
        scores = np.nan_to_num(_column(run.scored, "score", dropped.rows), nan=-np.inf)
        order.append(dropped.rows[best_first(scores, dropped.tie_keys)])
        exits.append(np.full(len(dropped), place, dtype=np.intp))
    return np.concatenate(order), np.concatenate(exits)


def _steps(
    run: RankedRun, tables: Sequence[Candidates], likely: Estimate | None
) -> list[RankingStep]:
    steps, entered = list[RankingStep](), 0
    for stage, table in zip(run.profile.pipeline.stages, tables, strict=False):
        by = stage.decides_by()
        last = None if by is None else _least(table.floats(by))
        step = RankingStep(stage_text(stage), stage.label(), entered, len(table), by, last)
        steps.append(step)
        entered = len(table)
    if len(tables) > len(steps) and likely is not None:
        last = _least(likely.of_rows(tables[-1].rows))
        steps.append(
            RankingStep(
                "cut by probability", "cutoff", entered, len(tables[-1]), "probability", last
            )
        )
    return steps


def _route(table: Candidates, name: str, rows: Rows) -> RouteColumn:
    """A route of the first table at some rows."""
    ranks, score = table.floats(f"{name}.rank"), f"{name}.score"
    scores = table.floats(score) if score in table.columns else np.full(len(table), np.nan)
    reached = ranks == ranks
    last = scores[np.nanargmax(ranks)] if reached.any() else np.nan
    at_rows = _numbers(_column(table, f"{name}.rank", rows))
    return RouteColumn(
        tuple(None if rank is None else int(rank) for rank in at_rows),
        _numbers(table.at_rows(scores, rows)),
        int(np.count_nonzero(reached)),
        _number(last),
    )


def _parts(run: RankedRun, rows: Rows) -> list[PartColumn]:
    """The parts of the score, each with its values at some rows."""
    parts = run.profile.parts
    columns = run.score_values([signal for _, signal in parts])
    listed = []
    for (part, _), column in zip(parts, columns, strict=True):
        values = run.scored.at_rows(column, rows)
        numbers = _numbers(values) if np.any(values != 0.0) else None
        listed.append(PartColumn(**{n: getattr(part, n) for n in _PART_FIELDS}, values=numbers))
    return listed


_PART_FIELDS = ("name", "title", "doc", "group", "weight", "factor", "moves_with")


def _gifts(run: RankedRun) -> Plan[Mapping[int, Sequence[Gift]]]:
    """The gifts that each row got its activation from; none where nothing spreads."""
    for place, stage in enumerate(run.profile.pipeline.stages):
        if isinstance(stage, Spread):
            return (yield from stage.gifts(run.query, run.tables[place - 1]))
    return {}


def _rows(
    run: RankedRun,
    rows: Rows,
    exits: NDArray[np.intp],
    records: Sequence[MemoryRecord | None],
    likely: Estimate | None,
    stages: int,
    gifts: Mapping[int, Sequence[Gift]],
) -> list[CandidateRow]:
    scores = _numbers(_column(run.scored, "score", rows))
    newer: dict[int, tuple[str, ...]] = {}
    if "change.marks" in run.scored.columns:
        marks = run.scored["change.marks"].tolist()
        newer = {r: ids for r, ids in zip(run.scored.rows.tolist(), marks, strict=True) if ids}
    chances: list[float | None] = [None] * len(rows)
    if likely is not None:
        scored = np.isin(rows, likely.scored.rows)
        for place, value in zip(np.flatnonzero(scored), likely.of_rows(rows[scored]), strict=True):
            chances[place] = float(value)
    return [
        CandidateRow(
            record.id,
            record.namespace,
            record.title,
            record.content[:TEXT_CHARACTERS],
            len(record.content) > TEXT_CHARACTERS,
            record.kind,
            record.speaker,
            record.session_id,
            record.created_at,
            record.valid_from,
            record.valid_to,
            record.tags,
            score,
            probability,
            stage if stage < stages else None,
            tuple(Path(giver, record.id, type, gift) for giver, type, gift in gifts.get(row, ())),
            newer.get(row, ()),
        )
        for row, record, score, probability, stage in zip(
            rows.tolist(),
            filter(None, records),
            scores,
            chances,
            exits.tolist(),
            strict=True,
        )
    ]


def _column(table: Candidates, name: str, rows: Rows) -> Floats:
    """A column of a table at some rows, NaN for one that is not in it."""
    return table.at_rows(table.floats(name), rows)


def _least(values: Floats) -> float | None:
    return _number(np.nanmin(values)) if np.isfinite(values).any() else None


def _number(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None


def _numbers(values: Floats) -> Numbers:
    return tuple(value if value == value else None for value in values.tolist())
