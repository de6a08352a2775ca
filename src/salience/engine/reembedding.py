"""Re-embedding in steps: fill the set of vectors beside, compare, cut over, roll back, finish."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from salience.display.result import Result
from salience.embedders import EmbedderLike
from salience.engine.core import Core, released
from salience.errors import InvalidInput, shown
from salience.lazily import dataclass, replace
from salience.lifecycle import reembed
from salience.records.validation import callable_or_none, elements, mapping, native, text, texts
from salience.retrieval.operations import ReadStats, ReadTexts, ReadVectorSets, RowsInWriteOrder
from salience.retrieval.plan import Plan, ask, drive
from salience.retrieval.vector_sets import VectorSetsFigures
from salience.search.request import search_request
from salience.search.search import search
from salience.stores.address import Address
from salience.stores.protocol import PreviewedStore, Store

Step = Literal["status", "fill", "compare", "cut_over", "roll_back", "finish", "give_up"]
STEPS: tuple[Step, ...] = (
    "status", "fill", "compare", "cut_over", "roll_back", "finish", "give_up",
)  # fmt: skip
_NEEDS_EMBEDDER = frozenset({"fill", "compare", "cut_over", "roll_back"})


@dataclass(frozen=True, repr=False)
class Reembedding(Result):
    """The state of a re-embedding after a step.

    `searched` is the identity of the embedder of the vectors that are searched, `beside` that of
    the other set, None where there is none. `is_former` tells that it was searched before the last
    cut-over. Of `memories`, `embedded` have a vector in it. `made` is the number that the step
    embedded, `agreement` what it found when it compared, and `next` says what can be done now.
    """

    _readers: ClassVar[Mapping[str, Any]] = {
        "agreement": lambda values: None if values is None else Agreement.from_dict(values)
    }

    searched: str | None
    beside: str | None
    is_former: bool
    memories: int
    embedded: int
    made: int = 0
    agreement: Agreement | None = None
    next: str = ""


def take_step(
    url: Address | Store | None,
    to: EmbedderLike | None,
    step: Step,
    embedder: EmbedderLike | None,
    queries: Sequence[Any] | None,
    progress: Callable[[int, int], None] | None,
) -> Reembedding:
    """Take a step of re-embedding a store, see `upkeep.reembedding`."""
    callable_or_none("progress", progress)
    if native(step) not in STEPS:
        raise InvalidInput("step", f"is {shown(step)}", f"use one of {', '.join(STEPS)}")
    searches = asked_searches(queries)
    if to is None and step in _NEEDS_EMBEDDER - {"roll_back"}:
        raise InvalidInput("to", "is missing", "name the embedder of the new vectors")
    if to is None and step == "roll_back":
        to = "default"
    core = Core.open(url, embedder=to if step in _NEEDS_EMBEDDER else None, replace_vectors=True)
    with released(core, url):
        identity = core.dispatcher.identity
        if step in _NEEDS_EMBEDDER and identity is None:
            raise InvalidInput("to", "makes no vectors", "name one that does")
        count, agreement = 0, None
        if step == "compare":
            agreement = compare(core, str(identity), embedder, searches)
        elif step != "status":
            perform = core.dispatcher.batch
            count = drive(_plan(step, str(identity), perform, progress), perform)
        figures: VectorSetsFigures = drive(ask(ReadVectorSets()), core.dispatcher.batch)
    return Reembedding(*figures, count, agreement, _next(figures))


def _plan(
    step: Step,
    identity: str,
    perform: reembed.Perform,
    progress: reembed.Progress | None,
) -> Plan[int]:
    if step in ("finish", "give_up"):
        yield from reembed.finish(gives_up=step == "give_up")
        return 0
    if step == "roll_back":
        return (yield from reembed.roll_back(identity, perform, progress))
    if step == "fill":
        return (yield from reembed.fill(identity, progress))
    return (yield from reembed.cut_over(identity, perform, progress))


def _next(figures: VectorSetsFigures) -> str:
    """The steps that can be taken now."""
    if figures.beside is None:
        return "nothing is under way; --to NAME makes the vectors of another embedder"
    if figures.is_former:
        return "--roll-back searches the former vectors again, --finish drops them"
    if figures.embedded < figures.memories:
        return "--to NAME goes on; --give-up drops what was made"
    return "--to NAME --compare, then --to NAME --cut-over; --give-up drops what was made"


# Agreement: the same searches under two embedders, before anybody cuts over

_DEPTH = 10  # of the answers that are compared
_SAMPLED_QUERIES = 100
_QUERY_CHARACTERS = 300  # of a memory's text that is searched for
MAX_QUERIES = 10_000


@dataclass(frozen=True, repr=False)
class Agreement(Result):
    """The likeness of the first ten hits of some searches under two embedders.

    `overlap` is the mean share of the ten that both have. `average_overlap` also heeds their order:
    the mean, over the depths d = 1 to 10, of the share of the first d that both have. `same_first`
    is the share of searches with the same first hit. `recall_before` and `recall_after` are the
    mean shares of the relevant memories among the ten, None where no search has any.
    """

    queries: int
    overlap: float
    average_overlap: float
    same_first: float
    recall_before: float | None = None
    recall_after: float | None = None


@dataclass(frozen=True)
class AskedSearch:
    """A search in a namespace; `itself` is the memory whose text is searched for."""

    namespace: str
    query: str
    relevant: frozenset[str] = frozenset()
    itself: str | None = None


def asked_searches(queries: Sequence[Any] | None) -> list[AskedSearch] | None:
    """The searches to compare by, checked."""
    if queries is None:
        return None
    return [
        _recorded(f"queries[{place}]", each)
        for place, each in enumerate(elements("queries", queries, MAX_QUERIES))
    ]


def _recorded(name: str, value: Any) -> AskedSearch:
    if isinstance(value, str):
        return AskedSearch("default", text(name, value))
    values = mapping(name, value)
    for key in values.keys() - {"query", "namespace", "relevant"}:
        raise InvalidInput(f"{name}.{key}", "is not a field of a search", "use query, relevant")
    relevant = texts(f"{name}.relevant", values.get("relevant", ()))
    namespace = text(f"{name}.namespace", values.get("namespace", "default"))
    return AskedSearch(namespace, text(f"{name}.query", values.get("query")), frozenset(relevant))


def compare(
    core: Core, identity: str, embedder: EmbedderLike | None, searches: list[AskedSearch] | None
) -> Agreement:
    """Compare searches of the set beside with those of the other.

    Raises:
        InvalidInput: the set beside is not of that embedder, or not yet of all memories.
    """
    figures: VectorSetsFigures = drive(ask(ReadVectorSets()), core.dispatcher.batch)
    if figures.beside != identity or figures.embedded < figures.memories:
        raise InvalidInput(
            "compare",
            f"needs the vectors of {identity} for all {figures.memories:,} memories",
            "make them first: `salience reembed --to NAME`",
        )
    store = core.dispatcher.store
    if not isinstance(store, PreviewedStore):
        raise InvalidInput("compare", "is not possible in this store")
    searches = drive(_sample(), core.dispatcher.batch) if searches is None else searches
    before = _answers(Core.open(store, embedder=embedder or "default"), searches)
    preview = store.preview()
    try:
        after = _answers(Core.open(preview, embedder=core.dispatcher.embedder), searches)
    finally:
        preview.close()
    return _agreement(searches, before, after)


def _sample() -> Plan[list[AskedSearch]]:
    """Searches for the texts of memories, spread evenly over all memories."""
    figures: dict[str, Any] = yield from ask(ReadStats(()))
    step = max(1.0, figures["memories"] / _SAMPLED_QUERIES)
    searches: list[AskedSearch] = []
    for namespace, count in figures["namespaces"].items():
        wanted = max(1, round(count / step)) if len(searches) < _SAMPLED_QUERIES else 0
        if not wanted:
            continue
        rows = yield from ask(RowsInWriteOrder(namespace))
        chosen = np.sort(rows[np.linspace(0, len(rows) - 1, min(wanted, len(rows))).astype(int)])
        contents: list[str | None] = yield from ask(ReadTexts(chosen))
        searches += [
            AskedSearch(namespace, content[:_QUERY_CHARACTERS], itself=content)
            for content in contents
            if content is not None and content.strip()
        ]
    return searches


def _answers(core: Core, searches: Iterable[AskedSearch]) -> list[list[str]]:
    """The ids of the first ten hits of each search, without the memory that is searched for."""
    answers = []
    for each in searches:
        settings = replace(core.searches, namespace=each.namespace)
        request = search_request(each.query, settings, {"limit": _DEPTH + 1, "touch": False})
        hits = drive(search(request), core.dispatcher.batch).hits
        answers.append([hit.id for hit in hits if hit.record.content != each.itself][:_DEPTH])
    return answers


def _agreement(
    asked: Sequence[AskedSearch], before: Sequence[list[str]], after: Sequence[list[str]]
) -> Agreement:
    pairs = list(zip(before, after, strict=True))
    judged = [place for place, each in enumerate(asked) if each.relevant]

    def recall(answers: Sequence[list[str]]) -> float | None:
        shares = [
            len(asked[place].relevant.intersection(answers[place])) / len(asked[place].relevant)
            for place in judged
        ]
        return _mean(shares) if shares else None

    return Agreement(
        len(pairs),
        _mean([_overlap(one, other, _DEPTH) for one, other in pairs]),
        _mean(
            [
                _mean([_overlap(one, other, depth) for depth in range(1, _DEPTH + 1)])
                for one, other in pairs
            ]
        ),
        _mean([float(one[:1] == other[:1]) for one, other in pairs]),
        recall(before),
        recall(after),
    )


def _overlap(one: Sequence[str], other: Sequence[str], depth: int) -> float:
    """The share of the first hits that both have; 1 where neither has any."""
    most = max(len(one[:depth]), len(other[:depth]))
    return len({*one[:depth]} & {*other[:depth]}) / most if most else 1.0


def _mean(values: Sequence[float]) -> float:
    return round(float(np.mean(values)), 6) if values else 1.0
