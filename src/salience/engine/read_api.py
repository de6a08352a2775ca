"""Methods that read memories as they are: by id, page by page, one after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from typing import Self

from salience.engine.core import Core
from salience.engine.runner import PlanRunner
from salience.records.record import MemoryRecord
from salience.records.validation import text
from salience.retrieval.cursor import encode_cursor
from salience.retrieval.operations import ListRecords, Order, Place, RowsById
from salience.retrieval.plan import ask
from salience.search import listing
from salience.search.listing import Page
from salience.search.request import Filters
from salience.write import reading

ITERATION_PAGE = 1_000  # memories read at once


class ReadApi(PlanRunner):
    """Get memories by id, list, iterate and count them; looking is not an access."""

    def get(self, id: str) -> MemoryRecord | None:
        """Get one memory by id, or None; looking is not an access."""
        return self._run(reading.read_record(text("id", id), self._core.namespace))

    def get_many(self, ids: Iterable[str]) -> list[MemoryRecord | None]:
        """Get memories by id, in the order of the ids; None in the place of one that is not there.

        Raises:
            InvalidInput: names the argument that is wrong.
        """
        wanted = listing.parse_ids(ids)
        plan = reading.read_records(self._core.namespace, tuple(dict.fromkeys(wanted)))
        records = self._run(plan, len(wanted))
        return [records.get(id) for id in wanted]

    def get_all(
        self,
        filters: Filters = None,
        *,
        limit: int = 100,
        cursor: str | None = None,
        order: Order = "newest",
    ) -> Page:
        """Get one page of the memories that pass a filter, with their `total`.

        They are ordered by `created_at`, and those of the same time by their order of writing:
        "newest" or "oldest" first. Pass the page's `cursor` to get the next one; it is None at the
        end. Whatever is written meanwhile, no memory comes twice, and none is left out that was
        there all the time.

        Raises:
            InvalidInput: names the argument that is wrong.
        """
        request = listing.list_request(self._core.namespace, filters, order, limit, cursor)
        return self._run(listing.read_page(request), request.limit)

    def iterate(
        self,
        filters: Filters = None,
        *,
        order: Order = "newest",
        page_size: int = ITERATION_PAGE,
        cursor: str | None = None,
    ) -> Iteration:
        """Iterate over the memories that pass a filter, in the order of `get_all`.

        They are read page by page. The `cursor` of what is returned says how far it is: give it
        here, with the same order and filters, to go on behind that memory. At the end of "oldest"
        first it finds what has been written since.

        Raises:
            InvalidInput: names the argument that is wrong.
        """
        request = listing.list_request(self._core.namespace, filters, order, page_size, cursor)
        return Iteration(self._core, request)

    def count(self, filters: Filters = None, *, archived: bool | None = None) -> int:
        """Count the memories that pass a filter, without reading them.

        `archived` True counts those in the archive only, False all others, None both.

        Raises:
            InvalidInput: names the argument that is wrong.
        """
        return self._run(listing.count(self._core.namespace, filters, archived))

    def __iter__(self) -> Iteration:
        return self.iterate()

    def __len__(self) -> int:  # sync only
        return self.count()  # sync only

    def __bool__(self) -> bool:  # sync only
        return True  # sync only

    def __contains__(self, id: object) -> bool:  # sync only
        if not isinstance(id, str):  # sync only
            return False  # sync only
        return id in self._run(ask(RowsById(self._core.namespace, (id,))))  # sync only


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

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> MemoryRecord:
        if not self._read and self._more:
            page = self._run(ask(replace(self._request, after=self._place)), self._request.limit)
            self._read.extend(zip(page.records, page.places, strict=True))
            self._more = page.more
        if not self._read:
            raise StopIteration
        record, self._place = self._read.popleft()
        return record
