"""Chunks: items written in one transaction, with everything that they change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from salience.errors import IdTaken, InvalidInput
from salience.language.change import LIKELY
from salience.lazily import dataclass, field, replace
from salience.records.events import Event
from salience.records.record import Draft, Edit, Embedding, Link, MemoryRecord
from salience.retrieval.operations import LinksOf, Log, Put, Seen
from salience.retrieval.plan import Plan, ask
from salience.write import changes as learned
from salience.write import link_targets, upsert
from salience.write.dedup import STRENGTHENING, DedupPolicy, DedupVerdict, judge
from salience.write.embedding import embed_items, with_entities
from salience.write.idempotency import (
    SAME_KEY,
    earlier_writes,
    first_outcome,
    key_payload,
    key_reused,
    note_of,
    outcome_payload,
    refused_keys,
)
from salience.write.items import Item, WriteContext, follows_text, parse_link
from salience.write.judgments import supersession, supersession_events
from salience.write.link_targets import Found
from salience.write.outcomes import ADDING_OUTCOMES, Added
from salience.write.reading import MAX_ATTEMPTS, contention_error, read_records
from salience.write.update import edit_of
from salience.write.upsert import OnConflict, Upserts

_ID_TAKEN = (
    'the id is taken; give on_conflict="update" (as `salience import --update` does), "replace" or '
    '"skip", or leave the id out'
)
_SUPERSEDED_MISSING = "what it was to supersede is not there: it was not added"
CheckedItem = Item | Added
"""An item as it can be written, or its outcome if it cannot."""


@dataclass(frozen=True)
class WriteRules:
    """The rules of a write.

    The policy of dedup, what to do with ids that memories have, and whether a wrong item raises an
    error and stops its chunk, or is REJECTED. `body` is the hash of items that share one
    idempotency key; a key of something else always raises.
    """

    policy: DedupPolicy
    strict: bool
    on_conflict: OnConflict = "error"
    body: str | None = None


@dataclass
class WrittenChunk:
    """The outcomes of the items of a chunk, links made, and why vectors are missing."""

    outcomes: list[Added]
    links: list[Link]
    problem: str


_KEEPING_OUTCOMES = (*ADDING_OUTCOMES, "UPDATED", "MERGED")  # whose text is in a memory now


@dataclass
class _Changes:
    """All that a chunk writes, and the outcomes of its items by place."""

    outcomes: dict[int, Added] = field(default_factory=dict)
    drafts: dict[str, Draft] = field(default_factory=dict)  # new memories by id
    edits: dict[str, Edit] = field(default_factory=dict)  # changed ones by id
    records: dict[str, MemoryRecord] = field(default_factory=dict)  # as they will be, by id
    events: list[Event] = field(default_factory=list)
    were: dict[str, MemoryRecord] = field(default_factory=dict)  # stored memories with events
    links: list[Link] = field(default_factory=list)  # that items ask for
    unlinks: tuple[Link, ...] = ()  # that items no longer have
    supersessions: list[Link] = field(default_factory=list)
    seen: Seen | None = None

    def log(self, events: Iterable[Event], *stored: MemoryRecord) -> None:
        """Add events of memories; stored ones must stay as they are until then."""
        self.events += events
        for record in stored:
            if record.id not in self.drafts:
                self.were.setdefault(record.id, record)

    def edit(self, edit: Edit) -> None:
        """Add an edit to what this writes of a memory already."""
        id = edit.record.id
        if id in self.drafts:
            self.drafts[id] = _folded(self.drafts[id], edit)
        else:
            before = self.edits.get(id)
            self.edits[id] = edit if before is None else _folded(before, edit)
        self.records[id] = (self.drafts.get(id) or self.edits[id]).record

    def put(self, scope: WriteContext, found: Found) -> Put:
        """The operation that writes everything, with links that have found their target."""
        were = tuple(record for id, record in self.were.items() if id not in self.edits)
        return Put(
            (*self.drafts.values(), *self.edits.values()),
            (*self.links, *self.supersessions, *found.new),
            (*self.unlinks, *found.old),
            embedder=scope.embedder,
            actor=scope.actor,
            also=Log(scope.namespace, tuple(self.events), were) if self.events else None,
            seen=self.seen if self.drafts else None,
            at=scope.now,
            brought=found.brought | {link.key for link in self.links},
        )


DraftType = TypeVar("DraftType", bound=Draft)


def _folded(draft: DraftType, edit: Edit) -> DraftType:
    """A draft after an edit of the memory that it writes."""
    changes: dict[str, Any] = {"record": replace(edit.record, version=draft.record.version)}
    kept = {n: v for n, v in draft.vectors.items() if not (edit.stale and follows_text(n))}
    changes["vectors"] = {**kept, **edit.vectors}
    if isinstance(draft, Edit):
        changes["stale"] = tuple(sorted({*draft.stale, *edit.stale}))
    return replace(draft, **changes)


def write_chunk(
    checked: Sequence[CheckedItem],
    scope: WriteContext,
    rules: WriteRules,
) -> Plan[WrittenChunk]:
    """The plan of writing items in one transaction, retried if others change what it depends on.

    Raises:
        IdTaken, InvalidInput: an item is wrong, and the rules are strict.
    """
    written = yield from write_with_edits(checked, scope, rules, ())
    assert written is not None  # there is no edit that could be in the way
    return written


def write_with_edits(
    checked: Sequence[CheckedItem], scope: WriteContext, rules: WriteRules, edits: Sequence[Edit]
) -> Plan[WrittenChunk | None]:
    """The plan of `write_chunk` together with edits; None if one of their memories has changed."""
    return (yield from _ChunkWriter(checked, scope, rules).write(edits))


class _ChunkWriter:
    """The writing of one chunk."""

    def __init__(
        self, checked: Sequence[CheckedItem], scope: WriteContext, rules: WriteRules
    ) -> None:
        self._checked, self._scope, self._rules = checked, scope, rules
        self._embedded: dict[int, tuple[Draft, Item]] = {}  # new memories by place
        self._vector_of: dict[str, Embedding] = {}  # of edited texts
        self._problem = ""
        self._taken: set[str] = set()  # ids of new memories that others have

    def write(self, edits: Sequence[Edit]) -> Plan[WrittenChunk | None]:
        """See `write_with_edits`."""
        refused: Sequence[str] = ()
        for _ in range(MAX_ATTEMPTS):
            earlier = yield from earlier_writes(self._checked, self._scope)
            self._refuse_keys(earlier)
            before = {key: first_outcome(event) for key, event in earlier.items()}
            changes = yield from self._changes(self._fresh(before))
            changes.edits |= {edit.record.id: edit for edit in edits}
            put = changes.put(self._scope, (yield from self._pending_links(changes)))
            has_effect = put.drafts or put.links or put.unlinks or put.also is not None
            refused = (yield from ask(put)) if has_effect else ()
            if not refused:
                outcomes = self._outcomes(before, changes)
                return WrittenChunk(outcomes, changes.links, self._problem)
            if any(edit.record.id in refused for edit in edits):
                return None
            self._taken.update(changes.drafts.keys() & set(refused))
        raise contention_error(refused[0])

    def _refuse_keys(self, earlier: Mapping[str, Event]) -> None:
        """Reject the items whose idempotency key belongs to something else."""
        refused = dict(refused_keys(self._checked, earlier))
        bodies = {each.fingerprint for at in refused if isinstance(each := self._checked[at], Item)}
        if refused and (self._rules.strict or self._rules.body in bodies):
            raise key_reused()
        self._checked = [refused.get(place, item) for place, item in enumerate(self._checked)]

    def _fresh(self, before: Mapping[str, Added]) -> dict[int, Item]:
        """The items to write, the first of each idempotency key, by place."""
        fresh: dict[int, Item] = {}
        keys: set[str | None] = set(before)
        for place, item in enumerate(self._checked):
            if isinstance(item, Item) and (item.key is None or item.key not in keys):
                fresh[place] = item
                keys.add(item.key)
        return fresh

    def _outcomes(self, before: dict[str, Added], changes: _Changes) -> list[Added]:
        """The outcome of each item; a repeated idempotency key has the first outcome."""
        outcomes: list[Added] = []
        for place, item in enumerate(self._checked):
            if isinstance(item, Added):
                outcomes.append(item)
            elif item.key is not None and item.key in before:
                outcomes.append(before[item.key])
            else:
                outcome = changes.outcomes[place]
                if item.secret is not None and outcome.outcome in _KEEPING_OUTCOMES:
                    outcome = replace(outcome, secret=item.secret)
                outcomes.append(outcome)
                if item.key is not None:
                    before[item.key] = replace(outcome, reason=SAME_KEY)
        return outcomes

    def _changes(self, fresh: Mapping[int, Item]) -> Plan[_Changes]:
        """The changes that the items make to what is stored now."""
        changes = _Changes()
        changes.records = yield from self._named_records(fresh)
        self._reject_dangling(fresh, changes)
        left = {place: item for place, item in fresh.items() if place not in changes.outcomes}
        upserts = yield from self._upserts(left, changes)
        left = {place: item for place, item in left.items() if place not in changes.outcomes}
        drafts = yield from self._drafts(left)
        verdicts, changes.seen = yield from judge(
            drafts, upserts.edits, self._scope, self._rules.policy
        )
        requested = self._add(drafts, verdicts, changes)
        yield from self._strengthen(drafts, verdicts, changes)
        yield from self._supersede(fresh, changes)
        if self._rules.policy.contradictions:
            yield from self._suggest(drafts, changes)
        names = {id: link_targets.target_names(d.record) for id, d in changes.drafts.items()}
        resolved = yield from link_targets.resolve_names(self._scope.namespace, requested, names)
        changes.links = [*upserts.links, *resolved]
        return changes

    def _named_records(self, fresh: Mapping[int, Item]) -> Plan[dict[str, MemoryRecord]]:
        """The stored memories that items are to supersede or to replace, by id."""
        ids = {item.supersedes: None for item in fresh.values() if item.supersedes is not None}
        if self._rules.on_conflict in ("replace", "update"):
            ids |= {item.record.id: None for item in fresh.values() if "id" in item.given}
        return (yield from read_records(self._scope.namespace, tuple(ids))) if ids else {}

    def _reject_dangling(self, fresh: Mapping[int, Item], changes: _Changes) -> None:
        """Reject the items that would supersede a memory that does not exist by then."""
        existing = set(changes.records)
        namespace = self._scope.namespace
        for place, item in fresh.items():
            if item.supersedes is None or item.supersedes in existing:
                existing.add(item.record.id)
                continue
            problem = InvalidInput(
                "supersedes",
                f"there is no memory {item.supersedes!r} in the namespace {namespace!r}",
                "name one that there is",
            )
            if self._rules.strict:
                raise problem
            changes.outcomes[place] = Added(item.record.id, "REJECTED", str(problem))

    def _upserts(self, items: Mapping[int, Item], changes: _Changes) -> Plan[Upserts]:
        """Settle the items whose ids memories have."""
        rule, strict = self._rules.on_conflict, self._rules.strict
        with_id = {place: item for place, item in items.items() if "id" in item.given}
        if rule == "error" or not with_id:
            return Upserts()
        if rule == "skip":
            upserts = yield from upsert.skip(with_id, self._scope)
        else:
            upserts = yield from upsert.edit(
                with_id, changes.records, self._scope, self._vector_of, strict=strict, rule=rule
            )
        changes.outcomes |= upserts.outcomes
        changes.unlinks = tuple(upserts.unlinks)
        for edit in upserts.edits.values():
            changes.edit(edit)
        self._problem = self._problem or upserts.problem
        return upserts

    def _drafts(self, items: Mapping[int, Item]) -> Plan[dict[int, tuple[Draft, Item]]]:
        """The drafts of new memories, each made once."""
        missing = [place for place in items if place not in self._embedded]
        prepared = yield from with_entities([items[place] for place in missing])
        vectors, problem = yield from embed_items(prepared, self._scope)
        self._embedded.update(zip(missing, vectors, strict=True))
        self._problem = problem or self._problem
        return {place: self._embedded[place] for place in items}

    def _add(
        self,
        drafts: Mapping[int, tuple[Draft, Item]],
        verdicts: Mapping[int, DedupVerdict],
        changes: _Changes,
    ) -> list[Link]:
        """Add the drafts that become memories of their own; return the links they ask for."""
        is_strict = self._rules.strict and self._rules.on_conflict == "error"
        links: list[Link] = []
        for place, (draft, item) in drafts.items():
            id, verdict = draft.record.id, verdicts.get(place)
            if verdict is not None and verdict.outcome.outcome not in ADDING_OUTCOMES:
                changes.outcomes[place] = verdict.outcome
                continue
            if id in changes.drafts or id in self._taken:
                if is_strict and id in self._taken:
                    remedy = 'give on_conflict="update", "replace" or "skip", or leave'
                    raise IdTaken("id", f"{id!r} is taken", f"{remedy} the id out")
                if is_strict:
                    raise InvalidInput("id", f"{id!r} occurs twice", "give each its own")
                changes.outcomes[place] = Added(id, "REJECTED", _ID_TAKEN)
                continue
            if item.key is not None:
                draft = replace(draft, note=note_of(item, verdict))
            changes.drafts[id] = draft
            changes.records[id] = draft.record
            changes.outcomes[place] = Added(id, "ADDED") if verdict is None else verdict.outcome
            links += item.links
        return links

    def _strengthen(
        self,
        drafts: Mapping[int, tuple[Draft, Item]],
        verdicts: Mapping[int, DedupVerdict],
        changes: _Changes,
    ) -> Plan[None]:
        """Count a use of each memory that says the same as an item, and add what the item adds."""
        scope = self._scope
        gains: dict[str, dict[str, Any]] = {}
        for place, verdict in verdicts.items():
            if verdict.outcome.outcome not in STRENGTHENING:
                continue
            match = verdict.match
            assert match is not None
            payload = key_payload(drafts[place][1]) | outcome_payload(verdict.outcome)
            use = Event("reference", match.id, scope.now, scope.actor, payload=payload)
            changes.log([use], changes.records.setdefault(match.id, match))
            gains.setdefault(match.id, {}).update(verdict.gained)
        for id, gained in gains.items():
            if gained:
                record = changes.records[id]
                changes.edit((yield from edit_of(record, gained, scope, self._vector_of)))

    def _supersede(self, fresh: Mapping[int, Item], changes: _Changes) -> Plan[None]:
        """Let written items take the places of the memories that they name."""
        scope = self._scope
        for place, item in fresh.items():
            old, new, outcome = item.supersedes, item.record.id, changes.outcomes[place].outcome
            if old is None or outcome == "REJECTED":
                continue
            if outcome != "ADDED" and (
                self._rules.on_conflict == "skip" or (yield from _supersedes(new, old, scope))
            ):
                continue
            if old not in changes.records:
                changes.outcomes[place] = Added(new, "ADDED", _SUPERSEDED_MISSING)
                continue
            before, after = changes.records[old], changes.records[new]
            changes.log(supersession_events(before, after, scope), before, after)
            linked_at = scope.now
            if outcome == "ADDED":
                linked_at = min(after.created_at, scope.now)
                changes.outcomes[place] = Added(new, "SUPERSEDES", "as asked for", old)
            else:
                changes.outcomes[place] = Added(new, "UPDATED", f"it supersedes {old!r}", new)
            changes.supersessions.append(
                parse_link(scope, new, old, "supersedes", created_at=linked_at)
            )
            changes.records[old], changes.records[new] = supersession(before, after)

    def _suggest(self, drafts: Mapping[int, tuple[Draft, Item]], changes: _Changes) -> Plan[None]:
        """Link each added memory to the earlier one that it may replace, and say so."""
        added = {
            place: draft
            for place, (draft, _) in drafts.items()
            if draft.record.id in changes.drafts
        }
        judged = {place for place in added if changes.outcomes[place].outcome != "ADDED"}
        replaces = {
            place: item.supersedes
            for place, (_, item) in drafts.items()
            if item.supersedes is not None
        }
        pairs = yield from learned.suggested(added, judged | replaces.keys(), replaces, self._scope)
        for place, (old, chance) in pairs.items():
            new = added[place].record
            changes.supersessions.append(
                parse_link(
                    self._scope,
                    new.id,
                    old,
                    "may_replace",
                    chance,
                    created_at=min(new.created_at, self._scope.now),
                )
            )
            if chance >= LIKELY:
                changes.outcomes[place] = replace(
                    changes.outcomes[place], may_replace=old, chance=chance
                )

    def _pending_links(self, changes: _Changes) -> Plan[Found]:
        """The links that wait for a name that a memory gets."""
        names = {id: link_targets.target_names(d.record) for id, d in changes.drafts.items()}
        for id, edit in changes.edits.items():
            former = link_targets.target_names(edit.was) if edit.was is not None else frozenset()
            names[id] = link_targets.target_names(edit.record) - former
        created = {id: draft.record.created_at for id, draft in changes.drafts.items()}
        pending = yield from link_targets.pending_links_to(
            self._scope.namespace, names, self._scope.now, created
        )
        return pending.without({link.key for link in changes.unlinks})


def _supersedes(new: str, old: str, scope: WriteContext) -> Plan[bool]:
    """Test whether a memory has superseded another."""
    links: Sequence[Link] = yield from ask(LinksOf(scope.namespace, (new,)))
    return any((k.source, k.target, k.type) == (new, old, "supersedes") for k in links)
