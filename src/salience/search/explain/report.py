"""The report that explains a memory: why a search returns it or not, as text, JSON and HTML."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from salience.display.html import HtmlResult
from salience.display.result import Result, to_json, with_tuples
from salience.errors import InvalidInput, NotFound, shown
from salience.language.spelling import taken_notes
from salience.language.tokens import shorten
from salience.lazily import dataclass, field, replace
from salience.ranking.explanation import Explanation, computation, figure
from salience.ranking.probability import Estimate, estimate
from salience.ranking.profile import Profile
from salience.ranking.rejection import Part, WhyNot, gaps
from salience.ranking.run import RankedRun, Reweighing
from salience.ranking.stages.cutoff import Cut
from salience.records.record import MemoryRecord
from salience.retrieval.candidates import Candidates
from salience.retrieval.operations import ReadRecords, ReadStats, RowsById
from salience.retrieval.plan import Plan, ask
from salience.search.cutoff import NO_CUTOFF
from salience.search.explain import html
from salience.search.explain.weights import Aim, WeightChange, weight_changes
from salience.search.explain.why_not import Change, among_the_first, beyond, changes, why_not
from salience.search.passages import Passage, matching_passages
from salience.search.request import SearchRequest
from salience.search.results import zones_of
from salience.search.search import rank

MAX_LISTED = 5  # lines of a list; the rest is counted


@dataclass(frozen=True, repr=False)
class Against(Result):
    """Another memory of the same ranking, and what sets the explained one apart from it.

    `before` says that the explained one stands before it. `rank` and `score` are those of the
    other, `gap` is the explained one's score less that, None where one has none. The shares
    `behind` of all `parts` that differ add up to -`gap`; what decides comes first.
    """

    id: str
    before: bool
    rank: int | None = None
    score: float | None = None
    gap: float | None = None
    parts: tuple[Part, ...] = ()

    def __str__(self) -> str:
        by = "" if not self.gap else f" by {figure(abs(self.gap))}"
        mostly = f", mostly by {self.parts[0].name}" if self.parts and by else ""
        return f"It stands {'before' if self.before else 'behind'} {self.id}{by}{mostly}."


@dataclass(frozen=True, repr=False)
class ExplainReport(HtmlResult):
    """The reasons a query returned a memory or not, and what would change that.

    `rank` is its place among the hits, or else among the `of` that were scored; None where it has
    no score. `why` is the tree of its score, exactly; `why_not` says where it left; `changes` are
    the values of single parts that would bring it in (or, for a hit, remove it), each computed
    again, and None where no cut by the score decides; `left` is what stages noted beside the
    score, such as `conflict.by`. `approximate` is that of the search. `probability` is the tree of
    its chance to answer, None for no candidate and where the profile gives none. `passages` are the
    parts of a long text that match, at most three, the best first. `weights` has for each weight of
    the profile the value that turns the outcome; None for a memory that was not ranked. With
    `against`, the outcome of `changes` and `weights` is which of the two comes first.
    """

    _readers: ClassVar[Mapping[str, Any]] = {"left": with_tuples}
    _shown = ("id", "verdict", "query", "profile")

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
    approximate: bool = False
    degraded: tuple[str, ...] = ()
    taken: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    probability: Explanation | None = None
    passages: tuple[Passage, ...] = ()
    weights: tuple[WeightChange, ...] | None = None
    against: Against | None = None

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.record.id

    @property
    def found(self) -> bool:
        """True if it is among the hits."""
        return self.why_not is None

    @property
    def verdict(self) -> str:
        """The answer in a sentence."""
        if self.why_not is None:
            return f"Hit {self.rank} of {self.of} scored."
        return f"Not returned ({self.why_not.stage}): {self.why_not.reason}."

    @property
    def outlook(self) -> str:
        """A sentence on what a change of one part alone could do."""
        aim = self._aim
        if self.changes is None:
            decisive = "a later stage" if self.why_not is None else f"the {self.why_not.stage}"
            return f"It is a matter of {decisive}, not of one part of its score."
        if any(change.possible for change in self.changes):
            return f"Any one of these changes would {aim}:"
        beside = "" if not self.changes else "; these come nearest:"
        return f"No single change would {aim}{beside}" + ("" if beside else ".")

    @property
    def _aim(self) -> str:
        if self.against is not None:
            return f"put it {'behind' if self.against.before else 'before'} {self.against.id}"
        return "remove it" if self.found else "bring it in"

    @property
    def turning(self) -> tuple[WeightChange, ...]:
        """The weights that could turn the outcome, the smallest change first."""
        return tuple(change for change in self.weights or () if change.needed is not None)

    @property
    def nearest(self) -> tuple[Change, ...]:
        """The changes worth naming: those that are possible, or else the nearest to it."""
        changes = self.changes or ()
        possible = tuple(change for change in changes if change.possible)
        return possible or tuple(change for change in changes if math.isfinite(change.share))

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "query": self.query,
            "id": self.id,
            "content": self.record.content,
            "namespace": self.record.namespace,
            "record": self.record.to_dict(),
            "profile": self.profile,
            "limit": self.limit,
            "found": self.found,
            "verdict": self.verdict,
            "rank": self.rank,
            "of": self.of,
            "score": self.score,
            "routes": dict(self.routes),
            "passages": [passage.to_dict() for passage in self.passages],
            "why": None if self.why is None else self.why.to_dict(),
            "probability": None if self.probability is None else self.probability.to_dict(),
            "why_not": None if self.why_not is None else self.why_not.to_dict(),
            "changes": to_json(self.changes),
            "weights": to_json(self.weights),
            "against": to_json(self.against),
            "left": {name: to_json(value) for name, value in self.left.items()},
            "approximate": self.approximate,
            "degraded": list(self.degraded),
            "taken": {word: list(corrections) for word, corrections in self.taken.items()},
        }

    def _title(self) -> str:
        return f"Why {self.id}?"

    def _sections(self) -> Iterator[str]:
        badge, verdict = f"hit {self.rank}", f"of {self.of} that were scored."
        if self.why_not is not None:
            badge, verdict = html.NOT_RETURNED, f"{self.why_not.stage}: {self.why_not.reason}."
        yield html.header(self.query, self.record, badge, verdict, self._facts())
        if self.why_not is not None:
            yield from html.absence(self.why_not)
        if self.why is not None:
            yield html.score_parts(self.why, self.why_not)
        if self.passages:
            yield html.passages(self.passages)
        yield html.changes(self.nearest, self.outlook)
        if self.weights:
            yield html.weights(self.turning, self._aim)
        for tree in filter(None, (self.why, self.probability)):
            yield computation(tree)

    def _facts(self) -> list[str]:
        """The notes below the memory on the page."""
        routes = ", ".join(f"{name} (number {rank})" for name, rank in self.routes.items())
        return [
            f"profile {self.profile}, first {self.limit}",
            *([] if self.score is None else [f"score {figure(self.score)}"]),
            *([] if self.probability is None else [f"probability {self.probability.value:.3f}"]),
            *([f"found by {routes}"] if routes else []),
            *([] if self.against is None else [str(self.against)]),
            *left_notes(self.left),
            *(f"without {lack}" for lack in self.degraded),
            *taken_notes(self.taken),
        ]

    def lines(self) -> Iterator[str]:
        """The answer as text: the verdict, what would turn it, and the computation."""
        yield from self.summary()
        if self.why is not None:
            yield from ("", *self.why.lines())
        if self.probability is not None:
            yield from ("", *self.probability.lines())

    def summary(self) -> Iterator[str]:
        """The verdict, the memory, notes on it, and the changes that would turn it, as lines."""
        yield self.verdict
        yield f'{self.id} for "{self.query}" (profile {self.profile}, first {self.limit})'
        yield f"  {shorten(self.record.content, 90)}"
        yield from (f"  {note}" for note in self._notes())
        yield from ("", self.outlook)
        for change in self.nearest[:MAX_LISTED]:
            extremes = f"the candidates have {figure(change.low)} to {figure(change.high)}"
            needed = beyond(change.value, change.needed)
            yield f"  {change.part}: {figure(change.value)} -> {needed}  ({extremes})"
        if len(self.nearest) > MAX_LISTED:
            yield f"  and {len(self.nearest) - MAX_LISTED} more"
        if self.weights:
            yield from ("", html.weights_say(self.turning, self._aim))
        for turn in self.turning[:MAX_LISTED]:
            yield f"  {turn.name}: {turn.change}"

    def _notes(self) -> Iterator[str]:
        if self.against is not None:
            yield str(self.against)
        if self.why_not is not None:
            for route in self.why_not.routes:
                yield _route_line(route.route, route.rank, route.score, route.cut)
            for part in self.why_not.parts[:MAX_LISTED]:
                comparison = f"{figure(part.own)} against {figure(part.rival)}"
                yield f"{part.name} costs it {figure(part.behind)}: {comparison}"
        if self.routes:
            yield "found by " + ", ".join(f"{name} ({rank})" for name, rank in self.routes.items())
        for passage in self.passages:
            under = f" ({passage.heading})" if passage.heading else ""
            yield f"passage {passage.number} of {passage.of}{under}: {shorten(passage.text, 90)}"
        yield from left_notes(self.left)
        yield from (f"without {lack}" for lack in self.degraded)
        yield from taken_notes(self.taken)

    def __str__(self) -> str:
        return "\n".join(self.lines())


def explain(
    request: SearchRequest,
    ids: Sequence[str],
    *,
    everywhere: bool = False,
    against: str | None = None,
) -> Plan[list[ExplainReport]]:
    """The plan of explaining memories of one ranking for a query, perhaps against another.

    With `everywhere` they may be in any namespace of the store.

    Raises:
        NotFound: there is no such memory.
        InvalidInput: a memory is to be explained against itself.
    """
    if against in ids:
        raise InvalidInput("against", f"{shown(against)} is the memory itself", "name another one")
    names = [*ids, *filter(None, [against])]
    rows = list[int]()
    for id in names:
        rows.append((yield from _row(request.namespaces, id, everywhere)))
    records = yield from ask(ReadRecords(np.array(rows, dtype=np.int64)))
    if None in records:
        raise NotFound(f"the memory {names[records.index(None)]!r} was deleted meanwhile")
    run, degraded, _ = yield from rank(request)
    likely = estimate(run)
    evidence = frozenset() if request.cutoff == NO_CUTOFF else run.query.evidence
    rival, reweighing = None if against is None else rows[-1], None
    reports = []
    for row, record in zip(rows[: len(ids)], records, strict=False):
        if record.namespace not in request.namespaces:
            reports.append(_elsewhere(request, record))
            continue
        report = yield from _report(request, run, likely, record, row)
        aim = Aim(row, rival, request.cutoff)
        if against is not None:
            compared = _against(run, aim, against)
            report = replace(report, against=compared, changes=_changes(run, aim, report.found))
        if all(run.last_seen(each) is not None for each in (row, rival) if each is not None):
            reweighing = reweighing or Reweighing(run, evidence)
            weights = yield from weight_changes(reweighing, aim)
            report = replace(report, weights=weights)
        reports.append(replace(report, degraded=degraded, approximate=bool(run.approximate)))
    return reports


def _elsewhere(request: SearchRequest, record: MemoryRecord) -> ExplainReport:
    """The report on a memory of a namespace that was not searched."""
    searched = ", ".join(repr(name) for name in request.namespaces)
    reason = f"it is in the namespace {record.namespace!r}, and {searched} was searched"
    absence, profile = WhyNot("namespace", reason), request.profile.name
    return ExplainReport(request.text, record, profile, request.limit, why_not=absence)


def _report(
    request: SearchRequest, run: RankedRun, likely: Estimate | None, record: MemoryRecord, row: int
) -> Plan[ExplainReport]:
    """The report on a memory of a namespace that was searched, without its weights."""
    place = run.final.position(row)
    absence = request.cutoff.why_not(run, likely, row)
    if place is None:
        absence = yield from why_not(run, row)
    tree = run.tree(row)
    last = run.tables[run.last_seen(row) or 0]
    rows = np.array([row], dtype=np.int64)
    [passages] = yield from matching_passages(request.profile, run.query, rows, [record])
    return ExplainReport(
        query=request.text,
        record=record,
        profile=request.profile.name,
        limit=request.limit,
        rank=run.rank(row) if place is None else place + 1,
        of=len(run.scored),
        score=None if tree is None else tree.value,
        routes=_routes(last, row),
        why=None if tree is None else run.explain([row])[0],
        why_not=absence,
        changes=_changes(run, Aim(row), absence is None),
        left=_reasons(run.profile, last, row) | _zone_notes(run, last, row, record),
        taken=run.query.reading.taken,
        probability=None if likely is None else likely.explain(row),
        passages=passages,
    )


def _against(run: RankedRun, aim: Aim, id: str) -> Against:
    """The other memory of an aim, and what sets both apart."""
    rival = aim.rival or 0
    tree, other = run.tree(aim.row), run.tree(rival)
    rank, is_before = replace(aim, row=rival).rank(run) or run.rank(rival), aim.holds(run)
    if tree is None or other is None:
        return Against(id, is_before, rank, None if other is None else other.value)
    parts = [part for part in gaps(tree, other) if part.behind]
    parts.sort(key=lambda part: (part.behind if is_before else -part.behind, part.name))
    return Against(id, is_before, rank, other.value, tree.value - other.value, tuple(parts))


def _row(namespaces: tuple[str, ...], id: str, everywhere: bool) -> Plan[int]:
    """The row of a memory, in one of the namespaces or in any."""
    searched = list(namespaces)
    if everywhere:
        stats = yield from ask(ReadStats())
        searched += [name for name in sorted(stats["namespaces"]) if name not in namespaces]
    answers = yield [RowsById(name, (id,)) for name in searched]
    row = next((rows[id] for rows in answers if id in rows), None)
    if row is None:
        names = ", ".join(repr(name) for name in namespaces)
        hint = "" if everywhere else "; look for it everywhere, or name its namespace"
        raise NotFound(
            f"there is no memory {id!r} in the {'store' if everywhere else f'namespace {names}'}"
            + hint
        )
    return int(row)


def _changes(run: RankedRun, aim: Aim, is_hit: bool) -> tuple[Change, ...] | None:
    """Changes of one part that would turn the outcome of the cut by the score, if there is one."""
    row, rival, query = aim.row, aim.rival, run.query
    tree = run.tree(row)
    cut = None if tree is None else _deciding_cut(run, row, is_hit=is_hit or rival is not None)
    if tree is None or cut is None:
        return None
    table = run.tables[cut - 1]
    if rival is not None:
        table = table.take(np.isin(table.rows, (row, rival)))
        query = replace(query, k=1, min_score=None)
        if len(table) < 2:
            return None
    elif query.token_budget is not None:
        return None
    return changes(tree, run.parts(), among_the_first(query, table, row))


def _deciding_cut(run: RankedRun, row: int, *, is_hit: bool) -> int | None:
    """The stage, by place, whose cut by the final score decides on the row; None if none does."""
    stages = run.profile.pipeline.stages
    scored = max(i for i, stage in enumerate(stages) if "score" in stage.formulas())
    cuts = [i for i, stage in enumerate(stages) if isinstance(stage, Cut) and i > scored]
    if is_hit:
        return cuts[-1] if cuts and cuts[-1] == len(stages) - 1 else None
    dropped_at = (run.last_seen(row) or 0) + 1
    return dropped_at if dropped_at in cuts else None


def _routes(table: Candidates, row: int) -> dict[str, int]:
    """The rank of a row on each route that found it."""
    place = table.position(row)
    ranks = {n.removesuffix(".rank"): c for n, c in table.columns.items() if n.endswith(".rank")}
    if place is None:
        return {}
    return {n: int(c[place]) for n, c in ranks.items() if not math.isnan(c[place])}


def _reasons(profile: Profile, table: Candidates, row: int) -> dict[str, Any]:
    """The notes that stages which are no formulas left on a row."""
    place = table.position(row)
    if place is None:
        return {}
    columns = {name for stage in profile.pipeline.stages for name in stage.reasons()}
    values = {name: table[name][place] for name in sorted(columns) if name in table.columns}
    return {name: value for name, value in values.items() if value is not None and value == value}


_NOTES: Mapping[tuple[str, ...], str] = {
    ("conflict.by", "conflict.why"): "gives way to {}, which it contradicts ({})",
    ("conflict.over",): "goes before {}, which it contradicts",
    ("change.marks",): "may be replaced by {}",
    ("activation.via", "activation.hops"): "activation came from {} (links followed: {})",
    ("activation.hops",): "activation begins with it",
    ("zone.vitality", "zone.why"): "its zone goes by a vitality of {}: {}",
    ("mmr.with", "mmr.redundancy"): "of those picked before it is most like {} ({})",
    ("mmr.redundancy",): "like none of those picked before",
    ("mmr.score",): "picked with {}",
    ("pack.tokens",): "takes {} tokens of the budget",
}
"""The notes of stages in words."""


def left_notes(left: Mapping[str, Any]) -> Iterator[str]:
    """The notes of stages, in words where there are any, else name and value."""
    remaining = dict(left)
    for names, words in _NOTES.items():
        if remaining.keys() >= set(names):
            yield words.format(*(_noted(remaining.pop(name)) for name in names))
    yield from (f"{name}: {_noted(value)}" for name, value in remaining.items())


def _noted(value: Any) -> str:
    """A value that a stage noted: ids as a sentence has them, other numbers than whole ones cut."""
    if isinstance(value, tuple):
        *first, last = map(str, value)
        return f"{', '.join(first)} and {last}" if first else last
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() else figure(value)
    return str(to_json(value))


def _zone_notes(
    run: RankedRun, table: Candidates, row: int, record: MemoryRecord
) -> dict[str, Any]:
    """The notes on its zone, where that goes by another vitality than its rank."""
    place = table.position(row)
    if place is None:
        return {}
    [(_, notes)] = zones_of(run, table.take(np.array([place])), [record])
    return dict(notes)


def _route_line(route: str, rank: int | None, score: float | None, cut: float | None) -> str:
    """A line on how a memory does on one route."""
    if rank is None:
        return f"{route}: no evidence"
    last = "" if cut is None else f", the last one taken has {figure(cut)}"
    return f"{route}: number {rank}" + ("" if score is None else f" with {figure(score)}{last}")
