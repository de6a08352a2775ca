"""Searching: from the words of a question to hits that say why.

analyse the words -> embed them -> run the profile's stages -> read the records -> touch them
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from recollect.analysis import analyse, question_words
from recollect.errors import EmbedderError, InvalidInput, NotFound
from recollect.explain import Explanation
from recollect.filters import Both, Compare, Filter, Not, parse
from recollect.memory import MemoryRecord, Vector
from recollect.ops import Embed, Find, Named, Names, Read, Touch
from recollect.plan import Plan, ask
from recollect.profile import Profile, Ranked
from recollect.query import Query
from recollect.results import Hit, SearchResult

_ACTIVE = Compare("status", "eq", "active")
MOST_HITS = 1000


@dataclass(frozen=True, eq=False)
class Request:
    """A search as asked for, checked; see `Memory.search` for the meaning of each part."""

    text: str
    namespaces: tuple[str, ...]
    profile: Profile
    now: datetime
    limit: int = 10
    where: Filter | None = None
    min_score: float | None = None
    embeds: bool = True
    touch: bool = True
    explain: bool = False


def request(
    text: Any,
    namespaces: Sequence[str],
    profile: Profile,
    now: datetime,
    *,
    limit: int = 10,
    filters: Mapping[str, Any] | Filter | None = None,
    min_score: float | None = None,
    embeds: bool = True,
    touch: bool = True,
    explain: bool = False,
) -> Request:
    """A checked request.

    Raises:
        InvalidInput: names the argument that is wrong.
    """
    if not isinstance(text, str):
        raise InvalidInput("query", f"must be text, not {type(text).__name__}")
    if not text.strip():
        raise InvalidInput("query", "is empty", "ask for something")
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_HITS:
        raise InvalidInput("limit", f"is {limit!r}", f"give a whole number from 1 to {MOST_HITS}")
    if min_score is not None and not np.isfinite(min_score):
        raise InvalidInput("min_score", f"is {min_score}", "give a finite number")
    # Any text may be asked; what is no character cannot be in a memory either.
    clean = text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
    where = parse(filters)
    return Request(
        clean,
        tuple(dict.fromkeys(namespaces)),
        profile,
        now,
        limit,
        Both((_ACTIVE, _unexpired(now), *([] if where is None else [where]))),
        min_score,
        embeds,
        touch,
        explain,
    )


def _unexpired(now: datetime) -> Filter:
    """Passes a memory unless its `expires_at` is now or before; one without it never expires."""
    return Not(Compare("expires_at", "lte", now.timestamp()))


def search(asked: Request) -> Plan[SearchResult]:
    """The plan of a search."""
    clock = time.perf_counter
    started = clock()
    ranked, degraded, embed_ms = yield from _rank(asked)
    recalled = clock()
    final = ranked.final
    records: list[MemoryRecord | None] = yield from ask(Read(final.rows))
    if asked.touch and len(final):
        yield from ask(Touch(final.rows, asked.now))
    trees: Sequence[Explanation | None] = (
        ranked.explain(final.rows) if asked.explain else [None] * len(final)
    )
    finished = clock()
    timings = {
        "embed": embed_ms,
        "rank": (recalled - started) * 1e3 - embed_ms,
        "read": (finished - recalled) * 1e3,
        "total": (finished - started) * 1e3,
    }
    return SearchResult(
        asked.text,
        _hits(ranked, records, trees),
        asked.profile.name,
        uuid.uuid4().hex,
        degraded,
        {step: round(value, 3) for step, value in timings.items()},
    )


def _rank(asked: Request) -> Plan[tuple[Ranked, tuple[str, ...], float]]:
    """Analyse, embed and rank; what had to be done without, and milliseconds spent embedding."""
    words = tuple(dict.fromkeys(question_words(asked.text)))
    known: Named = yield from ask(Names(asked.namespaces, words))
    reading = analyse(asked.text, known.names, known.roles)
    degraded: list[str] = []
    vector: Vector | None = None
    started = time.perf_counter()
    if not asked.embeds:
        degraded.append("vector: the store was opened without an embedder")
    else:
        try:
            [vector] = yield from ask(Embed((reading.meaning,), "query"))
        except EmbedderError as problem:
            degraded.append(f"vector: {problem}")
    embed_ms = (time.perf_counter() - started) * 1e3
    if not reading.terms:
        degraded.append("lexical: the query has no words to look for")
    query = Query(
        text=asked.text,
        namespaces=asked.namespaces,
        now=asked.now.timestamp(),
        k=asked.limit,
        min_score=asked.min_score,
        where=asked.where,
        vector=vector,
        reading=reading,
    )
    ranked = yield from asked.profile.plan(query)
    return ranked, tuple(degraded), embed_ms


def _hits(
    ranked: Ranked,
    records: Sequence[MemoryRecord | None],
    trees: Sequence[Explanation | None],
) -> tuple[Hit, ...]:
    final = ranked.final
    scores = final.floats("score").tolist() if len(final) else []
    routes = {
        name.removesuffix(".rank"): column.tolist()
        for name, column in final.columns.items()
        if name.endswith(".rank")
    }
    hits: list[Hit] = []
    for i, record in enumerate(records):
        if record is None:
            continue  # erased by someone else since it was ranked
        found = {name: int(ranks[i]) for name, ranks in routes.items() if ranks[i] == ranks[i]}
        hits.append(Hit(record, scores[i], len(hits) + 1, found, trees[i]))
    return tuple(hits)


def explain(asked: Request, id: str) -> Plan[Explanation]:
    """The plan of explaining one memory's score for a query, whether it was returned or not."""
    found = yield from ask(Find(asked.namespaces[0], (id,)))
    if id not in found:
        raise NotFound(f"there is no memory {id!r} in the namespace {asked.namespaces[0]!r}")
    ranked, degraded, _ = yield from _rank(asked)
    row = found[id]
    [tree] = ranked.explain([row])
    if tree is None:
        note = "no route of the profile brought it up, or a filter keeps it out"
        return Explanation(f"{id} was no candidate", float("nan"), note=note)
    place, limit = ranked.rank(row), asked.limit
    note = f"rank {place}" + (f", below the cut at {limit}" if place and place > limit else "")
    notes = "; ".join([note, *degraded])
    return Explanation(tree.label, tree.value, tree.how, tree.children, notes)
