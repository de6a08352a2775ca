"""Verdicts: the comparison of facts about to be written with existing ones and each other.

Turns of a conversation are events: a second "Yes, exactly!" is a new turn. Everything outside of a
session is compared with the active memories of its owner (the same agent, user and speaker).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any

import numpy as np

from salience.api.parameters import Bounds
from salience.arithmetic import NOISE, cosines
from salience.errors import InvalidInput, shown
from salience.language.tokens import shorten, text_key
from salience.lazily import dataclass, field, fields, replace
from salience.records.filters import And, Compare, Filter, Not
from salience.records.record import Draft, Edit, MemoryRecord
from salience.records.validation import boolean, mapping, number, texts
from salience.retrieval.operations import (
    OWNER_FIELDS,
    FindByHash,
    KeyOfOwner,
    NearestVectors,
    ReadRecords,
    RetrievedTexts,
    RowsById,
    Seen,
)
from salience.retrieval.plan import Plan, ask
from salience.write.dedup.contradictions import (
    leaves_room,
    repeated_memory,
    stated_facts,
    statements_of,
)
from salience.write.dedup.match_index import MatchIndex, Owner, begins_at, owner_of
from salience.write.dedup.sameness import (
    content_stems,
    differences,
    has_replaced_words,
    says_more,
    says_same,
)
from salience.write.items import Item, WriteContext
from salience.write.outcomes import Added, Outcome

DUPLICATE_COSINE = 0.92
"""The cosine from which two facts or notes of one owner say the same."""
_LAST_EVENTS = 256  # of a namespace, in which recent retrievals are looked for
_MAX_QUOTE_CHARACTERS = 80
STRENGTHENING = ("DUPLICATE", "MERGED")
MAX_LOOP_SECONDS = 1e9  # some 31 years
MAX_WITHIN = 8  # keys of the metadata


@dataclass(frozen=True)
class DedupPolicy:
    """The settings by which writes are compared with existing memories and with each other.

    `similar` is the cosine from which two texts say the same, unless `differences` finds some;
    with None nothing is compared. A text that was recalled within `loop_seconds` is refused (0 for
    never). Unless `strict`, an item is a memory of its own, too, if it brings an id, or a field
    whose value the other does not have (but for what is merged, and when a fact was told). With
    `contradictions`, facts that state another value of an attribute are noticed by rules (see
    `salience.language.statements`), even if they bring an id, and a memory that may take the place
    of an earlier one is linked with it (see `salience.language.change`). Only memories of one
    owner (agent, user and speaker) are compared; `within` names keys of the metadata whose values
    have to be the same, too.
    """

    similar: float | None = DUPLICATE_COSINE
    loop_seconds: float = 600.0
    strict: bool = False
    contradictions: bool = True
    within: tuple[str, ...] = ()

    @classmethod
    def of(cls, value: Any, default: DedupPolicy) -> DedupPolicy:
        """The policy of an argument `dedup`: None for the default, a boolean, a cosine in (0, 1].

        A mapping has the fields of a policy that differ from the default.

        Raises:
            InvalidInput: anything else.
        """
        if value is None:
            return default
        if value is False:
            return NO_DEDUP
        if value is True:
            return replace(default, similar=default.similar or DUPLICATE_COSINE, strict=True)
        if isinstance(value, DedupPolicy):
            return value
        if isinstance(value, Mapping):
            differing = mapping("dedup", value)
            return replace(default, **{n: _checked(n, v) for n, v in differing.items()})
        cosine = number("dedup", value, 1.0)
        if not cosine:
            raise InvalidInput("dedup", f"is {value!r}", "give True, False, or a cosine above 0")
        return replace(default, similar=cosine, strict=True)


def _checked(name: Any, value: Any) -> Any:
    """The checked value of a field of a policy.

    Raises:
        InvalidInput: names the field.
    """
    if name in ("strict", "contradictions"):
        return boolean(f"dedup.{name}", value)
    if name == "within":
        if not isinstance(value, list | tuple):
            raise InvalidInput("dedup.within", f"is {shown(value)}", "give a list of keys")
        return tuple(texts("dedup.within", value, count=MAX_WITHIN))
    if name == "similar":
        return number("dedup.similar", value, 1.0) or None
    if name == "loop_seconds":
        seconds = number("dedup.loop_seconds", value, MAX_LOOP_SECONDS)
        if seconds is None:
            raise InvalidInput("dedup.loop_seconds", "is None", "give seconds, or 0 for never")
        return seconds
    names = ", ".join(each.name for each in fields(DedupPolicy))
    raise InvalidInput("dedup", f"has no {shown(name)}", f"use {names}")


NO_DEDUP = DedupPolicy(None, 0.0)
DedupLike = Annotated[
    DedupPolicy | Mapping[str, Any] | bool | float | None,
    Bounds(
        anyOf=[
            {"type": "boolean"},
            {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
            {"$ref": "#/components/schemas/DedupPolicy"},
        ]
    ),
]
"""A policy, or what `DedupPolicy.of` makes one of."""


@dataclass(frozen=True)
class DedupVerdict:
    """The outcome of comparing an item, and the memory that it matches.

    The match is as earlier items have left it, None for a text that repeats what was recalled.
    `gained` are the fields that the match takes on from this item.
    """

    outcome: Added
    match: MemoryRecord | None
    gained: Mapping[str, Any] = field(default_factory=dict)


def _field_names(item: Item) -> frozenset[str]:
    """The names of the fields that the caller gave, and of each vector."""
    unsaid = {"vectors"} if item.links else {"vectors", "links"}
    return (item.given - unsaid) | {f"vectors.{name}" for name in item.vectors}


def is_turn(record: MemoryRecord) -> bool:
    """Test whether a memory is something said once, not something that holds."""
    return record.session_id is not None or record.kind == "turn"


def judge(
    drafts: Mapping[int, tuple[Draft, Item]],
    edits: Mapping[int, Edit],
    scope: WriteContext,
    policy: DedupPolicy,
) -> Plan[tuple[dict[int, DedupVerdict], Seen | None]]:
    """The plan of comparing drafts with existing memories and with each other: verdicts by place.

    Drafts that match nothing have no verdict. Each is compared with what will exist by then: the
    drafts before it, and the memories as these drafts and the edits of other places change them.
    The answer also holds what was seen of the memories that say the same as drafts that become
    memories of their own; the verdicts hold as long as that does not change.
    """
    if policy.similar is None:
        return {}, None
    compared = {
        place: draft
        for place, (draft, item) in drafts.items()
        if not is_turn(draft.record)
        and (policy.strict or "id" not in item.given)
        and item.supersedes is None
    }
    statements = {}
    if policy.contradictions:
        records = {place: d.record for place, (d, _) in drafts.items()}
        statements = statements_of(records | {place: e.record for place, e in edits.items()})
    if not compared and not statements:
        return {}, None
    index = yield from _match_index(compared, edits, drafts, scope, policy.similar, policy)
    index.statements, index.reads_facts = statements, policy.contradictions
    index.within = policy.within
    index.facts, fact_rows = yield from stated_facts(statements, scope.namespace, policy.within)
    for place, edit in edits.items():
        _take_edit(place, edit, index)
    ids = yield from _taken_ids([drafts[place] for place in compared], scope)
    verdicts: dict[int, DedupVerdict] = {}
    for place, (draft, item) in drafts.items():
        verdict = None
        if place in compared:
            verdict = _verdict(place, draft, index)
        elif item.supersedes is None:
            verdict = _contradiction(place, draft.record, index, None)
        if verdict is not None:
            verdicts[place] = verdict
        if verdict is not None and verdict.outcome.outcome != "CONFLICTS":
            if verdict.match is not None:
                index.strengthen(place, verdict.match, verdict.gained)
        elif draft.record.id not in ids:  # else it will be rejected
            ids.add(draft.record.id)
            if place in compared:
                index.add(place, draft.record)
            index.add_fact(place, draft.record)
            if item.supersedes is not None:
                index.superseded.add(item.supersedes)
    return verdicts, _seen(drafts, verdicts, index, fact_rows, scope)


def _seen(
    drafts: Mapping[int, tuple[Draft, Item]],
    verdicts: Mapping[int, DedupVerdict],
    index: MatchIndex,
    fact_rows: Mapping[int, Sequence[int]],
    scope: WriteContext,
) -> Seen:
    """The last rows of memories that say the same as drafts that become memories of their own."""
    texts: dict[KeyOfOwner, int] = {}
    attributes: dict[KeyOfOwner, int] = {}
    for place, (draft, item) in drafts.items():
        if item.supersedes is not None:
            continue
        if place in verdicts and verdicts[place].outcome.outcome != "CONFLICTS":
            continue
        agent, user, speaker = (getattr(draft.record, name) for name in OWNER_FIELDS)
        if place in index.keys:
            key = index.keys[place]
            texts[key, agent, user, speaker] = max(index.rows.get(key, ()), default=0)
        if place in index.statements:
            key = index.statements[place].key
            attributes[key, agent, user, speaker] = max(fact_rows.get(key, ()), default=0)
    return Seen(scope.namespace, texts, attributes)


def _take_edit(place: int, edit: Edit, index: MatchIndex) -> None:
    """Let drafts be compared with a memory as an edit of the same write leaves it."""
    record = edit.record
    if is_turn(record) or record.status != "active":
        index.superseded.add(record.id)
    elif edit.was is not None and edit.was.content == record.content:
        index.changed[record.id] = record
    else:
        index.add(place, record)
        index.add_fact(place, record)


def _match_index(
    compared: Mapping[int, Draft],
    edits: Mapping[int, Edit],
    drafts: Mapping[int, tuple[Draft, Item]],
    scope: WriteContext,
    cosine: float,
    policy: DedupPolicy,
) -> Plan[MatchIndex]:
    """Read the memories that some drafts are compared with."""
    looked_at = {**edits, **compared}
    keys = {place: text_key(draft.record.content) for place, draft in looked_at.items()}
    if not compared:
        return MatchIndex(scope.now, keys, {}, {}, {}, {}, {})
    recalled = yield from _recalled(scope, policy)
    same_text, rows = yield from _with_same_text({place: keys[place] for place in compared}, scope)
    nearest = yield from _nearest(compared, scope, cosine, policy.within)
    fields = {}
    if not policy.strict:
        fields = {place: _field_names(item) for place, (_, item) in drafts.items()}
    near_items = _near_items(looked_at, cosine, policy.within)
    return MatchIndex(scope.now, keys, same_text, nearest, near_items, recalled, fields, rows=rows)


def _taken_ids(drafts: Iterable[tuple[Draft, Item]], scope: WriteContext) -> Plan[set[str]]:
    """The ids given by callers that memories have already."""
    ids = tuple({draft.record.id for draft, item in drafts if "id" in item.given})
    return set((yield from ask(RowsById(scope.namespace, ids)))) if ids else set()


def _verdict(place: int, draft: Draft, index: MatchIndex) -> DedupVerdict | None:
    new = draft.record
    match = index.match(place, new)
    if match is None or match[1] is not None:
        contradiction = _contradiction(place, new, index, match)
        if contradiction is not None:
            return contradiction
    if match is None:
        source = repeated_memory(new.content, index.recalled)
        if source is None:
            return None
        reason = "it repeats what was recalled just now"
        return DedupVerdict(Added(source, "LOOP", reason, source), None)
    old, cosine = match
    if says_same(new.content, old.content):
        if old.id in index.recalled:
            return _not_added(old, "LOOP", "it was recalled just now", cosine)
        reason = "the same text" if cosine is None else "it says the same"
        return _strengthening(old, new, "DUPLICATE", reason, cosine)
    if says_more(new.content, old.content):
        reason = "it says all that the other said, and more"
        return _strengthening(old, new, "MERGED", reason, cosine)
    kinds = _kinds_of_difference(new, old)
    if not kinds or (index.is_confirmed(place, old) and _says_more_or_less(new, old)):
        return None
    if index.reads_facts and leaves_room(kinds, new, old):
        return None
    return _conflict(
        new, old, f"much like {old.id}, but with another {' and '.join(kinds)}", cosine
    )


def _contradiction(
    place: int,
    new: MemoryRecord,
    index: MatchIndex,
    match: tuple[MemoryRecord, float | None] | None,
) -> DedupVerdict | None:
    """The verdict on a fact that gives an attribute another value; None if there is none."""
    old = index.contradicted(place, new)
    if old is None:
        return None
    cosine = match[1] if match is not None and match[0].id == old.id else None
    reason = f"it contradicts: {shorten(old.content, _MAX_QUOTE_CHARACTERS)}"
    return _conflict(new, old, reason, cosine)


def _conflict(
    new: MemoryRecord, old: MemoryRecord, reason: str, cosine: float | None
) -> DedupVerdict:
    """The verdict on an item that contradicts a memory; the one that begins later wins."""
    is_older = begins_at(new) < begins_at(old)
    settled_by = (new.id, old.id) if is_older else (old.id, new.id)
    return DedupVerdict(Added(new.id, "CONFLICTS", reason, old.id, cosine, settled_by), old)


def _says_more_or_less(new: MemoryRecord, old: MemoryRecord) -> bool:
    """Test whether one of two texts has all content words of the other."""
    stems, other_stems = content_stems(new.content), content_stems(old.content)
    return stems <= other_stems or stems >= other_stems


def _kinds_of_difference(new: MemoryRecord, old: MemoryRecord) -> tuple[str, ...]:
    """The kinds of difference between similar memories: number, date, name, negation; else word."""
    kinds = differences(new.content, old.content, new.entities, old.entities)
    if kinds:
        return kinds
    replaced = has_replaced_words(content_stems(record.content) for record in (new, old))
    return ("word",) if replaced else ()


def _not_added(
    old: MemoryRecord, outcome: Outcome, reason: str, cosine: float | None, **gained: Any
) -> DedupVerdict:
    return DedupVerdict(Added(old.id, outcome, reason, old.id, cosine), old, gained)


def _strengthening(
    old: MemoryRecord, new: MemoryRecord, outcome: Outcome, reason: str, cosine: float | None
) -> DedupVerdict:
    """The verdict on an item that says the same or more, with what the memory gains from it."""
    return _not_added(old, outcome, reason, cosine, **_gains(old, new, outcome))


def _gains(old: MemoryRecord, new: MemoryRecord, outcome: Outcome) -> dict[str, Any]:
    """The fields that a memory takes on from an item: higher importance, text, tags, metadata."""
    gains: dict[str, Any] = {}
    if new.effective_importance > old.effective_importance:
        gains["importance"] = new.effective_importance
    if outcome == "MERGED":
        gains["content"] = new.content
    tags = tuple(dict.fromkeys((*old.tags, *new.tags)))
    if tags != old.tags:
        gains["tags"] = tags
    metadata = {**new.metadata, **old.metadata}
    if metadata != old.metadata:
        gains["metadata"] = metadata
    return gains


def _near_items(
    drafts: Mapping[int, Draft], min_cosine: float, within: tuple[str, ...]
) -> dict[int, list[tuple[int, float]]]:
    """The earlier drafts of the same owner with a cosine of at least `min_cosine`, by place."""
    by_owner: dict[tuple[Owner, int], list[int]] = {}
    for place, draft in drafts.items():
        vector = draft.vectors.get("content")
        if vector is not None and vector.any():
            owner = owner_of(draft.record, within)
            by_owner.setdefault((owner, len(vector)), []).append(place)
    near: dict[int, list[tuple[int, float]]] = {}
    for places in by_owner.values():
        matrix = np.stack([drafts[place].vectors["content"] for place in places])
        likely = np.tril(matrix @ matrix.T >= min_cosine - NOISE, -1)
        for i in np.flatnonzero(likely.any(axis=1)).tolist():
            earlier = np.flatnonzero(likely[i])
            exact = cosines(matrix[earlier], matrix[i]).tolist()
            similar = [
                (places[j], cosine)
                for j, cosine in zip(earlier.tolist(), exact, strict=True)
                if cosine >= min_cosine
            ]
            if similar:
                near[places[i]] = similar
    return near


def _with_same_text(
    keys: Mapping[int, int], scope: WriteContext
) -> Plan[tuple[dict[int, list[MemoryRecord]], Mapping[int, Sequence[int]]]]:
    """Active memories that are not turns, by the key of their text; and the rows of all."""
    distinct = tuple(dict.fromkeys(keys.values()))
    rows_of: Mapping[int, Sequence[int]] = yield from ask(
        FindByHash(scope.namespace, "text_key", distinct)
    )
    records = yield from _read([row for rows in rows_of.values() for row in rows])
    active = {
        key: [
            record
            for row in rows
            if (record := records.get(row)) is not None
            and record.status == "active"
            and not is_turn(record)
        ]
        for key, rows in rows_of.items()
    }
    return active, rows_of


def _nearest(
    drafts: Mapping[int, Draft],
    scope: WriteContext,
    min_cosine: float,
    within: tuple[str, ...],
) -> Plan[dict[int, tuple[MemoryRecord, float]]]:
    """The nearest active memory of its owner above a cosine, by the place of each draft."""
    by_owner: dict[Owner, list[int]] = {}
    for place, draft in drafts.items():
        if "content" in draft.vectors and draft.vectors["content"].any():
            by_owner.setdefault(owner_of(draft.record, within), []).append(place)
    answers = yield [
        NearestVectors(
            scope.namespace,
            [drafts[place].vectors["content"] for place in places],
            min_cosine,
            _facts_of(owner, within, scope.now),
            embedder=scope.embedder,
        )
        for owner, places in by_owner.items()
    ]
    nearest: dict[int, tuple[int, float]] = {}
    for places, answer in zip(by_owner.values(), answers, strict=True):
        nearest.update((place, near) for place, near in zip(places, answer, strict=True) if near)
    records = yield from _read([row for row, _ in nearest.values()])
    return {
        place: (records[row], cosine) for place, (row, cosine) in nearest.items() if row in records
    }


def _facts_of(owner: Owner, within: tuple[str, ...], now: datetime) -> Filter:
    """The filter of the active memories of an owner that have not expired and are not turns."""
    agent, user, speaker, *values = owner
    return And(
        (
            Compare("status", "eq", "active"),
            Not(Compare("expires_at", "lte", now.timestamp())),
            Compare("session_id", "eq", None),
            Compare("kind", "ne", "turn"),
            Compare("agent_id", "eq", agent),
            Compare("user_id", "eq", user),
            Compare("speaker", "eq", speaker),
            *(Compare(f"metadata.{k}", "eq", v) for k, v in zip(within, values, strict=True)),
        )
    )


def _read(rows: Sequence[int]) -> Plan[dict[int, MemoryRecord]]:
    distinct = np.unique(np.array(rows, dtype=np.int64))
    if not len(distinct):
        return {}
    records = yield from ask(ReadRecords(distinct))
    return {row: r for row, r in zip(distinct.tolist(), records, strict=True) if r is not None}


def _recalled(scope: WriteContext, policy: DedupPolicy) -> Plan[dict[str, str]]:
    """The texts of memories that searches have returned within `loop_seconds`, by id."""
    if policy.loop_seconds <= 0.0:
        return {}
    since = scope.now - timedelta(seconds=policy.loop_seconds)
    texts: dict[str, str] = yield from ask(RetrievedTexts(scope.namespace, since, _LAST_EVENTS))
    return texts
