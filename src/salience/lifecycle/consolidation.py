"""Consolidation: memories that say the same become one, and the originals stay linked to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.lifecycle.clustering import find_clusters, most_central
from salience.lifecycle.undo import RUN_KEY, begun, event
from salience.records.events import ACCESSES
from salience.records.fields import SESSION_CHUNK, TURN_CHUNK
from salience.records.filters import And, Compare, Filter, Not
from salience.records.record import MemoryRecord, new_id
from salience.records.validation import boolean, text
from salience.retrieval.candidates import Candidates
from salience.retrieval.operations import FetchVectors, Log, Put, ReadRecords
from salience.retrieval.plan import Plan, ask
from salience.write.embedding import embedded_drafts
from salience.write.items import WriteContext
from salience.write.reading import read_records, read_table
from salience.write.text_differences import differences

MIN_OWNED_MEMORIES = 20
"""An owner (agent and user together) has more active memories than this, or is left alone."""
CONSOLIDATED = "consolidated"
CONSOLIDATES = "consolidates"
EPISODIC_KINDS = ("turn", "chunk", "session", SESSION_CHUNK, TURN_CHUNK)
"""Kinds that say what happened, not what is so: two of them that are alike are two events."""
_RAISE = 0.1
_AGREED = (
    "kind", "agent_id", "user_id", "speaker", "title", "tier", "memory_nature", "content_type",
    "layer", "expires_at",
)  # fmt: skip

Summariser = Callable[[Sequence[MemoryRecord]], str]
"""The text that stands for some memories, the most central first."""
Progress = Callable[[int, int], None]
_Proposed = tuple["Cluster", Sequence[MemoryRecord]]  # with its members as they were read


@dataclass(frozen=True, slots=True)
class Cluster:
    """Memories that say the same; `members` are ids, the most central first.

    `text` is what would stand for them, `importance` min(largest of them + 0.1, 1). `apart` says
    in what they differ if the text of one of them would lose it; then they are left as they are.
    `id` is that of the memory that stands for them, once there is one.
    """

    members: tuple[str, ...]
    text: str
    importance: float
    apart: str = ""
    id: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "id": self.id,
            "members": list(self.members),
            "text": self.text,
            "importance": self.importance,
            "apart": self.apart,
        }


@dataclass(frozen=True, slots=True)
class Consolidation:
    """What a run of consolidation would merge, or did: `run` is its name if it did, else None.

    `looked_at` counts the memories that might be merged, `fresh` those of them that are new since
    the last run, `owners` who has enough of them.
    """

    clusters: tuple[Cluster, ...]
    looked_at: int
    fresh: int
    owners: int
    run: str | None = None
    degraded: tuple[str, ...] = ()

    @property
    def merged(self) -> int:
        """How many memories are, or would be, merged."""
        return sum(len(one.members) for one in self.clusters if not one.apart)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "run": self.run,
            "clusters": [one.to_dict() for one in self.clusters],
            "merged": self.merged,
            "looked_at": self.looked_at,
            "fresh": self.fresh,
            "owners": self.owners,
            "degraded": list(self.degraded),
        }


def central_text(members: Sequence[MemoryRecord]) -> str:
    """The text of the most central member: the summariser by default."""
    return members[0].content


def consolidate(
    scope: WriteContext,
    *,
    apply: bool = False,
    summarise: Summariser = central_text,
    everything: bool = False,
    where: Filter | None = None,
    since: int = 0,
    progress: Progress | None = None,
) -> Plan[tuple[Consolidation, int]]:
    """The plan of merging active memories of one owner that say the same; see `clusters`.

    Of memories with rows up to `since` a former run has seen all, so only clusters that later
    ones make possible are looked for, unless `everything` is asked for. The second part of the
    result is the largest row of which that is so now. Nothing is changed without `apply`.
    Conversation turns and what is pinned stay as they are, and so do clusters that others change
    meanwhile.
    """
    apply, everything = boolean("apply", apply), boolean("everything", everything)
    found = yield from _table(scope, where)
    seen = 0 if everything else since
    last = int(found.rows.max(initial=0))
    owners = [places for places in _owners(found) if len(places) > MIN_OWNED_MEMORIES]
    total = sum(map(len, owners))
    proposed: list[_Proposed] = []
    done = fresh = 0
    for places in owners:
        part = found.take(places)
        new = part.rows > seen
        fresh += int(new.sum())
        if new.any():
            within = _within(progress, done, total, len(places))
            proposed += yield from _of_owner(part, new, summarise, within)
        done += len(places)
    told = tuple(cluster for cluster, _ in proposed)
    report = Consolidation(told, total, fresh, len(owners))
    if apply and report.merged:
        report = yield from _apply(scope, report, proposed)
    if len(report.clusters) < len(proposed):  # the next run looks at what was left out again
        return report, since
    return report, max(last, since)


def _table(scope: WriteContext, where: Filter | None) -> Plan[Candidates]:
    """Everything that may be merged, oldest first."""
    parts = (
        Compare("status", "eq", "active"),
        Compare("kind", "nin", EPISODIC_KINDS),
        Compare("pinned", "ne", 1.0),
        Not(Compare("expires_at", "lte", scope.now.timestamp())),
    )
    condition = And(parts if where is None else (*parts, where))
    found = yield from read_table(scope, condition, ("id", "agent_id", "user_id", "created_at"))
    if not len(found):
        return found
    return found.take(np.lexsort((found["id"].astype(str), found.floats("created_at"))))


def _owners(found: Candidates) -> Iterator[NDArray[np.intp]]:
    """The places of each owner's memories."""
    if not len(found):
        return
    by_owner: dict[tuple[Any, Any], list[int]] = {}
    for place, owner in enumerate(zip(found["agent_id"], found["user_id"], strict=True)):
        by_owner.setdefault(owner, []).append(place)
    for places in by_owner.values():
        yield np.array(places, dtype=np.intp)


def _within(progress: Progress | None, done: int, total: int, size: int) -> Progress | None:
    if progress is None:
        return None
    return lambda part, parts: progress(done + size * part // max(1, parts), total)


def _of_owner(
    part: Candidates, new: NDArray[np.bool_], summarise: Summariser, progress: Progress | None
) -> Plan[list[_Proposed]]:
    vectors = yield from ask(FetchVectors(part.rows, "content"))
    if not vectors.shape[1]:
        return []
    fresh = None if new.all() else new
    proposed = []
    for group in find_clusters(vectors, fresh=fresh, progress=progress):
        middle = most_central(vectors[group])
        order = np.concatenate([group[middle : middle + 1], np.delete(group, middle)])
        members = yield from ask(ReadRecords(part.rows[order]))
        if all(member is not None for member in members):
            proposed.append((_cluster(members, summarise), members))
    return proposed


def _cluster(members: Sequence[MemoryRecord], summarise: Summariser) -> Cluster:
    highest = max(0.5 if one.importance is None else one.importance for one in members)
    return Cluster(
        tuple(one.id for one in members),
        text("content", summarise(members)),
        min(highest + _RAISE, 1.0),
        _differs(members) if summarise is central_text else "",
    )


def _differs(members: Sequence[MemoryRecord]) -> str:
    """In what a member differs from the central one so that its text would lose it."""
    middle = members[0]
    found = {
        what: None
        for one in members[1:]
        for what in differences(middle.content, one.content, middle.entities, one.entities)
    }
    return f"differ in a {' and a '.join(found)}" if found else ""


def _apply(
    scope: WriteContext, report: Consolidation, proposed: Sequence[_Proposed]
) -> Plan[Consolidation]:
    """Merge, each cluster in a transaction of its own; those that others change are left out."""
    run = yield from begun("consolidate", scope.namespace)
    done: list[Cluster] = []
    lacks: dict[str, None] = {}
    for one, members in proposed:
        if one.apart:
            done.append(one)
            continue
        merged, lack = yield from _merge(scope, run, one, members)
        if merged is not None:
            done.append(merged)
            lacks |= {lack: None} if lack else {}
    report = replace(report, clusters=tuple(done), degraded=tuple(lacks))
    return replace(report, run=run) if report.merged else report


def _merge(
    scope: WriteContext, run: str, cluster: Cluster, members: Sequence[MemoryRecord]
) -> Plan[tuple[Cluster | None, str]]:
    """Write what stands for the members, which are `consolidated` from then on; what it lacks.

    None if the members are not what they were when they were read, but for their accesses.
    """
    [(draft, each)], lack = yield from embedded_drafts([_standing(cluster, members)], scope)
    consolidated = {"status": CONSOLIDATED}
    events = tuple(
        event(scope, run, "status", one.id, consolidated, into=draft.record.id) for one in members
    )
    put = Put(
        (replace(draft, note={RUN_KEY: run}),),
        each.links,
        embedder=scope.embedder,
        actor=scope.actor,
        also=Log(scope.namespace, events),
    )
    # Read again last of all, since a summariser and an embedder may take their time.
    now = yield from read_records(scope.namespace, cluster.members)
    if any(one.id not in now or not one.equals_except(ACCESSES, now[one.id]) for one in members):
        return None, ""
    if (yield from ask(put)):  # one of them was erased
        return None, ""
    return replace(cluster, id=draft.record.id), lack


def _standing(cluster: Cluster, members: Sequence[MemoryRecord]) -> dict[str, Any]:
    """The item that stands for the members: theirs is what all of them agree on."""
    item: dict[str, Any] = {
        "id": new_id(),
        "content": cluster.text,
        "importance": cluster.importance,
        "created_at": max(one.created_at for one in members),
        "tags": sorted({tag for one in members for tag in one.tags}),
        "entities": sorted({name for one in members for name in one.entities}),
        "metadata": {CONSOLIDATED: len(members)},
        "links": [{"target": one.id, "type": CONSOLIDATES, "weight": 1.0} for one in members],
    }
    for name in _AGREED:
        values = {getattr(one, name) for one in members}
        if len(values) == 1 and None not in values:
            item[name] = values.pop()
    item.setdefault("kind", "note")
    return item
