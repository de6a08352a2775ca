"""Searching: from the words of a question to hits that say why.

analyse the words -> embed them -> run the profile's stages -> read the records -> touch them
"""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from salience.errors import EmbedderError
from salience.language.analysis_types import QueryAnalysis, TimeRange
from salience.language.dates import DatesMissing, search_interval
from salience.language.query_analysis import analyze_query
from salience.language.speakers import name_candidates, rare_speakers
from salience.language.tokens import question_words
from salience.ranking.explanation import Explanation
from salience.ranking.run import RankedRun, run_profile
from salience.ranking.stages import is_stored
from salience.records.filters import And, Compare, Filter, passes
from salience.records.record import Embedding, MemoryRecord
from salience.retrieval.candidates import Candidates, Rows
from salience.retrieval.operations import (
    Embed,
    Extract,
    FindSpeakers,
    ReadRecords,
    RowsById,
    Touch,
    VectorNames,
)
from salience.retrieval.plan import Plan, ask
from salience.retrieval.query import Query
from salience.retrieval.routes import TimeWindow as DuringRoute
from salience.retrieval.routes import Vector as VectorRoute
from salience.search.request import SearchRequest
from salience.search.results import Hit, SearchResult

_DRAWN = 0.5  # weight of what a long text asks beside the whole of it


def search(asked: SearchRequest) -> Plan[SearchResult]:
    """The plan of a search."""
    clock = time.perf_counter
    started = clock()
    ranked, degraded, embed_ms = yield from rank(asked, hits_only=True)
    recalled = clock()
    final = ranked.final
    around, beside = _neighbors(final)
    records, near = yield [ReadRecords(final.rows), ReadRecords(beside)]
    rows = final.rows
    if None in records and len(asked.namespaces) == 1:
        rows, records = yield from _found_again(ranked.query, final, records)
    if asked.touch and len(rows):
        yield from ask(Touch(rows, asked.now))
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
        _hits(ranked, records, trees, _neighbor_records(around, beside, near)),
        asked.profile.name,
        uuid.uuid4().hex,
        degraded,
        {step: round(value, 3) for step, value in timings.items()},
        asked.profile.search_type,
        asked.min_score,
        ranked.query.reading.during,
        ranked.tables[0].read,
    )


def _found_again(
    query: Query, final: Candidates, records: Sequence[MemoryRecord | None]
) -> Plan[tuple[Rows, list[MemoryRecord | None]]]:
    """The rows and records, with those that were edited since they were ranked as they are now.

    An edit gives a memory a new row. One that was erased stays missing, and so does one that does
    not pass the filter any more. (Of several namespaces, the row does not tell which it was in.)
    """
    moved = {final["id"][place]: place for place, record in enumerate(records) if record is None}
    found = yield from ask(RowsById(query.namespaces[0], tuple(filter(None, moved))))
    again = yield from ask(ReadRecords(np.array(list(found.values()), dtype=np.int64)))
    rows, renewed = final.rows.copy(), list(records)
    for (id, row), record in zip(found.items(), again, strict=True):
        if record is not None and passes(query.where, record.comparable):
            rows[moved[id]], renewed[moved[id]] = row, record
    return rows, renewed


def rank(
    asked: SearchRequest, *, hits_only: bool = False
) -> Plan[tuple[RankedRun, tuple[str, ...], float]]:
    """Analyse, embed and rank; what had to be done without, and milliseconds spent embedding.

    With `hits_only` the tables need not hold what is no hit.
    """
    during, degraded = _during(asked)
    text = asked.text if during is None else _without(asked.text, during.words)
    known, vectors, *named = yield [
        FindSpeakers(asked.namespaces, *name_candidates(text)),
        VectorNames(asked.namespaces),
        *([Extract((asked.text,))] if asked.profile.names_entities else []),
    ]
    people = (known.names, known.users, known.assistants)
    rare = rare_speakers(known.turns, known.all_turns)
    year = asked.now.year
    reading = analyze_query(text, *people, during, asked.about, this_year=year, rare=rare)
    started = time.perf_counter()
    vector, lack = yield from _vector(asked, reading)
    embed_ms = (time.perf_counter() - started) * 1e3
    if lack:
        degraded.append(f"vector: {lack}")
    if vectors is not None and vector is not None:
        degraded += [
            f"{route.name}: no memory has a vector {route.vector!r}"
            for route in asked.profile.routes
            if isinstance(route, VectorRoute) and route.vector not in vectors
        ]
    if not reading.terms and asked.profile.search_type != "semantic":
        degraded.append("lexical: the query has no words to look for")
    query = Query(
        text=asked.text,
        namespaces=asked.namespaces,
        now=asked.now.timestamp(),
        k=asked.limit,
        min_score=asked.min_score,
        where=asked.where if during is None else _within(asked.where, during),
        vector=vector,
        embedder=None if vector is None else asked.embedder(),
        reading=reading,
        token_budget=asked.token_budget,
        count_tokens=asked.count_tokens,
        entities=asked.aliases.keys(name for [names] in named for name in names),
        aliases=asked.aliases,
        around=asked.profile.pipeline.around,
        hits_only=hits_only,
    )
    ranked = yield from run_profile(asked.profile, query)
    return ranked, tuple(degraded), embed_ms


def _vector(asked: SearchRequest, reading: QueryAnalysis) -> Plan[tuple[Embedding | None, str]]:
    """The vector of a question, if the profile compares any; else perhaps why it is lacking."""
    if asked.profile.search_type == "text":
        return None, ""
    if not asked.embeds:
        return None, "the store was opened without an embedder"
    parts = tuple(filter(None, (reading.semantic_text, reading.question)))
    try:
        return _blend((yield from ask(Embed(parts, "query")))), ""
    except EmbedderError as problem:
        return None, str(problem)


def _blend(rows: NDArray[np.float32]) -> Embedding:
    """The vector of a text, drawn towards that of what it asks if there is one."""
    whole, *asked = rows
    if not asked:
        return whole
    both = whole + _DRAWN * asked[0]
    length = np.linalg.norm(both)
    return both / length if length else whole


def _during(asked: SearchRequest) -> tuple[TimeRange | None, list[str]]:
    """The time that a search over a route for times keeps to, and what had to be done without."""
    if not any(isinstance(route, DuringRoute) for route in asked.profile.routes):
        return None, []
    try:
        return search_interval(asked.text, asked.now), []
    except DatesMissing as problem:
        return None, [f"during: {problem}"]


def _without(text: str, words: str) -> str:
    """A text without some of its words, unless nothing to look for would be left."""
    rest = text.replace(words, " ", 1)
    return rest if question_words(rest) else text


def _within(where: Filter | None, during: TimeRange) -> Filter:
    """A filter that keeps to a time besides."""
    start = Compare("created_at", "gte", during.start)
    end = Compare("created_at", "lt", during.end)
    return And((start, end) if where is None else (where, start, end))


def _neighbors(final: Candidates) -> tuple[Rows, Rows]:
    """The rows right before and after each hit, -1 for none, of shape (2, hits); and all of them.

    Of shape (2, 0) where nobody asked for them.
    """
    if "neighbors.before" not in final.columns:
        return np.empty((2, 0), dtype=np.int64), np.empty(0, dtype=np.int64)
    sides = np.stack([final.floats("neighbors.before"), final.floats("neighbors.after")])
    around = np.nan_to_num(sides, nan=-1.0).astype(np.int64)
    return around, np.unique(around[around >= 0])


def _neighbor_records(
    around: Rows, beside: Rows, near: Sequence[MemoryRecord | None]
) -> list[tuple[MemoryRecord, ...]]:
    """The records right before and after each hit."""
    read = dict(zip(beside.tolist(), near, strict=True))
    return [
        tuple(record for row in sides if (record := read.get(row)) is not None)
        for sides in around.T.tolist()
    ]


def _hits(
    ranked: RankedRun,
    records: Sequence[MemoryRecord | None],
    trees: Sequence[Explanation | None],
    neighbors: Sequence[tuple[MemoryRecord, ...]],
) -> tuple[Hit, ...]:
    final = ranked.final
    scores = final.floats("score").tolist() if len(final) else []
    columns = final.columns
    ranks = {n.removesuffix(".rank"): columns[n].tolist() for n in columns if n.endswith(".rank")}
    reasons = {n: columns[n].tolist() for n in columns if _is_reason(n)}
    routes = ranked.profile.routes
    vector = next((f"{r.name}.score" for r in routes if isinstance(r, VectorRoute)), "")
    cosines = columns[vector].tolist() if vector in columns else [math.nan] * len(final)
    hits: list[Hit] = []
    for i, record in enumerate(records):
        if record is None:
            continue  # erased by someone else since it was ranked
        hits.append(
            Hit(
                record,
                scores[i],
                len(hits) + 1,
                {n: int(r[i]) for n, r in ranks.items() if r[i] == r[i]},
                trees[i],
                {n: v[i] for n, v in reasons.items() if v[i] is not None and v[i] == v[i]},
                neighbors[i] if neighbors else (),
                max(0.0, cosines[i]) if cosines[i] == cosines[i] else None,
            )
        )
    return tuple(hits)


@lru_cache(maxsize=1024)
def _is_reason(column: str) -> bool:
    """Whether a column is what a stage leaves, not a field, a route's or the score itself."""
    if is_stored(column) or column == "score" or column.startswith("neighbors."):
        return False
    if ".rank" in column or column.endswith(".matched"):
        return False
    return not column.endswith(".score") or column == "mmr.score"
