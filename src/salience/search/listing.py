"""Listings: pages of memories in their order, some by their ids, and their number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from salience.display.html import HtmlResult, header, memory_cell, nothing, section, table
from salience.display.result import Result, data_frame, field_names
from salience.errors import InvalidInput, shown
from salience.records.filters import And, Compare, Filter, Not, parse_filter
from salience.records.record import MemoryRecord
from salience.records.validation import (
    MAX_IDS,
    boolean,
    composed,
    elements,
    integer,
    native,
    storable,
    text,
)
from salience.retrieval.cursor import (
    encode_cursor,
    encode_name_cursor,
    parse_cursor,
    parse_name_cursor,
)
from salience.retrieval.operations import CountRecords, ListNames, ListRecords, Order
from salience.retrieval.plan import Plan, ask
from salience.search.request import Filters

MAX_PAGE = 10_000  # memories


@dataclass(frozen=True, slots=True, repr=False)
class Page(HtmlResult):
    """One page of a listing: memories, how many match in all, the next cursor (None at the end).

    `places` are their numbers in the order of writing, by which those of the same time are ordered.
    """

    _shown = ("memories", "total", "cursor")

    memories: tuple[MemoryRecord, ...]
    total: int
    cursor: str | None = None
    order: Order = "newest"
    places: tuple[int, ...] = ()

    def __iter__(self) -> Iterator[MemoryRecord]:
        return iter(self.memories)

    def __len__(self) -> int:
        return len(self.memories)

    def __getitem__(self, index: int) -> MemoryRecord:
        return self.memories[index]

    def to_pandas(self) -> Any:
        """A pandas DataFrame with a row for each memory and a column for each field.

        Raises:
            SalienceError: pandas is not installed.
        """
        return data_frame(self.memories, field_names(MemoryRecord))

    def _title(self) -> str:
        return f"{len(self.memories):,} of {self.total:,} memories"

    def _sections(self) -> Iterator[str]:
        yield header(self._title(), ())
        if self.memories:
            cells = ((memory_cell(memory),) for memory in self.memories)
            yield section("", table(("memory",), cells))
        else:
            yield nothing("No memory passes the filter.")


@dataclass(frozen=True, slots=True, repr=False)
class NameCount(Result):
    """A tag or an entity in its most frequent spelling, and the number of memories that have it."""

    name: str
    memories: int


@dataclass(frozen=True, slots=True, repr=False)
class NamePage(Result):
    """One page of names, and the next cursor (None at the end)."""

    names: tuple[NameCount, ...]
    cursor: str | None = None

    def __iter__(self) -> Iterator[NameCount]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, index: int) -> NameCount:
        return self.names[index]


def list_request(
    namespace: str, filters: Filters, order: Any, limit: Any, cursor: str | None
) -> ListRecords:
    """The checked request for memories that pass a filter, after a cursor.

    Raises:
        InvalidInput: names the argument that is wrong.
    """
    checked = _order(order)
    where, limit = parse_filter(filters), integer("limit", limit, 1, MAX_PAGE)
    return ListRecords(namespace, where, limit, checked, parse_cursor(cursor, checked))


def _order(order: Any) -> Order:
    """An order; InvalidInput otherwise."""
    order = native(order)
    if type(order) is str and order in ("newest", "oldest"):
        return "newest" if order == "newest" else "oldest"
    raise InvalidInput("order", f"there is no {shown(order)}", "use newest or oldest")


def read_page(request: ListRecords) -> Plan[Page]:
    """The plan of reading a page of a listing."""
    listing, total = yield [request, CountRecords(request.namespace, request.where)]
    cursor = None if listing.last is None else encode_cursor(request.order, listing.last)
    places = tuple(place.sequence for place in listing.places)
    return Page(listing.records, total, cursor, request.order, places)


def name_request(
    namespace: str,
    field: Literal["tags", "entities"],
    prefix: Any,
    filters: Filters,
    limit: Any,
    cursor: str | None,
) -> ListNames:
    """The checked request for names that begin with a prefix, after a cursor.

    Raises:
        InvalidInput: names the argument that is wrong.
    """
    prefix = native(prefix)
    if type(prefix) is not str:
        raise InvalidInput("prefix", f"must be text, not {type(prefix).__name__}")
    return ListNames(
        namespace,
        field,
        parse_filter(filters),
        composed("prefix", storable("prefix", prefix)).casefold(),
        parse_name_cursor(cursor),
        integer("limit", limit, 1, MAX_PAGE),
    )


def read_names(request: ListNames) -> Plan[NamePage]:
    """The plan of reading a page of names."""
    tallies = yield from ask(replace(request, limit=request.limit + 1))
    names = tuple(NameCount(tally.name, tally.memories) for tally in tallies[: request.limit])
    if len(tallies) <= request.limit:
        return NamePage(names)
    return NamePage(names, encode_name_cursor(tallies[request.limit - 1].folded))


def count(namespace: str, filters: Filters, archived: Any) -> Plan[int]:
    """The plan of counting memories that pass a filter.

    Raises:
        InvalidInput: names the argument that is wrong.
    """
    where = parse_filter(filters)
    if archived is not None:
        in_archive: Filter = Compare("status", "eq", "archived")
        part = in_archive if boolean("archived", archived) else Not(in_archive)
        where = part if where is None else And((where, part))
    return (yield from ask(CountRecords(namespace, where)))


def parse_ids(ids: Any) -> tuple[str, ...]:
    """Ids in their order, some of them perhaps more than once; one text is one id.

    Raises:
        InvalidInput: they are no texts.
    """
    listed = [ids] if isinstance(ids := native(ids), str) else elements("ids", ids, MAX_IDS)
    return tuple(text("ids", id) for id in listed)
