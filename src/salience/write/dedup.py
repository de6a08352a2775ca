"""What is known already: each fact about to be written, held against those there are.

Turns of a conversation are events: a second "Yes, exactly!" is a new turn. Everything outside of a
session is held against the active memories of its owner (agent, user and speaker alike).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import numpy as np

from salience.errors import InvalidInput
from salience.language.entities import fold_name
from salience.language.tokens import text_key
from salience.records.events import ACCESSES
from salience.records.fields import FIELDS
from salience.records.filters import And, Compare, Filter
from salience.records.record import Draft, MemoryRecord
from salience.records.validation import number
from salience.retrieval.operations import (
    Events,
    FindByTextHash,
    NearestVectors,
    ReadRecords,
    RowsById,
)
from salience.retrieval.plan import Plan, ask
from salience.write.items import Item, WriteContext
from salience.write.outcomes import Added, Outcome
from salience.write.recall_loop import repeated_memory
from salience.write.text_differences import content_stems, differences

DUPLICATE_COSINE = 0.92
"""The cosine from which two facts or notes of one owner say the same."""
_LAST_EVENTS = 256  # of a namespace, among which what was just recalled is looked for
_GAINED = frozenset({"content", "importance", "tags", "metadata"})
_MERGED = _GAINED | {"id", "idempotency_key"}
_MOVING = _GAINED - {"content"} | {"entities", "updated_at", *ACCESSES}
"""What items that say the same, and uses, change of a memory that still is what it was."""
STRENGTHENING = ("DUPLICATE", "MERGED")
Owner = tuple[str | None, str | None, str | None]


@dataclass(frozen=True, slots=True)
class DedupPolicy:
    """How writes are held against what is known.

    `similar` is the cosine from which two texts say the same, unless `differences` tells some;
    None holds nothing against anything. What was recalled within `loop_seconds` is refused (0 for
    never). Unless `strict`, an item is a memory of its own, too, if it brings an id, or a field
    whose value the other does not have (but for what is merged, and when a fact was told).
    """

    similar: float | None = DUPLICATE_COSINE
    loop_seconds: float = 600.0
    strict: bool = False

    @classmethod
    def of(cls, given: Any, usual: DedupPolicy) -> DedupPolicy:
        """What a caller says: None for the usual, True, False, or a cosine in (0, 1].

        Raises:
            InvalidInput: anything else.
        """
        if given is None:
            return usual
        if given is False:
            return NO_DEDUP
        if given is True:
            return cls(usual.similar or DUPLICATE_COSINE, usual.loop_seconds, strict=True)
        if isinstance(given, DedupPolicy):
            return given
        least = number("dedup", given, 1.0)
        if not least:
            raise InvalidInput("dedup", f"is {given!r}", "give True, False, or a cosine above 0")
        return cls(least, usual.loop_seconds, strict=True)


NO_DEDUP = DedupPolicy(None, 0.0)


@dataclass(frozen=True, slots=True)
class DedupVerdict:
    """What is known of an item: the outcome, and the memory that it is held against.

    The memory is as the items before have left it; `gained` is what it takes on from this one.
    """

    outcome: Added
    match: MemoryRecord
    gained: Mapping[str, Any] = field(default_factory=dict)

    def gained_by(self, now: MemoryRecord, new: MemoryRecord) -> dict[str, Any] | None:
        """What the match as it is now takes on from the item; None if it is another by now."""
        if not now.equals_except(_MOVING, self.match):
            return None
        return _gained(now, new, self.outcome.outcome)


@dataclass
class _MatchIndex:
    """What items are held against: the memories there are, as the items before them leave them.

    Items go by their places, for ids may occur twice.
    """

    keys: Mapping[int, int]  # of the items' texts
    same: Mapping[int, Sequence[MemoryRecord]]
    alike: Mapping[int, tuple[MemoryRecord, float]]
    near: Mapping[int, Sequence[tuple[int, float]]]  # among the items themselves
    recalled: Mapping[str, MemoryRecord]
    given: Mapping[int, frozenset[str]]  # what makes an item a memory of its own
    changed: dict[str, MemoryRecord] = field(default_factory=dict)  # what is new among them
    words_of: dict[str, int] = field(default_factory=dict)  # whose words these have, if an item's
    taken: dict[int, str] = field(default_factory=dict)  # who came to have the words of an item
    texts: dict[tuple[Owner, int], list[int]] = field(default_factory=dict)
    superseded: set[str] = field(default_factory=set)

    def take_in(self, place: int, record: MemoryRecord) -> None:
        """Count a record that has the words of an item among those there are."""
        self.changed[record.id] = record
        self.words_of[record.id] = place
        self.taken[place] = record.id
        self.texts.setdefault((owner_of(record), self.keys[place]), []).append(place)

    def strengthen(self, place: int, found: DedupVerdict) -> None:
        """Let a memory take on what it gains from an item."""
        if not found.gained:
            return
        record = replace(found.match, **found.gained)
        if "content" in found.gained:
            self.take_in(place, record)
        else:
            self.changed[record.id] = record

    def match(self, place: int, record: MemoryRecord) -> tuple[MemoryRecord, float | None] | None:
        """The memory that a record is held against, and their cosine if that is why."""
        owner, key = owner_of(record), self.keys[place]
        said = [
            *map(self._still, self.same.get(key, ())),
            *map(self._saying, self.texts.get((owner, key), ())),
        ]
        for known in said:
            if known and owner_of(known) == owner and self._comparable(place, record, known):
                return known, None
        alike = [(self._saying(earlier), cosine) for earlier, cosine in self.near.get(place, ())]
        if place in self.alike:
            there, cosine = self.alike[place]
            alike.insert(0, (self._still(there), cosine))
        both = [
            (known, cosine)
            for known, cosine in alike
            if known and self._comparable(place, record, known, {"vectors.content"})
        ]
        return max(both, key=lambda each: each[1], default=None)

    def _still(self, known: MemoryRecord) -> MemoryRecord | None:
        """A memory that there was, as it is by now; None if superseded, or with other words."""
        if known.id in self.words_of or known.id in self.superseded:
            return None
        return self.changed.get(known.id, known)

    def _saying(self, place: int) -> MemoryRecord | None:
        """The memory that has the words of an item."""
        id = self.taken.get(place)
        if id is None or self.words_of[id] != place or id in self.superseded:
            return None
        return self.changed[id]

    def _comparable(
        self,
        place: int,
        record: MemoryRecord,
        known: MemoryRecord,
        compared: Set[str] = frozenset(),
    ) -> bool:
        """Whether nothing that was said of a record besides what is `compared` sets it apart."""
        told = self.given.get(place, frozenset()) - _MERGED - compared
        if record.kind == "fact":
            told -= {"created_at"}  # it holds, whenever it was told
        return all(name in FIELDS and _value(record, name) == _value(known, name) for name in told)


def _given(item: Item) -> frozenset[str]:
    """What the caller gave: fields, and each vector by its name."""
    return (item.given - {"vectors"}) | {f"vectors.{name}" for name in item.vectors}


def _value(record: MemoryRecord, name: str) -> Any:
    value = getattr(record, name)
    return {fold_name(each) for each in value} if name == "entities" else value


def owner_of(record: MemoryRecord) -> Owner:
    """Whose a memory is: agent, user, speaker."""
    return (record.agent_id, record.user_id, record.speaker)


def is_turn(record: MemoryRecord) -> bool:
    """Whether a memory is something that was said once, not something that holds."""
    return record.session_id is not None or record.kind == "turn"


def judge(
    drafts: Mapping[int, tuple[Draft, Item]], scope: WriteContext, policy: DedupPolicy
) -> Plan[dict[int, DedupVerdict]]:
    """The plan of holding drafts against what is known: what is known of each, by its place.

    Drafts of which nothing is known are not in it. Each is held against what there will be by then:
    those before it, and what these change.
    """
    if policy.similar is None:
        return {}
    held = {
        place: draft
        for place, (draft, item) in drafts.items()
        if not is_turn(draft.record)
        and (policy.strict or "id" not in item.given)
        and item.supersedes is None
    }
    if not held:
        return {}
    recalled = yield from _recalled(scope, policy)
    keys = {place: text_key(draft.record.content) for place, draft in held.items()}
    same = yield from _same(keys, scope)
    alike = yield from _alike(held, scope, policy.similar)
    given = {} if policy.strict else {place: _given(item) for place, (_, item) in drafts.items()}
    memory = _MatchIndex(keys, same, alike, _near(held, policy.similar), recalled, given)
    ids = yield from _ids_there([drafts[place] for place in held], scope)
    found: dict[int, DedupVerdict] = {}
    for place, (draft, item) in drafts.items():
        judged = _judged(place, draft, memory) if place in held else None
        if judged is not None:
            found[place] = judged
        if judged is not None and judged.outcome.outcome != "SUPERSEDES":
            memory.strengthen(place, judged)
        elif draft.record.id not in ids:  # else it will be rejected
            ids.add(draft.record.id)
            if place in held:
                memory.take_in(place, draft.record)
            if item.supersedes is not None:
                memory.superseded.add(item.supersedes)
    return found


def _ids_there(drafts: Iterable[tuple[Draft, Item]], scope: WriteContext) -> Plan[set[str]]:
    """Those of the given ids that are taken."""
    given = tuple({draft.record.id for draft, item in drafts if "id" in item.given})
    return set((yield from ask(RowsById(scope.namespace, given)))) if given else set()


def _judged(place: int, draft: Draft, memory: _MatchIndex) -> DedupVerdict | None:
    new = draft.record
    match = memory.match(place, new)
    if match is None:
        source = repeated_memory(new.content, memory.recalled)
        if source is None:
            return None
        return _refused(source, "LOOP", "it repeats what was recalled just now", None)
    old, cosine = match
    apart = () if cosine is None else _apart(new, old)
    if old.id in memory.recalled and not apart:
        return _refused(old, "LOOP", "it was recalled just now", cosine)
    if cosine is None:
        return _strengthened(old, new, "DUPLICATE", "the same text", None)
    if apart:
        reason = f"much like {old.id}, but with another {' and '.join(apart)}"
        return DedupVerdict(Added(new.id, "SUPERSEDES", reason, old.id, cosine), old)
    if content_stems(new.content) > content_stems(old.content):
        reason = "it says all that the other said, and more"
        return _strengthened(old, new, "MERGED", reason, cosine)
    return _strengthened(old, new, "DUPLICATE", "it says the same", cosine)


def _apart(new: MemoryRecord, old: MemoryRecord) -> tuple[str, ...]:
    """In what two memories that are alike differ: a number, date, name, negation, or a word.

    A word where each has some that the other lacks: there, one thing was put for another.
    """
    told = differences(new.content, old.content, new.entities, old.entities)
    if told:
        return told
    ours, theirs = content_stems(new.content), content_stems(old.content)
    return ("word",) if ours - theirs and theirs - ours else ()


def _refused(
    old: MemoryRecord, outcome: Outcome, reason: str, cosine: float | None, **gained: Any
) -> DedupVerdict:
    return DedupVerdict(Added(old.id, outcome, reason, old.id, cosine), old, gained)


def _strengthened(
    old: MemoryRecord, new: MemoryRecord, outcome: Outcome, reason: str, cosine: float | None
) -> DedupVerdict:
    """What says the same or more, with what the memory there is takes on from it."""
    return _refused(old, outcome, reason, cosine, **_gained(old, new, outcome))


def _gained(old: MemoryRecord, new: MemoryRecord, outcome: Outcome) -> dict[str, Any]:
    gained: dict[str, Any] = {}
    if new.importance is not None and new.importance > (old.importance or 0.0):
        gained["importance"] = new.importance
    if outcome == "MERGED":
        gained["content"] = new.content
    tags = tuple(dict.fromkeys((*old.tags, *new.tags)))
    if tags != old.tags:
        gained["tags"] = tags
    metadata = {**new.metadata, **old.metadata}
    if metadata != old.metadata:
        gained["metadata"] = metadata
    return gained


def _near(drafts: Mapping[int, Draft], least: float) -> dict[int, list[tuple[int, float]]]:
    """The earlier drafts of the same owner from a cosine on, by the place of each draft."""
    alike: dict[tuple[Owner, int], list[int]] = {}
    for place, draft in drafts.items():
        vector = draft.vectors.get("content")
        if vector is not None and vector.any():
            alike.setdefault((owner_of(draft.record), len(vector)), []).append(place)
    found: dict[int, list[tuple[int, float]]] = {}
    for places in alike.values():
        matrix = np.stack([drafts[place].vectors["content"] for place in places])
        pairs = np.argwhere(matrix @ matrix.T >= least)
        for i, j in pairs[pairs[:, 0] > pairs[:, 1]].tolist():
            cosine = float(matrix[i] @ matrix[j])
            found.setdefault(places[i], []).append((places[j], cosine))
    return found


def _same(keys: Mapping[int, int], scope: WriteContext) -> Plan[dict[int, list[MemoryRecord]]]:
    """Active memories with the texts of some keys, by key."""
    asked = FindByTextHash(scope.namespace, tuple(dict.fromkeys(keys.values())))
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
    drafts: Mapping[int, Draft], scope: WriteContext, least: float
) -> Plan[dict[int, tuple[MemoryRecord, float]]]:
    """The active memory of its owner that each draft is most alike, from a cosine on, by place."""
    by_owner: dict[Owner, list[int]] = {}
    for place, draft in drafts.items():
        if "content" in draft.vectors and draft.vectors["content"].any():
            by_owner.setdefault(owner_of(draft.record), []).append(place)
    answers = yield [
        NearestVectors(
            scope.namespace, [drafts[p].vectors["content"] for p in own], least, _facts(owner)
        )
        for owner, own in by_owner.items()
    ]
    near: dict[int, tuple[int, float]] = {}
    for own, answer in zip(by_owner.values(), answers, strict=True):
        near.update((place, found) for place, found in zip(own, answer, strict=True) if found)
    records = yield from _read([row for row, _ in near.values()])
    return {
        place: (records[row], cosine) for place, (row, cosine) in near.items() if row in records
    }


def _facts(owner: Owner) -> Filter:
    """Passes the active memories of an owner that are no turns."""
    agent, user, speaker = owner
    return And(
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
    records = yield from ask(ReadRecords(distinct))
    return {row: r for row, r in zip(distinct.tolist(), records, strict=True) if r is not None}


def _recalled(scope: WriteContext, policy: DedupPolicy) -> Plan[dict[str, MemoryRecord]]:
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
    rows: Mapping[str, int] = yield from ask(RowsById(scope.namespace, ids))
    records = yield from _read(list(rows.values()))
    return {record.id: record for record in records.values()}
