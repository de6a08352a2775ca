"""Zones: the vitality of each memory now, and the bridges that hold the link graph together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from salience.api.parameters import Between
from salience.display.html import HtmlResult, header, section, shares, table, text, zone_key
from salience.display.result import Result
from salience.lazily import dataclass
from salience.lifecycle.pruning import PRUNED_STATUSES
from salience.lifecycle.zone_history import ZONE_ORDER
from salience.ranking.signals.vitality import (
    Zone,
    since_arrival,
    vitality,
    zone_counts,
    zones_by,
)
from salience.ranking.stages import retrieve, score
from salience.ranking.stages.stage import Stage
from salience.records.filters import And, Compare, Filter
from salience.records.validation import integer
from salience.retrieval.candidates import Candidates, best_first
from salience.retrieval.cursor import encode_zone_cursor, parse_zone_cursor
from salience.retrieval.plan import Plan
from salience.retrieval.query import Query
from salience.retrieval.routes import MatchAll


class _SinceArrival(Stage):
    """The age of each memory as upkeep counts it."""

    def reads(self) -> frozenset[str]:
        return frozenset({"created_at", "added_at", "accesses"})

    def apply(self, query: Query, candidates: Candidates) -> Candidates:
        return since_arrival(candidates) if len(candidates) else candidates


_SHOWN_MEMORIES = 20  # in a notebook, the least alive first


@dataclass(frozen=True, repr=False)
class ZonedMemory(Result):
    """The vitality of one memory; `bridge` if the link graph would fall apart without it."""

    id: str
    vitality: float
    zone: Zone
    bridge: bool


@dataclass(frozen=True, repr=False)
class Zones(HtmlResult):
    """The vitality of memories, the liveliest first; one page of them if there was a limit.

    `counts` is the number of memories that pass the filter in each zone that has some, `protected`
    the share of those that hold the link graph together. `cursor` gets the next page.
    """

    memories: tuple[ZonedMemory, ...]
    counts: Mapping[Zone, int]
    protected: float
    cursor: str | None = None

    def __iter__(self) -> Iterator[ZonedMemory]:
        return iter(self.memories)

    def __len__(self) -> int:
        return len(self.memories)

    def _title(self) -> str:
        return f"The zones of {sum(self.counts.values()):,} memories"

    def _sections(self) -> Iterator[str]:
        yield header(self._title(), (f"{self.protected:.0%} hold the link graph together",))
        counts, total = self.counts, max(1, sum(self.counts.values()))
        bar = shares([counts.get(name, 0) / total for name in ZONE_ORDER])
        key = zone_key(f"{name} {counts.get(name, 0):,}" for name in ZONE_ORDER)
        yield section("", bar + key)
        if self.memories:
            lowest = self.memories[: -_SHOWN_MEMORIES - 1 : -1]
            rows = [
                (f"{one.vitality:.3f}", one.zone, text(one.id), "bridge" if one.bridge else "")
                for one in lowest
            ]
            head = ("vitality", "zone", "memory", "")
            yield section(f"The {len(lowest):,} least alive", table(head, rows, numbers=(0,)))


FROM_NONE = Between(0)


def zones(
    namespaces: tuple[str, ...],
    now: float,
    where: Filter | None,
    limit: Any = None,
    cursor: str | None = None,
) -> Plan[Zones]:
    """The plan of computing the zones of memories that pass a filter, at a time in seconds.

    They are those that pruning looks at: what is in the archive no longer has a zone. A cursor
    carries the time of its first page, at which each memory keeps its place.
    """
    last = parse_zone_cursor(cursor)
    limit = None if limit is None else integer("limit", limit, *FROM_NONE)
    now = now if last is None else last.now
    live = Compare("status", "in", PRUNED_STATUSES)
    condition = live if where is None else And((live, where))
    alive = retrieve(MatchAll(), depth=None) >> _SinceArrival()
    scored = alive >> score(vitality(), into="vitality")
    tables = yield from scored.plan(Query("", namespaces, now, where=condition))
    table = tables[-1].take(np.isfinite(tables[-1].floats("vitality")))  # none where just erased
    values, bridges = table.floats("vitality"), table.floats("is_cut_vertex") == 1.0
    left = table
    if last is not None:
        is_next = values == last.vitality
        is_next[is_next] = [id > last.id for id in table.columns["id"][is_next].tolist()]
        left = table.take((values < last.vitality) | is_next)
    order = best_first(left.floats("vitality"), left.tie_keys, None if limit is None else limit + 1)
    page = left.take(order[:limit])
    vitalities, cuts = page.floats("vitality"), page.floats("is_cut_vertex") == 1.0
    ids = page.columns["id"].tolist() if len(page) else []
    rows = (ids, vitalities.tolist(), zones_by(vitalities), cuts.tolist())
    memories = tuple(map(ZonedMemory, *rows))
    following = None
    if limit and len(order) > limit:
        following = encode_zone_cursor(now, memories[-1].vitality, memories[-1].id)
    protected = float(bridges.mean()) if len(table) else 0.0
    return Zones(memories, zone_counts(values), protected, following)
