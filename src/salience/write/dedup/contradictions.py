"""Contradictions: the facts that state an attribute to which a new fact gives another value."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from salience.language.english import ASSISTANT_NAMES
from salience.records.record import MemoryRecord
from salience.retrieval.operations import FindByHash, ReadRecords
from salience.retrieval.plan import Plan, ask
from salience.write.dedup.match_index import insert_fact, owner_of
from salience.write.dedup.text_differences import content_stems

if TYPE_CHECKING:  # reading facts is imported when there is one
    from salience.language.statements import Statement
    from salience.write.dedup.match_index import FactsByAttribute

_NO_USERS = ASSISTANT_NAMES | {"system", "tool"}
_LATEST_FACTS = 16  # of one attribute, with which a new one is compared


def states(record: MemoryRecord) -> bool:
    """Test whether a memory is a fact, or a turn of somebody who is no assistant."""
    if record.session_id is None and record.kind != "turn":
        return record.kind == "fact"
    return record.speaker is None or record.speaker.casefold() not in _NO_USERS


def statements_of(records: Mapping[int, MemoryRecord]) -> dict[int, Statement]:
    """The statements of facts and of what users say, by the places of their items."""
    facts = {place: record for place, record in records.items() if states(record)}
    if not facts:
        return {}
    from salience.language.statements import statement_of

    read = {place: statement_of(record.content) for place, record in facts.items()}
    return {place: statement for place, statement in read.items() if statement is not None}


def leaves_room(kinds: Collection[str], one: MemoryRecord, other: MemoryRecord) -> bool:
    """Test whether two facts may both hold although they differ in these kinds.

    They may if they share a verb whose objects are many (likes, speaks), or one of an event, which
    may have happened at another time, too (met, bought). A negation leaves no room.
    """
    from salience.language.statements.cues import MULTI_VALUED, PAST_EVENTS

    if "negation" in kinds or not one.kind == other.kind == "fact":
        return False
    shared = content_stems(one.content) & content_stems(other.content)
    is_choice = {"word", "name"}.issuperset(kinds) and not MULTI_VALUED.isdisjoint(shared)
    return is_choice or not PAST_EVENTS.isdisjoint(shared)


def stated_facts(
    statements: Mapping[int, Statement], namespace: str, within: tuple[str, ...]
) -> Plan[tuple[FactsByAttribute, Mapping[int, Sequence[int]]]]:
    """The plan of reading the active facts about the attributes of some statements, by owner.

    Of each attribute, those that were written last; and the rows of all by key.
    """
    keys = tuple({statement.key for statement in statements.values()})
    if not keys:
        return {}, {}
    from salience.language.statements import statement_of

    rows_of: Mapping[int, Sequence[int]] = yield from ask(
        FindByHash(namespace, "attribute_key", keys)
    )
    rows = np.array(
        sorted(row for rows in rows_of.values() for row in rows[-_LATEST_FACTS:]), dtype=np.int64
    )
    facts: FactsByAttribute = {}
    for record in (yield from ask(ReadRecords(rows))) if len(rows) else ():
        if record is None or record.status != "active" or not states(record):
            continue
        statement = statement_of(record.content)
        if statement is not None:
            insert_fact(facts, owner_of(record, within), record, statement)
    return facts, rows_of
