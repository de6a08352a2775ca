"""The memories to compare the items of one write with, as each item leaves them."""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping, Sequence, Set
from datetime import datetime
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from salience.language.entities import fold_name
from salience.lazily import dataclass, field, replace
from salience.records.fields import FIELDS
from salience.records.record import MemoryRecord
from salience.write.dedup.sameness import MAX_COMPARED_CHARACTERS, says_same

Owner = tuple[Any, ...]
"""Agent, user and speaker, and the values of further keys of the metadata."""

if TYPE_CHECKING:
    from salience.language.statements import Statement

    StatedFact = tuple[MemoryRecord, Statement]
    """A fact, and what it states."""
    FactsByAttribute = dict[tuple[Owner, int], list[StatedFact]]
    """Facts by owner and key, by the times from which they hold; equal ones as written."""

MERGEABLE = frozenset({"content", "importance", "tags", "metadata"})
"""The fields that a memory takes on from an item that says the same."""
_NOT_COMPARED = MERGEABLE | {"id", "added_at", "idempotency_key"}
Match = tuple[MemoryRecord, float | None]
"""A memory, and its cosine to an item unless their texts are equal."""


@dataclass
class MatchIndex:
    """The memories to compare items with, as the items before each of them leave them.

    Items go by their places: ids may occur twice.
    """

    now: datetime
    keys: Mapping[int, int]  # of the items' texts
    same_text: Mapping[int, Sequence[MemoryRecord]]  # existing memories by key
    nearest: Mapping[int, tuple[MemoryRecord, float]]  # existing memories by place, with cosine
    near_items: Mapping[int, Sequence[tuple[int, float]]]  # earlier items by place, with cosine
    recalled: Mapping[str, str]  # texts by id
    fields: Mapping[int, frozenset[str]]  # the fields that set an item apart
    changed: dict[str, MemoryRecord] = field(default_factory=dict)  # new or changed, by id
    text_source: dict[str, int] = field(default_factory=dict)  # the item whose text a memory has
    text_holder: dict[int, str] = field(default_factory=dict)  # the memory with an item's text
    texts: dict[tuple[Owner, int], list[int]] = field(default_factory=dict)
    superseded: set[str] = field(default_factory=set)
    reads_facts: bool = False  # by rules
    statements: Mapping[int, Statement] = field(default_factory=dict)  # of the items, by place
    facts: FactsByAttribute = field(default_factory=dict)
    within: tuple[str, ...] = ()  # keys of the metadata that set owners apart
    rows: Mapping[int, Sequence[int]] = field(default_factory=dict)  # of existing texts, by key

    def owner(self, record: MemoryRecord) -> Owner:
        """The owner of a memory."""
        return owner_of(record, self.within)

    def add(self, place: int, record: MemoryRecord) -> None:
        """Add a record that has the text of an item."""
        self.changed[record.id] = record
        self.text_source[record.id] = place
        self.text_holder[place] = record.id
        self.texts.setdefault((self.owner(record), self.keys[place]), []).append(place)

    def add_fact(self, place: int, record: MemoryRecord) -> None:
        """Add what a record states that has the text of an item."""
        statement = self.statements.get(place)
        if statement is not None:
            insert_fact(self.facts, self.owner(record), record, statement)

    def strengthen(self, place: int, match: MemoryRecord, gained: Mapping[str, Any]) -> None:
        """Set the fields that a memory gains from an item."""
        if not gained:
            return
        record = replace(match, **gained)
        if "content" in gained:
            self.add(place, record)
            self.add_fact(place, record)
        else:
            self.changed[record.id] = record

    def match(self, place: int, record: MemoryRecord) -> Match | None:
        """The memory that a record is compared with, and their cosine unless the text is equal."""
        owner, key = self.owner(record), self.keys[place]
        equal_texts = [
            *map(self._current, self.same_text.get(key, ())),
            *map(self._holder_of, self.texts.get((owner, key), ())),
        ]
        for memory in equal_texts:
            if (
                memory
                and self.owner(memory) == owner
                and self._comparable(place, record, memory)
                and says_same(record.content, memory.content)
            ):
                return memory, None
        if len(record.content) > MAX_COMPARED_CHARACTERS:
            return None
        similar = [(self._holder_of(at), cosine) for at, cosine in self.near_items.get(place, ())]
        if place in self.nearest:
            memory, cosine = self.nearest[place]
            similar.insert(0, (self._current(memory), cosine))
        comparable = [
            (memory, cosine)
            for memory, cosine in similar
            if memory
            and len(memory.content) <= MAX_COMPARED_CHARACTERS
            and self._comparable(place, record, memory, {"vectors.content"})
        ]
        return max(comparable, key=itemgetter(1), default=None)

    def contradicted(self, place: int, record: MemoryRecord) -> MemoryRecord | None:
        """The latest fact with another value of the attribute that a record states.

        None if a later one confirms the record. Facts that hold at other times are left out.
        """
        statement = self.statements.get(place)
        if statement is None:
            return None
        for fact, stored in reversed(self.facts.get((self.owner(record), statement.key), ())):
            current = self._current(fact)
            if current is None or current.id == record.id or not _overlap(current, record):
                continue
            if stored.confirms(statement):
                return None
            if stored.contradicts(statement):
                return current
        return None

    def is_confirmed(self, place: int, memory: MemoryRecord) -> bool:
        """Test whether an item and a memory state the same value of the same attribute."""
        statement = self.statements.get(place)
        if statement is None or not statement.values:
            return False
        facts = self.facts.get((self.owner(memory), statement.key), ())
        return any(f.id == memory.id and stored.confirms(statement) for f, stored in facts)

    def _current(self, memory: MemoryRecord) -> MemoryRecord | None:
        """An existing memory as it is by now; None if superseded, or if its text has changed."""
        if memory.id in self.text_source or memory.id in self.superseded:
            return None
        return self.changed.get(memory.id, memory)

    def _holder_of(self, place: int) -> MemoryRecord | None:
        """The memory that has the text of an item; None if it no longer exists."""
        id = self.text_holder.get(place)
        if id is None or self.text_source[id] != place or id in self.superseded:
            return None
        return self.changed[id]

    def _comparable(
        self,
        place: int,
        record: MemoryRecord,
        memory: MemoryRecord,
        compared: Set[str] = frozenset(),
    ) -> bool:
        """Test whether no field of an item, `compared` ones aside, sets it apart from a memory.

        The memory must also be one that `covers` the item.
        """
        if not covers(memory, record, self.now):
            return False
        names = self.fields.get(place, frozenset()) - _NOT_COMPARED - compared
        if record.kind == "fact":
            names -= {"created_at"}  # it holds, whenever it was told
        return all(
            name in FIELDS and _value(record, name) == _value(memory, name) for name in names
        )


def covers(memory: MemoryRecord, record: MemoryRecord, now: datetime) -> bool:
    """Test whether a memory is in force, and will be for as long as another.

    It has neither expired nor ended, is not up for review, and holds for the same period.
    """
    if memory.review is not None or memory.valid_to != record.valid_to:
        return False
    ends = (memory.expires_at, memory.valid_to)
    if any(end is not None and end <= now for end in ends):
        return False
    if record.valid_from not in (None, memory.valid_from):
        return False
    if memory.expires_at is None:
        return True
    return record.expires_at is not None and record.expires_at <= memory.expires_at


def insert_fact(
    facts: FactsByAttribute, owner: Owner, record: MemoryRecord, statement: Statement
) -> None:
    """Put a fact of an owner among those about the same attribute, in the order of time."""
    stated = facts.setdefault((owner, statement.key), [])
    insort(stated, (record, statement), key=lambda fact: begins_at(fact[0]))


def begins_at(record: MemoryRecord) -> datetime:
    """The time from which a fact holds, as far as it is known."""
    return record.valid_from or record.created_at


def _overlap(one: MemoryRecord, other: MemoryRecord) -> bool:
    """Test whether two facts hold at the same time, unless they say when."""
    pairs = ((one, other), (other, one))
    return not any(
        first.valid_to is not None
        and second.valid_from is not None
        and first.valid_to <= second.valid_from
        for first, second in pairs
    )


def _value(record: MemoryRecord, name: str) -> Any:
    value = getattr(record, name)
    return {fold_name(entity) for entity in value} if name == "entities" else value


def owner_of(record: MemoryRecord, within: tuple[str, ...] = ()) -> Owner:
    """The owner of a memory: agent, user, speaker, and the values of some keys of its metadata."""
    values = (record.comparable(f"metadata.{key}") for key in within)
    return (
        record.agent_id,
        record.user_id,
        record.speaker,
        *(v if v is None or isinstance(v, str | int | float) else repr(v) for v in values),
    )
