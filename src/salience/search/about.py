"""A listing of what a user told of himself: the statements that hold, by topic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from salience.display.result import Result
from salience.language.english import ASSISTANT_NAMES
from salience.language.features import FEATURES, features
from salience.language.statements import Statement, statement_of
from salience.language.statements.topics import TOPICS, topic_of
from salience.language.tokens import fold, words
from salience.records.filters import STATED, Compare, Filter, Not, Or, all_of, parse_filter
from salience.records.record import MemoryRecord
from salience.records.validation import integer, optional_text
from salience.retrieval.operations import CountRecords, LinksOf, ListRecords
from salience.retrieval.plan import Plan, ask
from salience.search.listing import MAX_PAGE
from salience.search.request import Filters
from salience.write.dedup.match_index import begins_at

TOPIC_KEY = "about_user"
"""The key of the metadata with the topic of a fact that a model found about the user."""
SOURCE_LINK = "depends_on"
"""The type of the links from such a fact to the memories that it was found in."""
SAID_OF_SELF = all_of(STATED, Not(Compare("speaker", "in", tuple(sorted(ASSISTANT_NAMES)))))
"""Statements about who says them, but for those of an assistant."""
_EXTRACTED = Compare(f"metadata.{TOPIC_KEY}", "exists", True)
_PROFILE, _FACT = Compare("kind", "eq", "profile"), Compare("kind", "eq", "fact")


@dataclass(frozen=True, slots=True, repr=False)
class PersonalFact(Result):
    """A statement of a user about himself, its topic, and the ids of those that it takes over from.

    `earlier` are older statements of the same attribute, newest first.
    """

    _shown = ("topic", "memory")

    topic: str
    memory: MemoryRecord
    earlier: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class About(Result):
    """A listing of what a user told of himself, by topic, the newest first.

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
    """The plan of listing what holds of all that a user told of himself.

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
    said = Compare("speaker", "in", tuple(sorted({user, user.lower(), user.title()})))
    return Or((all_of(own, _FACT), all_of(told, Or((own, said)))))


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
