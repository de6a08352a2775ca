"""Methods that read: search, explain, compare, a context, and the memories themselves."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Self, Unpack

from salience.api.parameters import Bounds, with_options
from salience.engine.core import Core, PlanRunner
from salience.engine.options import check_names, narrowed
from salience.errors import InvalidInput
from salience.lazily import Module
from salience.records.field_filters import (
    FIELD_DEFAULTS,
    ID,
    OF_FIELD,
    TAG,
    FieldFilters,
    with_fields,
)
from salience.records.record import MemoryRecord
from salience.records.validation import MAX_IDS, boolean, text
from salience.retrieval.cursor import encode_cursor
from salience.retrieval.operations import ListRecords, Order, Place, RowsById
from salience.retrieval.plan import ask
from salience.search import context, listing, search
from salience.search.context import CONTEXT_DEFAULTS, Context, ContextOptions
from salience.search.listing import About, NamePage, Page, PageLimit, Prefix
from salience.search.recording import log_search
from salience.search.request import (
    SEARCH_DEFAULTS,
    TOKENS,
    ExplainOptions,
    Filters,
    Id,
    Present,
    Query,
    SearchOptions,
    SharedOptions,
)
from salience.search.results import SearchResult
from salience.write import reading

if TYPE_CHECKING:
    from salience.search import explain as explaining
else:
    explaining = Module("salience.search.explain")

ITERATION_PAGE = 1_000  # memories read at once
MAX_EXPLAINED = 20  # memories of one ranking
EXPLAINED = Bounds(minItems=1, maxItems=MAX_EXPLAINED)
AnyText = Annotated[str, OF_FIELD["content"]]
EXPLAINING = (FieldFilters, SharedOptions, ExplainOptions)


class SearchApi(PlanRunner):
    """Search, ask why, compare, and write a context."""

    @with_options(*EXPLAINING, SearchOptions, defaults=SEARCH_DEFAULTS)
    def search(self, query: Query, **given: Unpack[SearchOptions]) -> SearchResult:
        """Find the memories that matter for a query, best first.

        Args:
            query: a question or search terms.
        """
        check_names("Memory.search", given, SearchOptions)
        given = with_fields(given)
        request = self._core.request(query, **given)
        result = self._run_search(search.search(request), request)
        log_search(result, request.settings.slow_search_ms)
        if self._core.recorder is not None:
            self._core.recorder.record(request, result, given.get("filters"))
        return result

    @with_options(*EXPLAINING, defaults=SEARCH_DEFAULTS)
    def explain(
        self,
        query: Query,
        id: Id,
        *,
        against: Annotated[str | None, ID] = None,
        everywhere: bool = False,
        **given: Unpack[ExplainOptions],
    ) -> explaining.ExplainReport:
        """Explain why a query returns a memory or not, and what would change that.

        The answer holds the tree of its score, where and by how much it missed if it is no hit,
        and for each part of the score and each weight the value that would turn the outcome.
        Nothing is touched.

        Args:
            query: a question or search terms.
            id: the id of the memory.
            against: the id of another memory: why one stands before the other, and what would
                turn that.
            everywhere: look for the memories in all namespaces of the store.

        Raises:
            NotFound: there is no such memory.
        """
        check_names("Memory.explain", given, ExplainOptions)
        ids = [text("id", id)]
        [report] = self.explain_many(query, ids, against=against, everywhere=everywhere, **given)
        return report

    @with_options(*EXPLAINING, defaults=SEARCH_DEFAULTS)
    def explain_many(
        self,
        query: Query,
        ids: Annotated[Sequence[Annotated[str, TAG]], EXPLAINED],
        *,
        against: Annotated[str | None, ID] = None,
        everywhere: bool = False,
        **given: Unpack[ExplainOptions],
    ) -> list[explaining.ExplainReport]:
        """Explain up to 20 memories of one ranking, in the order of their ids.

        Args:
            query: a question or search terms.
            ids: the ids of the memories.
            against: the id of another memory, to hold each against.
            everywhere: look for the memories in all namespaces of the store.

        Raises:
            NotFound: there is no such memory.
        """
        check_names("Memory.explain_many", given, ExplainOptions)
        parsed = listing.parse_ids(ids)
        if not 1 <= len(parsed) <= MAX_EXPLAINED:
            raise InvalidInput("ids", f"are {len(parsed)}", f"give 1 to {MAX_EXPLAINED}")
        request = self._core.request(query, **with_fields(given))
        rival = None if against is None else text("against", against)
        everywhere = boolean("everywhere", everywhere)
        plan = explaining.explain(request, parsed, everywhere=everywhere, against=rival)
        return self._run_search(plan, request)

    @with_options(FieldFilters, ContextOptions, defaults=CONTEXT_DEFAULTS)
    def get_context(
        self,
        query: Query,
        max_tokens: Annotated[int, TOKENS] = 2000,
        **given: Unpack[ContextOptions],
    ) -> Context:
        """Build a prompt context for a query, in at most `max_tokens` tokens.

        With an empty query nothing is searched: the context is what is known of the user, and the
        other sections that list memories.

        Args:
            query: a question or search terms; "" for sections that need no search.
            max_tokens: the most tokens that the text takes.

        Raises:
            InvalidInput: names the argument that is wrong, or what a section needs that is never
                cut.
        """
        check_names("Memory.get_context", given, ContextOptions)
        given = with_fields(given)
        request = context.context_request(query, max_tokens, self._core.searches, given)
        return self._run_search(context.assemble(request), request)


class ReadApi(PlanRunner):
    """Get memories by id, list, iterate and count them; looking is not an access."""

    def get(self, id: Id, *, as_of: Present = None) -> MemoryRecord | None:
        """Get one memory by id, or None; looking is not an access.

        Args:
            id: the id of the memory.
            as_of: get it as it was at this time; None if it was not there yet.
        """
        plan = reading.read_record(text("id", id), self._core.namespace)
        return self._run_at(plan, as_of)

    def get_many(
        self, ids: Annotated[Iterable[AnyText], Bounds(maxItems=MAX_IDS)], *, as_of: Present = None
    ) -> list[MemoryRecord | None]:
        """Get memories by id, in the order of the ids; None for each that is missing.

        Args:
            ids: the ids of the memories.
            as_of: get them as they were at this time.
        """
        parsed = listing.parse_ids(ids)
        plan = reading.read_records(self._core.namespace, tuple(dict.fromkeys(parsed)))
        records = self._run_at(plan, as_of)
        return [(record := records.get(id)) and record.in_effect() for id in parsed]

    @with_options(FieldFilters, defaults=FIELD_DEFAULTS)
    def get_all(
        self,
        filters: Filters = None,
        *,
        limit: PageLimit = 100,
        cursor: str | None = None,
        order: Order = "newest",
        as_of: Present = None,
        **fields: Unpack[FieldFilters],
    ) -> Page:
        """List one page of the memories that pass a filter, with their `total`.

        They are ordered by `created_at`, and those of the same time by their order of writing:
        "newest" or "oldest" first. Pass the page's `cursor` to get the next one; it is None at the
        end. Whatever is written meanwhile, no memory comes twice, and none is left out that was
        there all the time.

        Args:
            filters: a condition that each memory must meet.
            limit: the most memories of the page, 1 to 10,000.
            cursor: the cursor of the page before.
            order: which come first, the newest or the oldest.
            as_of: list what there was at this time, as it was then; what was erased since cannot be
                in it.
        """
        filters = self._core.filter(narrowed("Memory.get_all", filters, fields, "limit"))
        request = listing.list_request(self._core.namespace, filters, order, limit, cursor)
        return self._run_at(listing.read_page(request), as_of)

    def about(
        self, user: str | None = None, *, filters: Filters = None, limit: PageLimit = 1000
    ) -> About:
        """List what is known about a user, by topic, newest first.

        Found are statements of health, standing instructions, tastes, family, work, places and
        other circumstances in ten languages, the facts of `extract`, and memories of the kind
        "profile". Each has the sentence that tells it, the probability that it holds, and since
        when. What is supposed, wished, quoted, made up or asked is left out; so is what was
        superseded, judged outdated or incorrect, or has expired. Of one attribute, and of two
        opposites, the latest counts, and is listed with the ids of the `earlier` ones.

        Args:
            user: the person: the `user_id`, or the speaker of memories that have no other
                user; everybody in the namespace by default.
            filters: a further condition.
            limit: the most memories to read, the newest of those told in the words of a statement,
                and as many of what else the user said.
        """
        core = self._core
        where = core.filter(filters)
        return self._run(listing.about(core.namespace, user, where, limit, core.time()))

    @with_options(FieldFilters, defaults=FIELD_DEFAULTS)
    def iterate(
        self,
        filters: Filters = None,
        *,
        order: Order = "newest",
        page_size: int = ITERATION_PAGE,
        cursor: str | None = None,
        **fields: Unpack[FieldFilters],
    ) -> Iteration:
        """Iterate over the memories that pass a filter, in the order of `get_all`.

        They are read page by page. The `cursor` of what is returned says how far it is: give it
        here, with the same order and filters, to go on behind that memory. At the end of "oldest"
        first it finds what has been written since.

        Args:
            filters: a condition that each memory must meet.
            order: which come first, the newest or the oldest.
            page_size: how many memories are read at once.
            cursor: where to go on.
        """
        filters = self._core.filter(narrowed("Memory.iterate", filters, fields))
        request = listing.list_request(self._core.namespace, filters, order, page_size, cursor)
        return Iteration(self._core, request)

    @with_options(FieldFilters, defaults=FIELD_DEFAULTS)
    def count(
        self,
        filters: Filters = None,
        *,
        archived: bool | None = None,
        as_of: Present = None,
        **fields: Unpack[FieldFilters],
    ) -> int:
        """Count the memories that pass a filter, without reading them.

        Args:
            filters: a condition that each memory must meet.
            archived: True counts those in the archive only, False all others, None both.
            as_of: count what there was at this time.
        """
        filters = self._core.filter(narrowed("Memory.count", filters, fields))
        return self._run_at(listing.count(self._core.namespace, filters, archived), as_of)

    def tags(
        self,
        prefix: Prefix = "",
        *,
        filters: Filters = None,
        limit: PageLimit = 100,
        cursor: str | None = None,
    ) -> NamePage:
        """List one page of the tags of memories that pass a filter, with their counts.

        Tags count as one if they differ in case alone, as filters compare them; the most frequent
        spelling is shown. They are ordered by their case-folded text. Only those that begin with
        the prefix, in any case, are listed. Pass the page's `cursor` to get the next one.

        Args:
            prefix: the beginning of the names to list, in any case.
            filters: a condition that each memory must meet.
            limit: the most names of a page.
            cursor: the cursor of the page before.
        """
        namespace, where = self._core.namespace, self._core.filter(filters)
        request = listing.name_request(namespace, "tags", prefix, where, limit, cursor)
        return self._run(listing.read_names(request))

    def entities(
        self,
        prefix: Prefix = "",
        *,
        filters: Filters = None,
        limit: PageLimit = 100,
        cursor: str | None = None,
    ) -> NamePage:
        """List one page of the entities of memories that pass a filter, with their counts.

        Args:
            prefix: the beginning of the names to list, in any case.
            filters: a condition that each memory must meet.
            limit: the most names of a page.
            cursor: the cursor of the page before.
        """
        namespace, where = self._core.namespace, self._core.filter(filters)
        request = listing.name_request(namespace, "entities", prefix, where, limit, cursor)
        return self._run(listing.read_names(request))

    def __iter__(self) -> Iteration:
        return self.iterate()

    def __len__(self) -> int:
        return self.count()

    def __bool__(self) -> bool:
        return True

    def __contains__(self, id: object) -> bool:
        if not isinstance(id, str):
            return False
        return id in self._run(ask(RowsById(self._core.namespace, (id,))))


class Iteration(PlanRunner):
    """Memories one after the other; not to be shared between threads."""

    def __init__(self, core: Core, request: ListRecords) -> None:
        self._core = core
        self._request = request
        self._place = request.after
        self._read: deque[tuple[MemoryRecord, Place]] = deque()
        self._more = True

    @property
    def cursor(self) -> str | None:
        """The cursor behind the memory that came last; None before the first."""
        return None if self._place is None else encode_cursor(self._request.order, self._place)

    @property
    def has_read(self) -> bool:
        """True if the next memory is there, or the end."""
        return bool(self._read) or not self._more

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> MemoryRecord:
        if not self._read and self._more:
            page = self._run(ask(replace(self._request, after=self._place)))
            self._read.extend(zip(page.records, page.places, strict=True))
            self._more = page.more
        if not self._read:
            raise StopIteration
        record, self._place = self._read.popleft()
        return record.in_effect()
