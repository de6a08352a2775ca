"""Zones: the vitality of each memory now, and the bridges that hold the link graph together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from salience.display.html import HtmlResult, header, section, shares, table, text, zone_key
from salience.display.result import Result
from salience.lifecycle.pruning import PRUNED_STATUSES
from salience.lifecycle.zone_history import ZONE_ORDER
from salience.ranking.signals.vitality import Zone, since_arrival, vitality, zone
from salience.ranking.stages import Keep, Pipeline, retrieve, score
from salience.ranking.stages.stage import Stage
from salience.records.filters import And, Compare, Filter
from salience.retrieval.candidates import Candidates
from salience.retrieval.plan import Plan
from salience.retrieval.query import Query
from salience.retrieval.routes import MatchAll


class _SinceArrival(Stage):
    """The age of each memory as upkeep counts it."""

    def reads(self) -> frozenset[str]:
        return frozenset({"created_at", "added_at", "accesses"})

    def apply(self, query: Query, candidates: Candidates) -> Candidates:
        return since_arrival(candidates) if len(candidates) else candidates


_ALIVE = Pipeline(
    (
        retrieve(MatchAll(), depth=None),
        _SinceArrival(),
        score(vitality(), into="vitality"),
        Keep(None, "vitality"),
    )
)

_SHOWN_MEMORIES = 20  # in a notebook, the least alive first


@dataclass(frozen=True, slots=True, repr=False)
class ZonedMemory(Result):
    """The vitality of one memory; `bridge` if the link graph would fall apart without it."""

    id: str
    vitality: float
    zone: Zone
    bridge: bool


@dataclass(frozen=True, slots=True, repr=False)
class Zones(HtmlResult):
    """The vitality of memories, the liveliest first."""

    _computed = ("counts", "protected")
    _shown = ("memories", "counts", "protected")

    memories: tuple[ZonedMemory, ...]

    def __iter__(self) -> Iterator[ZonedMemory]:
        return iter(self.memories)

    def __len__(self) -> int:
        return len(self.memories)

    @property
    def counts(self) -> Mapping[Zone, int]:
        """The number of memories in each zone that has some."""
        return Counter(item.zone for item in self.memories)

    @property
    def protected(self) -> float:
        """The share of memories that hold the link graph together; 0 without any memory."""
        return sum(item.bridge for item in self.memories) / max(1, len(self.memories))

    def _title(self) -> str:
        return f"The zones of {len(self.memories):,} memories"

    def _sections(self) -> Iterator[str]:
        yield header(self._title(), (f"{self.protected:.0%} hold the link graph together",))
        counts, total = self.counts, max(1, len(self.memories))
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


def zones(namespaces: tuple[str, ...], now: float, where: Filter | None) -> Plan[Zones]:
    """The plan of computing the zones of memories that pass a filter, at a time in seconds.

    They are those that pruning looks at: what is in the archive has no zone any more.
    """
    live = Compare("status", "in", PRUNED_STATUSES)
    condition = live if where is None else And((live, where))
    tables = yield from _ALIVE.plan(Query("", namespaces, now, where=condition))
    table = tables[-1]
    memories = []
    for id, value, bridge in zip(
        table["id"].tolist(),
        table.floats("vitality").tolist(),
        table.floats("is_cut_vertex").tolist(),
        strict=True,
    ):
        label = zone(value)
        if label is None:  # erased since it was retrieved: vitality is finite otherwise
            continue
        memories.append(ZonedMemory(id, value, label, bridge == 1.0))
    return Zones(tuple(memories))
