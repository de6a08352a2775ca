"""Spreading activation: the declared use of a memory boosts those linked with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from salience.display.result import to_json
from salience.ranking.signals.vitality import BOOST_HALF_LIFE_DAYS
from salience.records.events import DAY_SECONDS, Event
from salience.records.record import OPPOSING_LINKS, Link, MemoryRecord
from salience.records.validation import unit
from salience.retrieval.operations import LinksOf, Log
from salience.retrieval.plan import Plan, ask
from salience.write.items import WriteContext
from salience.write.reading import not_found, read_records

SHARE_PER_HOP = 0.6  # the part of the utility that reaches the next hop
MAX_HOPS = 2


def spread_boost(
    uses: Sequence[Event], utility: float, scope: WriteContext
) -> Plan[dict[str, float]]:
    """The plan of spreading uses: boost = utility * 0.6^hops within 2 hops; new boosts by id.

    The same transaction counts the uses.

    It goes breadth first over links in both directions, except contradictions, to each memory by
    its shortest path. A used memory gets nothing from its own use. The new boost is added to what
    is left of the old one: 1 - (1 - old * 2^(-days / 7)) * (1 - new). `utility` is in [0, 1].

    Raises:
        InvalidInput: the utility is not in [0, 1].
        NotFound: one of the used memories does not exist; nothing was counted.
    """
    ids = tuple(dict.fromkeys(event.id for event in uses if event.id is not None))
    worth = unit("utility", utility) or 0.0
    gains: dict[str, float] = {}
    for id in ids if worth else ():
        hops = yield from _within(id, scope.namespace)
        for near, hop in hops.items():
            gains[near] = noisy_or(gains.get(near, 0.0), worth * SHARE_PER_HOP**hop)
    records: Mapping[str, MemoryRecord] = {}
    if gains:
        records = yield from read_records(scope.namespace, sorted(gains))
    boosts = {id: noisy_or(faded_boost(records[id], scope), gains[id]) for id in sorted(records)}
    while uses:
        events = tuple(
            Event(
                "boost",
                id,
                scope.now,
                scope.actor,
                payload={"set": {"boost": boost, "boosted_at": to_json(scope.now)}},
            )
            for id, boost in boosts.items()
        )
        missing = yield from ask(Log(scope.namespace, (*uses, *events)))
        if not missing:
            break
        for id in ids:
            if id in missing:
                raise not_found(id, scope.namespace)
        boosts = {id: boost for id, boost in boosts.items() if id not in missing}  # erased
    return boosts


def noisy_or(one: float, other: float) -> float:
    """1 - (1 - one) * (1 - other): the sum of two boosts, in [0, 1]."""
    return 1.0 - (1.0 - one) * (1.0 - other)


def faded_boost(record: MemoryRecord, scope: WriteContext) -> float:
    """boost * 2^(-days since / 7): the signal `spreading_boost` of one memory."""
    if record.boost is None or record.boosted_at is None:
        return 0.0
    days = max(0.0, (scope.now - record.boosted_at).total_seconds()) / DAY_SECONDS
    return float(record.boost * 2.0 ** (-days / BOOST_HALF_LIFE_DAYS))


def _within(id: str, namespace: str) -> Plan[Mapping[str, int]]:
    """The number of hops to each other memory within `MAX_HOPS`."""
    hops = {id: 0}
    frontier = [id]
    for hop in range(1, MAX_HOPS + 1):
        links: Sequence[Link] = yield from ask(LinksOf(namespace, tuple(frontier)))
        support = [link for link in links if link.type not in OPPOSING_LINKS]
        reached = {end for link in support for end in (link.source, link.target)} - set(hops)
        hops |= dict.fromkeys(reached, hop)
        frontier = sorted(reached)
        if not frontier:
            break
    del hops[id]
    return hops
