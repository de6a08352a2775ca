"""Maintenance: everything that is due, in one command that may be run at any time, by anybody."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from salience.errors import InvalidInput, shown
from salience.lifecycle import maintenance_lock
from salience.lifecycle.consolidation import Consolidation, Summariser, central_text, consolidate
from salience.lifecycle.pruning import ARCHIVED, DEFAULT_CAP, PRUNED_STATUSES, prune
from salience.lifecycle.undo import begun, change
from salience.records.events import EventType
from salience.records.filters import And, Compare, Filter, Not
from salience.records.validation import callable_or_none
from salience.retrieval.operations import Note, Notes
from salience.retrieval.plan import Plan, ask
from salience.write.items import WriteContext
from salience.write.link_targets import resolve_pending_links
from salience.write.reading import read_table

TASK_IDLE_TIME = timedelta(days=7)
"""How long a task is left alone until it counts as completed."""
STEPS = ("expire", "tasks", "links", "consolidate", "prune")
DEFAULT_STEPS = ("expire", "tasks", "links")
"""What is done unless asked otherwise: what follows from what somebody has said of the memory."""
_SEEN = "consolidated-until"  # the note of the last row that consolidation has seen

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Step:
    """What one step did, or would do: how many memories it changes, which first, and its run.

    `held_back` of a step that was only looked at says how to have it done.
    """

    name: str
    changed: int
    ids: tuple[str, ...] = ()
    run: str | None = None
    held_back: str = ""

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "name": self.name,
            "changed": self.changed,
            "ids": list(self.ids),
            "run": self.run,
            "held_back": self.held_back,
        }


@dataclass(frozen=True, slots=True)
class Maintenance:
    """What a run of maintenance changed, or with `dry_run` would change, step by step."""

    namespace: str
    dry_run: bool
    steps: tuple[Step, ...] = field(default=())

    def __getitem__(self, name: str) -> Step:
        return next(step for step in self.steps if step.name == name)

    @property
    def changed(self) -> int:
        """How many changes were made, or would be."""
        return sum(step.changed for step in self.steps if not step.held_back)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "namespace": self.namespace,
            "dry_run": self.dry_run,
            "changed": self.changed,
            "steps": [step.to_dict() for step in self.steps],
        }


@dataclass(frozen=True)
class MaintenanceRequest:
    """What maintenance is to do: which steps, the cap of pruning, the summariser, whether for real.

    The clock is that of the lock, which has to go on while the work is done.

    Raises:
        InvalidInput: there is no such step.
    """

    clock: Callable[[], datetime]
    steps: Sequence[str] = DEFAULT_STEPS
    dry_run: bool = False
    cap: int = DEFAULT_CAP
    summarise: Summariser = central_text
    progress: Progress | None = None

    def __post_init__(self) -> None:
        callable_or_none("progress", self.progress)
        steps = self.steps
        if isinstance(steps, str) or not isinstance(steps, Sequence | Set):
            raise InvalidInput("steps", f"is {shown(steps)}", f"list some of {', '.join(STEPS)}")
        for step in steps:
            if step not in STEPS:
                raise InvalidInput("steps", f"there is no {shown(step)}", f"use {', '.join(STEPS)}")


def maintain(
    scope: WriteContext, wanted: MaintenanceRequest, owner: maintenance_lock.Owner
) -> Plan[Maintenance]:
    """The plan of doing what is due; twice at one time does it once.

    Each step writes in transactions of their own and looks at what is there, so that a run that
    was broken off is finished by the next one. A lock keeps a second run out.

    Raises:
        Locked: somebody else maintains the namespace.
    """
    if wanted.dry_run:
        return (yield from _steps(scope, wanted))
    return (
        yield from maintenance_lock.with_lock(
            _steps(scope, wanted), scope.namespace, owner, wanted.clock
        )
    )


def _steps(scope: WriteContext, wanted: MaintenanceRequest) -> Plan[Maintenance]:
    done = []
    for place, name in enumerate(STEPS):
        if wanted.progress is not None:
            wanted.progress(name, place, len(STEPS))
        done.append((yield from _STEPS[name](scope, wanted)))
    return Maintenance(scope.namespace, wanted.dry_run, tuple(done))


def _expire(scope: WriteContext, wanted: MaintenanceRequest) -> Plan[Step]:
    """What has expired is archived; a search does not find it anyway."""
    expired = Compare("expires_at", "lte", scope.now.timestamp())
    where = And((Compare("status", "in", PRUNED_STATUSES), expired))
    return (yield from _change(scope, wanted, "expire", where, "archive", ARCHIVED))


def _tasks(scope: WriteContext, wanted: MaintenanceRequest) -> Plan[Step]:
    """Active tasks that nobody has touched for seven days are completed."""
    before = (scope.now - TASK_IDLE_TIME).timestamp()
    untouched = (
        Compare("kind", "eq", "task"),
        Compare("status", "eq", "active"),
        Compare("created_at", "lte", before),
        Compare("updated_at", "lte", before),
    )
    used = Not(Compare("last_accessed", "gt", before))
    expired = Compare("expires_at", "lte", scope.now.timestamp())
    where = And((*untouched, used, Not(expired)))
    return (yield from _change(scope, wanted, "tasks", where, "status", "completed"))


def _change(
    scope: WriteContext,
    wanted: MaintenanceRequest,
    name: str,
    where: Filter,
    type: EventType,
    status: str,
) -> Plan[Step]:
    """Give what passes a filter a status."""
    found = yield from read_table(scope, where, ("id",))
    ids = tuple(sorted(found["id"].tolist())) if len(found) else ()
    if not ids or wanted.dry_run or name not in wanted.steps:
        held = "" if name in wanted.steps else f"salience maintain --step {name}"
        return Step(name, len(ids), ids, held_back=held if ids else "")
    run = yield from begun(name, scope.namespace)
    done = yield from change(scope, run, type, {id: {"status": status} for id in ids})
    return Step(name, len(done), tuple(done), run)


def _links(scope: WriteContext, wanted: MaintenanceRequest) -> Plan[Step]:
    """Links that led nowhere lead to the memory that has come to have their name."""
    apply = not wanted.dry_run and "links" in wanted.steps
    resolved = yield from resolve_pending_links(
        scope.namespace, scope.now, apply=apply, actor=scope.actor
    )
    ids = tuple(dict.fromkeys(link.source for link in resolved))
    held = "" if "links" in wanted.steps or not ids else "salience maintain --step links"
    return Step("links", len(resolved), ids, held_back=held)


def _consolidate(scope: WriteContext, wanted: MaintenanceRequest) -> Plan[Step]:
    told, chosen = wanted.progress, "consolidate" in wanted.steps
    report = yield from consolidate_new(
        scope,
        apply=chosen and not wanted.dry_run,
        summarise=wanted.summarise,
        progress=None if told is None else lambda done, total: told("consolidate", done, total),
    )
    ids = tuple(id for one in report.clusters if not one.apart for id in one.members)
    held = "salience consolidate --apply" if ids and not chosen else ""
    return Step("consolidate", report.merged, ids, report.run, held)


def consolidate_new(
    scope: WriteContext,
    *,
    apply: bool,
    summarise: Summariser = central_text,
    everything: bool = False,
    where: Filter | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Plan[Consolidation]:
    """The plan of consolidating what is new since the last run that did so; see `consolidate`."""
    callable_or_none("progress", progress)
    notes: Mapping[str, str] = yield from ask(Notes(scope.namespace))
    was = notes.get(_SEEN)
    report, until = yield from consolidate(
        scope,
        apply=apply,
        summarise=summarise,
        everything=everything,
        where=where,
        since=int(was or "0"),
        progress=progress,
    )
    if apply and where is None and str(until) != was:
        yield from ask(Note(scope.namespace, _SEEN, str(until), was))
    return report


def _prune(scope: WriteContext, wanted: MaintenanceRequest) -> Plan[Step]:
    chosen = "prune" in wanted.steps
    report = yield from prune(scope, apply=chosen and not wanted.dry_run, cap=wanted.cap)
    ids = tuple(one.id for one in report.candidates)
    held = "salience prune --apply" if ids and not chosen else ""
    return Step("prune", len(ids), ids, report.run, held)


_STEPS: Mapping[str, Callable[[WriteContext, MaintenanceRequest], Plan[Step]]] = {
    "expire": _expire,
    "tasks": _tasks,
    "links": _links,
    "consolidate": _consolidate,
    "prune": _prune,
}
