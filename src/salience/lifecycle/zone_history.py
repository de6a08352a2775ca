"""Zones over time: the vitality of all memories at one time after another, from the log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.api.parameters import Between
from salience.display.html import HtmlResult, header, section, shares, table, zone_key
from salience.errors import InvalidInput
from salience.lazily import dataclass
from salience.lifecycle.pruning import PRUNED_STATUSES
from salience.ranking.signals.vitality import DORMANT, Zone, since_arrival, vitality, zone_counts
from salience.ranking.stages import score
from salience.records.events import USE_EVENTS, Event, apply, link_key, link_time, visible_at
from salience.records.fields import GRAPH
from salience.records.link_graph import LinkGraph
from salience.records.record import ACCESSES_KEPT
from salience.retrieval.candidates import Candidates
from salience.retrieval.operations import Events
from salience.retrieval.plan import Plan, ask
from salience.retrieval.query import Query

ZONE_ORDER: tuple[Zone, ...] = ("active", "stale", "fading", DORMANT)
"""The zones, the liveliest first."""
_TIMES = ("created_at", "added_at", "last_accessed", "boosted_at")
_SHOWN_TIMES = 24  # at most, in a notebook
_NUMBERS = ("access_count", "write_count", "boost")

Progress = Callable[[int, int], None]


@dataclass(frozen=True, repr=False)
class ZoneHistory(HtmlResult):
    """The number of memories in each zone at each time, and the share protected as bridges.

    `now` is the time of the computation; times after it assume no further use. `uses` are the
    accesses since the previous time.
    """

    _shown = ("times", "counts", "now")

    times: tuple[datetime, ...]
    counts: Mapping[Zone, tuple[int, ...]]
    protected: tuple[float, ...]
    uses: tuple[int, ...]
    now: datetime

    @property
    def totals(self) -> tuple[int, ...]:
        """The number of memories at each time."""
        return tuple(sum(column) for column in zip(*self.counts.values(), strict=True))

    def share(self, zone: Zone) -> tuple[float, ...]:
        """The share of a zone at each time; 0 without any memory."""
        pairs = zip(self.counts[zone], self.totals, strict=True)
        return tuple(count / total if total else 0.0 for count, total in pairs)

    def _title(self) -> str:
        return "How memories fade"

    def _sections(self) -> Iterator[str]:
        total = self.totals[-1] if self.times else 0
        yield header(
            self._title(),
            (f"{total:,} memories, {sum(self.uses):,} uses; * is to come, without a use",),
        )
        step = max(1, -(-len(self.times) // _SHOWN_TIMES))
        rows = []
        for place in range(len(self.times) - 1, -1, -step):
            at, total = self.times[place], self.totals[place]
            future = " *" if at > self.now else ""
            line = f'<span class="line">{at:%Y-%m-%d %H:%M}{future}</span>'
            parts = shares([self.counts[name][place] / max(1, total) for name in ZONE_ORDER])
            rows.append((line, f"{total:,}", parts))
        drawn = table(("time", "memories", "zones"), rows[::-1], numbers=(1,))
        yield section("", drawn + zone_key(ZONE_ORDER))


def zone_history(
    namespace: str,
    since: datetime | None,
    until: datetime,
    points: int,
    now: datetime,
    progress: Progress | None = None,
) -> Plan[ZoneHistory]:
    """The plan of counting the memories in each zone at times from `since` to `until`.

    None stands for the first event.

    Raises:
        InvalidInput: `until` is before the first time.
    """
    log: Sequence[Event] = yield from ask(Events(namespace))
    first = since or min((event.at for event in log), default=until)
    if first > until:
        raise InvalidInput("until", "is before the first time", "give a later one")
    times = tuple(evenly_spaced(first, until, points))
    memories, vital = _ReplayedMemories(), score(vitality(), into="vitality")
    counts: dict[Zone, list[int]] = {name: [] for name in ZONE_ORDER}
    protected, uses = [], []
    waiting = in_order_of_time(log)
    event = next(waiting, None)
    for at in times:
        used = memories.uses
        while event is not None and visible_at((event,), at):
            memories.apply(event)
            event = next(waiting, None)
        table = memories.table()
        values = np.empty(0)
        if len(table):
            query = Query("", (namespace,), at.timestamp())
            values = vital.apply(query, since_arrival(table)).floats("vitality")
        now_in = zone_counts(values)
        for name in ZONE_ORDER:
            counts[name].append(now_in.get(name, 0))
        cut = table.floats("is_cut_vertex") if len(table) else np.zeros(1)
        protected.append(float(cut.mean()))
        uses.append(memories.uses - used)
        if progress is not None:
            progress(len(uses), len(times))
    totals = {name: tuple(column) for name, column in counts.items()}
    return ZoneHistory(times, totals, tuple(protected), tuple(uses), now)


def in_order_of_time(log: Sequence[Event]) -> Iterator[Event]:
    """The events by time, uses after all others of the same time, then by their place in the log.

    NumPy sorts them, as it lets other threads run meanwhile.
    """
    keys = [(event.seq, event.type in USE_EVENTS, event.at.timestamp()) for event in log]
    order = np.lexsort(np.array(keys, dtype=np.float64).reshape(-1, 3).T)
    return (log[place] for place in order.tolist())


class _ReplayedMemories:
    """The memories after some of the events, as columns that vitality reads."""

    def __init__(self) -> None:
        self.uses = 0
        self._place: dict[str, int] = {}
        self._early: dict[str, list[Event]] = {}
        self._state: list[dict[str, Any]] = []
        self._links: dict[tuple[str, str, str], float] = {}
        self._linked: set[str] = set()  # the ends of all links that there ever were
        self._graph: Mapping[str, NDArray[np.float64]] | None = None  # of those that exist
        self._numbers = {name: _Column() for name in (*_TIMES, *_NUMBERS, "is_live")}
        self._accesses = np.full((0, ACCESSES_KEPT), np.nan)
        self._layers = np.empty(0, dtype=object)

    def apply(self, event: Event) -> None:
        """Apply the next event, in the order of time."""
        if event.id is None:
            return  # an event of all memories changes their strength alone
        if event.type == "link":
            self._link(event)
            return
        if event.type == "write":
            self._state.append({})
            self._place[event.id] = len(self._state) - 1
            if event.id in self._linked:  # a link by a name that no memory had
                self._graph = None
        elif event.id not in self._place:  # a use that is said to be older than the write
            self._early.setdefault(event.id, []).append(event)
            return
        self._set_fields(self._place[event.id], event)
        if event.type == "write":
            for early in self._early.pop(event.id, ()):
                self.apply(early)

    def _set_fields(self, place: int, event: Event) -> None:
        self.uses += event.type in USE_EVENTS
        changes = apply(self._state[place], event)
        self._state[place].update(changes)
        for name in changes.keys() & self._numbers.keys():
            value = changes[name]
            self._numbers[name].set(place, _seconds(value) if name in _TIMES else value)
        if "accesses" in changes:
            self._set_accesses(place, changes["accesses"])
        if "layer" in changes:
            self._layers = _grown(self._layers, place, None)
            self._layers[place] = changes["layer"]
        if "status" in changes:
            self._numbers["is_live"].set(place, float(changes["status"] in PRUNED_STATUSES))

    def _link(self, event: Event) -> None:
        key = link_key(event)
        self._linked.update(key[:2])
        self._graph = None
        if event.payload["weight"] is None:  # removed
            self._links.pop(key, None)
        else:
            self._links[key] = link_time(event).timestamp()

    def _set_accesses(self, place: int, times: Iterable[datetime]) -> None:
        self._accesses = _grown(self._accesses, place, np.nan)
        seconds = [at.timestamp() for at in times]
        self._accesses[place] = np.nan
        self._accesses[place, : len(seconds)] = seconds

    def table(self) -> Candidates:
        """The memories after the events so far, except those in the archive and the like."""
        ids = list(self._place)
        places = np.fromiter(self._place.values(), np.intp, len(ids))
        columns: dict[str, NDArray[Any]] = {
            name: column.take(places) for name, column in self._numbers.items()
        }
        columns["accesses"] = self._accesses[places]
        columns["layer"] = self._layers[places]
        for name, values in self._graph_columns().items():
            columns[name] = values[places]
        live = columns.pop("is_live") == 1.0
        return Candidates(places.astype(np.int64), columns).take(live)

    def _graph_columns(self) -> Mapping[str, NDArray[np.float64]]:
        """The columns of the link graph, by place; it looks up only memories with links."""
        linked = sorted(self._linked & self._place.keys())
        if self._graph is None:
            links = ((*key, at) for key, at in self._links.items())
            graph = LinkGraph(links, linked)
            self._graph = {name: graph.column(name, linked) for name in GRAPH}
        at = [self._place[id] for id in linked]
        unlinked = LinkGraph((), ())
        columns = {name: unlinked.column(name, ("",)).repeat(len(self._state)) for name in GRAPH}
        for name, values in self._graph.items():
            columns[name][at] = values
        return columns


def _grown(values: NDArray[Any], place: int, empty: Any) -> NDArray[Any]:
    """An array with a row at a place: a longer one, the new rows empty, if it has none yet."""
    if place < len(values):
        return values
    more = np.full((max(1024, place, len(values)), *values.shape[1:]), empty, dtype=values.dtype)
    return np.concatenate([values, more])


class _Column:
    """A growing column of numbers; NaN stands for None."""

    def __init__(self) -> None:
        self._values = np.full(0, np.nan)

    def set(self, place: int, value: float | None) -> None:
        self._values = _grown(self._values, place, np.nan)
        self._values[place] = np.nan if value is None else value

    def take(self, places: NDArray[np.intp]) -> NDArray[np.float64]:
        return self._values[places] if len(places) else np.empty(0)


def _seconds(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()


POINTS = Between(1, 10_000)
"""The most times of one history; more than any picture or table shows."""


def evenly_spaced(first: datetime, last: datetime, points: int) -> Iterator[datetime]:
    """Times at equal distances from the first to the last, both of them included."""
    for point in range(points):  # each rounded by itself, so that they ascend however close
        yield first + (last - first) * (point / max(1, points - 1))
