"""Listings: pages of memories in their order, some by their ids, and their number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from salience.api.parameters import Between, Bounds
from salience.display.html import HtmlResult, header, memory_cell, nothing, section, table
from salience.display.result import Result, data_frame, field_names
from salience.errors import InvalidInput, shown
from salience.language.english import ASSISTANT_NAMES, USER_NAMES
from salience.language.reader import TOPICS, Reading, believed, opposite, read_texts
from salience.language.statements import Statement, statement_of
from salience.language.tokens import fold, words
from salience.lazily import dataclass, regex, replace
from salience.records.field_filters import NO_NUL
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
from salience.records.limits import CONFIRMED
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
PAGE = Between(1, MAX_PAGE)
PageLimit = Annotated[int, PAGE]
Prefix = Annotated[str, Bounds(pattern=NO_NUL)]


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
    """The checked request for memories that pass a filter, after a cursor."""
    checked = order_of(order)
    where, limit = parse_filter(filters), integer("limit", limit, *PAGE)
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
    memories = tuple(record.in_effect() for record in listing.records)
    return Page(memories, total, cursor, request.order, places)


def name_request(
    namespace: str,
    field: Literal["tags", "entities"],
    prefix: Any,
    filters: Filters,
    limit: Any,
    cursor: str | None,
) -> ListNames:
    """The checked request for names that begin with a prefix, after a cursor."""
    prefix = native(prefix)
    if type(prefix) is not str:
        raise InvalidInput("prefix", f"must be text, not {type(prefix).__name__}")
    return ListNames(
        namespace,
        field,
        parse_filter(filters),
        composed("prefix", storable("prefix", prefix)).casefold(),
        parse_name_cursor(cursor),
        integer("limit", limit, *PAGE),
    )


def read_names(request: ListNames) -> Plan[NamePage]:
    """The plan of reading a page of names."""
    tallies = yield from ask(replace(request, limit=request.limit + 1))
    names = tuple(NameCount(tally.name, tally.memories) for tally in tallies[: request.limit])
    if len(tallies) <= request.limit:
        return NamePage(names)
    return NamePage(names, encode_name_cursor(tallies[request.limit - 1].folded))


def count(namespace: str, filters: Filters, archived: Any) -> Plan[int]:
    """The plan of counting memories that pass a filter."""
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
"""Statements about who says them, but for those of an assistant, by the words they are told in."""
_SAID_BY_USER = all_of(Compare("speaker", "in", tuple(sorted(USER_NAMES))), Not(STATED))
_EXTRACTED = Compare(f"metadata.{TOPIC_KEY}", "exists", True)
_PROFILE, _FACT = Compare("kind", "eq", "profile"), Compare("kind", "eq", "fact")
_NOT_GIVEN = Not(Or((_EXTRACTED, _PROFILE, _FACT)))


@dataclass(frozen=True, repr=False)
class PersonalFact(Result):
    """A statement of a user about himself that is believed, and the memory that it stands in.

    `statement` is the sentence, `probability` how surely it tells what holds (None for what a
    model or a user gave as a fact), `since` the time from which it holds, as far as is known.
    `earlier` are the ids of those that it takes over from, newest first. One that the user
    `confirmed` is certain.
    """

    _shown = ("topic", "statement")

    topic: str
    memory: MemoryRecord
    earlier: tuple[str, ...] = ()
    statement: str = ""
    probability: float | None = None
    since: datetime | None = None
    confirmed: bool = False


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
    """The plan of listing what holds of all that users said about themselves."""
    user, limit = optional_text("user", user), integer("limit", limit, *PAGE)
    of_user = None if user is None else of_person(user)
    condition = parse_filter(filters)
    wheres = [
        all_of(_in_force(now.timestamp()), part, condition)
        for part in (_statements_filter(user), all_of(_SAID_BY_USER, _NOT_GIVEN, of_user))
    ]
    lists = [ListRecords(namespace, where, limit) for where in wheres]
    stated, said, *totals = yield [*lists, *(CountRecords(namespace, where) for where in wheres)]
    records = (*stated.records, *said.records)
    given_ids = tuple(record.id for record in records if _is_given(record))
    links = (yield from ask(LinksOf(namespace, given_ids))) if given_ids else ()
    restated = {link.target for link in links if link.type == SOURCE_LINK}
    facts = _facts([each for each in records if each.id not in restated], user)
    return About(user, facts, len(records), sum(totals))


def _statements_filter(user: str | None) -> Filter:
    """The filter of statements about a user, or about every user of the namespace.

    A fact that is kept for a user is about him in whatever words.
    """
    statements = Or((SAID_OF_SELF, _EXTRACTED, _PROFILE))
    if user is None:
        return statements
    of_user = Compare("user_id", "eq", user)
    return Or((all_of(of_user, _FACT), all_of(statements, of_person(user))))


def _in_force(now: float) -> Filter:
    """The filter of memories that still hold, as far as is known."""
    return all_of(
        Compare("status", "eq", "active"),
        Or((Compare("review", "exists", False), Compare("review", "eq", CONFIRMED))),
        Not(Compare("expires_at", "lte", now)),
        Not(Compare("valid_to", "lte", now)),
    )


@dataclass(frozen=True)
class Belief:
    """A memory with the sentence of it that is believed, and the attribute that it states."""

    record: MemoryRecord
    reading: Reading
    statement: Statement | None

    def takes_over(self, older: Belief) -> bool:
        """Test whether this leaves nothing of an older one to tell."""
        newer, other = self.statement, older.statement
        if newer is not None and other is not None and newer.key == other.key:
            return newer.contradicts(other) or newer.confirms(other)
        same_words = _words_of(self.reading.text) == _words_of(older.reading.text)
        return same_words or opposite(self.reading, older.reading)


def _facts(records: Sequence[MemoryRecord], user: str | None) -> tuple[PersonalFact, ...]:
    """The beliefs by topic, of those that exclude each other the latest."""
    latest: list[tuple[Belief, list[Belief]]] = []
    for belief in sorted(beliefs(records, user), key=lambda b: begins_at(b.record), reverse=True):
        newer = next((each for each in latest if each[0].takes_over(belief)), None)
        if newer is None:
            latest.append((belief, []))
        else:
            newer[1].append(belief)
    facts = [_fact(belief, earlier) for belief, earlier in latest]
    return tuple(sorted(facts, key=lambda fact: TOPICS.index(fact.topic)))


def beliefs(records: Sequence[MemoryRecord], user: str | None = None) -> Iterator[Belief]:
    """The memories that tell something that is believed."""
    for record, readings in zip(
        records, read_texts([_of_user(record.content, user) for record in records]), strict=True
    ):
        reading = believed(readings)
        if reading is None and readings and (_is_given(record) or record.review == CONFIRMED):
            reading = readings[0]
        if reading is not None:
            yield Belief(record, reading, statement_of(record.content))


def _is_given(record: MemoryRecord) -> bool:
    """Test whether somebody, or a model, gave a memory as a fact about the user."""
    return TOPIC_KEY in record.metadata or record.kind in ("profile", "fact")


def _fact(belief: Belief, earlier: Sequence[Belief]) -> PersonalFact:
    record, reading = belief.record, belief.reading
    topic, is_confirmed = record.metadata.get(TOPIC_KEY), record.review == CONFIRMED
    confirming = [each.record for each in earlier if _confirms(belief, each)]
    return PersonalFact(
        str(topic) if topic in TOPICS else reading.topic,
        record.in_effect(),
        tuple(each.record.id for each in earlier),
        reading.text,
        1.0 if is_confirmed else None if _is_given(record) else round(reading.belief, 3),
        min(map(begins_at, (record, *confirming))),
        is_confirmed,
    )


def _confirms(newer: Belief, older: Belief) -> bool:
    if newer.statement is None or older.statement is None:
        return (newer.reading.denied > 0.5) == (older.reading.denied > 0.5)
    return newer.statement.confirms(older.statement)


_USER_TURN = regex(r"(?m)^User: (.*(?:\n(?![A-Z]\w*: ).*)*)")  # in a chunk of a chat


def _of_user(text: str, user: str | None) -> str:
    """A text as it is read: the turns of the user in a chat, or a text about a user by name."""
    if turns := _USER_TURN.findall(text):
        return "\n".join(turns)
    is_by_name = user is not None and text.lower().startswith(f"{user.lower()} ")
    return f"User{text[len(user or '') :]}" if is_by_name else text


def _words_of(text: str) -> str:
    return " ".join(words(fold(text)))
