"""Searching: from the words of a question to hits that say why.

analyse the words -> embed them -> run the profile's stages -> read the records -> touch them
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from salience.errors import InvalidInput, shown
from salience.language.dates import past_interval
from salience.language.entities import NO_ALIASES, Aliases
from salience.language.tokens import count_tokens
from salience.ranking import profiles
from salience.ranking.profile import Profile
from salience.ranking.stages import Pipeline, min_value
from salience.records.filters import And, Compare, Filter, Not, fields_of, parse
from salience.records.validation import boolean, finite, integer, native
from salience.retrieval.routes import Vector as VectorRoute

MOST_HITS = 1000


@dataclass(frozen=True, eq=False)
class SearchRequest:
    """A search as asked for, checked; see `Memory.search` for the meaning of each part."""

    text: str
    namespaces: tuple[str, ...]
    profile: Profile
    now: datetime
    limit: int = 10
    where: Filter | None = None
    min_score: float | None = None
    embeds: bool = True
    embedder: Callable[[], str | None] = lambda: None  # its identity, asked once it has answered
    touch: bool = True
    explain: bool = False
    token_budget: int | None = None
    count_tokens: Callable[[str], int] = count_tokens
    aliases: Aliases = NO_ALIASES
    about: tuple[float, float] | None = None  # the time that it asks about, in seconds


def request(
    text: Any,
    namespaces: Sequence[str],
    profile: Profile,
    now: datetime,
    *,
    limit: int = 10,
    filters: Mapping[str, Any] | Filter | None = None,
    min_score: float | None = None,
    threshold: float | None = None,
    min_similarity: float | None = None,
    include_archived: bool = False,
    context: str | None = None,
    weights: Mapping[str, float] | None = None,
    embeds: bool = True,
    embedder: Callable[[], str | None] = lambda: None,
    touch: bool = True,
    explain: bool = False,
    token_budget: int | None = None,
    count_tokens: Callable[[str], int] = count_tokens,
    aliases: Aliases = NO_ALIASES,
) -> SearchRequest:
    """A checked request.

    Raises:
        InvalidInput: names the argument that is wrong.
    """
    limit = integer("limit", limit, 1, MOST_HITS)
    if token_budget is not None:
        token_budget = integer("token_budget", token_budget, 0)
    include_archived = boolean("include_archived", include_archived)
    where = parse(filters)
    profile = profiles.in_context(profile, context, _layer(where))
    text = _asked(text)
    about = past_interval(text, now)
    kept: list[Filter] = [_unexpired(now)]
    if "status" not in fields_of(where):  # who asks for a status gets that one
        statuses = dict.fromkeys(profile.statuses)
        if about is not None and profile.heeds_validity:  # it may have held then
            statuses["superseded"] = None
        if include_archived:
            statuses["archived"] = None
        kept.insert(0, Compare("status", "in", tuple(statuses)))
    return SearchRequest(
        text,
        tuple(dict.fromkeys(namespaces)),
        _similar(profile.weighted(weights), min_similarity),
        now,
        limit,
        And((*kept, *([] if where is None else [where]))),
        _min_score(min_score, threshold),
        embeds,
        embedder,
        boolean("touch", touch),
        boolean("explain", explain),
        token_budget,
        count_tokens,
        aliases,
        about,
    )


def _asked(text: Any) -> str:
    """The query as it can be looked for: what is no character cannot be in a memory either."""
    if not isinstance(text, str):
        raise InvalidInput("query", f"must be text, not {type(text).__name__}")
    if not text.strip():
        raise InvalidInput("query", "is empty", "ask for something")
    return text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")


def _bound(name: str, value: float | None) -> float | None:
    if value is None:
        return None
    found = native(value)
    numeric = isinstance(found, (int, float)) and not isinstance(found, bool)
    if not numeric or not finite(found):
        raise InvalidInput(name, f"is {shown(value)}", "give a finite number")
    return float(found)


def _min_score(min_score: float | None, threshold: float | None) -> float | None:
    """The least score asked for by either of its names."""
    given, other = _bound("min_score", min_score), _bound("threshold", threshold)
    if other is not None and given not in (None, other):
        raise InvalidInput("threshold", "is another name for min_score", "give one of them")
    return given if other is None else other


def _layer(where: Filter | None) -> str | None:
    """The one layer that a filter leaves, None where it may leave several."""
    for part in where.parts if isinstance(where, And) else (where,):
        if isinstance(part, Compare) and (part.field, part.operator) == ("layer", "eq"):
            return part.value
    return None


def _similar(profile: Profile, least: float | None) -> Profile:
    """The profile without candidates whose cosine on its first vector route is below `least`."""
    least = _bound("min_similarity", least)
    if least is None:
        return profile
    compared = [route for route in profile.routes if isinstance(route, VectorRoute)]
    if not compared:
        raise InvalidInput("min_similarity", f"{profile.name} compares no vectors", "leave it out")
    first, *rest = profile.pipeline.stages
    bound = min_value(f"{compared[0].name}.score", least)
    return replace(profile, pipeline=Pipeline((first, bound, *rest)))


def _unexpired(now: datetime) -> Filter:
    """Passes a memory unless its `expires_at` is now or before; one without it never expires."""
    return Not(Compare("expires_at", "lte", now.timestamp()))
