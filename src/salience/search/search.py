"""Search: from the words of a query to hits that say why.

analyze the query -> embed it -> run the profile's stages -> read the records -> touch them
"""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from salience.arithmetic import lengths
from salience.errors import EmbedderError, EmbedderMismatch
from salience.language.analysis_types import QueryAnalysis, TimeRange
from salience.language.dates import search_interval
from salience.language.entities import PossibleName, has_capitals, known_names, possible_names
from salience.language.languages.table import SCRIPTS
from salience.language.query_analysis import analyze_query, with_other_names
from salience.language.speakers import name_candidates, rare_speakers
from salience.language.spelling import Taken, respelt
from salience.language.tokens import question_words
from salience.ranking.probability import estimate, evidence_columns, has_probability
from salience.ranking.run import RankedRun, run_profile
from salience.ranking.stages import is_stored
from salience.records.filters import Compare, Filter, all_of, passes
from salience.records.record import Embedding, MemoryRecord
from salience.retrieval.candidates import Candidates, Rows
from salience.retrieval.operations import (
    NAME_FIELDS,
    CountRecords,
    Embed,
    Extract,
    FindNames,
    FindSpeakers,
    Op,
    ReadRecords,
    RowsById,
    SpeakerMatches,
    Touch,
)
from salience.retrieval.plan import Plan, ask
from salience.retrieval.query import Query
from salience.retrieval.routes import TimeWindow
from salience.retrieval.routes import Vector as VectorRoute
from salience.retrieval.turnstile import in_turns
from salience.search.passages import Passage, matching_passages
from salience.search.request import SearchRequest
from salience.search.results import BuildExplanation, Hit, LaterNumber, SearchResult, zones_of
from salience.search.spelling import find_words, taken_words

_QUESTION_WEIGHT = 0.5  # of the question in a long text, beside the whole text


def search(request: SearchRequest) -> Plan[SearchResult]:
    """The plan of a search."""
    clock = time.perf_counter
    started = clock()
    for _ in range(2):  # once more without damaged memories, or with edited ones
        run, degraded, embed_ms = yield from rank(request)
        likely = estimate(run)
        run = request.cutoff.apply(run, likely)
        ranked = clock()
        final = run.final
        neighbors, neighbor_rows = _neighbors(final)
        rows = final.rows
        [all_records] = yield [ReadRecords(np.concatenate([rows, neighbor_rows]), sound=True)]
        records, neighbor_records = all_records[: len(rows)], all_records[len(rows) :]
        if None not in records:
            break
    if None in records and len(request.namespaces) == 1:
        rows, records, unread = yield from _reread(run.query, final, records)
        if unread:
            lost = f"memories: what is stored of {', '.join(unread)} is damaged"
            degraded = (*degraded, f"{lost}; see `salience doctor`")
    passages = yield from matching_passages(request.profile, run.query, rows, records)
    if request.touch and len(rows):
        yield [Touch(rows, request.now)]
    trees: Sequence[BuildExplanation | None] = (
        run.explain_later(final.rows) if request.explain else [None] * len(final)
    )
    probability, probabilities = (None, None) if likely is None else likely.later(final.rows)
    finished = clock()
    timings_ms = {
        "embed": embed_ms,
        "rank": (ranked - started) * 1e3 - embed_ms,
        "read": (finished - ranked) * 1e3,
        "total": (finished - started) * 1e3,
    }
    return SearchResult(
        request.text,
        _hits(
            run,
            records,
            trees,
            _records_beside(neighbors, neighbor_rows, neighbor_records),
            probabilities,
            passages,
        ),
        request.profile.name,
        uuid.uuid4().hex,
        degraded,
        {step: round(ms, 3) for step, ms in timings_ms.items()},
        request.profile.search_type,
        request.min_score,
        run.query.reading.during,
        run.query.reading.taken,
        cast("float | None", probability),  # which is read later
        None if likely is None else likely.model.name,
        bool(run.approximate),
    )


def _reread(
    query: Query, final: Candidates, records: Sequence[MemoryRecord | None]
) -> Plan[tuple[Rows, list[MemoryRecord | None], list[str]]]:
    """The rows and records; those edited since they were ranked are as they are now.

    Those that are there and cannot be read are named.

    An edit gives a memory a new row. One that was erased stays missing, and so does one that does
    not pass the filter any more. (Of several namespaces, the row does not tell which it was in.)
    """
    places = {final["id"][place]: place for place, record in enumerate(records) if record is None}
    rows_by_id = yield from ask(RowsById(query.namespaces[0], tuple(filter(None, places))))
    new_rows = np.array(list(rows_by_id.values()), dtype=np.int64)
    new_records = yield from ask(ReadRecords(new_rows, sound=True))
    rows, current = final.rows.copy(), list(records)
    for (id, row), record in zip(rows_by_id.items(), new_records, strict=True):
        if record is not None and passes(query.where, record.comparable):
            rows[places[id]], current[places[id]] = row, record
    unread = [id for id, record in zip(rows_by_id, new_records, strict=True) if record is None]
    return rows, current, unread


def rank(request: SearchRequest) -> Plan[tuple[RankedRun, tuple[str, ...], float]]:
    """Analyze the query, embed it and run the profile.

    Gives the run, what had to be done without, and the milliseconds spent on embedding.
    """
    profile, settings = request.profile, request.settings
    keeps_to_time = any(isinstance(route, TimeWindow) for route in profile.routes)
    during = search_interval(request.text, request.asked_at) if keeps_to_time else None
    degraded = list[str]()
    analysis, speakers, entities = yield from _analyze_words(request, during)
    started = time.perf_counter()
    vector, problem = yield from _query_vector(request, analysis)
    embed_ms = (time.perf_counter() - started) * 1e3
    if problem:
        degraded.append(f"vector: {problem}")
    if speakers.memories and vector is not None:
        degraded += [
            f"{route.name}: no memory has a vector {route.vector!r}"
            for route in profile.routes
            if isinstance(route, VectorRoute) and route.vector not in speakers.vectors
        ]
    if not analysis.terms and profile.search_type != "semantic":
        degraded.append("lexical: the query has no words to look for")
    embedder = None if vector is None or settings.embedder is None else settings.embedder()
    if vector is not None and not (embedder or "").startswith(_STATIC):
        features = {**analysis.features, "embedder_reads_context": 1.0}
        analysis = replace(analysis, features=features)
    query = Query(
        text=request.text,
        namespaces=request.namespaces,
        now=request.now.timestamp(),
        k=request.limit,
        min_score=request.min_score,
        where=request.where if during is None else _within(request.where, during),
        vector=vector,
        embedder=embedder,
        reading=analysis,
        token_budget=request.token_budget,
        count_tokens=settings.count_tokens,
        entities=settings.aliases.keys(entities),
        aliases=settings.aliases,
        known=_known_share(settings.knows, analysis),
        knows=settings.knows,
        evidence=evidence_columns() if has_probability(profile) else frozenset(),
        memories=speakers.memories,
        names=request.words.get("names", ""),
    )
    try:
        run = yield from in_turns(run_profile(profile, query), settings.turn)
    except EmbedderMismatch as other:  # another process has cut over to another embedder
        degraded.append(f"vector: {other}")
        by_words = run_profile(profile, replace(query, vector=None, embedder=None))
        run = yield from in_turns(by_words, settings.turn)
    degraded += run.problems
    if request.as_of is not None and not len(run.final):
        counts = yield [CountRecords(namespace) for namespace in request.namespaces]
        if not any(counts):
            degraded.append(f"as_of: nothing was known yet at {request.as_of.isoformat()}")
    return run, tuple(degraded), embed_ms


_STATIC = "wordllama/"  # the embedder whose vectors are means of those of words
_OF_WORDS = (
    "terms", "weights", "phrases", "prefixes", "taken", "time_terms", "state", "state_subject",
)  # fmt: skip
"""The parts of an analysis that are of the words to look for."""


def _analyze_words(
    request: SearchRequest, during: TimeRange | None
) -> Plan[tuple[QueryAnalysis, SpeakerMatches, Sequence[str]]]:
    """`_analyze`, each part of it that has words of its own by those."""
    analysis, speakers, entities = yield from _analyze(request, during)
    if words := request.words.get("lexical"):
        lexical, *_ = yield from _analyze(replace(request, text=words), None)
        analysis = replace(analysis, **{name: getattr(lexical, name) for name in _OF_WORDS})
    if names := request.words.get("names"):
        *_, entities = yield from _analyze(replace(request, text=names), None)
    if meaning := request.words.get("semantic"):
        analysis = replace(analysis, semantic_text=meaning, question="")
    return analysis, speakers, entities


def _analyze(
    request: SearchRequest, during: TimeRange | None
) -> Plan[tuple[QueryAnalysis, SpeakerMatches, Sequence[str]]]:
    """The analysis of the query, what is known of its speakers, and its entities."""
    text = request.text if during is None else _without(request.text, during.words)
    aliases: Mapping[str, frozenset[str]] = {}
    if request.profile.heeds_labels:
        aliases = request.settings.aliases.others_in(text)
    full = " ".join((text, *(name.title() for names in aliases.values() for name in sorted(names))))
    by_sound = bool(request.profile.spelt_fields)
    questions: list[Op] = [
        FindSpeakers(request.namespaces, *name_candidates(full), by_sound=by_sound),
    ]
    possible: list[PossibleName] = []
    if request.profile.entity_fields:
        questions.append(Extract((request.text,)))
        possible = [] if has_capitals(request.text) else possible_names(request.text)
    if possible:
        questions.append(_find_names(request, possible))
    spelling = find_words(request, text)
    speakers, *names = yield [*questions, *spelling]
    taken: dict[str, Taken] = {}
    if spelling:
        taken = yield from taken_words(request, text, names.pop(), speakers)
    if taken:
        text, full = respelt(text, taken), respelt(full, taken)
        speakers = yield from ask(
            FindSpeakers(request.namespaces, *name_candidates(full), by_sound=True)
        )
    analysis = analyze_query(
        text,
        speakers.names,
        speakers.users,
        speakers.assistants,
        during,
        request.about,
        now=request.asked_at,
        rare=rare_speakers(speakers.turns, speakers.all_turns),
        taken=taken,
    )
    if aliases:
        terms = with_other_names(analysis.terms, aliases)
        weights = analysis.weights and (
            *analysis.weights,
            *[1.0] * (len(terms) - len(analysis.terms)),
        )
        analysis = replace(analysis, terms=terms, weights=weights)
    entities = [name for [spelled] in names[:1] for name in spelled]
    if possible:
        entities += known_names(possible, names[1], entities)
    return analysis, speakers, entities


def _find_names(request: SearchRequest, possible: Sequence[PossibleName]) -> FindNames:
    """The question which of the possible names, or of their aliases, memories have."""
    aliases = request.settings.aliases
    variants = {name: aliases.spellings({aliases.key(name)}) for name, _, _ in possible}
    fields = tuple(name for name in NAME_FIELDS if name in request.profile.entity_fields)
    return FindNames(request.namespaces, variants, fields)


def _query_vector(
    request: SearchRequest, analysis: QueryAnalysis
) -> Plan[tuple[Embedding | None, str]]:
    """The vector of the query, if the profile compares any; else perhaps why it is missing."""
    if request.profile.search_type == "text":
        return None, ""
    if request.settings.embedder is None:
        return None, "the store was opened without an embedder"
    texts = tuple(filter(None, (analysis.semantic_text, analysis.question)))
    try:
        [vectors] = yield [Embed(texts, "query")]
        return _blend(vectors), ""
    except EmbedderError as problem:
        return None, str(problem)


def _blend(vectors: NDArray[np.float32]) -> Embedding:
    """The vector of a text; with that of the question in it, (text + w question) / length."""
    text_vector, *question = vectors
    if not question:
        return text_vector
    blended = text_vector + _QUESTION_WEIGHT * question[0]
    length = lengths(blended)
    return (blended / length).astype(np.float32) if length else text_vector


def _known_share(knows: Callable[[str], float] | None, analysis: QueryAnalysis) -> float:
    """The share that the embedder knows of the words of a query: in Latin script, and in others."""
    if knows is None:
        return 1.0
    place, share = analysis.writing
    latin = knows(analysis.language or SCRIPTS[0]) if not share else knows(SCRIPTS[0])
    return (1.0 - share) * latin + share * knows(SCRIPTS[place])


def _without(text: str, words: str) -> str:
    """A text without some of its words, unless nothing to look for would be left."""
    remaining = text.replace(words, " ", 1)
    return remaining if question_words(remaining) else text


def _within(where: Filter | None, during: TimeRange) -> Filter:
    """A filter that also keeps to a time."""
    start = Compare("created_at", "gte", during.start)
    end = Compare("created_at", "lt", during.end)
    return all_of(where, start, end)


def _neighbors(final: Candidates) -> tuple[Rows, Rows]:
    """The rows right before and after each hit, -1 for none, of shape (2, hits); and all of them.

    Of shape (2, 0) if the profile gives no neighbors.
    """
    if "neighbors.before" not in final.columns:
        return np.empty((2, 0), dtype=np.int64), np.empty(0, dtype=np.int64)
    sides = np.stack([final.floats("neighbors.before"), final.floats("neighbors.after")])
    neighbors = np.nan_to_num(sides, nan=-1.0).astype(np.int64)
    return neighbors, np.unique(neighbors[neighbors >= 0])


def _records_beside(
    neighbors: Rows, rows: Rows, records: Sequence[MemoryRecord | None]
) -> list[tuple[MemoryRecord, ...]]:
    """The records right before and after each hit."""
    by_row = dict(zip(rows.tolist(), records, strict=True))
    return [
        tuple(record.in_effect() for row in sides if (record := by_row.get(row)) is not None)
        for sides in neighbors.T.tolist()
    ]


def _hits(
    run: RankedRun,
    records: Sequence[MemoryRecord | None],
    trees: Sequence[BuildExplanation | None],
    neighbors: Sequence[tuple[MemoryRecord, ...]],
    probabilities: Sequence[LaterNumber] | None,
    passages: Sequence[tuple[Passage, ...]],
) -> tuple[Hit, ...]:
    final = run.final
    columns = final.columns
    scores = final.floats("score").tolist() if len(final) else []
    ranks, details = [[dict[str, Any]() for _ in records] for _ in range(2)]
    for name, column in columns.items():
        if (is_rank := name.endswith(".rank")) or _is_detail(name):
            key, noted = (name.removesuffix(".rank"), ranks) if is_rank else (name, details)
            for notes, value in zip(noted, column.tolist(), strict=True):
                if value is not None and value == value:
                    notes[key] = int(value) if is_rank else value
    routes = run.profile.routes
    vector = next((f"{r.name}.score" for r in routes if isinstance(r, VectorRoute)), "")
    cosines = columns[vector].tolist() if vector in columns else [math.nan] * len(final)
    zones = zones_of(run, final, records)
    hits: list[Hit] = []
    for i, record in enumerate(records):
        if record is None:
            continue  # erased by someone else since it was ranked
        hits.append(
            Hit.of(
                record,
                scores[i],
                len(hits) + 1,
                ranks[i],
                trees[i],
                {**details[i], **zones[i][1]},
                neighbors[i] if neighbors else (),
                max(0.0, cosines[i]) if cosines[i] == cosines[i] else None,
                zones[i][0],
                None if probabilities is None else probabilities[i],
                passages[i],
            )
        )
    return tuple(hits)


@lru_cache(maxsize=1024)
def _is_detail(column: str) -> bool:
    """Test whether a column is a detail: neither a field, nor a route's, nor the score itself."""
    if is_stored(column) or column in ("score", "change.by") or column.startswith("neighbors."):
        return False
    if ".rank" in column or column.endswith((".matched", ".weights")):
        return False
    return not column.endswith(".score") or column in ("mmr.score", "rerank.score")
