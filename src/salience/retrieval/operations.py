"""Operations: every request to a store or an embedder, as data.

The first line of each ends with its answer. A store answers all but `Embed`, `Extract`, `Rerank`,
`Outside` and `AsOf`.

`rows` are a store's row numbers: unique in the store, never reused, and larger for later writes.
A memory gets a new row whenever its words, vectors or place in a session change.

Operations are frozen, and equal only to themselves: many hold arrays, and comparison methods for
the others would take a third of this module's import time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any, ClassVar, Literal, NamedTuple, dataclass_transform, get_args

from salience.language.analysis_types import Speakers
from salience.language.spelling import slips
from salience.lazily import dataclass, field, replace
from salience.records.access_key import AccessKey
from salience.records.events import ACCESSES, Event, EventType, apply_with_previous
from salience.records.filters import Filter, all_of
from salience.records.record import Draft, Edit, Embedding, Link, MemoryRecord
from salience.records.tombstones import Erasing, Tombstone
from salience.retrieval.candidates import Rows
from salience.retrieval.query import Query
from salience.retrieval.routes import Lexical, Route


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
class Op:
    """A request as data: every subclass is a frozen data class.

    The `method` of its name answers it: `read_texts` answers `ReadTexts`.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]
    method: ClassVar[str]

    def __init_subclass__(cls) -> None:
        cls.method = re.sub("(?<=.)(?=[A-Z])", "_", cls.__name__).lower()
        dataclass(cls, frozen=True, eq=False)


class OfNamespaces(Op):
    """A question that a search puts to the indexes of namespaces before it collects."""

    namespaces: tuple[str, ...]


class OfRows(Op):
    """A question to an index about rows of any namespaces."""

    rows: Rows


class Embed(Op):
    """Texts to unit vectors -> float32 array (texts, dimensions)."""

    texts: tuple[str, ...]
    kind: Literal["document", "query"]


class Extract(Op):
    """Texts to the entities in them -> list of tuples of text, in the order of the texts."""

    texts: tuple[str, ...]


class Rerank(Op):
    """Texts scored by a reranker against the words of a query -> a number for each text.

    `model` is the name of the reranker in this process, `timeout` the seconds to wait for it.
    """

    model: str
    query: str
    texts: tuple[str, ...] = field(repr=False)
    timeout: float


class Outside(Op):
    """Work of neither the store nor the embedder, possibly long -> its result."""

    work: Callable[[], Any] = field(repr=False)


class FoundPassage(NamedTuple):
    """A passage of a memory: its borders in the content, its headings, its scores for a query.

    `words` is its BM25, `cosine` that of its vector, None if there is nothing to compare.
    """

    start: int
    end: int
    heading: str
    words: float
    cosine: float | None


class FindPassages(OfRows):
    """The passages of rows for a query -> for each row a tuple of FoundPassage, as in its text.

    A short memory has none. Words are scored as on the route, which must have `passages`.
    """

    route: Lexical
    query: Query


class FindSpeakers(OfNamespaces):
    """The speakers that words of a query name -> SpeakerMatches.

    Words that look like names (`proper`) may be misspelt. `ordinary` words name a speaker only if
    the name has several words and all occur. With `by_sound`, a misspelt word also names the
    speaker that it sounds like.
    """

    words: tuple[str, ...]
    proper: frozenset[str]
    ordinary: frozenset[str]
    by_sound: bool = field(default=False, repr=False)


class FindWords(OfNamespaces):
    """The words of a query that no memory holds in some fields, and those near -> NearWords.

    A word that `knows` accepts is left out, held or not.
    """

    words: tuple[str, ...]
    fields: tuple[str, ...]
    knows: Callable[[str], bool] = field(repr=False)


class Holders(NamedTuple):
    """The number of memories that hold a word, and the newest five of each namespace, by row."""

    memories: int = 0
    newest: tuple[int, ...] = ()

    @classmethod
    def of(cls, rows: Rows) -> Holders:
        """The holders by their rows, ascending."""
        return cls(len(rows), tuple(rows[-_NEWEST_HOLDERS:].tolist())) if len(rows) else _NO_HOLDERS

    @classmethod
    def merged(cls, parts: Sequence[Sequence[Holders]]) -> Sequence[Holders]:
        """The holders of some words in several namespaces together."""
        if len(parts) == 1:
            return parts[0]
        return [
            cls(
                sum(each.memories for each in holders),
                tuple(row for each in holders for row in each.newest),
            )
            for holders in zip(*parts, strict=True)
        ]


_NEWEST_HOLDERS = 5
_NO_HOLDERS = Holders()
NearWords = Mapping[str, Mapping[str, Holders]]
"""By word that no memory holds: the words one slip away, or two, that memories hold by their stems.
"""


def near_words(
    op: FindWords, holders_of: Callable[[Sequence[str]], Sequence[Holders]]
) -> dict[str, dict[str, Holders]]:
    """The answer to `FindWords`; `holders_of` gives the holders of each word."""
    held = holders_of(op.words) if op.words else ()
    near: dict[str, dict[str, Holders]] = {
        word: {}
        for word, own in zip(op.words, held, strict=True)
        if not own.memories and not op.knows(word)
    }
    searched = {word: slips(word) for word in near}
    while step := {w: others for w, steps in searched.items() if (others := next(steps, None))}:
        holders = iter(holders_of([*chain.from_iterable(step.values())]))
        for word, others in step.items():
            near[word] = {other: own for other in others if (own := next(holders)).memories}
        searched = {word: searched[word] for word in step if not near[word]}
    return near


NAME_FIELDS = ("title", "speaker", "entities")
"""The fields that hold the names of people and things."""


class FindNames(OfNamespaces):
    """Those of some names that memories have in some fields, in one variant -> frozenset.

    `names` are the variants of each name, folded (see `fold_name`); `fields` are some of
    `NAME_FIELDS`.
    """

    names: Mapping[str, Iterable[str]]
    fields: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class SpeakerMatches:
    """The speakers that words name, by word, and the users and assistants of the namespace.

    `users` are the speakers of that role. Where there is an assistant but no user, it is the other
    speaker with the most turns. Among people both are empty. `turns` counts the memories of each
    speaker named, `all_turns` those of all speakers, `memories` all memories, and `vectors` are
    the names of the vectors that memories have.
    """

    names: Mapping[str, frozenset[str]]
    users: frozenset[str]
    assistants: frozenset[str]
    turns: Mapping[str, int]
    all_turns: int
    memories: int
    vectors: frozenset[str]

    @classmethod
    def among(
        cls,
        people: Speakers,
        names: Mapping[str, frozenset[str]],
        memories: int,
        vectors: frozenset[str],
    ) -> SpeakerMatches:
        """The matches among the speakers of a namespace."""
        turns = {name: people.turns[name] for match in names.values() for name in match}
        users, assistants, all_turns = people.users, people.assistants, people.all_turns
        return cls(names, users, assistants, turns, all_turns, memories, vectors)

    @classmethod
    def merged(cls, parts: Sequence[SpeakerMatches]) -> SpeakerMatches:
        """The matches in several namespaces as one."""
        if len(parts) == 1:
            return parts[0]
        names: dict[str, frozenset[str]] = {}
        turns: Counter[str] = Counter()
        for part in parts:
            for word, speakers in part.names.items():
                names[word] = names.get(word, frozenset()) | speakers
            turns.update(part.turns)
        return cls(
            names,
            frozenset().union(*(part.users for part in parts)),
            frozenset().union(*(part.assistants for part in parts)),
            turns,
            sum(part.all_turns for part in parts),
            sum(part.memories for part in parts),
            frozenset().union(*(part.vectors for part in parts)),
        )


MENTIONS = {
    f"mentions_{kind}": kind for kind in ("named", "date", "weekday", "tomorrow", "kind", "concern")
}
"""The kind of wordings of the query that each column of mentions looks for."""


class Collect(Op):
    """The memories that some routes find, with columns of them -> Candidates, by ascending row.

    They are memories of the query's namespaces that pass its filter and that a route has evidence
    for: of each route the best `depth` (all of them for None) by score, then id. Behind them come
    the best that also meet a further condition: one of `also` after the other. With `sessions`, if
    chunks of chats are among all these, the last condition is being a whole session. The memories
    at `rows` are in the table, found or not.

    `columns` are those of `FetchColumns`. `id` is always among them, `namespace` if there are
    several, and `kind` with `sessions`. Each route has a column `<route>.rank`, from 1, NaN where
    it does not find a memory, and `<route>.rank.<note>` for its notes. `evidence` names further
    columns, as far as they are known:

    - `<route>.score`: the exact score, whichever route found the memory; NaN where it has none;
      `previous.<route>.score`: that of the turn right before it in its session;
    - `<route>.weights` of a lexical route, shape (rows, terms): idf of each of the query's terms in
      the namespace of each row; a term that no memory has weighs the most, ln(1 + (N + 0.5) / 0.5)
      among N memories; `<route>.matched`: the same, 0 where the memory does not have the term in a
      field of the route; `labels.matched`: the same in `LABELS`;
    - those of `MENTIONS`: 1 where the content has all words of a wording of that kind in the query,
      else 0.
    """

    query: Query
    routes: tuple[Route, ...]
    depth: int | None
    columns: tuple[str, ...]
    evidence: frozenset[str] = field(default=frozenset(), repr=False)
    also: tuple[Filter, ...] = ()
    sessions: bool = False
    rows: Rows | None = None

    def queries(self) -> list[Query]:
        """The query, and those with a further condition, in their order."""
        return [self.query, *map(self.narrowed, self.also)]

    def narrowed(self, condition: Filter) -> Query:
        """The query with a further condition."""
        return replace(self.query, where=all_of(self.query.where, condition))


class FetchColumns(OfRows):
    """Columns of the given rows by name -> mapping of name to array (rows,) or CategoricalColumn.

    Besides the fields of a record and its `namespace`, a store derives these columns:
    `position` (0-based in its session), the features of `salience.language.features` and those of
    the turn before, `previous.<feature>`, and columns of the link graph: `in_degree`,
    `is_cut_vertex` (1 or 0) and `newest_link` (the time of the newest incoming link).
    """

    names: tuple[str, ...]


class ReadRecords(Op):
    """The records of the given rows -> list of MemoryRecord, in the order of the rows.

    One that is gone is None. With `sound`, an unreadable one is None, too, and the next search
    leaves it out. If `fields` are given, a store need not read others.
    """

    rows: Rows
    sound: bool = False
    fields: tuple[str, ...] = ()


class ReadTexts(Op):
    """The content of the given rows -> list of text in their order, None for one that is gone."""

    rows: Rows


class FetchVectors(OfRows):
    """The vectors of that name of the given rows -> float32 array (rows, dimensions).

    NaN in the row of a memory without it; (rows, 0) where no memory has it.
    """

    name: str


class Edge(NamedTuple):
    """A link between two rows."""

    source: int
    target: int
    weight: float
    type: str


class LinksBetween(OfRows):
    """The links from and to the given rows -> list of Edge, or many as `edges.Edges`.

    Both ends are memories of the query's namespaces that pass its filter. `type` is None for all.
    """

    query: Query
    type: str | None = None


class SessionNeighbors(OfRows):
    """The rows right before and right after each row in its session -> int64 array (2, rows).

    Only memories of its own kind count; -1 where there is none or it does not pass the filter.
    """

    query: Query


HashColumn = Literal["text_key", "attribute_key"]
HASH_COLUMNS: tuple[HashColumn, ...] = get_args(HashColumn)
"""Hashes of a text and of the attribute that it states, to find memories by."""


class FindByHash(Op):
    """Memories with one of some hashes in a column -> mapping of key to rows, ascending.

    `text_key` holds keys of `text_key`, which only memories outside sessions have; `attribute_key`
    holds those of `Statement.key`. A key without a memory is not in the mapping.
    """

    namespace: str
    column: HashColumn
    keys: tuple[int, ...]


class NearestVectors(Op):
    """For each vector, the memory with the largest cosine -> list of (row, cosine), or None.

    Only memories that pass the filter and have a cosine of at least `least` count; among equal
    ones the smallest row wins. `embedder` is the identity of the vectors' embedder, which must be
    that of the stored vectors.
    """

    namespace: str
    vectors: Sequence[Embedding]
    least: float
    where: Filter
    name: str = "content"
    embedder: str | None = field(default=None, repr=False)


class RowsById(Op):
    """Rows by id -> mapping of id to row, for those that exist in the namespace."""

    namespace: str
    ids: tuple[str, ...]


class RowsInWriteOrder(Op):
    """All memories of a namespace in the order of their first writing -> rows."""

    namespace: str


class Dimensions(Op):
    """The length of the vectors of these names in a namespace -> mapping of the names it has.

    For None, of all names.
    """

    namespace: str
    names: tuple[str, ...] | None = None


class Unembedded(Op):
    """Some memories of a namespace without a vector of that name -> rows, ascending.

    For the name of a passage's vector, only memories with passages count. With `beside`, it looks
    at the set of vectors beside the searched one.
    """

    namespace: str
    name: str
    limit: int
    beside: bool = False


class PutVectors(Op):
    """Give rows of a namespace a vector of that name -> None; rows that are gone are left out.

    `embedder` becomes the embedder's identity in a store that has none. With `beside`, the vectors
    go to the set beside the searched one, which must be of the same embedder, or empty.
    """

    namespace: str
    name: str
    rows: Rows
    vectors: Sequence[Embedding]
    embedder: str | None = None
    beside: bool = False


class ReadVectorSets(Op):
    """The sets of vectors of the store -> VectorSetsFigures."""


class CutOver(Op):
    """Search the set beside, of that embedder, in the place of the other, at once -> int or None.

    The other becomes the set beside. Memories that lack a vector in the new set get it while
    writers wait; the answer is their number. If they are more than `most`, it is None and nothing
    changes. `embed` makes the vectors of records: names, each with places among them and vectors.
    """

    embedder: str
    most: int
    embed: Callable[[Sequence[MemoryRecord]], Iterable[tuple[str, list[int], list[Embedding]]]]


class DropVectors(Op):
    """Erase the set of vectors beside the searched one -> None.

    Another call continues one that was cut short.
    """


Order = Literal["newest", "oldest"]
"""The memories that a listing has first."""


class Place(NamedTuple):
    """The place of a memory among all of its namespace: its time, and its order of writing.

    `created_at` is in seconds since 1970. Of two memories of one time, the one first written later
    has the larger `sequence`. An edit does not change it.
    """

    created_at: float
    sequence: int


@dataclass(frozen=True, eq=False)
class Listing:
    """Memories in order and the place of each; `more` is True if others follow."""

    records: tuple[MemoryRecord, ...]
    places: tuple[Place, ...]
    more: bool

    @classmethod
    def of(cls, memories: Sequence[tuple[MemoryRecord, Place]], limit: int) -> Listing:
        """The listing of at most `limit` memories out of those that follow."""
        page = memories[:limit]
        records, places = tuple(record for record, _ in page), tuple(place for _, place in page)
        return cls(records, places, len(memories) > limit)

    @property
    def last(self) -> Place | None:
        """The place after which the next listing begins; None at the end."""
        return self.places[-1] if self.more and self.places else None


class ListRecords(Op):
    """Memories that pass a filter, by their places -> Listing.

    Only those after the place `after` in the order of the listing, at most `limit`.
    """

    namespace: str
    where: Filter | None = None
    limit: int = 100
    order: Order = "newest"
    after: Place | None = None


class CountRecords(Op):
    """The number of memories that pass a filter -> int."""

    namespace: str
    where: Filter | None = None


class NameTally(NamedTuple):
    """A tag or an entity: case-folded, in its most frequent spelling, and how many have it.

    Of equally frequent spellings it has the first by code point. `memories` counts one that spells
    it in several ways once.
    """

    folded: str
    name: str
    memories: int


class ListNames(Op):
    """The tags or the entities of memories that pass a filter -> list of NameTally, by `folded`.

    Only those that begin with `prefix` and come after `after`, both case-folded, at most `limit`.
    """

    namespace: str
    field: Literal["tags", "entities"]
    where: Filter | None = None
    prefix: str = ""
    after: str = ""
    limit: int = 100


KeyOfOwner = tuple[int, str | None, str | None, str | None]
"""The key of a text or an attribute, and the `OWNER_FIELDS` of a memory."""
OWNER_FIELDS = ("agent_id", "user_id", "speaker")


@dataclass(frozen=True, eq=False)
class Seen:
    """A view of the memories that say the same as those a plan is about to write.

    It holds, by key and owner, the last row that `FindByHash` found for the key, 0 for none.
    """

    namespace: str
    texts: Mapping[KeyOfOwner, int]
    attributes: Mapping[KeyOfOwner, int]

    def unseen_ids(self, found: Iterable[Sequence[tuple[str, int, KeyOfOwner]]]) -> tuple[str, ...]:
        """The ids of memories in later rows, out of (id, row, key) found by text and attribute.

        Memories of other owners make no difference.
        """
        return tuple(
            id
            for last, memories in zip((self.texts, self.attributes), found, strict=True)
            for id, row, key in memories
            if row > last.get(key, row)
        )

    def lookups(self) -> list[tuple[HashColumn, list[int], int]]:
        """The columns to look at, the keys to look for in each, and the row after which."""
        return [
            (column, list({key[0] for key in last}), min(last.values(), default=0))
            for column, last in zip(HASH_COLUMNS, (self.texts, self.attributes), strict=True)
        ]


def is_unchanged(record: MemoryRecord | None, was: MemoryRecord) -> bool:
    """Test whether a memory is there as it was when it was read, accesses apart."""
    return record is not None and record.equals_except(ACCESSES, was)


class Put(Op):
    """Write memories, links and events in one transaction -> the ids in the way.

    Nothing is written unless the answer is empty. In the way are

    - of a new memory: its id, if a memory has that id or an event has its idempotency key;
    - of an `Edit`: its id, unless the memory exists and, accesses apart, is as it was when read:
      an edit undoes no change of others;
    - of the events `also`: see `Log`, and the ids of those whose idempotency key is used;
    - of what was `seen`: the ids of memories with one of these keys that were written since.

    An edited memory gets a new row, and the next version, whatever the draft says. Its accesses
    count on, and if nothing is stale it also keeps the vectors beside.

    The events `also` follow the drafts and may be about them; the memories that `were` are those
    from before. `unlinks` are links to remove before others are made, by their ends and type;
    links that do not exist are ignored. `at` is the time at which links are made and removed, by
    default that of each link. `note` is a payload of the event of the first link and may have an
    idempotency key. `brought` are the keys of links that came with the contents of their memories;
    the log notes them. With a `past`, the log is its events, without an event of this write.
    """

    drafts: tuple[Draft, ...] = ()
    links: tuple[Link, ...] = ()
    unlinks: tuple[Link, ...] = ()
    embedder: str | None = None  # identity of the vectors' embedder, compared with the store's
    actor: str | None = None  # the author of the write
    also: Log | None = None
    seen: Seen | None = None
    past: ImportedHistory | None = None
    at: datetime | None = field(default=None, repr=False)
    note: Mapping[str, Any] = field(default_factory=dict, repr=False)
    brought: frozenset[tuple[str, str, str]] = field(default=frozenset(), repr=False)

    @property
    def keys(self) -> list[tuple[str, str, str]]:
        """The namespace, the idempotency key and the id of each draft and event that has a key."""
        notes = [(draft.record.namespace, draft.note, draft.record.id) for draft in self.drafts]
        notes += [(link.namespace, self.note, link.source) for link in self.links[:1]]
        keys = [(name, note["key"], id) for name, note, id in notes if "key" in note]
        if self.also is not None:
            keys += [(self.also.namespace, *each) for each in self.also.keys]
        return keys

    @property
    def edits(self) -> list[Edit]:
        """The drafts that take the place of a memory."""
        return [draft for draft in self.drafts if isinstance(draft, Edit)]

    def refused_events(
        self, stored: Collection[str], now: Mapping[str, MemoryRecord]
    ) -> tuple[str, ...]:
        """The ids in the way of the events `also`; the arguments are those of `Log.refused_ids`."""
        if self.also is None:
            return ()
        records = [d.record for d in self.drafts if d.record.namespace == self.also.namespace]
        return self.also.refused_ids({*stored, *(record.id for record in records)}, now)


@dataclass(frozen=True, eq=False)
class ImportedHistory:
    """The log of a copied namespace: its events with their places in the log, and the vectors that
    edits replaced, by the place of the edit.

    Whatever happens here, even during the copy, goes behind `last`, the last place of all."""

    namespace: str
    events: tuple[Event, ...] = ()
    vectors: tuple[tuple[int, str, Embedding], ...] = ()
    last: int = 0


class Log(Op):
    """Append events and apply them to the memories, in one transaction -> the ids in the way.

    In the way are ids that do not exist, ids of memories that, accesses apart, are not as they
    `were` when read, and ids whose idempotency key is used. Nothing is written unless there are
    none. `events.apply` is the effect of an event; one without an id applies to every memory of
    the namespace. Put (write, edit, link) and Touch log their events themselves.

    The memories `erased`, at most 2,000, are erased first, as `erasing` says; ids that do not
    exist are ignored. The events `also` of a Put erase none.
    """

    namespace: str
    events: tuple[Event, ...]
    were: tuple[MemoryRecord, ...] = ()
    erased: tuple[str, ...] = ()
    erasing: Erasing | None = None

    @property
    def ids(self) -> list[str] | None:
        """The ids of the memories that change, in order; None for all of the namespace."""
        ids = {event.id for event in self.events}
        return None if None in ids else sorted(id for id in ids if id is not None)

    @property
    def keys(self) -> list[tuple[str, str]]:
        """The idempotency key and the id of each event that has a key."""
        notes = [(event.payload, event.id) for event in self.events]
        return [(note["key"], id) for note, id in notes if "key" in note and id is not None]

    def refused_ids(
        self, stored: Collection[str], now: Mapping[str, MemoryRecord]
    ) -> tuple[str, ...]:
        """The ids in the way: `stored` are those that exist, `now` those that `were`, by id."""
        ids = {event.id for event in self.events if event.id is not None}
        changed = {was.id for was in self.were if not is_unchanged(now.get(was.id), was)}
        return tuple(sorted((ids - {*stored}) | changed))

    def applied(
        self, states: Mapping[str, dict[str, Any]]
    ) -> tuple[dict[int, dict[str, Any]], list[tuple[int, Event]]]:
        """The fields to set by row, and the events to log, each with the sequence of its memory.

        `states` are memories by id, with `row` and `sequence`; this changes them. An event of all
        memories has the sequence 0.
        """
        changed: dict[int, dict[str, Any]] = {}
        entries: list[tuple[int, Event]] = []
        for event in self.events:
            entry = event
            for state in states.values() if event.id is None else (states[event.id],):
                changes, entry = apply_with_previous(state, event)
                state.update(changes)
                changed.setdefault(state["row"], {}).update(changes)
            entries.append((0 if event.id is None else states[event.id]["sequence"], entry))
        return changed, entries


class Events(Op):
    """The log of a namespace -> list of Event, oldest first.

    Events of the memories `ids` (and of the whole namespace), of some `types`, after the place
    `after`, whose payload `key` is among `keys`; of these, the first `first` or the last `last`.
    Accesses that wait to be written are among them, unless `waiting` is False. Erased memories have
    no events; an event of the namespace, of none of its memories, records their erasure.
    """

    namespace: str
    ids: tuple[str, ...] | None = None
    types: tuple[EventType, ...] | None = None
    keys: tuple[str, ...] | None = None
    after: int = 0
    first: int | None = None
    last: int | None = None
    waiting: bool = True

    @property
    def has_tombstones(self) -> bool:
        """True if they include the events of erasures."""
        if self.types is not None:
            return self.ids is None and "erase" in self.types
        return self.ids is None and self.keys is None

    def bounded(self, events: list[Event]) -> list[Event]:
        """The first or the last events, at most the number asked for."""
        if self.last is not None:
            return events[max(0, len(events) - self.last) :]
        return events[: self.first]


class RetrievedTexts(Op):
    """The texts that searches have returned since a time, as they are now -> dict by id.

    It looks in the last `last` events of the namespace and in the accesses that wait.
    """

    namespace: str
    since: datetime
    last: int


class FormerVectors(Op):
    """The vectors that edits replaced, by seq or all, as far as they are kept -> list of
    (edit's seq, name, float32 array)."""

    namespace: str
    edits: tuple[int, ...] | None = None


class SetFields(Op):
    """Set fields of STATE by id without an event, to agree with the log -> None."""

    namespace: str
    values: Mapping[str, Mapping[str, Any]]


class Touch(Op):
    """Count one use of each row at a time -> None; written with the next batch of touches.

    `type` is retrieval, read or reference. A store that cannot write refuses a `declared` use, and
    ignores that of a search.
    """

    rows: Rows
    at: datetime
    type: EventType = "retrieval"
    actor: str | None = None
    session: str | None = None
    declared: bool = False


class Delete(Op):
    """Erase memories by id (None for all) that pass a filter -> Erasure.

    Each transaction looks up what it has erased, and is undone if anything is left. It leaves a
    tombstone that says who erased how many memories (see `records.tombstones`), unless nobody is
    `erasing`, as when an erasure is repeated. It also removes the name of a `user_id` from events
    of other memories. What the erased memories had superseded or merged holds again, as of the
    erasure, or of `again` when that is repeated.

    Raises:
        StoreError: something is left, or it was cut short; says how many are erased.
    """

    namespace: str
    erasing: Erasing | None
    ids: tuple[str, ...] | None = None
    where: Filter | None = None
    user_id: str | None = None
    again: datetime | None = None


class Tombstones(Op):
    """All tombstones of the store, after adding some of another -> list of Tombstone."""

    new: Sequence[Tombstone] = ()


class Rewrite(Op):
    """Rewrite the whole store, to leave no trace of what was erased in it -> str.

    The answer says what was done, checked afterwards.
    """


WORK_NOTES = LOCK_NOTE, COPYING_NOTE = "maintenance", "copying"
"""The keys of the notes on work in progress; no copy takes them."""


class Notes(Op):
    """The notes of upkeep on a namespace -> mapping of text to text."""

    namespace: str


class Note(Op):
    """Replace a note (None for no note) -> True if it was replaced.

    It is not if the note is no longer `was`: of several concurrent changes, one succeeds.
    """

    namespace: str
    key: str
    value: str | None
    was: str | None


class ReadKeys(Op):
    """The access keys of the store, of all or of some ids -> list of AccessKey, oldest first.

    Keys belong to the store and to no namespace: nothing else reads, counts, copies or erases them.
    """

    ids: tuple[str, ...] | None = None


class PutKey(Op):
    """Write a new access key, or the next version of one -> True if it was written.

    It is not if the store has that version with other values, or a later one: of several
    concurrent changes, one succeeds. The time of the last use stays as it is.
    """

    key: AccessKey


class UseKey(Op):
    """Note when an access key was used, unless a later use is noted -> None.

    A store that cannot write ignores it.
    """

    id: str
    at: datetime


class LinksOf(Op):
    """Links from and to the memories of a namespace (all of them for None) -> list of Link."""

    namespace: str
    ids: tuple[str, ...] | None = None


class AsOf(Op):
    """The answers to operations that only read, as they would have been at a time -> list.

    `namespaces` are those that the operations are about. The dispatcher of the engine answers it.
    The rows of its answers are valid as long as the `plan` exists.
    """

    namespaces: tuple[str, ...]
    at: datetime
    ops: tuple[Op, ...]
    plan: Any = field(repr=False)


class ReadStats(Op):
    """Figures about the namespaces -> mapping; for (), of all of them, and sizes of the store."""

    namespaces: tuple[str, ...] = ()


class BackUp(Op):
    """Copy the whole store to a file, checked -> Backup.

    The file appears when it is complete. `progress` is called with what is copied, and of how much.

    Raises:
        InvalidInput: the file exists and must not be overwritten; or the store cannot be copied as
            a file: the error says what to use instead.
    """

    path: str
    overwrite: bool = False
    progress: Callable[[int, int], None] | None = None


class CheckWritable(Op):
    """Commit a change of nothing -> None.

    Raises:
        NotWritable: the store cannot be written now, or its disk has next to no room.
    """


class CheckStore(Op):
    """Look for damage in the whole store; with `fix` repair what is possible -> tuple of Finding.

    What is damaged beyond repair is saved to a file of its own before it is removed. With a
    namespace, it looks only at its rows and the structure that all share, and repairs nothing.
    """

    fix: bool = False
    namespace: str | None = None
