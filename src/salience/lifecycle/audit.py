"""The health of a namespace: what is wrong with how many memories, and what mends it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
from salience.write.items import WriteContext
from salience.write.reading import read_table
from salience.write.text_differences import differences

SHOWN_EXAMPLES = 3  # examples of each finding
_STALE = 0.3  # the vitality below which a memory is fading or worse
_TEXTS = 4096  # texts read at once
_VITAL = score(vitality(), into="vitality")

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Finding:
    """One kind of trouble: how many of the memories looked at have it, examples, what mends it.

    An example is an id and what is wrong with it.
    """

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


@dataclass(frozen=True, slots=True)
class Audit:
    """All findings about a namespace, in a fixed order."""

    namespace: str
    memories: int
    findings: tuple[Finding, ...]

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __getitem__(self, name: str) -> Finding:
        return next(one for one in self.findings if one.name == name)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "namespace": self.namespace,
            "memories": self.memories,
            "findings": [one.to_dict() for one in self.findings],
        }


def audit(scope: WriteContext, *, progress: Progress | None = None) -> Plan[Audit]:
    """The plan of looking for duplicates, junk, stale, contradicted, orphaned and unembedded ones.

    Only looked at are active memories (for orphans, all); nothing is changed. Duplicates and junk
    are facts and notes: of two turns of a conversation that are alike, both were said.
    """
    callable_or_none("progress", progress)
    names = ("id", "kind", "agent_id", "user_id", "created_at", *sorted(_VITAL.reads()))
    active = Compare("status", "eq", "active")
    found = yield from read_table(scope, active, names)
    said = [kind not in EPISODIC_KINDS for kind in found["kind"].tolist()] if len(found) else []
    facts = found.take(np.array(said, dtype=bool))
    texts = yield from _texts(facts, progress)
    vectors = yield from ask(FetchVectors(found.rows, "content"))
    links: Sequence[Link] = yield from ask(LinksOf(scope.namespace))
    lacking = np.isnan(vectors[:, 0]) if vectors.shape[1] else np.ones(len(found), dtype=bool)
    all_of_them = yield from read_table(scope, None, ("id", "status"))
    findings = (
        _duplicates(facts, texts, vectors[np.array(said, dtype=bool)], progress),
        _junk(facts, texts),
        _stale(scope, found),
        _contradicted(found, links),
        _orphaned(all_of_them, links),
        _finding(
            "unembedded",
            [(id, "has no vector") for id in _ids(found.take(lacking))],
            len(found),
            "salience reembed --missing",
        ),
    )
    return Audit(scope.namespace, len(all_of_them), findings)


def _ids(found: Candidates) -> list[str]:
    return found["id"].tolist() if len(found) else []


def _finding(name: str, examples: Sequence[tuple[str, str]], of: int, remedy: str) -> Finding:
    shown = tuple(sorted(examples)[:SHOWN_EXAMPLES])
    return Finding(name, len(examples), of, shown, remedy if examples else "")


def _texts(found: Candidates, progress: Progress | None) -> Plan[list[str]]:
    texts: list[str] = []
    for start in range(0, len(found), _TEXTS):
        part = yield from ask(ReadTexts(found.rows[start : start + _TEXTS]))
        texts += [text or "" for text in part]
        if progress is not None:
            progress("reading", len(texts), len(found))
    return texts


def _duplicates(
    facts: Candidates,
    texts: Sequence[str],
    vectors: NDArray[np.float32],
    progress: Progress | None,
) -> Finding:
    """Those that an older one of the same owner says word for word, or at cosine >= 0.92."""
    by_owner: dict[tuple[Any, Any], list[int]] = {}
    if len(facts):
        order = np.lexsort((facts["id"].astype(str), facts.floats("created_at"))).tolist()
        owners = list(zip(facts["agent_id"].tolist(), facts["user_id"].tolist(), strict=True))
        for place in order:
            by_owner.setdefault(owners[place], []).append(place)
    ids = _ids(facts)
    twice: dict[int, str] = {}
    for places in by_owner.values():
        first: dict[str, int] = {}
        for place in places:
            known = first.setdefault(fold_name(" ".join(texts[place].split())), place)
            if known != place:
                twice[place] = f"says the same as {ids[known]}"
        left = np.array([place for place in places if place not in twice], dtype=np.intp)
        if not vectors.shape[1]:
            continue
        told = None if progress is None else _named("comparing", progress)
        for older, newer, cosine in similar_pairs(vectors[left], DUPLICATE_COSINE, progress=told):
            one, other = left[older], left[newer]
            if not differences(texts[one], texts[other]):
                twice[int(other)] = f"is {cosine:.2f} like {ids[one]}"
    examples = sorted((ids[place], why) for place, why in twice.items())
    return _finding("duplicates", examples, len(facts), _archive(examples))


def _named(what: str, progress: Progress) -> Callable[[int, int], None]:
    return lambda done, total: progress(what, done, total)


def _junk(facts: Candidates, texts: Sequence[str]) -> Finding:
    told = [(id, junk_reason(text)) for id, text in zip(_ids(facts), texts, strict=True)]
    examples = [(id, why) for id, why in told if why is not None]
    return _finding("junk", examples, len(facts), _archive(sorted(examples)))


def _archive(examples: Sequence[tuple[str, str]]) -> str:
    """The command that archives the examples shown."""
    return f"salience archive {' '.join(shlex.quote(id) for id, _ in examples[:SHOWN_EXAMPLES])}"


def _stale(scope: WriteContext, found: Candidates) -> Finding:
    if not len(found):
        return _finding("stale", [], 0, "")
    query = Query("", (scope.namespace,), scope.now.timestamp())
    values = _VITAL.apply(query, found).floats("vitality")
    low = np.flatnonzero(values < _STALE)
    ids = _ids(found)
    examples = [(ids[place], f"has a vitality of {values[place]:.2f}") for place in low.tolist()]
    return _finding("stale", examples, len(found), "salience prune")


def _contradicted(found: Candidates, links: Sequence[Link]) -> Finding:
    """Those that an active memory contradicts; which of the two is right nobody has said."""
    here = set(_ids(found))
    against: dict[str, str] = {}
    for link in links:
        if link.type == "contradicts" and {link.source, link.target} <= here:
            against.setdefault(link.target, link.source)
            against.setdefault(link.source, link.target)
    examples = [(id, f"and {other} contradict each other") for id, other in against.items()]
    one, other = min(against.items(), default=("OLD", "NEW"))
    remedy = f"salience supersede {shlex.quote(one)} {shlex.quote(other)}"
    return _finding("contradicted", examples, len(found), remedy)


def _orphaned(found: Candidates, links: Sequence[Link]) -> Finding:
    """Those with a link that leads nowhere, and those whose successor is gone."""
    status = dict(zip(_ids(found), found["status"].tolist() if len(found) else [], strict=True))
    nowhere = {
        one.source: f"links to {one.target!r}, which is no memory"
        for one in links
        if one.source in status and one.target not in status
    }
    followed = {one.target for one in links if one.type in ("supersedes", "consolidates")}
    alone = {
        id: f"is {what}, but by no memory that is there"
        for id, what in status.items()
        if what in ("superseded", "consolidated") and id not in followed
    }
    examples = list({**nowhere, **alone}.items())
    first = min(alone, default=None)
    remedy = "salience maintain" if first is None else f"salience restore {shlex.quote(first)}"
    return _finding("orphaned", examples, len(found), remedy)
