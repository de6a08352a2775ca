"""Maintenance: everything that is due, in one command that anybody may run at any time."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import datetime, timedelta

from salience.display.result import Result, to_json
from salience.errors import InvalidInput, Locked, shown
from salience.lazily import dataclass, field
from salience.lifecycle import maintenance
from salience.lifecycle.consolidation import Consolidation, Summariser, central_text, consolidate
from salience.lifecycle.pruning import ARCHIVED, DEFAULT_CAP, PRUNED_STATUSES, prune
from salience.lifecycle.undoing import ChangeRun
from salience.records.events import EventType
from salience.records.filters import And, Compare, Filter, Not
from salience.records.record import new_id
from salience.records.validation import callable_or_none, function, timestamp
from salience.retrieval.operations import LOCK_NOTE, CountRecords, Note, Notes
from salience.retrieval.plan import Plan, T, ask
from salience.write.items import WriteContext
from salience.write.judgments import decay_all
from salience.write.link_targets import resolve_pending_links
from salience.write.reading import read_table

TASK_IDLE_TIME = timedelta(days=7)
"""A task that nobody has touched for this long counts as completed."""
STEPS = ("expire", "tasks", "links", "consolidate", "prune", "decay")
DEFAULT_STEPS = ("expire", "tasks", "links")
"""The steps done by default: they follow from what somebody has said about the memories."""
_CONSOLIDATED_NOTE = "consolidated-until"  # key of the last row that consolidation has seen

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, repr=False)
class Step(Result):
    """The result of one step: how many memories it changes, their ids, and the name of its run.

    `held_back` is the command for a step that was only counted.
    """

    name: str
    changed: int
    ids: tuple[str, ...] = ()
    run: str | None = None
    held_back: str = ""


@dataclass(frozen=True, repr=False)
class Maintenance(Result):
    """The changes that a run of maintenance made, or with `dry_run` would make, step by step."""

    _computed = ("changed",)
    _shown = ("namespace", "dry_run", "changed", "steps")

    namespace: str
    dry_run: bool
    steps: tuple[Step, ...] = field(default=())

    def __getitem__(self, name: str) -> Step:
        return next(step for step in self.steps if step.name == name)

    @property
    def changed(self) -> int:
        """The number of changes made, or with `dry_run` to be made."""
        return sum(step.changed for step in self.steps if not step.held_back)


@dataclass(frozen=True)
class MaintenanceRequest:
    """The arguments of maintenance: steps, the cap of pruning, the summariser, a dry run or not.

    `clock` is that of the lock, which is renewed during the work.

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
        function("summarise", self.summarise)
        steps = self.steps
        if isinstance(steps, str) or not isinstance(steps, Sequence | Set):
            raise InvalidInput("steps", f"is {shown(steps)}", f"list some of {', '.join(STEPS)}")
        for step in steps:
            if step not in STEPS:
                raise InvalidInput("steps", f"there is no {shown(step)}", f"use {', '.join(STEPS)}")


def maintain(
    scope: WriteContext, request: MaintenanceRequest, owner: maintenance.Owner
) -> Plan[Maintenance]:
    """The plan of doing everything that is due; a second run right after changes nothing.

    Each step writes in transactions of its own and begins with what is there: the next run
    finishes an interrupted one. A lock keeps a second run out.

    Raises:
        Locked: somebody else maintains the namespace.
    """
    if request.dry_run:
        return (yield from _steps(scope, request))
    return (
        yield from maintenance.with_lock(
            _steps(scope, request), scope.namespace, owner, request.clock
        )
    )


def _steps(scope: WriteContext, request: MaintenanceRequest) -> Plan[Maintenance]:
    steps = []
    for place, name in enumerate(STEPS):
        if request.progress is not None:
            request.progress(name, place, len(STEPS))
        steps.append((yield from _STEPS[name](scope, request)))
    return Maintenance(scope.namespace, request.dry_run, tuple(steps))


def _expire(scope: WriteContext, request: MaintenanceRequest) -> Plan[Step]:
    """Archive expired memories; a search does not find them anyway."""
    expired = Compare("expires_at", "lte", scope.now.timestamp())
    where = And((Compare("status", "in", PRUNED_STATUSES), expired))
    return (yield from _change(scope, request, "expire", where, "archive", ARCHIVED))


def _tasks(scope: WriteContext, request: MaintenanceRequest) -> Plan[Step]:
    """Complete active tasks that nobody has touched for seven days."""
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
    return (yield from _change(scope, request, "tasks", where, "status", "completed"))


def _change(
    scope: WriteContext,
    request: MaintenanceRequest,
    name: str,
    where: Filter,
    type: EventType,
    status: str,
) -> Plan[Step]:
    """Set the status of the memories that pass a filter."""
    table = yield from read_table(scope, where, ("id",))
    ids = tuple(sorted(table["id"].tolist())) if len(table) else ()
    if not ids or request.dry_run or name not in request.steps:
        command = "" if name in request.steps else f"salience maintain --step {name}"
        return Step(name, len(ids), ids, held_back=command if ids else "")
    run = yield from ChangeRun.begin(name, scope)
    changed = yield from run.apply(type, {id: {"status": status} for id in ids})
    return Step(name, len(changed), tuple(changed), run.name)


def _links(scope: WriteContext, request: MaintenanceRequest) -> Plan[Step]:
    """Let links that led nowhere lead to the memory that has their name by now."""
    apply = not request.dry_run and "links" in request.steps
    resolved = yield from resolve_pending_links(
        scope.namespace, scope.now, apply=apply, actor=scope.actor
    )
    ids = tuple(dict.fromkeys(link.source for link in resolved))
    command = "" if "links" in request.steps or not ids else "salience maintain --step links"
    return Step("links", len(resolved), ids, held_back=command)


def _consolidate(scope: WriteContext, request: MaintenanceRequest) -> Plan[Step]:
    progress, chosen = request.progress, "consolidate" in request.steps
    report = yield from consolidate_new(
        scope,
        apply=chosen and not request.dry_run,
        summarise=request.summarise,
        progress=progress and (lambda done, total: progress("consolidate", done, total)),
    )
    ids = tuple(id for cluster in report.clusters if not cluster.apart for id in cluster.members)
    command = "salience consolidate --apply" if ids and not chosen else ""
    return Step("consolidate", report.merged, ids, report.run, command)


def consolidate_new(
    scope: WriteContext,
    *,
    apply: bool,
    summarise: Summariser = central_text,
    everything: bool = False,
    where: Filter | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Plan[Consolidation]:
    """The plan of consolidating what is new since the last such run; see `consolidate`."""
    callable_or_none("progress", progress)
    function("summarise", summarise)
    notes: Mapping[str, str] = yield from ask(Notes(scope.namespace))
    was = notes.get(_CONSOLIDATED_NOTE)
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
        yield from ask(Note(scope.namespace, _CONSOLIDATED_NOTE, str(until), was))
    return report


def _prune(scope: WriteContext, request: MaintenanceRequest) -> Plan[Step]:
    chosen = "prune" in request.steps
    report = yield from prune(scope, apply=chosen and not request.dry_run, cap=request.cap)
    ids = tuple(candidate.id for candidate in report.candidates)
    command = "salience prune --apply" if ids and not chosen else ""
    return Step("prune", len(ids), ids, report.run, command)


def _decay(scope: WriteContext, request: MaintenanceRequest) -> Plan[Step]:
    """Let every memory fade; unless asked for, only count those that would."""
    now = scope.now.timestamp()
    faded = Compare("decayed_at", "gte", now)
    fading = And((Compare("created_at", "lt", now), Not(faded)))
    if "decay" not in request.steps:
        count: int = yield from ask(CountRecords(scope.namespace, fading))
        return Step("decay", count, held_back="salience maintain --step decay" if count else "")
    table = yield from read_table(scope, fading, ("id",))
    if not request.dry_run and len(table):
        yield from decay_all(scope)
    return Step("decay", len(table))


_STEPS: Mapping[str, Callable[[WriteContext, MaintenanceRequest], Plan[Step]]] = {
    "expire": _expire,
    "tasks": _tasks,
    "links": _links,
    "consolidate": _consolidate,
    "prune": _prune,
    "decay": _decay,
}


# A lock kept as a note in the store, so that two processes do not maintain it at once

LOCK_TIMEOUT = timedelta(minutes=15)
"""A lock not renewed for this long is free: its owner has died."""
_RENEWAL_INTERVAL = timedelta(minutes=1)
_running: set[str] = set()  # the names of the owners whose plans this process runs


@dataclass(frozen=True)
class Owner:
    """The holder of a lock; `gone` is true for names of others that certainly no longer run."""

    name: str
    gone: Callable[[str], bool] = lambda name: False


def this_process() -> Owner:
    """The owner that this process is; it can tell whether others on its machine are gone.

    An earlier owner of this process that could not release its lock, as on a full disk, is gone.
    """
    import os
    import socket

    host = socket.gethostname()

    def gone(name: str) -> bool:
        other, _, process = name.rpartition(":")[0].rpartition(":")
        if other != host or not process.isdecimal():
            return False
        if int(process) == os.getpid():
            return name not in _running
        try:
            os.kill(int(process), 0)
        except ProcessLookupError:
            return True
        except OSError:  # it is there, and another user's
            return False
        return False

    return Owner(f"{host}:{os.getpid()}:{new_id()[:8]}", gone)


def acquire(namespace: str, owner: Owner, now: datetime) -> Plan[None]:
    """The plan of taking the lock, or renewing it.

    Raises:
        Locked: somebody else holds it, and renewed it less than 15 minutes ago.
    """
    mine = json.dumps({"owner": owner.name, "at": to_json(now)})
    while True:
        current = (yield from ask(Notes(namespace))).get(LOCK_NOTE)
        if current is not None:
            lock = json.loads(current)
            since = timestamp("at", lock["at"])
            is_taken = lock["owner"] != owner.name and not owner.gone(lock["owner"])
            if is_taken and now - since < LOCK_TIMEOUT:
                raise Locked(
                    f"{lock['owner']} has been maintaining the namespace {namespace!r} and said so "
                    f"at {lock['at']}; wait for it, or until {to_json(since + LOCK_TIMEOUT)} if it "
                    "is gone"
                )
        if (yield from ask(Note(namespace, LOCK_NOTE, mine, current))):
            return


def release(namespace: str, owner: Owner) -> Plan[None]:
    """The plan of releasing the lock, unless somebody else has taken it since."""
    current = (yield from ask(Notes(namespace))).get(LOCK_NOTE)
    if current is not None and json.loads(current)["owner"] == owner.name:
        yield from ask(Note(namespace, LOCK_NOTE, None, current))


def with_lock(
    plan: Plan[T], namespace: str, owner: Owner, clock: Callable[[], datetime]
) -> Plan[T]:
    """Run a plan with the lock held from its first batch to its last, renewed every minute.

    Raises:
        Locked: see `acquire`.
    """
    _running.add(owner.name)
    try:
        result = yield from _renewing(plan, namespace, owner, clock)
        yield from release(namespace, owner)
    except GeneratorExit:  # it is no longer driven: nothing would be answered
        raise
    except BaseException:  # an interrupt, too: this process may live on for long
        yield from release(namespace, owner)
        raise
    finally:
        _running.discard(owner.name)
    return result


def _renewing(
    plan: Plan[T], namespace: str, owner: Owner, clock: Callable[[], datetime]
) -> Plan[T]:
    renewed = clock()
    yield from acquire(namespace, owner, renewed)
    try:
        batch = next(plan)
        while True:
            if clock() - renewed > _RENEWAL_INTERVAL:
                renewed = clock()
                yield from acquire(namespace, owner, renewed)
            try:
                answers = yield batch
            except BaseException as problem:  # the plan may handle it
                batch = plan.throw(problem)
            else:
                batch = plan.send(answers)
    except StopIteration as end:
        return end.value
