"""Evaluation of conversations with the real store and search.

Each conversation gets a namespace of its own. It is embedded and written once for each embedder,
then searched with every profile.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Literal

from salience.embedders import resolve
from salience.engine.memory import Memory
from salience.errors import InvalidInput
from salience.evaluation import datasets
from salience.evaluation.comparison import Judged, Outcome
from salience.evaluation.datasets import Conversation
from salience.importers.conversation import Query
from salience.lazily import dataclass, field
from salience.ranking.profile import Profile
from salience.ranking.profiles import get as profile_named
from salience.retrieval import metrics
from salience.retrieval.routes import Vector
from salience.search.results import SearchResult
from salience.stores import open_store
from salience.stores.protocol import Store
from salience.write.chat import SIDES

StoreKind = Literal["sqlite", "ram"]
Change = Callable[[Conversation], Conversation]
Progress = Callable[[str, int, int], None]
"""Takes the step, how much of it is done, and how much there is."""


@dataclass
class Check:
    """Two checks of every query: an explanation's root is its score, and two stores agree."""

    queries: int = 0
    hits: int = 0
    unexplained: int = 0
    stores_differ: int = 0

    @property
    def passed(self) -> bool:
        """True if both hold for all queries."""
        return not self.unexplained and not self.stores_differ

    def add(self, first: SearchResult, second: SearchResult) -> None:
        """Count one query's results from two stores, both with explanations."""
        self.queries += 1
        for hit in (*first, *second):
            self.hits += 1
            self.unexplained += hit.explanation is None or hit.explanation.value != hit.score
        hits = ([(hit.id, hit.score, hit.probability) for hit in each] for each in (first, second))
        self.stores_differ += next(hits) != next(hits) or first.probability != second.probability

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
    """The outcomes of an evaluation; `notes` names memories that the store rejected."""

    outcomes: list[Outcome] = field(default_factory=list)
    check: Check | None = None
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping: `results`, and `check` if it was asked for."""
        report: dict[str, Any] = {"results": [outcome.to_dict() for outcome in self.outcomes]}
        if self.check is not None:
            report["check"] = self.check.to_dict()
        return report


def evaluate(
    folders: Sequence[str | Path],
    *,
    profiles: Sequence[str | Profile] = ("balanced",),
    embedders: Sequence[str] = ("default",),
    store: StoreKind | str = "sqlite",
    check: bool = False,
    change: Change | None = None,
    progress: Progress | None = None,
) -> Report:
    """Measure every profile with every embedder on the set of conversations in each folder.

    Each conversation is taken as `change` returns it. `store` is a kind of store, which is created
    for this, or the URL of an empty database, which is emptied again. With `check`, a second pass
    compares every explanation with its score, and the SQLite store with the one in memory.

    Raises:
        ImportProblem: a folder is not a set of conversations.
        SalienceError: `ir_measures` is not installed.
        InvalidInput: a profile or an embedder does not exist.
    """
    metrics.load_ir_measures()  # fail now rather than after all is written
    report_progress = progress or (lambda step, done, total: None)
    rankings = [profile_named(profile) for profile in profiles]
    sides = any(isinstance(r, Vector) and r.vector in SIDES for p in rankings for r in p.routes)
    sets = [(Path(f).resolve().name, _members(f, change, sides)) for f in folders]
    report = Report(check=Check() if check else None)
    now = datetime.now(timezone.utc)  # of memories without a time, the same in every store
    for spec in embedders:
        opened = partial(Memory.open, embedder=resolve(spec), clock=lambda: now, time_zone="UTC")
        for name, members in sets:
            with _filled(members, opened, store, report, report_progress) as filled:
                for profile in rankings:
                    # Reopened, so that no profile finds its queries embedded already.
                    memory = opened(filled, profile=profile)
                    report.outcomes.append(
                        measure(name, members, memory, profile, spec, report_progress)
                    )
                if report.check is None:
                    continue
                other: StoreKind = "ram" if store == "sqlite" else "sqlite"
                with _filled(members, opened, other, Report(), report_progress) as second:
                    for profile in rankings:
                        pair = [opened(each, profile=profile) for each in (filled, second)]
                        _compare(name, members, pair, report.check, report_progress)
    return report


def _members(folder: str | Path, change: Change | None, sides: bool) -> list[Conversation]:
    members = [change(member) if change else member for member in datasets.load(folder)]
    return [member.with_sides() for member in members] if sides else members


@contextmanager
def _filled(
    members: Sequence[Conversation],
    opened: Callable[[Store], Memory],
    kind: StoreKind | str,
    report: Report,
    report_progress: Progress,
) -> Iterator[Store]:
    """A new store with the conversations."""
    with tempfile.TemporaryDirectory(prefix="salience-") as folder:
        urls = {"ram": "ram://", "sqlite": f"sqlite:///{folder}/eval.db"}
        store = open_store(urls.get(kind, kind))
        try:
            memory = opened(store)
            if memory.stats(everywhere=True)["memories"]:
                raise InvalidInput("db", "already holds memories", "give an empty database")
            for done, conversation in enumerate(members):
                report_progress("writing", done, len(members))
                added = memory.for_namespace(conversation.place).add_many(conversation.memories)
                report.notes += [
                    f"{conversation.name}: {item.id}: {item.reason}" for item in added.rejected
                ]
                report.notes += [f"{conversation.name}: {reason}" for reason in added.degraded]
                report.notes += conversation.unanswerable()
            yield store
            if kind not in urls:
                for conversation in members:
                    memory.delete_all(namespace=conversation.place)
        finally:
            store.close()


def ask(
    memory: Memory, conversation: Conversation, query: Query, *, explain: bool = False
) -> SearchResult:
    """Search for a question of a conversation at its time, without counting accesses."""
    return memory.for_namespace(conversation.place).search(
        query.text,
        limit=metrics.DEPTH,
        now=query.at or conversation.now,
        filters=query.filters,
        touch=False,
        explain=explain,
    )


def measure(
    name: str,
    members: Sequence[Conversation],
    memory: Memory,
    profile: Profile,
    embedder: str,
    report_progress: Progress,
) -> Outcome:
    """Ask all questions of a set in an opened memory."""
    total = sum(len(conversation.queries) for conversation in members)
    milliseconds: list[float] = []
    judged: list[Judged] = []
    for conversation in members:
        ranked: dict[str, Sequence[str]] = {}
        for number, query in enumerate(conversation.queries):
            report_progress(f"{name}, {profile.name}", len(milliseconds), total)
            started = time.perf_counter()
            result = ask(memory, conversation, query)
            milliseconds.append((time.perf_counter() - started) * 1e3)
            ranked[str(number)] = result.ids
        relevant = {
            str(number): query.relevant for number, query in enumerate(conversation.queries)
        }
        values = metrics.per_query(relevant, ranked)
        judged += [
            Judged(conversation.name, query.id, query.category, values[str(number)])
            for number, query in enumerate(conversation.queries)
        ]
    ms_per_query = round(median(milliseconds), 3)
    return Outcome(name, profile.name, embedder, tuple(judged), ms_per_query)


def _compare(
    name: str,
    members: Sequence[Conversation],
    pair: Sequence[Memory],
    check: Check,
    report_progress: Progress,
) -> None:
    total = sum(len(conversation.queries) for conversation in members)
    done = 0
    for conversation in members:
        for query in conversation.queries:
            report_progress(f"{name}, checking", done, total)
            first, second = (ask(memory, conversation, query, explain=True) for memory in pair)
            check.add(first, second)
            done += 1
