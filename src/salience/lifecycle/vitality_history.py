"""The vitality of one memory over time: the past out of the log, the future without a use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from salience.display.result import Result
from salience.errors import InvalidInput
from salience.lazily import dataclass
from salience.lifecycle.pruning import ARCHIVED, PRUNED_STATUSES
from salience.lifecycle.zone_history import evenly_spaced, in_order_of_time
from salience.ranking.signals.vitality import (
    DORMANT,
    REVIVAL_DAYS,
    ZONES,
    Zone,
    alive,
    since_arrival,
    vitality,
    zone,
)
from salience.ranking.stages import score
from salience.ranking.stages.stage import Stage
from salience.records.events import DAY_SECONDS, USE_EVENTS, Event, apply, link_key, link_time
from salience.records.fields import GRAPH
from salience.records.link_graph import LinkGraph
from salience.records.record import ACCESSES_KEPT
from salience.retrieval.candidates import Candidates, Floats
from salience.retrieval.operations import Events
from salience.retrieval.plan import Plan, ask
from salience.retrieval.query import Query
from salience.write.reading import read_existing

_TIMES = ("created_at", "added_at", "last_accessed", "boosted_at")
_NUMBERS = ("access_count", "write_count", "boost", "pinned")
_DORMANT_BELOW = ZONES[-1][0]
_HORIZON_DAYS = 36_525  # a hundred years, beyond which nothing is foretold
_SECONDS_EXACT = 1e-6


@dataclass(frozen=True, repr=False)
class VitalityPoint(Result):
    """The vitality of a memory at a time; None before it was written.

    The zone is None as well while it is in the archive or consolidated.
    """

    at: datetime
    vitality: float | None
    zone: Zone | None


@dataclass(frozen=True, repr=False)
class ZoneCrossing(Result):
    """The time from which a memory is in another zone."""

    zone: Zone
    at: datetime


@dataclass(frozen=True, repr=False)
class VitalityHistory(Result):
    """The vitality of one memory at several times, and each change of its zone between them.

    Times after `now` assume no further use. `archived_at` is when it went to the archive, else the
    first time from which pruning would move it; None if that does not come within a hundred years,
    because it is pinned, holds the link graph together or hardly fades.
    """

    _shown = ("points", "crossings", "archived_at", "now")

    points: tuple[VitalityPoint, ...]
    crossings: tuple[ZoneCrossing, ...]
    archived_at: datetime | None
    now: datetime


def vitality_history(
    id: str,
    namespace: str,
    since: datetime | None,
    until: datetime | None,
    points: int,
    now: datetime,
) -> Plan[VitalityHistory]:
    """The plan of computing the vitality of a memory at times from `since` to `until`.

    None stands for the writing of the memory, and for now.

    Raises:
        NotFound: there is no memory of that id.
        InvalidInput: `until` is before the first time.
    """
    yield from read_existing(id, namespace)
    events, linking = yield [Events(namespace, (id,)), Events(namespace, types=("link",))]
    life = _Life(events, (yield from _links_around(id, namespace, linking)))
    first, last = since or life.written, until or now
    if first > last:
        raise InvalidInput("until", "is before the first time", "give a later one")
    times = tuple(evenly_spaced(first, last, points))
    crossings = life.crossings(first.timestamp(), last.timestamp())
    values, zones = life.zoned(np.array([at.timestamp() for at in times]))
    return VitalityHistory(
        tuple(
            VitalityPoint(at, None if value != value else value, label)
            for at, value, label in zip(times, values.tolist(), zones, strict=True)
        ),
        tuple({each.at: each for each in crossings}.values()),  # of one instant the last
        life.archived_at(now),
        now,
    )


class _Life:
    """The values of one memory that vitality reads, from each of its events to the next.

    Two tables of rows with the time from which each holds: one of its own fields, one of its place
    among links. The first one has the times of a use as just after it, since a use does not count
    for itself.
    """

    def __init__(self, events: Sequence[Event], linked: Sequence[_Linked]) -> None:
        self._states, self._since = list[Mapping[str, Any]](), list[float]()
        early = list[Event]()  # uses that are said to be older than the write
        for event in in_order_of_time([event for event in events if event.id is not None]):
            if event.type == "write":
                self._enter({}, event)
                for each in early:
                    self._enter(self._states[-1], each, self._since[0])
            elif not self._states:
                early.append(event)
            elif event.type != "link":
                self._enter(self._states[-1], event)
        self.written = _moment(self._since[0])
        columns: dict[str, NDArray[Any]] = {
            name: np.array([_number(state[name]) for state in self._states])
            for name in (*_TIMES, *_NUMBERS)
        }
        accesses = np.full((len(self._states), ACCESSES_KEPT), np.nan)
        for place, state in enumerate(self._states):
            seconds = [at.timestamp() for at in state["accesses"]]
            accesses[place, : len(seconds)] = seconds
        columns["accesses"] = accesses
        for name in ("layer", "status"):
            columns[name] = np.array([state[name] for state in self._states], dtype=object)
        self._own = columns
        self._linked_since = np.array([step.since for step in linked])
        self._linked = {name: np.array([getattr(s, name) for s in linked]) for name in GRAPH}

    def _enter(self, before: Mapping[str, Any], event: Event, least: float = -np.inf) -> None:
        at = event.at.timestamp()
        is_use = event.type in USE_EVENTS
        self._states.append({**before, **apply(before, event)})
        self._since.append(max(float(np.nextafter(at, np.inf)) if is_use else at, least))

    def _table(self, times: Floats, read_at: Floats) -> Candidates:
        """The memory at some times, a row each, with what held at `read_at`; times are ages."""
        places = np.searchsorted(self._since, read_at, side="right") - 1
        linked = np.searchsorted(self._linked_since, read_at, side="right") - 1
        columns = {name: column[places] for name, column in self._own.items()}
        columns |= {name: column[linked] for name, column in self._linked.items()}
        for name in (*_TIMES, "newest_link"):
            columns[name] = columns[name] - times
        columns["accesses"] = columns["accesses"] - times[:, np.newaxis]
        return since_arrival(Candidates(np.arange(len(times)), columns))

    def _score(self, stage: Stage, times: Floats, read_at: Floats) -> Floats:
        if not len(times):
            return np.empty(0)
        values = stage.apply(Query("", (), 0.0), self._table(times, read_at)).floats("vitality")
        return np.where(read_at < self._since[0], np.nan, values)

    def zoned(
        self, times: Floats, read_at: Floats | None = None
    ) -> tuple[Floats, list[Zone | None]]:
        """The vitality at some times, and the zones; NaN and None before it was written."""
        read_at = times if read_at is None else read_at
        values = self._score(_vital(), times, read_at)
        places = np.searchsorted(self._since, read_at, side="right") - 1
        zones = [
            zone(value) if self._states[place]["status"] in PRUNED_STATUSES else None
            for place, value in zip(places.tolist(), values.tolist(), strict=True)
        ]
        return values, zones

    def crossings(self, first: float, last: float) -> Iterator[ZoneCrossing]:
        """The changes of zone after the first time until the last.

        Between two events vitality only falls, so halving finds the one time it meets each bound.
        """
        first = max(first, self._since[0])
        starts = np.union1d(self._since, self._linked_since[1:])
        starts = np.array([first, *starts[(starts > first) & (starts <= last)]])
        ends = np.array([*starts[1:], max(first, last)])
        high, entered = self.zoned(starts)
        low, left = self.zoned(ends, starts)
        falls = [
            (place, least, below)
            for place in range(len(starts))
            for (least, _), (_, below) in pairwise((*ZONES, (0.0, DORMANT)))
            if entered[place] is not None and high[place] >= least > low[place]
        ]
        places = np.array([place for place, *_ in falls], dtype=np.intp)
        bounds = np.array([least for _, least, _ in falls])
        times = self._fallen(_vital(), starts[places], ends[places], starts[places], bounds)
        fallen: dict[int, list[ZoneCrossing]] = {}
        for (place, _, below), at in zip(falls, times.tolist(), strict=True):
            fallen.setdefault(place, []).append(ZoneCrossing(below, _moment(at)))
        for place, label in enumerate(entered):
            if place and label is not None and label != left[place - 1]:
                yield ZoneCrossing(label, _moment(starts[place]))
            yield from fallen.get(place, ())

    def _fallen(
        self, stage: Stage, low: Floats, high: Floats, read_at: Floats, least: Floats
    ) -> Floats:
        """The first times between two, to a microsecond, at which scores are below their bounds."""
        while np.any(high - low > _SECONDS_EXACT):
            middle = (low + high) / 2
            below = self._score(stage, middle, read_at) < least
            low, high = np.where(below, low, middle), np.where(below, middle, high)
        return high

    def archived_at(self, now: datetime) -> datetime | None:
        """The time at which it was archived, or would be without a further use."""
        state = self._states[-1]
        if state["status"] == ARCHIVED:
            archived = len(self._states) - 1
            while archived and self._states[archived - 1]["status"] == ARCHIVED:
                archived -= 1
            return _moment(self._since[archived])
        is_bridge = self._linked["is_cut_vertex"][-1] == 1.0
        if state["status"] not in PRUNED_STATUSES or state["pinned"] == 1.0 or is_bridge:
            return None
        revived = self._linked["newest_link"][-1] + REVIVAL_DAYS * DAY_SECONDS
        start = float(np.fmax(now.timestamp(), revived + _SECONDS_EXACT))
        days = 2.0 ** np.arange(np.log2(_HORIZON_DAYS))
        times = np.array([start, *(start + days * DAY_SECONDS)])
        held = np.full(len(times), np.inf)
        below = np.flatnonzero(self._score(_alive(), times, held) < _DORMANT_BELOW)
        if not len(below):
            return None
        place = int(below[0])
        low, high = times[max(0, place - 1), np.newaxis], times[place, np.newaxis]
        [at] = self._fallen(_alive(), low, high, held[:1], np.array([_DORMANT_BELOW]))
        return _moment(at)


@cache
def _vital() -> Stage:
    return score(vitality(), into="vitality")


@cache
def _alive() -> Stage:
    return score(alive(), into="vitality")


class _Linked(NamedTuple):
    """The place of a memory among links from a time on, in seconds."""

    since: float
    in_degree: float
    newest_link: float
    is_cut_vertex: float


def _links_around(id: str, namespace: str, log: Sequence[Event]) -> Plan[list[_Linked]]:
    """The plan of following the place of a memory among links; `log` has all events of links."""
    around = _reached(id, log)
    writes: Sequence[Event] = yield from ask(Events(namespace, tuple(sorted(around)), ("write",)))
    written = {event.id: event.at.timestamp() for event in writes if event.id is not None}
    changes = [  # a link by a name that no memory has yet counts once one has it
        (max(event.at.timestamp(), *(written[end] for end in key[:2])), key, event)
        for event, key in ((event, link_key(event)) for event in in_order_of_time(log))
        if written.keys() >= {*key[:2]}
    ]
    changes.sort(key=lambda change: change[0])
    graph, links = LinkGraph((), written), dict[str, dict[tuple[str, str, str], float]]()

    def links_of(ids: Sequence[str]) -> Iterator[tuple[str, str, str, float]]:
        return ((*key, made) for end in ids for key, made in links[end].items())

    steps = [_Linked(-np.inf, 0.0, np.nan, 0.0)]
    for since, key, event in changes:
        for end in key[:2]:
            if event.payload["weight"] is None:  # removed
                links.setdefault(end, {}).pop(key, None)
            else:
                links.setdefault(end, {})[key] = link_time(event).timestamp()
        graph.relinked(key[:1])
        graph.settle(links_of)
        step = _Linked(since, **{name: float(graph.column(name, (id,))[0]) for name in GRAPH})
        if str(step[1:]) != str(steps[-1][1:]):  # NaN is not a change
            steps.append(step)
    return steps


def _reached(id: str, log: Sequence[Event]) -> set[str]:
    """The memories that links lead to from one, whenever the links existed."""
    near: dict[str, set[str]] = {}
    for source, target, _ in map(link_key, log):
        near.setdefault(source, set()).add(target)
        near.setdefault(target, set()).add(source)
    reached, outer = {id}, [id]
    while outer:
        neighbours = near.get(outer.pop(), set()) - reached
        reached |= neighbours
        outer += neighbours
    return reached


def _number(value: Any) -> float:
    """A number or time of a state as in a column: seconds, NaN for None."""
    if isinstance(value, datetime):
        return value.timestamp()
    return np.nan if value is None else float(value)


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(float(seconds), timezone.utc)
