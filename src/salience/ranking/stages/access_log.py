"""The log of accesses: all times at which a memory was used, not only the most recent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from salience.lazily import dataclass
from salience.ranking.stages.stage import Stage
from salience.records.events import Event, EventType, is_counted_edit
from salience.retrieval.candidates import Candidates, Floats
from salience.retrieval.operations import Events
from salience.retrieval.plan import Plan
from salience.retrieval.query import Query

_COUNTS = ("access_count", "write_count")
_TYPES: tuple[EventType, ...] = ("retrieval", "read", "reference", "rewrite", "edit")


@dataclass(frozen=True)
class AccessLog(Stage):
    """accesses = the times of all accesses: the writing, the uses and the edits.

    It reads the log for memories with more accesses than a memory keeps, and writes the column
    `accesses`, shape (candidates, most accesses), newest first, NaN-filled. Where the log has fewer
    (a memory imported with its counts alone), `BaseLevel` spreads the rest.
    """

    def reads(self) -> frozenset[str]:
        return frozenset({"id", "namespace", "created_at", "accesses", *_COUNTS})

    def writes(self) -> frozenset[str]:
        return frozenset({"accesses"})

    def reasons(self) -> frozenset[str]:
        return frozenset()

    def plan(
        self, query: Query, candidates: Candidates, wanted: frozenset[str]
    ) -> Plan[Candidates]:
        if not len(candidates):
            return candidates
        kept = candidates.floats("accesses").reshape(len(candidates), -1)
        counts = 1.0 + sum(np.nan_to_num(candidates.floats(name)) for name in _COUNTS)
        short = np.flatnonzero(counts > np.count_nonzero(~np.isnan(kept), axis=1))
        if not len(short):
            return candidates
        places: dict[str, dict[str, int]] = defaultdict(dict)
        for place in short.tolist():
            places[candidates["namespace"][place]][candidates["id"][place]] = place
        logs = yield [Events(namespace, tuple(ids), _TYPES) for namespace, ids in places.items()]
        written = candidates.floats("created_at")
        times = {place: [float(written[place])] for place in short.tolist()}
        for ids, log in zip(places.values(), logs, strict=True):
            for event in log:
                if event.id in ids and _is_access(event):
                    times[ids[event.id]].append(event.at.timestamp())
        return candidates.with_columns(accesses=_widened(kept, times))


def _is_access(event: Event) -> bool:
    return event.type != "edit" or is_counted_edit(event)


def _widened(kept: Floats, times: dict[int, list[float]]) -> Floats:
    """The access times by row, replaced for some rows where the log has more of them."""
    longer: dict[int, Sequence[float]] = {
        place: sorted(moments, reverse=True)
        for place, moments in times.items()
        if len(moments) > np.count_nonzero(~np.isnan(kept[place]))
    }
    width = max([kept.shape[1], *map(len, longer.values())])
    widened = np.full((len(kept), width), np.nan)
    widened[:, : kept.shape[1]] = kept
    for place, moments in longer.items():
        widened[place] = np.nan
        widened[place, : len(moments)] = moments
    return widened


def access_log() -> AccessLog:
    """Read all times of access, for an exact base level."""
    return AccessLog()
