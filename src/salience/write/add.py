"""Adding: each item becomes a memory, or its outcome says why it does not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from salience.errors import InvalidInput, NotFound
from salience.records.events import Event
from salience.records.record import Draft, Link, MemoryRecord
from salience.retrieval.operations import LinksOf, Log, RowsById
from salience.retrieval.plan import Plan, ask
from salience.write import link_targets
from salience.write.dedup import STRENGTHENING, DedupPolicy, DedupVerdict, judge
from salience.write.embedding import dimensions_of, embed_items, with_entities
from salience.write.idempotency import SAME_KEY, note_of, outcome_payload, outcomes_by_key
from salience.write.items import Item, WriteContext, parse_item
from salience.write.judgments import supersede
from salience.write.outcomes import ADDING_OUTCOMES, Added, AddResult
from salience.write.reading import MAX_ATTEMPTS, contention_error
from salience.write.update import put_new, revise
from salience.write.upsert import OnConflict, Upserts, upsert

_CHUNK_ITEMS = 2048  # memories in one transaction
_ID_TAKEN = (
    'the id is taken; give on_conflict="replace" or "skip", update that memory (as `salience '
    "import --update` does), or leave the id out"
)
_SUPERSEDED_MISSING = (
    "what it was to supersede is not there: it was not added, or has been erased meanwhile"
)
Drafts = Mapping[int, tuple[Draft, Item]]
"""Drafts and the items that they were made of, by their places in a chunk: ids may occur twice."""


@dataclass(slots=True)
class _ChunkResult:
    """The result of writing a chunk of items, by their places.

    `verdicts` tell of items that match a memory, `written` are those that are memories now,
    `unsuperseding` those of them whose memory to supersede is not there. `taken` are ids that
    others have.
    """

    verdicts: dict[int, DedupVerdict] = field(default_factory=dict)
    written: set[int] = field(default_factory=set)
    unsuperseding: set[int] = field(default_factory=set)
    taken: set[str] = field(default_factory=set)
    links: list[Link] = field(default_factory=list)

    def outcome(self, place: int, item: Item) -> Added:
        verdict = self.verdicts.get(place)
        if verdict is not None and not _adds(verdict):
            return verdict.outcome
        if place not in self.written:
            return Added(item.record.id, "REJECTED", _ID_TAKEN)
        if place in self.unsuperseding:
            return Added(item.record.id, "ADDED", _SUPERSEDED_MISSING)
        if item.supersedes is not None:
            return Added(item.record.id, "SUPERSEDES", "as asked for", item.supersedes)
        return Added(item.record.id, "ADDED") if verdict is None else verdict.outcome


def add(
    items: Iterable[Any],
    scope: WriteContext,
    policy: DedupPolicy,
    *,
    strict: bool,
    on_conflict: OnConflict = "error",
    progress: Any = None,
) -> Plan[AddResult]:
    """The plan of adding items: chunk by chunk, each chunk one transaction.

    Items whose ids memories have are refused, or replace or leave these by `on_conflict`.

    With `strict`, the first wrong item raises and nothing of its chunk is written; otherwise wrong
    items are REJECTED and the rest is added.
    """
    iterator = iterator_of(items)
    outcomes: list[Added] = []
    degraded: dict[str, None] = {}
    links: list[Link] = []
    for chunk in _chunks(iterator) if on_conflict == "error" else _chunks_of_distinct_ids(iterator):
        checked = yield from _checked(chunk, scope, strict)
        chunk_outcomes, chunk_links, problem = yield from _add_chunk(
            checked, scope, policy, strict, on_conflict
        )
        outcomes += chunk_outcomes
        links += chunk_links
        if problem:
            degraded[problem] = None
        if progress is not None:
            progress(len(outcomes))
    pending = yield from link_targets.pending_links(scope.namespace, links)
    return AddResult(tuple(outcomes), tuple(degraded), tuple(pending))


def _chunks(items: Iterator[Any]) -> Iterator[list[Any]]:
    while chunk := list(islice(items, _CHUNK_ITEMS)):
        yield chunk


def iterator_of(items: Any) -> Iterator[Any]:
    """The iterator over a collection of items; InvalidInput for anything else."""
    try:
        if not isinstance(items, (str, bytes, Mapping)):
            return iter(items)
    except Exception:  # of any kind, in a type from outside
        pass
    raise InvalidInput("items", f"must be a list of items, not {type(items).__name__}")


def _chunks_of_distinct_ids(items: Iterator[Any]) -> Iterator[list[Any]]:
    """Chunks that end before an id would occur again: its second item meets the first's memory."""
    chunk: list[Any] = []
    ids: set[str] = set()
    for item in items:
        id = id_of(item)
        if len(chunk) == _CHUNK_ITEMS or id in ids:
            yield chunk
            chunk, ids = [], set()
        chunk.append(item)
        if id is not None:
            ids.add(id)
    if chunk:
        yield chunk


def _checked(chunk: Sequence[Any], scope: WriteContext, strict: bool) -> Plan[list[Item | Added]]:
    """Each item of a chunk as it can be written, or its outcome if it cannot."""
    checked: list[Item | Added] = []
    dimensions = yield from dimensions_of(chunk, scope)
    for source in chunk:
        try:
            item = parse_item(source, scope, dimensions)
            checked.append(item)
            for name, vector in item.vectors.items():
                dimensions.setdefault(name, len(vector))
        except InvalidInput as problem:
            if strict:
                raise
            checked.append(Added(id_of(source), "REJECTED", str(problem)))
    return checked


def id_of(source: Any) -> str | None:
    """The id that a caller gave to an item, if it is text."""
    id = source.get("id") if isinstance(source, Mapping) else None
    return id if isinstance(id, str) else None


def _reject_dangling(
    checked: Sequence[Item | Added], before: Mapping[str, Added], scope: WriteContext, strict: bool
) -> Plan[list[Item | Added]]:
    """Reject the new items that would supersede a memory that is not there by then."""
    result = [*checked]
    new = {
        place: item
        for place, item in enumerate(checked)
        if isinstance(item, Item) and item.key not in before
    }
    superseded = {item.supersedes for item in new.values() if item.supersedes is not None}
    if not superseded:
        return result
    existing = set((yield from ask(RowsById(scope.namespace, tuple(sorted(superseded))))))
    for place, item in new.items():
        if item.supersedes is None or item.supersedes in existing:
            existing.add(item.record.id)
        else:
            problem = InvalidInput(
                "supersedes",
                f"there is no memory {item.supersedes!r} in the namespace {scope.namespace!r}",
                "name one that there is",
            )
            if strict:
                raise problem
            result[place] = Added(item.record.id, "REJECTED", str(problem))
    return result


def _add_chunk(
    checked: Sequence[Item | Added],
    scope: WriteContext,
    policy: DedupPolicy,
    strict: bool,
    on_conflict: OnConflict,
) -> Plan[tuple[list[Added], list[Link], str]]:
    """Write the new items of a chunk: all outcomes, links made, and why vectors are missing."""
    before = yield from outcomes_by_key(checked, scope)
    checked = yield from _reject_dangling(checked, before, scope, strict)
    yield from _finish_supersessions(checked, before, scope)
    fresh: dict[int, Item] = {}
    keys = set(before)
    for place, item in enumerate(checked):
        if isinstance(item, Item) and (item.key is None or item.key not in keys):
            fresh[place] = item
            keys |= {item.key} if item.key is not None else set()
    upserts = Upserts()
    if on_conflict != "error":
        yield from _upsert(fresh, upserts, scope, on_conflict, strict)
        fresh = {place: item for place, item in fresh.items() if place not in upserts.outcomes}
    embedded, problem = yield from embed_items((yield from with_entities([*fresh.values()])), scope)
    drafts = dict(zip(fresh, embedded, strict=True))
    result = yield from _write(drafts, scope, policy, strict and on_conflict == "error")
    raced = {place: item for place, item in fresh.items() if item.record.id in result.taken}
    before |= yield from outcomes_by_key(raced.values(), scope)
    if on_conflict != "error" and raced:  # others have taken these ids just now
        raced = {place: item for place, item in raced.items() if item.key not in before}
        yield from _upsert(raced, upserts, scope, on_conflict, strict)
    outcomes = _chunk_outcomes(checked, before, result, upserts.outcomes)
    return outcomes, [*upserts.links, *result.links], problem or upserts.problem


def _upsert(
    items: Mapping[int, Item],
    upserts: Upserts,
    scope: WriteContext,
    on_conflict: OnConflict,
    strict: bool,
) -> Plan[None]:
    """Settle the items whose ids memories have, and the supersessions that they ask for."""
    named = {place: item for place, item in items.items() if "id" in item.given}
    settled = yield from upsert(named, on_conflict, scope, strict)
    upserts.links += settled.links
    upserts.problem = upserts.problem or settled.problem
    for place, outcome in settled.outcomes.items():
        upserts.outcomes[place] = outcome
        old, new = items[place].supersedes, items[place].record.id
        if old is None or on_conflict == "skip" or outcome.outcome == "REJECTED":
            continue
        if not (yield from _supersedes(new, old, scope)):
            with suppress(NotFound):  # it was erased just now
                yield from supersede(old, new, scope)
                upserts.outcomes[place] = Added(new, "UPDATED", f"it supersedes {old!r}", new)


def _chunk_outcomes(
    checked: Sequence[Item | Added],
    before: dict[str, Added],
    result: _ChunkResult,
    settled: Mapping[int, Added],
) -> list[Added]:
    """The outcome of each item; the same idempotency key again has the first outcome."""
    outcomes: list[Added] = []
    for place, item in enumerate(checked):
        if isinstance(item, Added):
            outcomes.append(item)
        elif item.key is not None and item.key in before:
            outcomes.append(before[item.key])
        else:
            outcome = settled[place] if place in settled else result.outcome(place, item)
            outcomes.append(outcome)
            if item.key is not None:
                before[item.key] = replace(outcome, reason=SAME_KEY)
    return outcomes


def _write(
    drafts: Drafts, scope: WriteContext, policy: DedupPolicy, strict: bool
) -> Plan[_ChunkResult]:
    """Write the drafts that are new, and let all of them take effect."""
    result = _ChunkResult()
    left = drafts
    for _ in range(MAX_ATTEMPTS):
        verdicts = yield from judge(left, scope, policy)
        new = {
            place: (
                draft if item.key is None else replace(draft, note=note_of(item, verdict)),
                item,
            )
            for place, (draft, item) in left.items()
            if _adds(verdict := verdicts.get(place))
        }
        taken, links = yield from put_new([*new.values()], scope, strict)
        written = _written_places(new, taken)
        result.taken |= taken
        result.links += links
        result.written |= written
        left, unsuperseding = yield from _take_effect(left, verdicts, written, scope)
        result.unsuperseding |= unsuperseding
        result.verdicts |= {place: v for place, v in verdicts.items() if place not in left}
        if not left:
            return result
    raise contention_error(verdicts[min(left)].match.id)


def _written_places(drafts: Drafts, taken: set[str]) -> set[int]:
    """The places of the drafts that were written: the first of each id, unless that was taken."""
    first: dict[str, int] = {}
    for place, (draft, _) in drafts.items():
        first.setdefault(draft.record.id, place)
    return {place for id, place in first.items() if id not in taken}


def _adds(verdict: DedupVerdict | None) -> bool:
    """Test whether an item with this verdict becomes a memory of its own."""
    return verdict is None or verdict.outcome.outcome in ADDING_OUTCOMES


def _finish_supersessions(
    checked: Iterable[Item | Added], before: Mapping[str, Added], scope: WriteContext
) -> Plan[None]:
    """Supersede memories where an earlier write with the same key was interrupted before that."""
    for item in checked:
        if not isinstance(item, Item) or item.supersedes is None or item.key is None:
            continue
        first = before.get(item.key)
        if first is None or first.id is None or first.outcome != "SUPERSEDES":
            continue
        if not (yield from _supersedes(first.id, item.supersedes, scope)):
            with suppress(NotFound):  # it was superseded, and erased since
                linked_at = min(item.record.created_at, scope.now)
                yield from supersede(item.supersedes, first.id, scope, linked_at=linked_at)


def _supersedes(new: str, old: str, scope: WriteContext) -> Plan[bool]:
    """Test whether a memory has superseded another."""
    links: Sequence[Link] = yield from ask(LinksOf(scope.namespace, (new,)))
    return any((k.source, k.target, k.type) == (new, old, "supersedes") for k in links)


def _take_effect(
    drafts: Drafts,
    verdicts: Mapping[int, DedupVerdict],
    written: set[int],
    scope: WriteContext,
) -> Plan[tuple[dict[int, tuple[Draft, Item]], set[int]]]:
    """Change the memories that items match: duplicates strengthen them, others supersede them.

    Returns the drafts whose match was changed by others, which have to be judged again, and the
    places of those whose memory to supersede is not there.
    """
    left: dict[int, tuple[Draft, Item]] = {}
    unsuperseding: set[int] = set()
    for place, (draft, item) in drafts.items():
        verdict = verdicts.get(place)
        if item.supersedes is not None and place in written:
            try:
                linked_at = min(draft.record.created_at, scope.now)
                yield from supersede(item.supersedes, draft.record.id, scope, linked_at=linked_at)
            except NotFound:
                unsuperseding.add(place)
        elif verdict is not None and verdict.outcome.outcome in STRENGTHENING:
            done = yield from _strengthen(draft.record, item, verdict, scope)
            left |= {} if done else {place: (draft, item)}
    return left, unsuperseding


def _strengthen(
    new: MemoryRecord, item: Item, verdict: DedupVerdict, scope: WriteContext
) -> Plan[bool]:
    """Count a use of the memory that says the same, and add to it what the item has besides.

    False if others have changed that memory so that it does not say the same any more.
    """
    id = verdict.match.id
    key = {"key": item.key} if item.key is not None else {}
    payload = {**key, **outcome_payload(verdict.outcome)}
    use = Event("reference", id, scope.now, scope.actor, payload=payload)
    if (yield from revise(id, lambda current: verdict.gains_of(current, new), scope)) is None:
        return False
    return not (yield from ask(Log(scope.namespace, (use,))))
