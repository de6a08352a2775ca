"""`memory.inspect` and `memory.labels`: what looks behind memories, and what measures recall."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Unpack, cast

from salience.api.parameters import Bounds, with_options
from salience.engine.core import Part
from salience.engine.options import check_names
from salience.engine.search_api import EXPLAINING
from salience.lifecycle import zone_history
from salience.lifecycle.neighbourhood import DEPTH, NODES, Graph, graph
from salience.lifecycle.vitality_history import VitalityHistory, vitality_history
from salience.lifecycle.zone_history import POINTS, ZoneHistory
from salience.lifecycle.zones import FROM_NONE, Zones, zones
from salience.ranking import profiles as profiles_by_name
from salience.ranking.profiles import ProfileLike
from salience.records.field_filters import ID, FieldFilters, with_fields
from salience.records.record import LINK_TYPES
from salience.records.validation import callable_or_none, integer, number, text
from salience.retrieval.questions import (
    LabelledQuestion,
    Questions,
    QuestionScores,
    drop_question,
    put_question,
    read_questions,
    score,
)
from salience.search import candidates, compare, search
from salience.search.candidates import DEFAULT_CANDIDATES, CandidateTable
from salience.search.compare import Comparison
from salience.search.listing import PAGE, PageLimit
from salience.search.recording import SearchPage, recorded
from salience.search.request import (
    HITS,
    SEARCH_DEFAULTS,
    SHARE,
    CompareOptions,
    ExplainOptions,
    Filters,
    HitOptions,
    Id,
    Moment,
    Present,
    Query,
    SearchOptions,
    SharedOptions,
    further,
)

_MEASURED_HITS = 20


class Inspect(Part):
    """Look behind memories: what a search ranks, their links, zones and vitality."""

    @with_options(*EXPLAINING, defaults={**SEARCH_DEFAULTS, "limit": DEFAULT_CANDIDATES})
    def candidates(
        self, query: Query, *, hits: Annotated[int, HITS] = 10, **given: Unpack[ExplainOptions]
    ) -> CandidateTable:
        """List everything that a search ranks, as columns: the hits, then the rest.

        The answer holds the values of each part of the score, the ranks on the routes, and how many
        memories each stage was given and let pass. Nothing is touched.

        Args:
            query: a question or search terms.
            hits: the `limit` of the search, 1 to 1000.
        """
        check_names("Memory.inspect.candidates", given, ExplainOptions, "hits")
        given = with_fields(given)
        given.setdefault("limit", DEFAULT_CANDIDATES)
        request = self._core.request(query, **given)
        searched = replace(request, limit=integer("hits", hits, *HITS))
        return self._run_search(candidates.candidates(searched, request.limit), request)

    @with_options(FieldFilters, SharedOptions, CompareOptions, defaults=SEARCH_DEFAULTS)
    def compare(
        self,
        query: Query,
        profiles: Annotated[Sequence[ProfileLike], Bounds(minItems=2)],
        **given: Unpack[CompareOptions],
    ) -> Comparison:
        """Compare the hits of two or more profiles for one query; no use is counted.

        Args:
            query: a question or search terms.
            profiles: the profiles to compare; each further one is held against the first.
        """
        check_names("Memory.inspect.compare", given, CompareOptions)
        given = with_fields(given)
        if given.get("options") is not None:
            further(given["options"], HitOptions)
        compared = profiles_by_name.get_all(profiles)
        request = self._core.request(query, **cast("SearchOptions", given))
        return self._run_search(compare.compare(request, compared), request)

    def graph(
        self,
        around: Annotated[str, ID],
        *,
        depth: Annotated[int, DEPTH] = 1,
        limit: Annotated[int, NODES] = 500,
        types: Annotated[Sequence[str] | None, Bounds(items={"enum": LINK_TYPES})] = None,
        entities: bool = False,
        as_of: Present = None,
    ) -> Graph:
        """Get the memories linked to one, in either direction, and the links between them.

        Args:
            around: the id of the memory.
            depth: the most links between it and another, 1 to 3.
            limit: the most nodes, and the most edges, 1 to 500; each node says what was left out.
            types: the types of links to follow; all by default.
            entities: True to list the entities of these memories as nodes, too.
            as_of: a time in the past, at which links and memories are taken.

        Raises:
            NotFound: there is no such memory.
        """
        now = self._core.time("as_of", as_of).timestamp()
        id = text("around", around)
        plan = graph(self._core.namespace, id, now, depth, limit, types, entities)
        return self._run_at(plan, as_of)

    def zones(
        self,
        filters: Filters = None,
        *,
        now: Present = None,
        limit: Annotated[int | None, FROM_NONE] = None,
        cursor: str | None = None,
    ) -> Zones:
        """Label each memory by its vitality (active, stale, fading, dormant), liveliest first.

        The zones are computed for a time, the present by default; no memory is moved. Memories in
        the archive, and those that were consolidated, are in no zone.

        Args:
            filters: a condition that each memory must meet.
            now: the time to compute for; the present by default.
            limit: the most memories of a page; 0 gives the counts alone, which are of all.
            cursor: the cursor of the page before, which goes on at the same time.
        """
        at, where = self._core.time("now", now).timestamp(), self._core.filter(filters)
        return self._run(zones((self._core.namespace,), at, where, limit, cursor))

    def zone_shares(
        self,
        *,
        since: Moment = None,
        until: Moment = None,
        points: Annotated[int, POINTS] = 53,
        progress: Callable[[int, int], None] | None = None,
    ) -> ZoneHistory:
        """Count the memories in each zone (active, stale, fading, dormant) at several times.

        The past comes from the log; the future is computed as if no memory was used any more.
        `salience.lifecycle.zone_chart` draws the result.

        Args:
            since: the first time; that of the first event by default.
            until: the last time; now by default.
            points: the number of times.
            progress: called with the number of times done, and of all.
        """
        points = integer("points", points, *POINTS)
        now = self._core.time()
        last = self._core.moment("until", until) or now
        first = self._core.moment("since", since)
        progress = callable_or_none("progress", progress)
        return self._run(
            zone_history.zone_history(self._core.namespace, first, last, points, now, progress)
        )

    def vitality(
        self,
        id: Id,
        *,
        since: Moment = None,
        until: Moment = None,
        points: Annotated[int, POINTS] = 53,
    ) -> VitalityHistory:
        """Compute the vitality of one memory at several times, and each change of its zone.

        The `points` times go from `since` to `until`. The past comes from the log; the future is
        computed as if the memory was never used again.

        Args:
            id: the id of the memory.
            since: the first time; that of its writing by default.
            until: the last time; now by default.
            points: the number of times.

        Raises:
            NotFound: there is no such memory.
        """
        points = integer("points", points, *POINTS)
        first = self._core.moment("since", since)
        last = self._core.moment("until", until)
        now = self._core.time()
        plan = vitality_history(text("id", id), self._core.namespace, first, last, points, now)
        return self._run(plan)

    def searches(
        self,
        after: str | None = None,
        *,
        limit: PageLimit = 100,
        below: Annotated[float | None, SHARE] = None,
    ) -> SearchPage:
        """List one page of the recorded searches of this namespace, newest first.

        They are those that `search_log` keeps; without one the page is empty and says so.

        Args:
            after: the cursor of the page before, to get the next one.
            limit: the most searches of a page.
            below: only those whose probability was below this, from 0 to 1.

        Raises:
            InvalidInput: names the argument that is wrong, or says what in the log is damaged.
        """
        recorder, namespace = self._core.recorder, self._core.namespace
        limit, below = integer("limit", limit, *PAGE), number("below", below, 1.0)
        return self._run(recorded(recorder, namespace, after, limit, below))


class Labels(Part):
    """Label questions with what answers them, and measure profiles on them."""

    def questions(self) -> Questions:
        """List the labelled questions of this namespace: what answers each, and what does not."""
        return self._run(read_questions(self._core.namespace))

    def add(
        self,
        query: Query,
        relevant: str | Sequence[str] = (),
        not_relevant: str | Sequence[str] = (),
        *,
        id: Id | None = None,
        at: Moment = None,
        filters: Filters = None,
    ) -> LabelledQuestion:
        """Label a question with the memories that answer it; replaces the one with its id.

        At most 1,000 are kept. One is erased with the last memory that answers it, all of them with
        the namespace.

        Args:
            query: a question or search terms.
            relevant: the ids of memories that answer it; none says that nothing there does.
            not_relevant: the ids of memories that do not.
            id: its id; a new one by default.
            at: the time of the question; the present by default.
            filters: a condition that each hit must meet.
        """
        plan = put_question(self._core.namespace, query, relevant, not_relevant, id, at, filters)
        return self._run(plan)

    def delete(self, id: Id) -> bool:
        """Delete a labelled question; False if none has that id.

        Args:
            id: the id of the question.
        """
        return self._run(drop_question(self._core.namespace, id))

    def score(
        self, profiles: Annotated[Sequence[ProfileLike], Bounds(minItems=1)] = ("balanced",)
    ) -> QuestionScores:
        """Measure profiles on the labelled questions: Recall@k, MRR and nDCG with their intervals.

        Each question with an answer is searched with each profile, at its time; no access counts.

        Args:
            profiles: the profiles, as `search` takes one.

        Raises:
            InvalidInput: a profile is wrong, or there is none of that name.
            SalienceError: `ir_measures` is not installed.
        """
        questions = [each for each in self.questions() if each.relevant]
        scores = []
        for profile in profiles_by_name.get_all(profiles):
            ranked = {}
            for each in questions:
                request = self._core.request(
                    each.query,
                    profile=profile,
                    limit=_MEASURED_HITS,
                    now=each.at,
                    filters=each.filters,
                    touch=False,
                )
                ranked[each.id] = self._run(search.search(request), searches=True).ids
            scores.append(score(profile.name, questions, ranked))
        return QuestionScores(tuple(scores))
