"""Adding: each item becomes a memory, or is told why it does not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from salience.errors import InvalidInput, NotFound
from salience.records.events import Event
from salience.records.record import Draft, Link, MemoryRecord
from salience.retrieval.operations import Events, LinksOf, Log, RowsById
from salience.retrieval.plan import Plan, ask
from salience.write import link_targets
from salience.write.dedup import STRENGTHENING, DedupPolicy, DedupVerdict, judge
from salience.write.embedding import dimensions_of, embed_items, with_entities
from salience.write.items import Item, WriteContext, parse_item
from salience.write.judgments import supersede
from salience.write.outcomes import Added, AddResult
from salience.write.reading import MAX_ATTEMPTS, contention_error
from salience.write.update import put_new, revise

_CHUNK = 2048  # memories in one transaction
_TAKEN = (
    "the id is taken; update that memory (as `salience import --update` does), or leave the id out"
)
_ALONE = "what it was to supersede is not there: it was not added, or has been erased meanwhile"
_AGAIN = "the same idempotency_key again"


@dataclass(slots=True)
class _Outcomes:
    """What has become of items: by their places, unless said otherwise.

    `known` is what was known of them, `written` are those that are memories now, `alone` those of
    them that were to supersede a memory that is not there. `taken` are ids that others have.
    """

    known: dict[int, DedupVerdict] = field(default_factory=dict)
    written: set[int] = field(default_factory=set)
    alone: set[int] = field(default_factory=set)
    taken: set[str] = field(default_factory=set)
    links: list[Link] = field(default_factory=list)

    def outcome(self, place: int, one: Item) -> Added:
        found = self.known.get(place)
        if found is not None and not _is_kept(found):
            return found.outcome
        if place not in self.written:
            return Added(one.record.id, "REJECTED", _TAKEN)
        if place in self.alone:
            return Added(one.record.id, "ADDED", _ALONE)
        if one.supersedes is not None:
            return Added(one.record.id, "SUPERSEDES", "as asked for", one.supersedes, applied=True)
        return Added(one.record.id, "ADDED") if found is None else found.outcome


def add(
    items: Iterable[Any],
    scope: WriteContext,
    policy: DedupPolicy,
    *,
    strict: bool,
    progress: Any = None,
) -> Plan[AddResult]:
    """The plan of adding items: chunk by chunk, each chunk one transaction.

    With `strict`, the first wrong item raises and nothing of its chunk is written; otherwise wrong
    items are REJECTED and the rest is added.
    """
    if isinstance(items, (str, bytes, Mapping)) or not isinstance(items, Iterable):
        raise InvalidInput("items", f"must be a list of items, not {type(items).__name__}")
    outcomes: list[Added] = []
    degraded: dict[str, None] = {}
    linked: list[Link] = []
    for chunk in _chunks(items):
        checked = yield from _checked(chunk, scope, strict)
        found, links, lack = yield from _added(checked, scope, policy, strict)
        outcomes += found
        linked += links
        if lack:
            degraded[lack] = None
        if progress is not None:
            progress(len(outcomes))
    pending = yield from link_targets.pending_links(scope.namespace, linked)
    return AddResult(tuple(outcomes), tuple(degraded), tuple(pending))


def _chunks(items: Iterable[Any]) -> Iterator[list[Any]]:
    iterator = iter(items)
    while chunk := list(islice(iterator, _CHUNK)):
        yield chunk


def _checked(chunk: Sequence[Any], scope: WriteContext, strict: bool) -> Plan[list[Item | Added]]:
    """Each item of a chunk as it can be written, or why it cannot."""
    found: list[Item | Added] = []
    dimensions = yield from dimensions_of(chunk, scope)
    for given in chunk:
        try:
            one = parse_item(given, scope, dimensions)
            found.append(one)
            for name, vector in one.vectors.items():
                dimensions.setdefault(name, len(vector))
        except InvalidInput as problem:
            if strict:
                raise
            found.append(Added(_id_of(given), "REJECTED", str(problem)))
    return found


def _id_of(given: Any) -> str | None:
    id = given.get("id") if isinstance(given, Mapping) else None
    return id if isinstance(id, str) else None


def _superseding(
    checked: Sequence[Item | Added], before: Mapping[str, Added], scope: WriteContext, strict: bool
) -> Plan[list[Item | Added]]:
    """Reject the new items that would take the place of a memory that is not there by then."""
    found = [*checked]
    new = {
        place: one
        for place, one in enumerate(checked)
        if isinstance(one, Item) and one.key not in before
    }
    old = {one.supersedes for one in new.values() if one.supersedes is not None}
    if not old:
        return found
    there = set((yield from ask(RowsById(scope.namespace, tuple(sorted(old))))))
    for place, one in new.items():
        if one.supersedes is None or one.supersedes in there:
            there.add(one.record.id)
        else:
            problem = InvalidInput(
                "supersedes",
                f"there is no memory {one.supersedes!r} in the namespace {scope.namespace!r}",
                "name one that there is",
            )
            if strict:
                raise problem
            found[place] = Added(one.record.id, "REJECTED", str(problem))
    return found


def _added(
    checked: Sequence[Item | Added], scope: WriteContext, policy: DedupPolicy, strict: bool
) -> Plan[tuple[list[Added], list[Link], str]]:
    """Write what is new of a chunk: the outcome of each item, links made, what was lacking."""
    before = yield from _outcomes_by_key(checked, scope)
    checked = yield from _superseding(checked, before, scope, strict)
    yield from _complete(checked, before, scope)
    fresh: dict[int, Item] = {}  # by place: ids may occur twice
    keys = set(before)
    for place, one in enumerate(checked):
        if isinstance(one, Item) and (one.key is None or one.key not in keys):
            fresh[place] = one
            keys |= {one.key} if one.key is not None else set()
    made, lack = yield from embed_items((yield from with_entities([*fresh.values()])), scope)
    drafts = dict(zip(fresh, made, strict=True))
    settled = yield from _settled(drafts, scope, policy, strict)
    outcomes: list[Added] = []
    raced = [
        one for one in fresh.values() if one.key is not None and one.record.id in settled.taken
    ]
    before |= yield from _outcomes_by_key(raced, scope)
    for place, one in enumerate(checked):
        if isinstance(one, Added):
            outcome = one
        elif one.key is not None and one.key in before:
            outcome = before[one.key]
        else:
            outcome = settled.outcome(place, one)
        if isinstance(one, Item) and one.key is not None:
            before.setdefault(one.key, replace(outcome, reason=_AGAIN))
        outcomes.append(outcome)
    return outcomes, settled.links, lack


def _settled(
    drafts: Mapping[int, tuple[Draft, Item]], scope: WriteContext, policy: DedupPolicy, strict: bool
) -> Plan[_Outcomes]:
    """Write what is new, and let all take effect."""
    done = _Outcomes()
    left = drafts
    for _ in range(MAX_ATTEMPTS):
        judged = yield from judge(left, scope, policy)
        wanted = {
            place: (draft if one.key is None else replace(draft, note=_note(one, found)), one)
            for place, (draft, one) in left.items()
            if _is_kept(found := judged.get(place))
        }
        taken, links = yield from put_new([*wanted.values()], scope, strict)
        written = _written(wanted, taken)
        done.taken |= taken
        done.links += links
        done.written |= written
        left, alone = yield from _take_effect(left, judged, written, scope)
        done.alone |= alone
        done.known |= {place: found for place, found in judged.items() if place not in left}
        if not left:
            return done
    raise contention_error(
        judged[min(left)].match.id
    )  # others keep changing what they are held against


def _written(wanted: Mapping[int, tuple[Draft, Item]], taken: set[str]) -> set[int]:
    """The places of what was written: the first of each id, unless that was taken."""
    first: dict[str, int] = {}
    for place, (draft, _) in wanted.items():
        first.setdefault(draft.record.id, place)
    return {place for id, place in first.items() if id not in taken}


def _is_kept(found: DedupVerdict | None) -> bool:
    return found is None or found.outcome.outcome == "SUPERSEDES"


def _note(one: Item, found: DedupVerdict | None) -> dict[str, Any]:
    """What the log is told of a write, so that the same key gives the same outcome again."""
    outcome = Added(one.record.id, "ADDED") if found is None else found.outcome
    if one.supersedes is not None:
        outcome = Added(one.record.id, "SUPERSEDES", "", one.supersedes, applied=True)
    return {"key": one.key, **_noted(outcome)}


def _noted(outcome: Added) -> dict[str, Any]:
    return {"outcome": outcome.outcome, "similarity": outcome.similarity}


def _outcomes_by_key(
    checked: Iterable[Item | Added], scope: WriteContext
) -> Plan[dict[str, Added]]:
    """The outcomes that items with some idempotency keys had before, by key."""
    keys = tuple({one.key for one in checked if isinstance(one, Item) and one.key is not None})
    if not keys:
        return {}
    events: Sequence[Event] = yield from ask(Events(scope.namespace, keys=keys))
    return {event.payload["key"]: _first(event) for event in events}


def _first(event: Event) -> Added:
    outcome = event.payload.get("outcome", "ADDED")
    match = None if event.type == "write" else event.id
    return Added(event.id, outcome, _AGAIN, match, event.payload.get("similarity"))


def _complete(
    checked: Iterable[Item | Added], before: Mapping[str, Added], scope: WriteContext
) -> Plan[None]:
    """Let memories take others' places where a write with the same key broke off before that."""
    for one in checked:
        if not isinstance(one, Item) or one.supersedes is None or one.key is None:
            continue
        first = before.get(one.key)
        if first is None or first.id is None or first.outcome != "SUPERSEDES":
            continue
        links: Sequence[Link] = yield from ask(LinksOf(scope.namespace, (first.id,)))
        if not any((at.source, at.type) == (first.id, "supersedes") for at in links):
            with suppress(NotFound):  # it did, and the other was erased since
                yield from supersede(one.supersedes, first.id, scope)


def _take_effect(
    drafts: Mapping[int, tuple[Draft, Item]],
    judged: Mapping[int, DedupVerdict],
    written: set[int],
    scope: WriteContext,
) -> Plan[tuple[dict[int, tuple[Draft, Item]], set[int]]]:
    """What items do to memories there are: duplicates strengthen them, others supersede them.

    Returns those whose match is not there as it was any more, which are to be judged anew, and the
    places of those that were to supersede one that is not there.
    """
    left: dict[int, tuple[Draft, Item]] = {}
    alone: set[int] = set()
    for place, (draft, one) in drafts.items():
        found = judged.get(place)
        if one.supersedes is not None and place in written:
            try:
                yield from supersede(one.supersedes, draft.record.id, scope)
            except NotFound:
                alone.add(place)
        elif found is not None and found.outcome.outcome in STRENGTHENING:
            done = yield from _strengthen(draft.record, one, found, scope)
            left |= {} if done else {place: (draft, one)}
    return left, alone


def _strengthen(
    new: MemoryRecord, one: Item, found: DedupVerdict, scope: WriteContext
) -> Plan[bool]:
    """Count a use of the memory that says the same; it takes on what the item has besides.

    False where it does not say so any more.
    """
    id = found.match.id
    payload = {**({"key": one.key} if one.key is not None else {}), **_noted(found.outcome)}
    use = Event("reference", id, scope.now, scope.actor, payload=payload)
    if (yield from revise(id, lambda now: found.gained_by(now, new), scope)) is None:
        return False
    return not (yield from ask(Log(scope.namespace, (use,))))
