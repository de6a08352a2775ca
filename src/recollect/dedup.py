"""What is known already: each fact about to be written, held against those there are.

Turns of a conversation are events: a second "Yes, exactly!" is a new turn. Everything outside of a
session is held against the active memories of its owner (agent, user and speaker alike).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import numpy as np

from recollect.differences import differences
from recollect.entities import folded
from recollect.errors import InvalidInput
from recollect.fields import FIELDS
from recollect.filters import Both, Compare, Filter
from recollect.items import Item, Scope
from recollect.lexicon import STOP
from recollect.memory import Added, Draft, MemoryRecord, number
from recollect.ops import Alike, Events, Find, Read, Same
from recollect.plan import Plan, ask
from recollect.text import stem, text_key, words

SIMILAR = 0.92
_LAST_EVENTS = 256  # of a namespace, among which what was just recalled is looked for
_SHINGLE = 3  # words
_RECALLED = 0.9  # share of the shingles of a text at which it is what was recalled
_FEWEST = 5  # words of a text that is more than one recalled memory
_REFERENCE = re.compile(r"\[m:[^\[\]\s]+\]")  # without "[", no part of a text is looked at twice
_FRAMING = frozenset({"memori", "memory", "recal", "rememb", "note", "context", "relev", "known"})
_MERGED = frozenset({"content", "id", "importance", "tags", "metadata", "idempotency_key"})
Owner = tuple[str | None, str | None, str | None]


@dataclass(frozen=True, slots=True)
class Dedup:
    """How writes are held against what is known.

    `similar` is the cosine from which two texts say the same, unless `differences` tells some;
    None holds nothing against anything. What was recalled within `loop_seconds` is refused (0 for
    never). Unless `strict`, an item is a memory of its own, too, if it brings an id, or a field
    whose value the other does not have (but for what is merged, and when a fact was told).
    """

    similar: float | None = SIMILAR
    loop_seconds: float = 600.0
    strict: bool = False

    @classmethod
    def of(cls, given: Any, usual: Dedup) -> Dedup:
        """What a caller says: None for the usual, True, False, or a cosine in (0, 1].

        Raises:
            InvalidInput: anything else.
        """
        if given is None:
            return usual
        if given is False:
            return NO_DEDUP
        if given is True:
            return cls(usual.similar or SIMILAR, usual.loop_seconds, strict=True)
        if isinstance(given, Dedup):
            return given
        least = number("dedup", given, 1.0)
        if not least:
            raise InvalidInput("dedup", f"is {given!r}", "give True, False, or a cosine above 0")
        return cls(least, usual.loop_seconds, strict=True)


NO_DEDUP = Dedup(None, 0.0)


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of an item: the outcome, and the memory that it is held against."""

    outcome: Added
    match: MemoryRecord


@dataclass
class _Memory:
    """What items are held against: the memories there are, and those written before them."""

    keys: Mapping[str, int]  # of the items' texts, by id
    same: Mapping[int, Sequence[MemoryRecord]]
    alike: Mapping[str, tuple[MemoryRecord, float]]
    near: Mapping[str, Sequence[tuple[MemoryRecord, float]]]  # among the items themselves
    recalled: Mapping[str, MemoryRecord]
    given: Mapping[str, frozenset[str]]  # what makes an item a memory of its own, by id
    fresh: dict[str, MemoryRecord] = field(default_factory=dict)
    fresh_texts: dict[tuple[Owner, int], list[MemoryRecord]] = field(default_factory=dict)

    def take_in(self, record: MemoryRecord) -> None:
        """Count a record among those there are."""
        self.fresh[record.id] = record
        key = (owner_of(record), self.keys[record.id])
        self.fresh_texts.setdefault(key, []).append(record)

    def match(self, record: MemoryRecord) -> tuple[MemoryRecord, float | None] | None:
        """The memory that a record is held against, and their cosine if that is why."""
        owner, key = owner_of(record), self.keys[record.id]
        for known in (*self.same.get(key, ()), *self.fresh_texts.get((owner, key), ())):
            if owner_of(known) == owner and self._comparable(record, known):
                return known, None
        here = [each for each in self.near.get(record.id, ()) if each[0].id in self.fresh]
        there = self.alike.get(record.id)
        both = [*([there] if there else []), *here]
        both = [each for each in both if self._comparable(record, each[0], {"vectors.content"})]
        return max(both, key=lambda each: each[1], default=None)

    def _comparable(
        self, record: MemoryRecord, known: MemoryRecord, compared: Set[str] = frozenset()
    ) -> bool:
        """Whether nothing that was said of a record besides what is `compared` sets it apart."""
        told = self.given.get(record.id, frozenset()) - _MERGED - compared
        if record.kind == "fact":
            told -= {"created_at"}  # it holds, whenever it was told
        return all(name in FIELDS and _value(record, name) == _value(known, name) for name in told)


def _given(item: Item) -> frozenset[str]:
    """What the caller gave: fields, and each vector by its name."""
    return (item.given - {"vectors"}) | {f"vectors.{name}" for name in item.vectors}


def _value(record: MemoryRecord, name: str) -> Any:
    value = getattr(record, name)
    return {folded(each) for each in value} if name == "entities" else value


def owner_of(record: MemoryRecord) -> Owner:
    """Whose a memory is: agent, user, speaker."""
    return (record.agent_id, record.user_id, record.speaker)


def is_turn(record: MemoryRecord) -> bool:
    """Whether a memory is something that was said once, not something that holds."""
    return record.session_id is not None or record.kind == "turn"


def known(
    drafts: Sequence[tuple[Draft, Item]], scope: Scope, policy: Dedup
) -> Plan[dict[str, Known]]:
    """The plan of holding drafts against what is known: what is known of each, by its id.

    Drafts of which nothing is known are not in it; each is held against those before it, too.
    """
    if policy.similar is None:
        return {}
    held = [
        draft
        for draft, item in drafts
        if not is_turn(draft.record)
        and (policy.strict or "id" not in item.given)
        and item.supersedes is None
    ]
    if not held:
        return {}
    recalled = yield from _recalled(scope, policy)
    keys = {draft.record.id: text_key(draft.record.content) for draft in held}
    same = yield from _same(keys, scope)
    alike = yield from _alike(held, scope, policy.similar)
    given = {} if policy.strict else {item.record.id: _given(item) for _, item in drafts}
    memory = _Memory(keys, same, alike, _near(held, policy.similar), recalled, given)
    found: dict[str, Known] = {}
    for draft in held:
        judged = _judged(draft, memory)
        if judged is not None:
            found[draft.record.id] = judged
        if judged is None or judged.outcome.outcome == "SUPERSEDES":
            memory.take_in(draft.record)
    return found


def _judged(draft: Draft, memory: _Memory) -> Known | None:
    new = draft.record
    match = memory.match(new)
    if match is None:
        source = _repeated(new.content, memory.recalled)
        if source is None:
            return None
        return _refused(source, "LOOP", "it repeats what was recalled just now", None)
    old, cosine = match
    apart = () if cosine is None else _apart(new, old)
    if old.id in memory.recalled and not apart:
        return _refused(old, "LOOP", "it was recalled just now", cosine)
    if cosine is None:
        return _refused(old, "DUPLICATE", "the same text", None)
    if apart:
        reason = f"much like {old.id}, but with another {' and '.join(apart)}"
        return Known(Added(new.id, "SUPERSEDES", reason, old.id, cosine), old)
    if content_stems(new.content) > content_stems(old.content):
        return _refused(old, "MERGED", "it says all that the other said, and more", cosine)
    return _refused(old, "DUPLICATE", "it says the same", cosine)


def _apart(new: MemoryRecord, old: MemoryRecord) -> tuple[str, ...]:
    """In what two memories that are alike differ: a number, date, name, negation, or a word.

    A word where each has some that the other lacks: there, one thing was put for another.
    """
    told = differences(new.content, old.content, new.entities, old.entities)
    if told:
        return told
    ours, theirs = content_stems(new.content), content_stems(old.content)
    return ("word",) if ours - theirs and theirs - ours else ()


def content_stems(text: str) -> frozenset[str]:
    """The stems of the words of a text that mean something by themselves."""
    return frozenset(stem(word) for word in words(text) if word not in STOP)


def _refused(old: MemoryRecord, outcome: Any, reason: str, cosine: float | None) -> Known:
    return Known(Added(old.id, outcome, reason, old.id, cosine), old)


def _near(drafts: Sequence[Draft], least: float) -> dict[str, list[tuple[MemoryRecord, float]]]:
    """The earlier drafts of the same owner from a cosine on, by the id of each draft."""
    alike: dict[tuple[Owner, int], list[Draft]] = {}
    for draft in drafts:
        vector = draft.vectors.get("content")
        if vector is not None and vector.any():
            alike.setdefault((owner_of(draft.record), len(vector)), []).append(draft)
    found: dict[str, list[tuple[MemoryRecord, float]]] = {}
    for group in alike.values():
        matrix = np.stack([draft.vectors["content"] for draft in group])
        pairs = np.argwhere(matrix @ matrix.T >= least)
        for i, j in pairs[pairs[:, 0] > pairs[:, 1]].tolist():
            cosine = float(matrix[i] @ matrix[j])
            found.setdefault(group[i].record.id, []).append((group[j].record, cosine))
    return found


def _same(keys: Mapping[str, int], scope: Scope) -> Plan[dict[int, list[MemoryRecord]]]:
    """Active memories with the texts of some keys, by key."""
    asked = Same(scope.namespace, tuple(dict.fromkeys(keys.values())))
    rows: Mapping[int, Sequence[int]] = yield from ask(asked)
    flat = [row for each in rows.values() for row in each]
    records = yield from _read(flat)
    found: dict[int, list[MemoryRecord]] = {}
    for key, each in rows.items():
        here = [records[row] for row in each if row in records]
        found[key] = [
            record for record in here if record.status == "active" and not is_turn(record)
        ]
    return found


def _alike(
    drafts: Sequence[Draft], scope: Scope, least: float
) -> Plan[dict[str, tuple[MemoryRecord, float]]]:
    """The active memory of its owner that each draft is most alike, from a cosine on, by id."""
    by_owner: dict[Owner, list[Draft]] = {}
    for draft in drafts:
        if "content" in draft.vectors and draft.vectors["content"].any():
            by_owner.setdefault(owner_of(draft.record), []).append(draft)
    asked = list(by_owner.items())
    answers = yield [
        Alike(scope.namespace, [d.vectors["content"] for d in own], least, _facts(owner))
        for owner, own in asked
    ]
    near: dict[str, tuple[int, float]] = {}
    for (_, own), answer in zip(asked, answers, strict=True):
        near.update((d.record.id, found) for d, found in zip(own, answer, strict=True) if found)
    records = yield from _read([row for row, _ in near.values()])
    return {id: (records[row], cosine) for id, (row, cosine) in near.items() if row in records}


def _facts(owner: Owner) -> Filter:
    """Passes the active memories of an owner that are no turns."""
    agent, user, speaker = owner
    return Both(
        (
            Compare("status", "eq", "active"),
            Compare("session_id", "eq", None),
            Compare("kind", "ne", "turn"),
            Compare("agent_id", "eq", agent),
            Compare("user_id", "eq", user),
            Compare("speaker", "eq", speaker),
        )
    )


def _read(rows: Sequence[int]) -> Plan[dict[int, MemoryRecord]]:
    distinct = np.unique(np.array(rows, dtype=np.int64))
    if not len(distinct):
        return {}
    records = yield from ask(Read(distinct))
    return {row: r for row, r in zip(distinct.tolist(), records, strict=True) if r is not None}


def _recalled(scope: Scope, policy: Dedup) -> Plan[dict[str, MemoryRecord]]:
    """The memories that were recalled just now, by id."""
    if policy.loop_seconds <= 0.0:
        return {}
    since = scope.now - timedelta(seconds=policy.loop_seconds)
    log = yield from ask(Events(scope.namespace, last=_LAST_EVENTS))
    ids = tuple(
        dict.fromkeys(e.id for e in log if e.type == "retrieval" and e.id and e.at >= since)
    )
    if not ids:
        return {}
    rows: Mapping[str, int] = yield from ask(Find(scope.namespace, ids))
    records = yield from _read(list(rows.values()))
    return {record.id: record for record in records.values()}


def _repeated(content: str, recalled: Mapping[str, MemoryRecord]) -> MemoryRecord | None:
    """The memory that a text mostly repeats, if all it says was recalled; None otherwise.

    So it is if 9 in 10 of its runs of three words are in what was recalled, and no word of content
    is not. References and words that only frame what was recalled do not count.
    """
    if not recalled:
        return None
    said = words(_REFERENCE.sub(" ", content))
    runs = _shingles(said)
    if len(said) < _FEWEST or not runs:
        return None
    of_each = {id: _shingles(words(record.content)) for id, record in recalled.items()}
    known = frozenset[Any]().union(*of_each.values())
    stems = frozenset[str]().union(*(content_stems(r.content) for r in recalled.values()))
    strange = content_stems(_REFERENCE.sub(" ", content)) - stems - _FRAMING
    if strange or len(runs & known) < _RECALLED * len(runs):
        return None
    return recalled[max(of_each, key=lambda id: (len(runs & of_each[id]), id))]


def _shingles(said: Sequence[str]) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(said[i : i + _SHINGLE]) for i in range(len(said) - _SHINGLE + 1))
