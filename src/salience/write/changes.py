"""Changes: suggestions of the earlier memory that a new one may replace."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from salience.arithmetic import NOISE, cosines
from salience.language import change
from salience.language.english import USER_NAMES
from salience.records.filters import And, Compare
from salience.records.record import Draft, MemoryRecord
from salience.retrieval.operations import OWNER_FIELDS, Collect, ReadRecords
from salience.retrieval.plan import Plan, ask
from salience.retrieval.query import Query
from salience.retrieval.routes import Vector
from salience.write.dedup.match_index import begins_at, owner_of
from salience.write.items import WriteContext

CANDIDATES = 6
"""The nearest earlier memories of its owner that a new one is read with."""
MAX_CHARACTERS = 150
"""The longest statement to read: the model knows pairs of sentences, not of paragraphs."""
_QUESTION_MARKS = ("?", "\uff1f")
_ROWS = 64  # of cosines at a time
_LEAST_TOLD = -1.5  # of what a text tells by itself: below, hardly any takes a place

Suggestion = tuple[str, float]
"""The id of the memory that may be replaced, and the probability."""


def suggested(
    drafts: Mapping[int, Draft],
    unread: Collection[int],
    replaces: Mapping[int, str],
    scope: WriteContext,
) -> Plan[dict[int, Suggestion]]:
    """The plan of reading new memories with earlier ones; the likeliest change, by place.

    The `unread` ones only serve as earlier memories of others. `replaces` are the ids of memories
    that some supersede for certain; for later drafts these no longer count as earlier memories.
    """
    readable = {p: draft for p, draft in drafts.items() if p not in unread and _is_read(draft)}
    if not readable:
        return {}
    scores = change.tells([draft.record.content for draft in readable.values()])
    telling = {
        place: score
        for place, score in zip(readable, scores.tolist(), strict=True)
        if score > _LEAST_TOLD
    }
    if not telling:
        return {}
    tables = yield [_nearest(readable[place], scope) for place in telling]
    rows = np.unique(np.concatenate([table.rows for table in tables]))
    stored = (yield from ask(ReadRecords(rows, sound=True))) if len(rows) else ()
    record_of = dict(zip(rows.tolist(), stored, strict=True))
    replaced_at = {id: place for place, id in replaces.items()}
    in_batch = _in_batch(telling, drafts, replaced_at)
    suggestions: dict[int, Suggestion] = {}
    for (place, score), table in zip(telling.items(), tables, strict=True):
        cosines = zip(table.rows.tolist(), table.floats("vector.score").tolist(), strict=True)
        near = in_batch[place] + [
            (cosine, record)
            for row, cosine in cosines
            if (record := record_of[row]) is not None and replaced_at.get(record.id, place) >= place
        ]
        newer = readable[place].record
        older = _earlier(newer, near)
        chances = change.may_replace(newer.content, [record.content for record in older], score)
        if len(older) and chances.max() >= change.POSSIBLE:
            best = int(chances.argmax())
            suggestions[place] = (older[best].id, round(float(chances[best]), 3))
    return suggestions


def _is_read(draft: Draft) -> bool:
    """Test whether a memory is a statement of a user, or of nobody, and has a vector.

    It must be short, not a question, and without a title, which documents have. Among people, much
    changes in passing.
    """
    record, vector = draft.record, draft.vectors.get("content")
    by_user = record.speaker is None or record.speaker.casefold() in USER_NAMES
    is_short = record.title is None and len(record.content) <= MAX_CHARACTERS
    asks = record.content.rstrip().endswith(_QUESTION_MARKS)
    return by_user and is_short and not asks and vector is not None and bool(vector.any())


def _nearest(draft: Draft, scope: WriteContext) -> Collect:
    owner = zip(OWNER_FIELDS, owner_of(draft.record), strict=True)
    where = And(
        (Compare("status", "eq", "active"), *(Compare(name, "eq", value) for name, value in owner))
    )
    query = Query(
        "",
        (scope.namespace,),
        scope.now.timestamp(),
        where=where,
        vector=draft.vectors["content"],
        embedder=scope.embedder,
    )
    route = Vector()
    return Collect(query, (route,), CANDIDATES, ("id",), frozenset({"vector.score"}))


def _in_batch(
    telling: Collection[int], drafts: Mapping[int, Draft], replaced_at: Mapping[str, int]
) -> dict[int, list[tuple[float, MemoryRecord]]]:
    """The nearest drafts of the same owner in force before each place, with their cosines."""
    nearest: dict[int, list[tuple[float, MemoryRecord]]] = {place: [] for place in telling}
    places_of: dict[Any, list[int]] = {}
    for place, draft in drafts.items():
        vector = draft.vectors.get("content")
        if vector is not None and vector.any():
            places_of.setdefault((owner_of(draft.record), len(vector)), []).append(place)
    end = max(drafts) + 1
    for places in places_of.values():
        vectors = np.stack([drafts[place].vectors["content"] for place in places])
        ends = np.array([replaced_at.get(drafts[place].record.id, end) for place in places])
        selected = [at for at, place in enumerate(places) if at and place in nearest]
        for first in range(0, len(selected), _ROWS):
            rows = selected[first : first + _ROWS]
            for at, near in zip(rows, vectors[rows] @ vectors.T, strict=True):
                holding = np.flatnonzero(ends[:at] >= places[at])
                rough = near[holding]
                if len(holding) > CANDIDATES:
                    least = np.partition(rough, -CANDIDATES)[-CANDIDATES]
                    holding = holding[rough >= least - 2 * NOISE]
                exact = cosines(vectors, vectors[at], holding)
                nearest[places[at]] = [
                    (float(exact[n]), drafts[places[holding[n]]].record)
                    for n in np.argsort(-exact, kind="stable")[:CANDIDATES].tolist()
                ]
    return nearest


def _earlier(newer: MemoryRecord, near: Sequence[tuple[float, MemoryRecord]]) -> list[MemoryRecord]:
    """Those of the nearest ones that are not later, are short, and say something else."""
    nearest = sorted(near, key=lambda each: -each[0])[:CANDIDATES]
    return [
        record
        for _, record in nearest
        if begins_at(record) <= begins_at(newer)
        and record.id != newer.id
        and record.content != newer.content
        and len(record.content) <= MAX_CHARACTERS
    ]
