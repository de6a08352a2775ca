"""Consolidation: memories that say the same become one, and the originals stay linked to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.display.result import Result
from salience.lazily import dataclass, replace
from salience.lifecycle.clustering import find_clusters, most_central
from salience.lifecycle.undoing import RUN_KEY, ChangeRun
from salience.records.events import ACCESSES
from salience.records.fields import SESSION_CHUNK, TURN_CHUNK
from salience.records.filters import And, Compare, Filter, Not
from salience.records.record import Link, MemoryRecord, new_id
from salience.records.validation import boolean, text
from salience.retrieval.candidates import Candidates
from salience.retrieval.operations import FetchVectors, LinksOf, Log, Put, ReadRecords
from salience.retrieval.plan import Plan, ask
from salience.write.dedup.sameness import (
    content_stems,
    differences,
    has_replaced_words,
    unshared_words,
)
from salience.write.embedding import embedded_drafts
from salience.write.items import WriteContext
from salience.write.reading import read_records, read_table

MIN_OWNED_MEMORIES = 20
"""The number of active memories up to which owners (agent and user) are left alone."""
CONSOLIDATED = "consolidated"
CONSOLIDATES = "consolidates"
EPISODIC_KINDS = ("turn", "chunk", "session", SESSION_CHUNK, TURN_CHUNK)
"""Kinds of memories of events: two that are alike are two events."""
_IMPORTANCE_GAIN = 0.1
_SHOWN_WORDS = 8  # of those in which members differ
_SHARED_FIELDS = (
    "kind", "agent_id", "user_id", "speaker", "title", "tier", "memory_nature", "content_type",
    "layer", "expires_at",
)  # fmt: skip

Summariser = Callable[[Sequence[MemoryRecord]], str]
"""The text that stands for some memories, the most central first."""
Progress = Callable[[int, int], None]
_Proposal = tuple["Cluster", Sequence[MemoryRecord]]  # with its members as they were read


@dataclass(frozen=True, repr=False)
class Cluster(Result):
    """Memories that say the same; `members` are ids, the most central first.

    `content` and `importance`, min(largest of theirs + 0.1, 1), are those of the memory that takes
    their place, and `id` is its id, once it is written. `apart` says how they differ if the content
    of one of them would lose the difference; then they stay as they are.
    """

    members: tuple[str, ...]
    content: str
    importance: float
    apart: str = ""
    id: str | None = None


@dataclass(frozen=True, repr=False)
class Consolidation(Result):
    """The clusters that a run merged, or would: `run` is its name, None if it did not.

    `looked_at` counts the memories that might be merged, `fresh` those that are new since the last
    run, `owners` the owners that have enough of them.
    """

    _computed = ("merged",)
    _shown = ("run", "clusters", "merged", "looked_at")

    clusters: tuple[Cluster, ...]
    looked_at: int
    fresh: int
    owners: int
    run: str | None = None
    degraded: tuple[str, ...] = ()

    @property
    def merged(self) -> int:
        """The number of memories that are merged, or would be."""
        return sum(len(cluster.members) for cluster in self.clusters if not cluster.apart)


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
    """The plan of merging active memories of one owner that say the same; see `find_clusters`.

    An earlier run has seen all memories with rows up to `since`. Unless `everything` is set, this
    one looks only for clusters that later memories make possible. The second part of the result is
    the largest row seen now. Nothing is changed without `apply`. Conversation turns and pinned
    memories stay as they are, and so do clusters that others change meanwhile.
    """
    apply, everything = boolean("apply", apply), boolean("everything", everything)
    table = yield from _mergeable(scope, where)
    last_row = 0 if everything else since
    last = int(table.rows.max(initial=0))
    owners = [places for places in _places_by_owner(table) if len(places) > MIN_OWNED_MEMORIES]
    total = sum(map(len, owners))
    proposals: list[_Proposal] = []
    done = fresh = 0
    for places in owners:
        owned = table.take(places)
        is_new = owned.rows > last_row
        fresh += int(is_new.sum())
        if is_new.any():
            step = _progress_step(progress, done, total, len(places))
            proposals += yield from _proposals(scope.namespace, owned, is_new, summarise, step)
        done += len(places)
    clusters = tuple(cluster for cluster, _ in proposals)
    report = Consolidation(clusters, total, fresh, len(owners))
    if apply and report.merged:
        report = yield from _apply(scope, report, proposals)
    if len(report.clusters) < len(proposals):  # the next run looks again at what was left out
        return report, since
    return report, max(last, since)


def _mergeable(scope: WriteContext, where: Filter | None) -> Plan[Candidates]:
    """The memories that may be merged, oldest first."""
    parts = (
        Compare("status", "eq", "active"),
        Compare("kind", "nin", EPISODIC_KINDS),
        Compare("pinned", "ne", 1.0),
        Not(Compare("expires_at", "lte", scope.now.timestamp())),
    )
    condition = And(parts if where is None else (*parts, where))
    table = yield from read_table(scope, condition, ("id", "agent_id", "user_id", "created_at"))
    if not len(table):
        return table
    return table.take(np.lexsort((table["id"].astype(str), table.floats("created_at"))))


def _places_by_owner(table: Candidates) -> Iterator[NDArray[np.intp]]:
    """The places of each owner's memories in a table."""
    if not len(table):
        return
    by_owner: dict[tuple[Any, Any], list[int]] = {}
    for place, owner in enumerate(zip(table["agent_id"], table["user_id"], strict=True)):
        by_owner.setdefault(owner, []).append(place)
    for places in by_owner.values():
        yield np.array(places, dtype=np.intp)


def _progress_step(progress: Progress | None, done: int, total: int, size: int) -> Progress | None:
    """The progress of one owner's memories as part of the whole."""
    if progress is None:
        return None
    return lambda part, parts: progress(done + size * part // max(1, parts), total)


def _proposals(
    namespace: str,
    owned: Candidates,
    is_new: NDArray[np.bool_],
    summarise: Summariser,
    progress: Progress | None,
) -> Plan[list[_Proposal]]:
    """The clusters of one owner's memories, with their members."""
    vectors = yield from ask(FetchVectors(owned.rows, "content"))
    if not vectors.shape[1]:
        return []
    fresh = None if is_new.all() else is_new
    proposals = []
    for group in find_clusters(vectors, fresh=fresh, progress=progress):
        center = most_central(vectors[group])
        order = np.concatenate([group[center : center + 1], np.delete(group, center)])
        members, links = yield [
            ReadRecords(owned.rows[order]),
            LinksOf(namespace, tuple(owned["id"][order].tolist())),
        ]
        if all(member is not None for member in members):
            apart = _difference(members, links) if summarise is central_text else ""
            proposals.append((_cluster(members, summarise, apart), members))
    return proposals


def _cluster(members: Sequence[MemoryRecord], summarise: Summariser, apart: str) -> Cluster:
    highest = max(member.effective_importance for member in members)
    return Cluster(
        tuple(member.id for member in members),
        text("content", summarise(members)),
        min(highest + _IMPORTANCE_GAIN, 1.0),
        apart,
    )


def _difference(members: Sequence[MemoryRecord], links: Sequence[Link]) -> str:
    """The kinds and words in which members differ, which the text of one of them would lose.

    Empty where some only say more than others. The kinds of `differences` are equalities, so it
    compares all members with one. Members that contradict each other by a link differ, too.
    """
    ids = {member.id for member in members}
    if any(link.type == "contradicts" and {link.source, link.target} <= ids for link in links):
        return "contradict each other"
    first = members[0]
    kinds = {
        kind: None
        for member in members[1:]
        for kind in differences(first.content, member.content, first.entities, member.entities)
    }
    if not kinds and has_replaced_words(content_stems(member.content) for member in members):
        kinds["word"] = None
    if not kinds:
        return ""
    unshared = unshared_words([member.content for member in members])
    shown = ", ".join(unshared[:_SHOWN_WORDS]) + (", …" if len(unshared) > _SHOWN_WORDS else "")
    return f"differ in a {' and a '.join(kinds)}" + (f": {shown}" if shown else "")


def _apply(
    scope: WriteContext, report: Consolidation, proposals: Sequence[_Proposal]
) -> Plan[Consolidation]:
    """Merge each cluster in a transaction of its own, except those that others change."""
    run = yield from ChangeRun.begin("consolidate", scope)
    clusters: list[Cluster] = []
    degraded: dict[str, None] = {}
    for cluster, members in proposals:
        if cluster.apart:
            clusters.append(cluster)
            continue
        merged, problem = yield from _merge(run, cluster, members)
        if merged is not None:
            clusters.append(merged)
            degraded |= {problem: None} if problem else {}
    report = replace(report, clusters=tuple(clusters), degraded=tuple(degraded))
    return replace(report, run=run.name) if report.merged else report


def _merge(
    run: ChangeRun, cluster: Cluster, members: Sequence[MemoryRecord]
) -> Plan[tuple[Cluster | None, str]]:
    """Write the memory that takes the place of the members; why it lacks vectors, if it does.

    None if others have changed the members since they were read, accesses apart.
    """
    scope = run.scope
    [(draft, item)], problem = yield from embedded_drafts([_merged_item(cluster, members)], scope)
    consolidated = {"status": CONSOLIDATED}
    events = tuple(
        run.event("status", member.id, consolidated, into=draft.record.id) for member in members
    )
    put = Put(
        (replace(draft, note={RUN_KEY: run.name}),),
        item.links,
        embedder=scope.embedder,
        actor=scope.actor,
        also=Log(scope.namespace, events),
        at=scope.now,
    )
    # Read again last of all, since a summariser and an embedder may take their time.
    current = yield from read_records(scope.namespace, cluster.members)
    if any(m.id not in current or not m.equals_except(ACCESSES, current[m.id]) for m in members):
        return None, ""
    if (yield from ask(put)):  # one of them was erased
        return None, ""
    return replace(cluster, id=draft.record.id), problem


def _merged_item(cluster: Cluster, members: Sequence[MemoryRecord]) -> dict[str, Any]:
    """The item that takes the place of the members, with the values that they all share."""
    item: dict[str, Any] = {
        "id": new_id(),
        "content": cluster.content,
        "importance": cluster.importance,
        "created_at": max(member.created_at for member in members),
        "tags": sorted({tag for member in members for tag in member.tags}),
        "entities": sorted({name for member in members for name in member.entities}),
        "metadata": {CONSOLIDATED: len(members)},
        "links": [{"target": member.id, "type": CONSOLIDATES, "weight": 1.0} for member in members],
    }
    for name in _SHARED_FIELDS:
        values = {getattr(member, name) for member in members}
        if len(values) == 1 and None not in values:
            item[name] = values.pop()
    item.setdefault("kind", "note")
    return item
