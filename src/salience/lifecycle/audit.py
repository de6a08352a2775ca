"""The audit of a namespace: findings with counts, examples and the command that helps."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.display.result import Result
from salience.language.entities import fold_name
from salience.lifecycle.clustering import similar_pairs
from salience.lifecycle.consolidation import EPISODIC_KINDS
from salience.lifecycle.junk import junk_reason
from salience.ranking.signals.vitality import vitality
from salience.ranking.stages import score
from salience.records.filters import Compare
from salience.records.record import Link
from salience.records.validation import callable_or_none
from salience.retrieval.candidates import Candidates
from salience.retrieval.operations import FetchVectors, LinksOf, ReadTexts
from salience.retrieval.plan import Plan, ask
from salience.retrieval.query import Query
from salience.write.dedup import DUPLICATE_COSINE
from salience.write.dedup.text_differences import differences
from salience.write.items import WriteContext
from salience.write.reading import read_table

SHOWN_EXAMPLES = 3  # examples of each finding
_FADING_BELOW = 0.3  # vitality
_READ_CHUNK_TEXTS = 4096
_VITALITY = score(vitality(), into="vitality")

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, repr=False)
class Finding(Result):
    """One kind of problem: how many of the memories looked at have it, examples, the remedy.

    An example is an id and the problem of that memory.
    """

    _computed = ("rate",)
    _shown = ("name", "count", "of", "remedy")

    name: str
    count: int
    of: int
    examples: tuple[tuple[str, str], ...]
    remedy: str

    @property
    def rate(self) -> float:
        """The share of the memories looked at; 0 where there are none."""
        return self.count / self.of if self.of else 0.0

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "name": self.name,
            "count": self.count,
            "of": self.of,
            "rate": self.rate,
            "examples": [{"id": id, "why": why} for id, why in self.examples],
            "remedy": self.remedy,
        }


@dataclass(frozen=True, slots=True, repr=False)
class Audit(Result):
    """All findings about a namespace, in a fixed order."""

    _shown = ("namespace", "memories", "findings")

    namespace: str
    memories: int
    findings: tuple[Finding, ...]

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __getitem__(self, name: str) -> Finding:
        return next(finding for finding in self.findings if finding.name == name)


def audit(scope: WriteContext, *, progress: Progress | None = None) -> Plan[Audit]:
    """The plan of finding duplicate, junk, stale, contradicted, orphaned and unembedded memories.

    Looks at active memories only (for orphans, at all) and changes nothing. Duplicates and junk are
    facts and notes: of two turns of a conversation that are alike, both were said.
    """
    callable_or_none("progress", progress)
    names = ("id", "kind", "agent_id", "user_id", "created_at", *sorted(_VITALITY.reads()))
    active = Compare("status", "eq", "active")
    table = yield from read_table(scope, active, names)
    kinds = table["kind"].tolist() if len(table) else []
    is_fact = np.array([kind not in EPISODIC_KINDS for kind in kinds], dtype=bool)
    facts = table.take(is_fact)
    texts = yield from _texts(facts, progress)
    vectors = yield from ask(FetchVectors(table.rows, "content"))
    links: Sequence[Link] = yield from ask(LinksOf(scope.namespace))
    is_missing = np.isnan(vectors[:, 0]) if vectors.shape[1] else np.ones(len(table), dtype=bool)
    everything = yield from read_table(scope, None, ("id", "status"))
    findings = (
        _duplicates(facts, texts, vectors[is_fact], progress),
        _junk(facts, texts),
        _stale(scope, table),
        _contradicted(table, links),
        _orphaned(everything, links),
        _finding(
            "unembedded",
            [(id, "has no vector") for id in _ids(table.take(is_missing))],
            len(table),
            "salience reembed --missing",
        ),
    )
    return Audit(scope.namespace, len(everything), findings)


def _ids(table: Candidates) -> list[str]:
    return table["id"].tolist() if len(table) else []


def _finding(name: str, examples: Sequence[tuple[str, str]], of: int, remedy: str) -> Finding:
    shown = tuple(sorted(examples)[:SHOWN_EXAMPLES])
    return Finding(name, len(examples), of, shown, remedy if examples else "")


def _texts(table: Candidates, progress: Progress | None) -> Plan[list[str]]:
    texts: list[str] = []
    for start in range(0, len(table), _READ_CHUNK_TEXTS):
        part = yield from ask(ReadTexts(table.rows[start : start + _READ_CHUNK_TEXTS]))
        texts += [text or "" for text in part]
        if progress is not None:
            progress("reading", len(texts), len(table))
    return texts


def _duplicates(
    facts: Candidates,
    texts: Sequence[str],
    vectors: NDArray[np.float32],
    progress: Progress | None,
) -> Finding:
    """Memories whose text an older one of the same owner has, or one at a cosine >= 0.92."""
    by_owner: dict[tuple[Any, Any], list[int]] = {}
    if len(facts):
        order = np.lexsort((facts["id"].astype(str), facts.floats("created_at"))).tolist()
        owners = list(zip(facts["agent_id"].tolist(), facts["user_id"].tolist(), strict=True))
        for place in order:
            by_owner.setdefault(owners[place], []).append(place)
    ids = _ids(facts)
    reasons: dict[int, str] = {}
    for places in by_owner.values():
        first: dict[str, int] = {}
        for place in places:
            earlier = first.setdefault(fold_name(" ".join(texts[place].split())), place)
            if earlier != place:
                reasons[place] = f"says the same as {ids[earlier]}"
        left = np.array([place for place in places if place not in reasons], dtype=np.intp)
        if not vectors.shape[1]:
            continue
        step = None if progress is None else _named("comparing", progress)
        for older, newer, cosine in similar_pairs(vectors[left], DUPLICATE_COSINE, progress=step):
            one, other = left[older], left[newer]
            if not differences(texts[one], texts[other]):
                reasons[int(other)] = f"is {cosine:.2f} like {ids[one]}"
    examples = sorted((ids[place], why) for place, why in reasons.items())
    return _finding("duplicates", examples, len(facts), _archive(examples))


def _named(name: str, progress: Progress) -> Callable[[int, int], None]:
    return lambda done, total: progress(name, done, total)


def _junk(facts: Candidates, texts: Sequence[str]) -> Finding:
    reasons = [(id, junk_reason(text)) for id, text in zip(_ids(facts), texts, strict=True)]
    examples = [(id, reason) for id, reason in reasons if reason is not None]
    return _finding("junk", examples, len(facts), _archive(sorted(examples)))


def _archive(examples: Sequence[tuple[str, str]]) -> str:
    """The command that archives the examples shown."""
    return f"salience archive {' '.join(shlex.quote(id) for id, _ in examples[:SHOWN_EXAMPLES])}"


def _stale(scope: WriteContext, table: Candidates) -> Finding:
    if not len(table):
        return _finding("stale", [], 0, "")
    query = Query("", (scope.namespace,), scope.now.timestamp())
    values = _VITALITY.apply(query, table).floats("vitality")
    low = np.flatnonzero(values < _FADING_BELOW)
    ids = _ids(table)
    examples = [(ids[place], f"has a vitality of {values[place]:.2f}") for place in low.tolist()]
    return _finding("stale", examples, len(table), "salience prune")


def _contradicted(table: Candidates, links: Sequence[Link]) -> Finding:
    """Active memories that contradict each other, with nobody having said which one is right."""
    ids = set(_ids(table))
    against: dict[str, str] = {}
    for link in links:
        if link.type == "contradicts" and {link.source, link.target} <= ids:
            against.setdefault(link.target, link.source)
            against.setdefault(link.source, link.target)
    examples = [(id, f"and {other} contradict each other") for id, other in against.items()]
    one, other = min(against.items(), default=("OLD", "NEW"))
    remedy = f"salience supersede {shlex.quote(one)} {shlex.quote(other)}"
    return _finding("contradicted", examples, len(table), remedy)


def _orphaned(table: Candidates, links: Sequence[Link]) -> Finding:
    """Memories with a link that leads nowhere, and those whose successor is gone."""
    status = dict(zip(_ids(table), table["status"].tolist() if len(table) else [], strict=True))
    nowhere = {
        link.source: f"links to {link.target!r}, which is no memory"
        for link in links
        if link.source in status and link.target not in status
    }
    followed = {link.target for link in links if link.type in ("supersedes", "consolidates")}
    alone = {
        id: f"is {what}, but by no memory that is there"
        for id, what in status.items()
        if what in ("superseded", "consolidated") and id not in followed
    }
    examples = list({**nowhere, **alone}.items())
    first = min(alone, default=None)
    remedy = "salience maintain" if first is None else f"salience restore {shlex.quote(first)}"
    return _finding("orphaned", examples, len(table), remedy)
