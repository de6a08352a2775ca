"""Pruning: faded memories go to the archive, a few at a time, and can be brought back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from salience.api.parameters import Between
from salience.display.html import HtmlResult, header, nothing, section, table
from salience.display.html import text as html_text
from salience.display.result import Result
from salience.errors import InvalidInput, shown
from salience.language.tokens import shorten
from salience.lazily import dataclass, replace
from salience.lifecycle.undoing import ChangeRun
from salience.ranking.signals.vitality import (
    METABOLIC_RATES,
    REVIVAL_DAYS,
    ZONES,
    Zone,
    alive,
    since_arrival,
    vitality,
    zone_counts,
)
from salience.ranking.stages import score
from salience.records.events import DAY_SECONDS, Event
from salience.records.filters import And, Compare, Filter
from salience.records.record import MemoryRecord
from salience.records.validation import boolean, integer
from salience.retrieval.candidates import Candidates
from salience.retrieval.operations import Events, ReadTexts
from salience.retrieval.plan import Plan, ask
from salience.retrieval.query import Query
from salience.write.items import WriteContext
from salience.write.reading import not_found, read_records, read_table

DEFAULT_CAP = 10
CAP = Between(0)
"""The most memories that one run archives by default."""
ARCHIVED = "archived"
PRUNED_STATUSES = ("active", "superseded", "contradicted", "completed")
"""The statuses that pruning looks at; searches do not find the others."""
_SHOWN_CHARACTERS = 60  # of a candidate's text


@dataclass(frozen=True, repr=False)
class Candidate(Result):
    """A memory that may be archived: the beginning of its text, its vitality, the reasons."""

    id: str
    content: str
    vitality: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Pruning(HtmlResult):
    """The memories that a run of pruning archived, or would: `run` is its name, None if it did not.

    `candidates` are the memories to archive, least alive first, at most `cap`; `faded` counts all
    below the bound. Exempt are `pinned` ones, `bridges`, which hold the link graph together, and
    `revived` ones, to which a link was made within 14 days. `protected` is the share of bridges in
    all memories looked at; `zones` counts the latter.
    """

    _computed = ("looked_at", "left")
    _shown = ("run", "candidates", "looked_at", "left", "cap")

    candidates: tuple[Candidate, ...]
    zones: Mapping[Zone, int]
    faded: int
    pinned: tuple[str, ...]
    bridges: tuple[str, ...]
    revived: tuple[str, ...]
    protected: float
    cap: int
    run: str | None = None

    def _title(self) -> str:
        return "Pruning" if self.run is None else f"Pruning {self.run}"

    def _sections(self) -> Iterator[str]:
        done = "to archive" if self.run is None else "archived"
        notes = [f"{len(self.candidates):,} {done}", f"{self.looked_at:,} looked at"]
        yield header(self._title(), [*notes, *([f"{self.left:,} more"] if self.left else [])])
        rows = [
            (
                f"{each.vitality:.3f}",
                *map(html_text, (each.content, "; ".join(each.reasons), each.id)),
            )
            for each in self.candidates
        ]
        if rows:
            yield section("", table(("vitality", "memory", "reasons", "id"), rows, numbers=(0,)))
        else:
            yield nothing("No memory has faded.")

    @property
    def looked_at(self) -> int:
        """The number of memories looked at."""
        return sum(self.zones.values())

    @property
    def left(self) -> int:
        """The number of candidates beyond the cap."""
        exempt = len(self.pinned) + len(self.bridges) + len(self.revived)
        return self.faded - exempt - len(self.candidates)


def prune(
    scope: WriteContext, *, apply: bool = False, cap: int = DEFAULT_CAP, where: Filter | None = None
) -> Plan[Pruning]:
    """The plan of archiving dormant memories (vitality < 0.1), least alive first.

    Without `apply` it changes nothing. It never archives pinned memories, those that hold the link
    graph together, and those to which a link was made within 14 days. The age of a memory counts
    from its arrival in the store; see `since_arrival`.

    Raises:
        InvalidInput: the cap is not a whole number from 0.
    """
    apply, cap = boolean("apply", apply), integer("cap", cap, *CAP)
    live = Compare("status", "in", PRUNED_STATUSES)
    parts = (live,) if where is None else (live, where)
    lively, vital = score(alive(), into="alive"), score(vitality(), into="vitality")
    columns = sorted((lively.reads() | vital.reads()) - {"alive"})
    table = yield from read_table(scope, And(parts), ("id", "pinned", "added_at", *columns))
    query = Query("", (scope.namespace,), scope.now.timestamp())
    if len(table):
        written = {"written_at": table.floats("created_at")}
        table = since_arrival(table).with_columns(**written)
        table = vital.apply(query, lively.apply(query, table))
    report = yield from _report(table, query.now, cap)
    if not apply or not report.candidates:
        return report
    run = yield from ChangeRun.begin("prune", scope)
    reasons = {candidate.id: candidate.reasons for candidate in report.candidates}
    yield from run.apply("archive", {id: {"status": ARCHIVED} for id in reasons}, reasons)
    return replace(report, run=run.name)


def _report(table: Candidates, now: float, cap: int) -> Plan[Pruning]:
    if not len(table):
        return Pruning((), {}, 0, (), (), (), 0.0, cap)
    ids, values = table["id"], table.floats("alive")
    is_bridge = table.floats("is_cut_vertex") == 1.0
    pinned = table.floats("pinned") == 1.0
    faded = np.array(values < ZONES[-1][0])
    revived = now - table.floats("newest_link") <= REVIVAL_DAYS * DAY_SECONDS
    places = np.flatnonzero(faded & ~is_bridge & ~pinned & ~revived)
    places = places[np.lexsort((ids[places].astype(str), values[places]))][:cap]
    texts = yield from ask(ReadTexts(table.rows[places]))
    chosen = table.take(places)
    names = chosen["id"].tolist() if len(chosen) else []
    layers = chosen["layer"].tolist() if len(chosen) else []
    candidates = tuple(
        Candidate(
            id,
            shorten(text or "", _SHOWN_CHARACTERS),
            float(values[place]),
            _reasons(chosen, at, layer, now),
        )
        for at, (place, id, layer, text) in enumerate(
            zip(places.tolist(), names, layers, texts, strict=True)
        )
    )
    return Pruning(
        candidates,
        zone_counts(table.floats("vitality")),
        int(faded.sum()),
        tuple(sorted(ids[faded & pinned])),
        tuple(sorted(ids[faded & is_bridge & ~pinned])),
        tuple(sorted(ids[faded & revived & ~is_bridge & ~pinned])),
        float(is_bridge.mean()),
        cap,
    )


def _reasons(table: Candidates, place: int, layer: str | None, now: float) -> tuple[str, ...]:
    """The reasons why a memory has faded, one for each part of its vitality."""

    def value(name: str) -> float:
        return float(table.floats(name)[place])

    uses = int(np.nan_to_num(value("access_count")))
    last = value("last_accessed")
    written, added = (
        max(0.0, now - value(name)) / DAY_SECONDS for name in ("written_at", "created_at")
    )
    age = f"written {_days(written)} ago"
    if _days(written) != _days(added):
        age += f", added {_days(added)} ago"
    used = {0: "never used", 1: "used once"}.get(uses, f"used {uses} times")
    edits = int(np.nan_to_num(value("write_count")))
    if edits:
        used += f", edited {'once' if edits == 1 else f'{edits} times'}"
    if last == last:
        used += f", last {_days((now - last) / DAY_SECONDS)} ago"
    layer = layer or "knowledge"
    degree = int(value("in_degree"))
    links = "link" if degree == 1 else "links"
    reasons = [
        f"vitality {value('alive'):.3f} is below 0.1",
        f"{used}; {age}",
        f"fades at rate {METABOLIC_RATES[layer]:g} ({layer})"
        + (f", slowed by {degree} {links} to it" if degree else "; nothing links to it"),
    ]
    if value("boost") > 0.0:
        reasons.append("what the use of linked memories lent it has faded, too")
    return tuple(reasons)


def _days(days: float) -> str:
    return f"{max(0.0, days):.0f} days"


def archive(scope: WriteContext, ids: Sequence[str]) -> Plan[str | None]:
    """The plan of archiving memories by hand: the name of the run, None if all were archived.

    Raises:
        NotFound: one of them does not exist; nothing was archived.
        InvalidInput: one of them is pinned; nothing was archived.
    """
    records = yield from _read_all(scope.namespace, ids)
    for record in records.values():
        if record.pinned:
            raise InvalidInput("ids", f"{shown(record.id)} is pinned", "unpin it first")
    changes = {
        id: {"status": ARCHIVED} for id, record in records.items() if record.status != ARCHIVED
    }
    if not changes:
        return None
    run = yield from ChangeRun.begin("archive", scope)
    yield from run.apply("archive", changes)
    return run.name


def unarchive(scope: WriteContext, ids: Sequence[str]) -> Plan[Mapping[str, str]]:
    """The plan of restoring memories from the archive: the status of each, by id.

    It is the status from before it was archived, read from the log.

    Raises:
        NotFound: one of them does not exist; nothing was restored.
        InvalidInput: one of them is not archived; nothing was restored.
    """
    records = yield from _read_all(scope.namespace, ids)
    for record in records.values():
        if record.status != ARCHIVED:
            raise InvalidInput("ids", f"{shown(record.id)} is {record.status}, not archived")
    log: Sequence[Event] = yield from ask(Events(scope.namespace, tuple(records)))
    statuses = dict.fromkeys(records, "active")
    for event in log:
        was = event.payload.get("was", {}).get("status")
        if event.id in statuses and was not in (None, ARCHIVED):
            statuses[event.id] = was
    run = yield from ChangeRun.begin("restore", scope)
    changes = {id: {"status": status} for id, status in statuses.items()}
    yield from run.apply("restore", changes)
    return statuses


def _read_all(namespace: str, ids: Sequence[str]) -> Plan[dict[str, MemoryRecord]]:
    """Read memories by id; NotFound if one does not exist."""
    records = yield from read_records(namespace, tuple(dict.fromkeys(ids)))
    for id in ids:
        if id not in records:
            raise not_found(id, namespace)
    return records
