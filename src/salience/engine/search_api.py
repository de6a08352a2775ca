"""Recalling: search, ask why, compare, and read what is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any

from salience.engine.core import Filters
from salience.engine.runner import AsyncFace, PlanRunner
from salience.ranking.profiles import ProfileLike
from salience.records.record import MemoryRecord
from salience.retrieval.operations import Page
from salience.search.compare import Comparison
from salience.search.context import Context, Format, SectionLike
from salience.search.explain import ExplainReport
from salience.search.results import SearchResult


class Recalling(PlanRunner):
    """Search, ask why, compare, and read what is kept."""

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        profile: ProfileLike | None = None,
        filters: Filters = None,
        now: date | str | float | None = None,
        as_of: date | str | float | None = None,
        touch: bool = True,
        explain: bool = False,
        min_score: float | None = None,
        weights: Mapping[str, float] | None = None,
        namespaces: Sequence[str] | None = None,
        token_budget: int | None = None,
        threshold: float | None = None,
        min_similarity: float | None = None,
        include_archived: bool = False,
        context: str | None = None,
    ) -> SearchResult:
        """The memories that matter for a query, best first.

        Args:
            query: what is asked, in words.
            limit: how many hits at most, 1 to 1000.
            profile: how to rank, other than the default.
            filters: which memories may be found; see `salience.records.filters`. Only active ones
                are, unless it says something of their `status`.
            now: the time to rank for, other than the present.
            as_of: rank what there was at this time, as it was then: contents, links, accesses,
                judgements, statuses. What was erased since cannot be in it. Nothing is touched.
            touch: count an access of each hit (written within a second, never waited for).
            explain: give each hit its `explanation`.
            min_score: leave out hits below it; what a score means depends on the profile.
            threshold: another name for `min_score`.
            min_similarity: leave out memories whose cosine with the query is below it.
            include_archived: find archived memories, too.
            context: a variant of the profile, such as "identity", "knowledge", "episodic" or
                "activity" of "vitality"; by default that of the layer which `filters` ask for.
            weights: other weights for named parts of the profile's score.
            namespaces: search these instead of this one.
            token_budget: how many tokens the hits (and neighbors) may take together; one that does
                not fit is skipped for the next.

        Raises:
            InvalidInput: names the argument that is wrong.
        """
        return self._run(self._core.search(_asked(locals())))

    def explain(
        self,
        query: str,
        id: str,
        *,
        limit: int = 10,
        profile: ProfileLike | None = None,
        filters: Filters = None,
        now: date | str | float | None = None,
        as_of: date | str | float | None = None,
        min_score: float | None = None,
        weights: Mapping[str, float] | None = None,
        namespaces: Sequence[str] | None = None,
        token_budget: int | None = None,
        threshold: float | None = None,
        min_similarity: float | None = None,
        include_archived: bool = False,
        context: str | None = None,
        everywhere: bool = False,
    ) -> ExplainReport:
        """Why a memory is returned for a query or not, and what would change it; touches nothing.

        The answer holds the tree of its score, where and by how much it missed if it is no hit,
        and for each part of the score the value that would turn the outcome. The arguments are
        those of `search`; with `everywhere` the memory is looked for in all namespaces.

        Raises:
            NotFound: there is no such memory.
        """
        return self._run(self._core.explain(_asked(locals()), id, everywhere=everywhere))

    def compare(
        self,
        query: str,
        profiles: Sequence[ProfileLike],
        *,
        limit: int = 10,
        filters: Filters = None,
        now: date | str | float | None = None,
        as_of: date | str | float | None = None,
        min_score: float | None = None,
        namespaces: Sequence[str] | None = None,
        token_budget: int | None = None,
    ) -> Comparison:
        """One query under two or more profiles side by side; touches nothing.

        The arguments are those of `search`.

        Raises:
            InvalidInput: names the argument that is wrong.
        """
        return self._run(self._core.compare(profiles, _asked(locals())))

    def get_context(
        self,
        query: str,
        max_tokens: int = 2000,
        *,
        format: Format = "text",
        sections: Sequence[SectionLike] | None = None,
        counter: Callable[[str], int] | None = None,
        profile: ProfileLike | None = None,
        now: date | str | float | None = None,
        as_of: date | str | float | None = None,
        filters: Filters = None,
        references: bool = True,
        touch: bool = True,
    ) -> Context:
        """What matters for a query, written down to be read, in at most `max_tokens` tokens.

        Args:
            query: what is asked, in words.
            max_tokens: the budget; the text never takes more of it, as `counter` counts.
            format: "text", "markdown", "xml" or "messages".
            sections: names, mappings or `Section`s; see `salience.search.context`. By default what
                is known of the user (memories of the kind "profile", never cut), then a search.
            counter: from text to tokens; ceil(characters / 4) unless the memory has its own.
            profile: how to rank, other than the default.
            now: the time to rank for, other than the present.
            as_of: draw on what there was at this time; see `search`. Nothing is touched.
            filters: which memories may be in it, in every section.
            references: mark each memory with a short reference, [m:...], see `provenance`.
            touch: count an access of each memory that is in it.

        Raises:
            InvalidInput: names the argument that is wrong, or what a section needs that is never
                cut.
        """
        asked = _asked(locals(), "query", "counter")
        return self._run(self._core.context(query, counter, asked))

    def get(self, id: str) -> MemoryRecord | None:
        """One memory by id, or None; looking is not an access."""
        return self._run(self._core.get(id))

    def get_all(
        self, filters: Filters = None, *, limit: int = 100, cursor: str | None = None
    ) -> Page:
        """One page of the memories that pass a filter, newest first, with their `total`.

        Pass the page's `cursor` to get the next one; it is None at the end.
        """
        return self._run(self._core.list(filters, limit, cursor))


class AsyncRecalling(AsyncFace):
    """`Recalling`, awaited."""

    async def search(
        self,
        query: str,
        *,
        limit: int = 10,
        profile: ProfileLike | None = None,
        filters: Filters = None,
        now: date | str | float | None = None,
        as_of: date | str | float | None = None,
        touch: bool = True,
        explain: bool = False,
        min_score: float | None = None,
        weights: Mapping[str, float] | None = None,
        namespaces: Sequence[str] | None = None,
        token_budget: int | None = None,
        threshold: float | None = None,
        min_similarity: float | None = None,
        include_archived: bool = False,
        context: str | None = None,
    ) -> SearchResult:
        """See `Memory.search`."""
        return await self._run(self._core.search(_asked(locals())))

    async def explain(
        self,
        query: str,
        id: str,
        *,
        limit: int = 10,
        profile: ProfileLike | None = None,
        filters: Filters = None,
        now: date | str | float | None = None,
        as_of: date | str | float | None = None,
        min_score: float | None = None,
        weights: Mapping[str, float] | None = None,
        namespaces: Sequence[str] | None = None,
        token_budget: int | None = None,
        threshold: float | None = None,
        min_similarity: float | None = None,
        include_archived: bool = False,
        context: str | None = None,
        everywhere: bool = False,
    ) -> ExplainReport:
        """See `Memory.explain`."""
        return await self._run(self._core.explain(_asked(locals()), id, everywhere=everywhere))

    async def compare(
        self,
        query: str,
        profiles: Sequence[ProfileLike],
        *,
        limit: int = 10,
        filters: Filters = None,
        now: date | str | float | None = None,
        as_of: date | str | float | None = None,
        min_score: float | None = None,
        namespaces: Sequence[str] | None = None,
        token_budget: int | None = None,
    ) -> Comparison:
        """See `Memory.compare`."""
        return await self._run(self._core.compare(profiles, _asked(locals())))

    async def get_context(
        self,
        query: str,
        max_tokens: int = 2000,
        *,
        format: Format = "text",
        sections: Sequence[SectionLike] | None = None,
        counter: Callable[[str], int] | None = None,
        profile: ProfileLike | None = None,
        now: date | str | float | None = None,
        as_of: date | str | float | None = None,
        filters: Filters = None,
        references: bool = True,
        touch: bool = True,
    ) -> Context:
        """See `Memory.get_context`."""
        asked = _asked(locals(), "query", "counter")
        return await self._run(self._core.context(query, counter, asked))

    async def get(self, id: str) -> MemoryRecord | None:
        """See `Memory.get`."""
        return await self._run(self._core.get(id))

    async def get_all(
        self, filters: Filters = None, *, limit: int = 100, cursor: str | None = None
    ) -> Page:
        """See `Memory.get_all`."""
        return await self._run(self._core.list(filters, limit, cursor))


_OWN = ("self", "id", "everywhere", "profiles")  # what is no argument of a search


def _asked(arguments: Mapping[str, Any], *others: str) -> dict[str, Any]:
    """The arguments of a search, without some."""
    return {n: v for n, v in arguments.items() if n not in _OWN and n not in others}
