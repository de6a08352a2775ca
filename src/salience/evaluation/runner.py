"""Running sets of conversations through the real store and search, and measuring what they find.

Each conversation gets a namespace of its own; it is embedded and written once for each embedder,
and then searched with every profile.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Literal

from salience.embedders import resolve
from salience.engine import Memory
from salience.errors import InvalidInput
from salience.evaluation import datasets, metrics
from salience.evaluation.datasets import Conversation
from salience.evaluation.metrics import Metrics
from salience.ranking.profile import Profile
from salience.ranking.profiles import get as profile_named
from salience.retrieval.routes import Vector
from salience.search.results import SearchResult
from salience.stores import open_store
from salience.stores.protocol import Store
from salience.write.chat import SIDES

StoreKind = Literal["sqlite", "ram"]
Progress = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is."""


@dataclass(frozen=True)
class Outcome:
    """The measures of one set under one profile and embedder, over all its queries."""

    set: str
    profile: str
    embedder: str
    queries: int
    metrics: Metrics
    categories: dict[str, tuple[int, Metrics]]
    ms_per_query: float

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "set": self.set,
            "profile": self.profile,
            "embedder": self.embedder,
            "queries": self.queries,
            "metrics": self.metrics,
            "categories": {
                name: {"queries": count, **values}
                for name, (count, values) in self.categories.items()
            },
            "ms_per_query": self.ms_per_query,
        }


@dataclass
class Check:
    """Promises held against every query: an explanation's root is its score, stores agree."""

    queries: int = 0
    hits: int = 0
    unexplained: int = 0
    stores_differ: int = 0

    @property
    def passed(self) -> bool:
        """Whether no promise was broken."""
        return not self.unexplained and not self.stores_differ

    def add(self, one: SearchResult, other: SearchResult) -> None:
        """Count one query's results from two stores, both with explanations."""
        self.queries += 1
        for hit in (*one, *other):
            self.hits += 1
            self.unexplained += hit.explanation is None or hit.explanation.value != hit.score
        same = [(hit.id, hit.score) for hit in one] == [(hit.id, hit.score) for hit in other]
        self.stores_differ += not same

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "queries": self.queries,
            "hits": self.hits,
            "scores_not_explained": self.unexplained,
            "queries_on_which_stores_differ": self.stores_differ,
        }


@dataclass
class Report:
    """What an evaluation found; `notes` names memories that the store refused."""

    outcomes: list[Outcome] = field(default_factory=list)
    check: Check | None = None
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping: `results`, and `check` if it was asked for."""
        found: dict[str, Any] = {"results": [outcome.to_dict() for outcome in self.outcomes]}
        if self.check is not None:
            found["check"] = self.check.to_dict()
        return found


def evaluate(
    folders: Sequence[str | Path],
    *,
    profiles: Sequence[str | Profile] = ("balanced",),
    embedders: Sequence[str] = ("default",),
    store: StoreKind | str = "sqlite",
    check: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Measure every profile with every embedder on the set of conversations in each folder.

    `store` is a kind of store, made for the occasion, or the address of an empty database, which is
    emptied again. With `check`, a second pass holds every explanation against its score and the
    SQLite store against the one in memory.

    Raises:
        ImportProblem: a folder is not a set of conversations.
        SalienceError: `ir_measures` is not installed.
        InvalidInput: there is no such profile or embedder.
    """
    metrics.required()  # now rather than once everything is written
    told = progress or (lambda what, done, total: None)
    chosen = [profile_named(profile) for profile in profiles]
    sides = any(isinstance(r, Vector) and r.vector in SIDES for p in chosen for r in p.routes)
    sets = [(Path(folder).resolve().name, datasets.load(folder, sides)) for folder in folders]
    report = Report(check=Check() if check else None)
    started = datetime.now(timezone.utc)  # the time of what has none, the same in every store
    for spec in embedders:
        opened = partial(Memory.open, embedder=resolve(spec), clock=lambda: started)
        for name, members in sets:
            with _filled(members, opened, store, report, told) as filled:
                for profile in chosen:
                    # Opened anew: no profile finds its queries embedded by the one before.
                    memory = opened(filled, profile=profile)
                    report.outcomes.append(_measure(name, members, memory, profile, spec, told))
                if report.check is None:
                    continue
                other: StoreKind = "ram" if store == "sqlite" else "sqlite"
                with _filled(members, opened, other, Report(), told) as second:
                    for profile in chosen:
                        pair = [opened(one, profile=profile) for one in (filled, second)]
                        _compare(name, members, pair, report.check, told)
    return report


@contextmanager
def _filled(
    members: Sequence[Conversation],
    opened: Callable[[Store], Memory],
    kind: StoreKind | str,
    report: Report,
    told: Progress,
) -> Iterator[Store]:
    """A fresh store that holds the conversations."""
    with tempfile.TemporaryDirectory(prefix="salience-") as folder:
        made = {"ram": "ram://", "sqlite": f"sqlite:///{folder}/eval.db"}
        store = open_store(made.get(kind, kind))
        try:
            memory = opened(store)
            if memory.stats(everywhere=True)["memories"]:
                raise InvalidInput("db", "holds memories already", "give an empty database")
            for done, one in enumerate(members):
                told("writing", done, len(members))
                added = memory.within(one.name).add_many(one.memories)
                report.notes += [f"{one.name}: {item.id}: {item.reason}" for item in added.rejected]
                report.notes += [f"{one.name}: {lack}" for lack in added.degraded]
                report.notes += one.unanswerable()
            yield store
            if kind not in made:
                for one in members:
                    memory.delete_all(namespace=one.name)
        finally:
            store.close()


def _search(memory: Memory, one: Conversation, text: str, *, explain: bool = False) -> SearchResult:
    return memory.within(one.name).search(
        text, limit=metrics.DEPTH, now=one.now, touch=False, explain=explain
    )


def _measure(
    name: str,
    members: Sequence[Conversation],
    memory: Memory,
    profile: Profile,
    embedder: str,
    told: Progress,
) -> Outcome:
    total = sum(len(one.queries) for one in members)
    milliseconds: list[float] = []
    measured: list[Metrics] = []
    by_category: dict[str, list[Metrics]] = {}
    for one in members:
        ranked: dict[str, Sequence[str]] = {}
        for number, query in enumerate(one.queries):
            told(f"{name}, {profile.name}", len(milliseconds), total)
            started = time.perf_counter()
            result = _search(memory, one, query.text)
            milliseconds.append((time.perf_counter() - started) * 1e3)
            ranked[str(number)] = result.ids
        relevant = {str(number): query.relevant for number, query in enumerate(one.queries)}
        found = metrics.per_query(relevant, ranked)
        for number, query in enumerate(one.queries):
            measured.append(found[str(number)])
            if query.category is not None:
                by_category.setdefault(query.category, []).append(found[str(number)])
    return Outcome(
        name,
        profile.name,
        embedder,
        len(measured),
        metrics.mean(measured),
        {key: (len(of), metrics.mean(of)) for key, of in sorted(by_category.items())},
        round(median(milliseconds), 3),
    )


def _compare(
    name: str,
    members: Sequence[Conversation],
    pair: Sequence[Memory],
    check: Check,
    told: Progress,
) -> None:
    total = sum(len(one.queries) for one in members)
    done = 0
    for one in members:
        for query in one.queries:
            told(f"{name}, checking", done, total)
            first, second = (_search(memory, one, query.text, explain=True) for memory in pair)
            check.add(first, second)
            done += 1
