"""Operations: every request to the world outside, as data. A store answers all but `Embed`,
`Extract` and `AsOf`.

`rows` are a store's row numbers: unique in the store, never used twice, larger for what was
written later. A memory gets a new row whenever its words, vectors or place in a session change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

from salience.language.analysis_types import Speakers, Wording
from salience.records.events import Event, EventType
from salience.records.filters import Filter
from salience.records.record import Draft, Embedding, Link, MemoryRecord
from salience.retrieval.candidates import Floats, Rows
from salience.retrieval.query import Formula, Query
from salience.retrieval.routes import Lexical, Route


@dataclass(frozen=True, eq=False)
class Ranking:
    """The answer of one route: rows and their scores, best first if that was asked for."""

    rows: Rows
    scores: Floats


@dataclass(frozen=True, slots=True)
class Embed:
    """Texts to unit vectors -> float32 array (texts, dimensions)."""

    texts: tuple[str, ...]
    kind: Literal["document", "query"]


@dataclass(frozen=True, slots=True)
class Extract:
    """Texts to the entities they name -> list of tuples of text, in the order of the texts."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FindSpeakers:
    """Whom words of a question name; those that look like names (`proper`) may be misspelt.

    The `ordinary` ones name only who is called by several words that all stand there.
    -> `SpeakerMatches`
    """

    namespaces: tuple[str, ...]
    words: tuple[str, ...]
    proper: frozenset[str]
    ordinary: frozenset[str]


@dataclass(frozen=True, slots=True)
class SpeakerMatches:
    """The speakers that words name, by word, and who talks with an assistant here.

    `users` are the speakers of that role; where there is an assistant but nobody is called a user,
    the one who speaks most besides it. Both are empty among people. `turns` are how many memories
    each of the named has written, of `all_turns` that anybody has.
    """

    names: Mapping[str, frozenset[str]]
    users: frozenset[str]
    assistants: frozenset[str]
    turns: Mapping[str, int]
    all_turns: int

    @classmethod
    def among(cls, people: Speakers, names: Mapping[str, frozenset[str]]) -> SpeakerMatches:
        """Some people, of whom words name these."""
        turns = {who: people.turns[who] for each in names.values() for who in each}
        return cls(names, people.users, people.assistants, turns, people.all_turns)

    @classmethod
    def together(cls, found: Sequence[SpeakerMatches]) -> SpeakerMatches:
        """What several namespaces say, as one."""
        names: dict[str, frozenset[str]] = {}
        turns: Counter[str] = Counter()
        for each in found:
            for word, who in each.names.items():
                names[word] = names.get(word, frozenset()) | who
            turns.update(each.turns)
        return cls(
            names,
            frozenset().union(*(each.users for each in found)),
            frozenset().union(*(each.assistants for each in found)),
            turns,
            sum(each.all_turns for each in found),
        )


@dataclass(frozen=True, eq=False)
class SearchRoute:
    """The best `depth` rows of a route (all of them for None) -> Ranking, by score then id.

    Only rows of the query's namespaces that pass its filter are candidates; a row without any
    evidence for the route is none. Unless `ordered`, the rows may come in any order.
    """

    route: Route
    query: Query
    depth: int | None
    ordered: bool = True


@dataclass(frozen=True, eq=False)
class TopK:
    """The best `query.k` rows of all that some routes find, by a formula -> Chosen.

    The formula reads the routes' scores and what is kept. None where the store cannot tell, so that
    all rows have to be read.
    """

    routes: tuple[Route, ...]
    formula: Formula
    query: Query


@dataclass(frozen=True, eq=False)
class TopKResult:
    """Rows in any order, the best among them, with their ranks on each route by its name.

    Others may be among them, such as those that are as good as the last. `read` memories were read
    to find them, of the `of` that the namespaces have.
    """

    rows: Rows
    ranks: Mapping[str, Floats]
    read: int
    of: int


@dataclass(frozen=True, eq=False)
class ScoreRows:
    """The route's exact score of the given rows -> float64 array (rows,); NaN where it has none.

    With `of="previous"`, the score of the turn right before each row in its session instead.
    """

    route: Route
    query: Query
    rows: Rows
    of: Literal["self", "previous"] = "self"


@dataclass(frozen=True, eq=False)
class MatchedTerms:
    """Which of the query's terms each row holds in the fields of a lexical route, by weight.

    -> float64 array (rows, terms): idf(term) where the row has the term, else 0.
    """

    route: Lexical
    query: Query
    rows: Rows


@dataclass(frozen=True, eq=False)
class Mentions:
    """Whether each row's content holds all words of a wording -> float64 array (rows,), 1 or 0."""

    wordings: tuple[Wording, ...]
    rows: Rows


@dataclass(frozen=True, eq=False)
class FetchColumns:
    """Columns of the given rows by field name -> mapping of name to array (rows,) or `Coded`.

    Besides the fields of a record and its `namespace` there are the columns that a store derives:
    `previous`, `position` (0-based in its session), the features of `salience.language.features`,
    and what links tell: `in_degree`, `is_cut_vertex` (1 or 0) and `newest_link` (when the newest
    incoming one was made).
    """

    rows: Rows
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ReadRecords:
    """The records of the given rows -> list of MemoryRecord, in the order of the rows."""

    rows: Rows


@dataclass(frozen=True, eq=False)
class ReadTexts:
    """The content of the given rows -> list of text, in the order of the rows; None if gone."""

    rows: Rows


@dataclass(frozen=True, eq=False)
class FetchVectors:
    """The vectors of that name of the given rows -> float32 array (rows, dimensions).

    NaN in the row of a memory without it; (rows, 0) where no memory has it.
    """

    rows: Rows
    name: str


@dataclass(frozen=True, slots=True)
class VectorNames:
    """The names of the vectors that memories have -> frozenset of text; None without memories."""

    namespaces: tuple[str, ...]


class Edge(NamedTuple):
    """A link between two rows."""

    source: int
    target: int
    weight: float
    type: str


@dataclass(frozen=True, eq=False)
class LinksBetween:
    """The links from and to the given rows -> list of Edge.

    Both ends are memories of the query's namespaces that pass its filter.
    """

    rows: Rows
    query: Query


@dataclass(frozen=True, eq=False)
class SessionNeighbors:
    """The rows right before and right after each row in its session -> int64 array (2, rows).

    Only memories of its own kind count; -1 where there is none or it does not pass the filter.
    """

    rows: Rows
    query: Query


@dataclass(frozen=True, slots=True)
class FindByTextHash:
    """Memories outside of any session with one of some texts, by `text.text_key`.

    -> mapping of key to rows, ascending, for those there are.
    """

    namespace: str
    keys: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class NearestVectors:
    """For each vector, the memory that is most alike -> list of (row, cosine), or None.

    Only memories that pass the filter and have a cosine of at least `least` count; of several
    equal ones the row is the smallest.
    """

    namespace: str
    vectors: Sequence[Embedding]
    least: float
    where: Filter
    name: str = "content"


@dataclass(frozen=True, slots=True)
class RowsById:
    """Rows by id -> mapping of id to row, for those that exist in the namespace."""

    namespace: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RowsInWriteOrder:
    """All memories of a namespace in the order in which they were first written -> rows."""

    namespace: str


@dataclass(frozen=True, slots=True)
class Dimensions:
    """The length of the vectors of these names in a namespace -> mapping of the names it has."""

    namespace: str
    names: tuple[str, ...]


STAGED = "_"  # how the names of vectors begin that are not searched yet


@dataclass(frozen=True, slots=True)
class Unembedded:
    """Some memories of a namespace without a vector of that name -> rows, ascending."""

    namespace: str
    name: str
    limit: int


@dataclass(frozen=True, eq=False)
class PutVectors:
    """Give rows of a namespace a vector of that name -> None; rows that are gone are left out."""

    namespace: str
    name: str
    rows: Rows
    vectors: Sequence[Embedding]


@dataclass(frozen=True, slots=True)
class AdoptVectors:
    """In every namespace, let the vectors `source` take the place of those named `target`.

    Those named `source|name` take the place of all named `name`, which cannot be compared with
    them. -> whether it was done, in one transaction; not while a memory lacks its `source` vector.
    `embedder` becomes the identity of what made the store's vectors.
    """

    source: str
    target: str
    embedder: str


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a listing: records, how many match in all, the next cursor (None at the end)."""

    records: tuple[MemoryRecord, ...]
    total: int
    cursor: str | None = None

    def __iter__(self) -> Iterator[MemoryRecord]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, index: int) -> MemoryRecord:
        return self.records[index]


@dataclass(frozen=True, slots=True)
class ListRecords:
    """Memories that pass a filter, newest first (created_at, then id) -> Page."""

    namespaces: tuple[str, ...]
    where: Filter | None = None
    limit: int = 100
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Put:
    """Write new memories and links in one transaction -> the ids that are taken.

    `unlinks` are links to remove before, by their ends and type, and `created_at` is when; those
    that are not there are none.

    With `replace=True` each takes the place of the memory of the same id, whose accesses count on
    and whose vectors stay where it brings none of that name and `stale` does not list it (those
    that are staged, where nothing is stale); the answer is then the ids that do not exist. Nothing
    is written unless the answer is empty.
    What `was` the memory when it was read has to be so still, but for its accesses; else its id is
    answered, too, so that no change that others made since is undone.

    `also` is what happens to other memories by it, in the same transaction; the ids of those that
    do not exist are answered, too. With a `past`, the log is what that says, and tells nothing of
    the write itself.
    """

    drafts: tuple[Draft, ...]
    links: tuple[Link, ...] = ()
    unlinks: tuple[Link, ...] = ()
    replace: bool = False
    was: MemoryRecord | None = None
    stale: tuple[str, ...] = ()
    embedder: str | None = None  # identity of what made the vectors, to be held against the store's
    actor: str | None = None  # who writes
    also: Log | None = None
    past: ImportedHistory | None = None


@dataclass(frozen=True, slots=True)
class ImportedHistory:
    """What happened in a namespace before it came here: events, with their places in the log, and
    the vectors that edits replaced, by the place of the edit."""

    namespace: str
    events: tuple[Event, ...] = ()
    vectors: tuple[tuple[int, str, Embedding], ...] = ()


@dataclass(frozen=True, slots=True)
class Log:
    """Append events and make of the memories what they say, in one transaction.

    -> the ids that do not exist; nothing is written unless the answer is empty. What an event makes
    of a memory is `events.apply`; one without an id is of every memory of the namespace. The
    log tells of Put (write, edit, link) and Touch by itself.
    """

    namespace: str
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Events:
    """The log of a namespace -> list of Event, oldest first.

    Of the memories `ids` (and of all memories together), of some `types`, those after the place
    `after`, those with the `keys` of their payload `key`; of these, the `last` so many. Uses that
    wait to be written are among them. What is erased has no events.
    """

    namespace: str
    ids: tuple[str, ...] | None = None
    types: tuple[EventType, ...] | None = None
    keys: tuple[str, ...] | None = None
    after: int = 0
    last: int | None = None


@dataclass(frozen=True, slots=True)
class FormerVectors:
    """The vectors that edits replaced, as far as they are kept -> list of (edit's seq, name,
    float32 array)."""

    namespace: str


@dataclass(frozen=True, slots=True)
class SetFields:
    """Set fields of STATE by id without an event, so that they are what the log says -> None."""

    namespace: str
    values: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, eq=False)
class Touch:
    """Count one use of each row at a time -> None; written with the next batch of touches.

    `type` is retrieval, read or reference. Where no use is ever kept, one that is `declared` (and
    not merely a search's) is refused.
    """

    rows: Rows
    at: datetime
    type: EventType = "retrieval"
    actor: str | None = None
    session: str | None = None
    declared: bool = False


@dataclass(frozen=True, slots=True)
class Delete:
    """Erase memories by id, or by filter, or all of a namespace -> how many there were."""

    namespace: str
    ids: tuple[str, ...] | None = None
    where: Filter | None = None


@dataclass(frozen=True, slots=True)
class Notes:
    """What upkeep has noted of a namespace -> mapping of text to text."""

    namespace: str


@dataclass(frozen=True, slots=True)
class Note:
    """Note something in the place of what is noted (None for nothing) -> whether it was done.

    It is not if what is noted is no longer `was`, so that of several at once one succeeds.
    """

    namespace: str
    key: str
    value: str | None
    was: str | None


@dataclass(frozen=True, slots=True)
class LinksOf:
    """Links from and to the memories of a namespace (all of them for None) -> list of Link."""

    namespace: str
    ids: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class AsOf:
    """The answers to operations that only read, as they would have been at a time -> list.

    Answered by `world.World`, for the namespaces that the operations are about.
    """

    namespaces: tuple[str, ...]
    at: datetime
    ops: tuple[Op, ...]


@dataclass(frozen=True, slots=True)
class ReadStats:
    """Figures about the namespaces (all for ()) -> mapping."""

    namespaces: tuple[str, ...] = ()


Op = (
    Embed
    | Extract
    | FindSpeakers
    | SearchRoute
    | TopK
    | ScoreRows
    | MatchedTerms
    | Mentions
    | FetchColumns
    | ReadRecords
    | ReadTexts
    | FetchVectors
    | VectorNames
    | LinksBetween
    | SessionNeighbors
    | FindByTextHash
    | NearestVectors
    | RowsById
    | RowsInWriteOrder
    | ListRecords
    | Put
    | Log
    | Events
    | FormerVectors
    | SetFields
    | Touch
    | Dimensions
    | Unembedded
    | PutVectors
    | AdoptVectors
    | Delete
    | LinksOf
    | Notes
    | Note
    | ReadStats
    | AsOf
)
Batch = Sequence[Op]
