"""Pruning: what has faded is moved to the archive, a few at a time, and can be brought back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from salience.errors import InvalidInput, NotFound, shown
from salience.language.tokens import shorten
from salience.lifecycle.undo import begun, change
from salience.ranking.signals.vitality import METABOLIC_RATES, Zone, alive, vitality, zone
from salience.ranking.stages import score
from salience.records.events import DAY_SECONDS, Event
from salience.records.filters import And, Compare, Filter
from salience.records.validation import boolean, integer
from salience.retrieval.candidates import Candidates
from salience.retrieval.operations import Events, ReadTexts
from salience.retrieval.plan import Plan, ask
from salience.retrieval.query import Query
from salience.write.items import WriteContext
from salience.write.reading import read_records, read_table

DEFAULT_CAP = 10
"""How many memories one run moves at most, unless it is told otherwise."""
ARCHIVED = "archived"
PRUNED_STATUSES = ("active", "superseded", "contradicted", "completed")
"""The statuses that pruning looks at; what is consolidated or archived is out of sight already."""
_SHOWN = 60  # characters of a candidate's text
_ALIVE = score(alive(), into="alive")
_VITAL = score(vitality(), into="vitality")
_READ = sorted((_ALIVE.reads() | _VITAL.reads()) - {"alive"})


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that may be archived, and why: its text (the beginning), vitality, reasons."""

    id: str
    text: str
    vitality: float
    reasons: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "id": self.id,
            "text": self.text,
            "vitality": self.vitality,
            "reasons": list(self.reasons),
        }


@dataclass(frozen=True, slots=True)
class Pruning:
    """What a run of pruning would move, or did: `run` is its name if it did, else None.

    `candidates` are the memories to move, least alive first, at most the cap; `faded` is how many
    were found below the bound in all. Of these `pinned` are exempt, and `bridges` hold the link
    graph together; `protected` is the share of all memories looked at that do. `zones` counts
    all memories looked at.
    """

    candidates: tuple[Candidate, ...]
    zones: Mapping[Zone, int]
    faded: int
    pinned: tuple[str, ...]
    bridges: tuple[str, ...]
    protected: float
    cap: int
    run: str | None = None

    @property
    def looked_at(self) -> int:
        """How many memories were looked at."""
        return sum(self.zones.values())

    @property
    def left(self) -> int:
        """How many candidates the cap left for another time."""
        return self.faded - len(self.pinned) - len(self.bridges) - len(self.candidates)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "run": self.run,
            "candidates": [one.to_dict() for one in self.candidates],
            "looked_at": self.looked_at,
            "zones": dict(self.zones),
            "faded": self.faded,
            "left": self.left,
            "cap": self.cap,
            "pinned": list(self.pinned),
            "bridges": list(self.bridges),
            "protected": self.protected,
        }


def prune(
    scope: WriteContext, *, apply: bool = False, cap: int = DEFAULT_CAP, where: Filter | None = None
) -> Plan[Pruning]:
    """The plan of archiving what is in the zone "archived" (vitality below 0.1), least alive first.

    Without `apply` nothing is changed. Pinned memories and those that hold the link graph together
    are never moved.

    Raises:
        InvalidInput: the cap is no whole number from 0.
    """
    apply, cap = boolean("apply", apply), integer("cap", cap, 0)
    live = Compare("status", "in", PRUNED_STATUSES)
    parts = (live,) if where is None else (live, where)
    found = yield from read_table(scope, And(parts), ("id", "pinned", *_READ))
    query = Query("", (scope.namespace,), scope.now.timestamp())
    found = _VITAL.apply(query, _ALIVE.apply(query, found)) if len(found) else found
    report = yield from _report(found, query.now, cap)
    if not apply or not report.candidates:
        return report
    run = yield from begun("prune", scope.namespace)
    why = {one.id: one.reasons for one in report.candidates}
    yield from change(scope, run, "archive", {id: {"status": ARCHIVED} for id in why}, why)
    return replace(report, run=run)


def _report(found: Candidates, now: float, cap: int) -> Plan[Pruning]:
    if not len(found):
        return Pruning((), {}, 0, (), (), 0.0, cap)
    ids, values = found["id"], found.floats("alive")
    cut = found.floats("is_cut_vertex") == 1.0
    pinned = found.floats("pinned") == 1.0
    faded = np.array([zone(value) == ARCHIVED for value in values.tolist()])
    places = np.flatnonzero(faded & ~cut & ~pinned)
    places = places[np.lexsort((ids[places].astype(str), values[places]))][:cap]
    texts = yield from ask(ReadTexts(found.rows[places]))
    chosen = found.take(places)
    names = chosen["id"].tolist() if len(chosen) else []
    layers = chosen["layer"].tolist() if len(chosen) else []
    candidates = tuple(
        Candidate(
            id,
            shorten(text or "", _SHOWN),
            float(values[place]),
            _reasons(chosen, at, layer, now),
        )
        for at, (place, id, layer, text) in enumerate(
            zip(places.tolist(), names, layers, texts, strict=True)
        )
    )
    zones: Counter[Zone] = Counter(
        zone(value) or "archived" for value in found.floats("vitality").tolist()
    )
    return Pruning(
        candidates,
        zones,
        int(faded.sum()),
        tuple(sorted(ids[faded & pinned])),
        tuple(sorted(ids[faded & cut & ~pinned])),
        float(cut.mean()),
        cap,
    )


def _reasons(found: Candidates, place: int, layer: str | None, now: float) -> tuple[str, ...]:
    """Why a memory has faded, part by part of its vitality."""

    def value(name: str) -> float:
        return float(found.floats(name)[place])

    uses = int(np.nan_to_num(value("access_count")))
    last = value("last_accessed")
    age = max(0.0, now - value("created_at")) / DAY_SECONDS
    used = {0: "never used", 1: "used once"}.get(uses, f"used {uses} times")
    if last == last:
        used += f", last {_days((now - last) / DAY_SECONDS)} ago"
    layer = layer or "knowledge"
    degree = int(value("in_degree"))
    reasons = [
        f"vitality {value('alive'):.3f} is below 0.1",
        f"{used}; written {_days(age)} ago",
        f"fades at rate {METABOLIC_RATES[layer]:g} ({layer})"
        + (f", slowed by {degree} that link to it" if degree else "; nothing links to it"),
    ]
    if value("boost") > 0.0:
        reasons.append("what the use of linked memories lent it has faded, too")
    return tuple(reasons)


def _days(days: float) -> str:
    return f"{max(0.0, days):.0f} days"


def archive(scope: WriteContext, ids: Sequence[str]) -> Plan[str | None]:
    """The plan of moving memories to the archive by hand; the run that did, None if all were there.

    Raises:
        NotFound: one of them does not exist; nothing was moved.
        InvalidInput: one of them is pinned; nothing was moved.
    """
    known = yield from _known(scope.namespace, ids)
    for record in known.values():
        if record.pinned:
            raise InvalidInput("ids", f"{shown(record.id)} is pinned", "unpin it first")
    moved = {id: {"status": ARCHIVED} for id, one in known.items() if one.status != ARCHIVED}
    if not moved:
        return None
    run = yield from begun("archive", scope.namespace)
    yield from change(scope, run, "archive", moved)
    return run


def restore(scope: WriteContext, ids: Sequence[str]) -> Plan[Mapping[str, str]]:
    """The plan of bringing memories back from the archive; the status that each has again.

    It is the one from before it was archived, as the log tells.

    Raises:
        NotFound: one of them does not exist; nothing was moved.
        InvalidInput: one of them is not archived; nothing was moved.
    """
    known = yield from _known(scope.namespace, ids)
    for record in known.values():
        if record.status != ARCHIVED:
            raise InvalidInput("ids", f"{shown(record.id)} is {record.status}, not archived")
    logged: Sequence[Event] = yield from ask(Events(scope.namespace, tuple(known)))
    before = dict.fromkeys(known, "active")
    for event in logged:
        was = event.payload.get("was", {}).get("status")
        if event.id in before and was not in (None, ARCHIVED):
            before[event.id] = was
    run = yield from begun("restore", scope.namespace)
    yield from change(scope, run, "restore", {id: {"status": s} for id, s in before.items()})
    return before


def _known(namespace: str, ids: Sequence[str]) -> Plan[dict[str, Any]]:
    known = yield from read_records(namespace, tuple(dict.fromkeys(ids)))
    for id in ids:
        if id not in known:
            raise NotFound(f"there is no memory {id!r} in the namespace {namespace!r}")
    return known
