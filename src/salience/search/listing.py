"""Listings: pages of memories in their order, some by their ids, and their number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Literal

from salience.display.html import HtmlResult, header, memory_cell, nothing, section, table
from salience.display.result import Result, data_frame, field_names
from salience.errors import InvalidInput, shown
from salience.language.english import ASSISTANT_NAMES
from salience.language.features import FEATURES, features
from salience.language.statements import Statement, statement_of
from salience.language.statements.personal import TOPICS, topic_of
from salience.language.tokens import fold, words
from salience.lazily import dataclass, replace
from salience.records.filters import (
    STATED,
    And,
    Compare,
    Filter,
    Not,
    Or,
    all_of,
    of_person,
    parse_filter,
)
from salience.records.record import MemoryRecord
from salience.records.validation import (
    MAX_IDS,
    boolean,
    composed,
    elements,
    integer,
    native,
    optional_text,
    storable,
    text,
)
from salience.retrieval.cursor import (
    encode_cursor,
    encode_name_cursor,
    parse_cursor,
    parse_name_cursor,
)
from salience.retrieval.operations import CountRecords, LinksOf, ListNames, ListRecords, Order
from salience.retrieval.plan import Plan, ask
from salience.search.request import Filters
from salience.write.dedup.match_index import begins_at

MAX_PAGE = 10_000  # memories


@dataclass(frozen=True, repr=False)
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


@dataclass(frozen=True, repr=False)
class NameCount(Result):
    """A tag or an entity in its most frequent spelling, and the number of memories that have it."""

    name: str
    memories: int


@dataclass(frozen=True, repr=False)
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
    checked = order_of(order)
    where, limit = parse_filter(filters), integer("limit", limit, 1, MAX_PAGE)
    return ListRecords(namespace, where, limit, checked, parse_cursor(cursor, checked))


def order_of(order: Any) -> Order:
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


# A listing of what users said about themselves: the statements that hold, by topic

TOPIC_KEY = "about_user"
"""The key of the metadata with the topic of a fact that a model found about the user."""
SOURCE_LINK = "depends_on"
"""The type of the links from such a fact to the memories that it was found in."""
SAID_OF_SELF = all_of(STATED, Not(Compare("speaker", "in", tuple(sorted(ASSISTANT_NAMES)))))
"""Statements about who says them, but for those of an assistant."""
_EXTRACTED = Compare(f"metadata.{TOPIC_KEY}", "exists", True)
_PROFILE, _FACT = Compare("kind", "eq", "profile"), Compare("kind", "eq", "fact")


@dataclass(frozen=True, repr=False)
class PersonalFact(Result):
    """A statement of a user about himself, its topic, and the ids of those that it takes over from.

    `earlier` are older statements of the same attribute, newest first.
    """

    _shown = ("topic", "memory")

    topic: str
    memory: MemoryRecord
    earlier: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class About(Result):
    """A listing of what users said about themselves, by topic, the newest first.

    `read` of `total` statements were looked at, the newest.
    """

    user: str | None
    facts: tuple[PersonalFact, ...]
    read: int
    total: int

    def __iter__(self) -> Iterator[PersonalFact]:
        return iter(self.facts)

    def __len__(self) -> int:
        return len(self.facts)

    def __getitem__(self, index: int) -> PersonalFact:
        return self.facts[index]


def about(namespace: str, user: Any, filters: Filters, limit: Any, now: datetime) -> Plan[About]:
    """The plan of listing what holds of all that users said about themselves.

    Raises:
        InvalidInput: names the argument that is wrong.
    """
    user, limit = optional_text("user", user), integer("limit", limit, 1, MAX_PAGE)
    where = all_of(_in_force(now.timestamp()), _told(user), parse_filter(filters))
    listing, total = yield [ListRecords(namespace, where, limit), CountRecords(namespace, where)]
    found = tuple(record.id for record in listing.records if TOPIC_KEY in record.metadata)
    links = (yield from ask(LinksOf(namespace, found))) if found else ()
    restated = {link.target for link in links if link.type == SOURCE_LINK}
    facts = _facts([each for each in listing.records if each.id not in restated], user)
    return About(user, facts, len(listing.records), total)


def _told(user: str | None) -> Filter:
    """The filter of what is told of a user, or of every user of the namespace.

    A fact that is kept for a user is about him in whatever words.
    """
    told = Or((SAID_OF_SELF, _EXTRACTED, _PROFILE))
    if user is None:
        return told
    own = Compare("user_id", "eq", user)
    return Or((all_of(own, _FACT), all_of(told, of_person(user))))


def _in_force(now: float) -> Filter:
    """The filter of memories that still hold, as far as is known."""
    return all_of(
        Compare("status", "eq", "active"),
        Compare("review", "exists", False),
        Not(Compare("expires_at", "lte", now)),
        Not(Compare("valid_to", "lte", now)),
    )


def _facts(records: Sequence[MemoryRecord], user: str | None) -> tuple[PersonalFact, ...]:
    """The latest statement of each attribute, by topic."""
    latest: dict[Any, list[tuple[MemoryRecord, Statement | None, list[str]]]] = {}
    for record in sorted(records, key=begins_at, reverse=True):
        statement = statement_of(record.content)
        key = " ".join(words(fold(record.content))) if statement is None else statement.key
        told = latest.setdefault(key, [])
        newer = next((each for each in told if _takes_over(each[1], statement)), None)
        if newer is None:
            told.append((record, statement, []))
        else:
            newer[2].append(record.id)
    facts = [
        PersonalFact(_topic(record, user), record, (*ids,))
        for told in latest.values()
        for record, _, ids in told
    ]
    return tuple(sorted(facts, key=lambda fact: TOPICS.index(fact.topic)))


def _topic(record: MemoryRecord, user: str | None) -> str:
    """The topic that a model gave to a fact, or else that of its words."""
    given = record.metadata.get(TOPIC_KEY)
    if given in TOPICS:
        return str(given)
    text = record.content
    is_by_name = user is not None and text.lower().startswith(f"{user.lower()} ")
    if is_by_name:
        text = f"User{text[len(user or '') :]}"
    tokens = words(text)
    return topic_of(text, tokens, features(text, tokens)[FEATURES.index("personal")])


def _takes_over(newer: Statement | None, older: Statement | None) -> bool:
    """Test whether a later statement with the same key leaves nothing of an older one to tell."""
    if newer is None or older is None:
        return newer is older
    return newer.contradicts(older) or newer.confirms(older)
