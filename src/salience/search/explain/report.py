"""The reason: one question (why this memory, or why not?) and everything there is to answer it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from salience.errors import NotFound
from salience.language.tokens import shorten
from salience.ranking.explanation import Explanation, figure
from salience.ranking.profile import Profile
from salience.ranking.rejection import WhyNot
from salience.ranking.run import RankedRun
from salience.records.record import MemoryRecord, to_json
from salience.retrieval.candidates import Candidates
from salience.retrieval.operations import ReadRecords, ReadStats, RowsById
from salience.retrieval.plan import Plan, ask
from salience.search.explain.counterfactuals import Change, among_the_first, beyond, changes
from salience.search.explain.html import page
from salience.search.explain.why_not import why_not
from salience.search.request import SearchRequest
from salience.search.search import rank

_SHOWN = 5  # lines of a list before the rest is only counted


@dataclass(frozen=True, slots=True)
class ExplainReport:
    """Why a memory was returned for a query, or why not, and what would change that.

    `rank` is its place among the hits, or else among the `of` that were scored; None where it has
    no score. `why` is the tree of its score, exactly; `why_not` says where it left; `changes` are
    the values of single parts that would bring it in (or, for a hit, drop it out), each computed
    again, and None where no cut by the score decides; `left` is what stages noted beside the
    score, such as `conflict.by`. `read` says how many memories a search reads to find the best of
    all, and of how many, where the store tells the best without reading all.
    """

    query: str
    record: MemoryRecord
    profile: str
    limit: int
    rank: int | None = None
    of: int = 0
    score: float | None = None
    routes: Mapping[str, int] = field(default_factory=dict)
    why: Explanation | None = None
    why_not: WhyNot | None = None
    changes: tuple[Change, ...] | None = None
    left: Mapping[str, Any] = field(default_factory=dict)
    degraded: tuple[str, ...] = ()
    read: tuple[int, int] | None = None

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.record.id

    @property
    def found(self) -> bool:
        """Whether it is among the hits."""
        return self.why_not is None

    @property
    def verdict(self) -> str:
        """The answer in a sentence."""
        if self.why_not is None:
            return f"Hit {self.rank} of {self.of} scored."
        return f"Not returned ({self.why_not.stage}): {self.why_not.reason}."

    @property
    def outlook(self) -> str:
        """What changing one part alone could do, in a sentence."""
        aim = "drop it out" if self.found else "bring it in"
        if self.changes is None:
            decisive = "a later stage" if self.why_not is None else f"the {self.why_not.stage}"
            return f"It is a matter of {decisive}, not of one part of its score."
        if any(change.possible for change in self.changes):
            return f"Any one of these alone would {aim}:"
        beside = "" if not self.changes else "; these come nearest:"
        return f"Nothing possible alone would {aim}{beside}" + ("" if beside else ".")

    @property
    def nearest(self) -> tuple[Change, ...]:
        """The changes worth naming: those that are possible, or else the nearest to it."""
        known = self.changes or ()
        possible = tuple(change for change in known if change.possible)
        return possible or tuple(change for change in known if math.isfinite(change.share))

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "query": self.query,
            "id": self.id,
            "content": self.record.content,
            "namespace": self.record.namespace,
            "profile": self.profile,
            "limit": self.limit,
            "found": self.found,
            "verdict": self.verdict,
            "rank": self.rank,
            "of": self.of,
            "score": self.score,
            "routes": dict(self.routes),
            "why": None if self.why is None else self.why.to_dict(),
            "why_not": None if self.why_not is None else self.why_not.to_dict(),
            "changes": None if self.changes is None else [c.to_dict() for c in self.changes],
            "left": {name: to_json(value) for name, value in self.left.items()},
            "degraded": list(self.degraded),
            "read": None if self.read is None else {"memories": self.read[0], "of": self.read[1]},
        }

    def to_html(self) -> str:
        """The answer as one HTML page that needs nothing else."""
        return page(self)

    def lines(self) -> Iterator[str]:
        """The answer as text."""
        yield f'{self.id} for "{self.query}" (profile {self.profile}, first {self.limit})'
        yield f"  {shorten(self.record.content, 90)}"
        yield self.verdict
        yield from (f"  {note}" for note in self._notes())
        if self.why is not None:
            yield from ("", *self.why.lines())
        yield from ("", self.outlook)
        for change in self.nearest[:_SHOWN]:
            seen = f"the candidates have {figure(change.low)} to {figure(change.high)}"
            yield f"  {change.part}: {figure(change.value)} -> {beyond(change)}  ({seen})"
        if len(self.nearest) > _SHOWN:
            yield f"  and {len(self.nearest) - _SHOWN} more"

    def _notes(self) -> Iterator[str]:
        if self.why_not is not None:
            for route in self.why_not.routes:
                yield on_route(route.route, route.rank, route.score, route.cut)
            for part in self.why_not.parts[:_SHOWN]:
                both = f"{figure(part.own)} against {figure(part.rival)}"
                yield f"{part.name} costs it {figure(part.behind)}: {both}"
        if self.routes:
            yield "found by " + ", ".join(f"{name} ({rank})" for name, rank in self.routes.items())
        yield from (f"{name}: {to_json(value)}" for name, value in self.left.items())
        yield from (f"without {each}" for each in self.degraded)
        if self.read is not None:
            yield f"the search reads {self.read[0]:,} of {self.read[1]:,} memories"

    def __str__(self) -> str:
        return "\n".join(self.lines())


def explain(request: SearchRequest, id: str, *, everywhere: bool = False) -> Plan[ExplainReport]:
    """The plan of explaining one memory for a query; with `everywhere` it is looked for in all
    namespaces of the store.

    Raises:
        NotFound: there is no such memory.
    """
    row = yield from _row(request.namespaces, id, everywhere)
    [record] = yield from ask(ReadRecords(np.array([row], dtype=np.int64)))
    if record is None:
        raise NotFound(f"the memory {id!r} was deleted meanwhile")
    if record.namespace not in request.namespaces:
        searched = ", ".join(repr(name) for name in request.namespaces)
        reason = f"it is in the namespace {record.namespace!r}, and {searched} was searched"
        return ExplainReport(
            request.text,
            record,
            request.profile.name,
            request.limit,
            why_not=WhyNot("namespace", reason),
        )
    ranked, degraded, _ = yield from rank(request)
    first, _ = request.profile.pipeline.fused[0]
    best = yield from first.top_k(ranked.query)
    place = ranked.final.position(row)
    absent = None
    if place is None:
        absent = yield from why_not(ranked, row)
    tree, scored = ranked.tree(row), ranked.scored
    last = ranked.tables[ranked.last_seen(row) or 0]
    return ExplainReport(
        query=request.text,
        record=record,
        profile=request.profile.name,
        limit=request.limit,
        rank=ranked.rank(row) if place is None else place + 1,
        of=len(scored),
        score=None if tree is None else tree.value,
        routes=_routes(last, row),
        why=None if tree is None else ranked.explain([row])[0],
        why_not=absent,
        changes=_changes(ranked, row, tree, absent),
        left=_left(ranked.profile, last, row),
        degraded=degraded,
        read=None if best is None else (best.read, best.of),
    )


def _row(namespaces: tuple[str, ...], id: str, everywhere: bool) -> Plan[int]:
    looked = list(namespaces)
    if everywhere:
        known = yield from ask(ReadStats())
        looked += [name for name in sorted(known["namespaces"]) if name not in namespaces]
    answers = yield [RowsById(name, (id,)) for name in looked]
    row = next((found[id] for found in answers if id in found), None)
    if row is None:
        where = ", ".join(repr(name) for name in namespaces)
        hint = "" if everywhere else "; look for it everywhere, or name its namespace"
        raise NotFound(
            f"there is no memory {id!r} in the {'store' if everywhere else f'namespace {where}'}"
            + hint
        )
    return int(row)


def _changes(
    ranked: RankedRun, row: int, tree: Explanation | None, absent: WhyNot | None
) -> tuple[Change, ...] | None:
    """Changes of one part that would turn the outcome of the cut by the score, if there is one."""
    at = None if tree is None else _deciding(ranked, row, found=absent is None)
    if tree is None or at is None or ranked.query.token_budget is not None:
        return None
    within = among_the_first(ranked.query, ranked.tables[at - 1], row)
    return changes(tree, ranked.parts(), within)


def _deciding(ranked: RankedRun, row: int, *, found: bool) -> int | None:
    """The stage, by place, whose cut by the final score decides on the row; None if none does."""
    stages = ranked.profile.pipeline.stages
    scored = max(i for i, stage in enumerate(stages) if "score" in stage.formulas())
    cuts = [i for i, s in enumerate(stages) if s.cut_by() is not None and i > scored]
    if found:
        return cuts[-1] if cuts and cuts[-1] == len(stages) - 1 else None
    left = (ranked.last_seen(row) or 0) + 1
    return left if left in cuts else None


def _routes(table: Candidates, row: int) -> dict[str, int]:
    place = table.position(row)
    ranks = {n.removesuffix(".rank"): c for n, c in table.columns.items() if n.endswith(".rank")}
    if place is None:
        return {}
    return {n: int(c[place]) for n, c in ranks.items() if not math.isnan(c[place])}


def _left(profile: Profile, table: Candidates, row: int) -> dict[str, Any]:
    """What the stages that are no formulas noted of a row."""
    place = table.position(row)
    if place is None:
        return {}
    written = {name for stage in profile.pipeline.stages for name in stage.reasons()}
    values = {name: table[name][place] for name in sorted(written) if name in table.columns}
    return {name: value for name, value in values.items() if value is not None and value == value}


def on_route(route: str, rank: int | None, score: float | None, cut: float | None) -> str:
    """How a memory does on one route, in a line."""
    if rank is None:
        return f"{route}: no evidence"
    last = "" if cut is None else f", the last one taken has {figure(cut)}"
    return f"{route}: number {rank}" + ("" if score is None else f" with {figure(score)}{last}")
