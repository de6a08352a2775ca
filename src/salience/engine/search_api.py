"""Methods that search: search, explain, compare, a context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Unpack

from salience.engine.log import log_search
from salience.engine.options import check_names, takes
from salience.engine.runner import MANY, PlanRunner
from salience.engine.time_travel import as_of
from salience.errors import InvalidInput
from salience.ranking import profiles as profiles_by_name
from salience.ranking.profiles import ProfileLike
from salience.records.validation import boolean, text
from salience.retrieval.plan import Plan, T
from salience.search import compare, context, explain, search
from salience.search.compare import Comparison
from salience.search.context import CONTEXT_DEFAULTS, Context, ContextOptions, ContextRequest
from salience.search.explain import ExplainReport
from salience.search.request import (
    SEARCH_DEFAULTS,
    CompareOptions,
    ExplainOptions,
    SearchOptions,
    SearchRequest,
)
from salience.search.results import SearchResult


class SearchApi(PlanRunner):
    """Search, ask why, compare, and write a context."""

    @takes(CompareOptions, ExplainOptions, SearchOptions, defaults=SEARCH_DEFAULTS)
    def search(self, query: str, **options: Unpack[SearchOptions]) -> SearchResult:
        """Find the memories that matter for a query, best first.

        Args:
            query: what is asked, in words.
            {options}

        Raises:
            InvalidInput: names the argument that is wrong.
        """
        check_names("Memory.search", options, SearchOptions)
        request = self._core.request(query, **options)
        result = self._read(search.search(request), request, request.limit)
        log_search(result, request.settings.slow_search_ms)
        return result

    @takes(CompareOptions, ExplainOptions, defaults=SEARCH_DEFAULTS)
    def explain(
        self, query: str, id: str, *, everywhere: bool = False, **options: Unpack[ExplainOptions]
    ) -> ExplainReport:
        """Say why a memory is returned for a query or not, and what would change it.

        The answer holds the tree of its score, where and by how much it missed if it is no hit,
        and for each part of the score the value that would turn the outcome. Nothing is touched.

        Args:
            query: what is asked, in words.
            id: the id of the memory.
            everywhere: look for the memory in all namespaces of the store.
            {options}

        Raises:
            NotFound: there is no such memory.
            InvalidInput: names the argument that is wrong.
        """
        check_names("Memory.explain", options, ExplainOptions)
        request = self._core.request(query, **options)
        everywhere = boolean("everywhere", everywhere)
        return self._read(explain.explain(request, text("id", id), everywhere=everywhere), request)

    @takes(CompareOptions, defaults=SEARCH_DEFAULTS)
    def compare(
        self, query: str, profiles: Sequence[ProfileLike], **options: Unpack[CompareOptions]
    ) -> Comparison:
        """Rank for one query under two or more profiles, side by side; touches nothing.

        Args:
            query: what is asked, in words.
            profiles: the profiles to compare; each further one is held against the first.
            {options}

        Raises:
            InvalidInput: names the argument that is wrong.
        """
        check_names("Memory.compare", options, CompareOptions)
        if isinstance(profiles, (str, Mapping)) or not isinstance(profiles, Sequence):
            raise InvalidInput("profiles", "must be a list of profiles")
        compared = [profiles_by_name.get(profile) for profile in profiles]
        request = self._core.request(query, **options)
        return self._read(compare.compare(request, compared), request)

    @takes(ContextOptions, defaults=CONTEXT_DEFAULTS)
    def get_context(
        self, query: str, max_tokens: int = 2000, **options: Unpack[ContextOptions]
    ) -> Context:
        """Write down what matters for a query, to be read, in at most `max_tokens` tokens.

        Args:
            query: what is asked, in words.
            max_tokens: the budget; the text never takes more of it, as `counter` counts.
            {options}

        Raises:
            InvalidInput: names the argument that is wrong, or what a section needs that is never
                cut.
        """
        check_names("Memory.get_context", options, ContextOptions)
        request = context.context_request(query, max_tokens, self._core.searches, options)
        return self._read(context.assemble(request), request)

    def _read(
        self, plan: Plan[T], request: SearchRequest | ContextRequest, memories: int = MANY
    ) -> T:
        """Run a plan that reads, in the past if the request is about that."""
        if request.as_of is not None:
            return self._run_upkeep(as_of(plan, request.namespaces, request.as_of))
        return self._run(plan, memories)
