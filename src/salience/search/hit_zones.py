"""The zones of hits: the age of what was imported counts from its arrival, as upkeep counts it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from salience.ranking.explanation import figure
from salience.ranking.run import RankedRun
from salience.ranking.signals.vitality import ZONES, Zone, since_arrival, zone
from salience.ranking.stages import Score
from salience.records.record import EMPTY, MemoryRecord
from salience.retrieval.candidates import Candidates

_ACTIVE = ZONES[0][0]  # the vitality of the liveliest zone; to be younger changes it no more


def zones_of(
    run: RankedRun, table: Candidates, records: Sequence[MemoryRecord | None]
) -> list[tuple[Zone | None, Mapping[str, Any]]]:
    """The zone of each row of a table, and notes where it goes by another figure than its rank.

    A rank goes by `created_at`, a zone by the arrival in the store. Where these give two figures,
    "zone.vitality" is that of the zone, and "zone.why" says why. None without vitality.
    """
    if "vitality" not in table.columns:
        return [(None, EMPTY)] * len(table)
    ranked = table.floats("vitality")
    values, added = ranked.copy(), _arrivals(ranked, records)
    stages = run.profile.pipeline.stages
    scoring = next((s for s in stages if isinstance(s, Score) and s.into == "vitality"), None)
    if added and scoring is not None and "accesses" in table.columns:
        imported = table.take(np.array([*added])).with_columns(added_at=np.array([*added.values()]))
        values[[*added]] = scoring.apply(run.query, since_arrival(imported)).floats("vitality")
    return [
        (zone(value), EMPTY if value == before or value != value else _notes(value, before))
        for value, before in zip(values.tolist(), ranked.tolist(), strict=True)
    ]


def _arrivals(
    vitality: np.ndarray[Any, Any], records: Sequence[MemoryRecord | None]
) -> dict[int, float]:
    """The times of arrival, by place, of what is older than that, and not active anyway."""
    return {
        place: record.added_at.timestamp()
        for place, (record, value) in enumerate(zip(records, vitality.tolist(), strict=True))
        if value < _ACTIVE and record is not None and record.added_at is not None
        if record.added_at > record.created_at
    }


def _notes(value: float, ranked: float) -> Mapping[str, Any]:
    why = f"age from its arrival; from created_at its vitality is {figure(ranked)}, and ranks it"
    return {"zone.vitality": value, "zone.why": why}
