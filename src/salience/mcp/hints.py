"""Hints: what to try where a search found little, from what is known and not from a guess.

This is the one place that judges how good the hits of a search are: by the probability that one of
them answers the query, and without it by their words.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from salience.display.for_models import one_line
from salience.engine.async_memory import AsyncMemory
from salience.language.english import STOP_WORDS
from salience.language.query_analysis import asks_something
from salience.language.tokens import stem, terms, words
from salience.search.cutoff import doubt
from salience.search.results import Hit, SearchResult

_READ_CHARACTERS = 20_000  # of a memory, to look for words of the query
_CLOSE = 3  # memories that are named where none answers


def found_little(result: SearchResult) -> bool:
    """Test whether a search found nothing, or nothing with a word of the query."""
    taken = (word for others in result.taken.values() for word in others)
    asked = {stem(word) for word in (*words(result.query), *taken) if word not in STOP_WORDS}
    return not result.hits or (bool(asked) and not any(asked & _words_of(hit) for hit in result))


def _words_of(hit: Hit) -> set[str]:
    """The stems of the words by which a memory may be asked for."""
    names = (hit.title, hit.speaker, hit.gist, *hit.tags, *hit.entities)
    return set(terms(" ".join(filter(None, (hit.content[:_READ_CHARACTERS], *names)))))


async def hint(
    memory: AsyncMemory,
    result: SearchResult,
    where: Mapping[str, Any] | None,
    bounds: Mapping[str, Any],
) -> str | None:
    """A sentence on what was searched, what came close and what to try; None for good results.

    `where` is the filter of the search, and `bounds` are the other arguments that leave hits out.
    """
    notes = [f"Searched without {one_line(lack)}." for lack in result.degraded]
    notes += [
        f"No memory has {one_line(word)!r}; searched for {one_line(', '.join(others))}."
        for word, others in result.taken.items()
    ]
    doubtful = doubt(result.probability)
    may_doubt = asks_something(result.query) if result.hits else not (where or bounds)
    if doubtful is not None and may_doubt:
        notes.append(await _doubtful(memory, result, doubtful))
    elif found_little(result):
        notes.append(await _little(memory, result, where, bounds))
    return " ".join(notes) or None


async def _doubtful(memory: AsyncMemory, result: SearchResult, doubtful: str) -> str:
    if result.hits:
        return f"{doubtful} This came closest; else ask in other words, or take it as unknown."
    wider = await memory.search(result.query, limit=_CLOSE, touch=False)
    if not wider.hits:
        return await _little(memory, result, None, {})
    found = doubt(wider.probability) or "All that was found is cut."
    return f"{found} These came closest: {_ids(wider)}. Or ask in other words."


async def _little(
    memory: AsyncMemory,
    result: SearchResult,
    where: Mapping[str, Any] | None,
    bounds: Mapping[str, Any],
) -> str:
    if result.hits:
        return (
            "No memory has a word of the query; these were found by likeness of meaning alone. "
            "If they do not answer it, ask in other words, or take it that nothing is known."
        )
    stored = await memory.count(archived=False)
    if not stored:
        return "Nothing is remembered yet."
    searched = await memory.count(where, archived=False) if where else stored
    notes = [f"Nothing found among {searched:,} memories."]
    if where or bounds:
        wider = await memory.search(result.query, limit=_CLOSE, touch=False)
        if wider.hits:
            notes.append(f"Without filters and bounds, these come closest: {_ids(wider)}.")
        else:
            notes.append("Without filters and bounds there is nothing, either.")
    else:
        notes.append("Ask in other words, or list_memories to see what there is.")
    return " ".join(notes)


def _ids(result: SearchResult) -> str:
    return ", ".join(json.dumps(one_line(hit.id)) for hit in result.hits)
