"""Upserts: an item with the id of a memory replaces it, updates it, or is skipped."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from salience.errors import InvalidInput, shown
from salience.lazily import dataclass, field
from salience.records.events import ACCESSES, STATE
from salience.records.fields import FIELDS
from salience.records.record import EMPTY, Edit, Embedding, Link, MemoryRecord
from salience.records.validation import native
from salience.retrieval.operations import Extract, LinksOf, RowsById
from salience.retrieval.plan import Plan, ask
from salience.write import link_targets
from salience.write.embedding import NamedItem, embed_to_keep, entity_text, with_entities
from salience.write.idempotency import key_payload
from salience.write.items import (
    CONTENT_VECTORS,
    Item,
    WriteContext,
    check_validity_period,
    embedded_text,
    follows_text,
    metadata_for,
    text_links,
    texts_to_embed,
    with_vector_texts,
)
from salience.write.judgments import check_supersession
from salience.write.outcomes import Added

# Replacements: a memory with the contents of an item


@dataclass(frozen=True)
class Replacement:
    """A memory as it is and as it will be, by an item."""

    old: MemoryRecord
    new: MemoryRecord
    item: Item
    links: Sequence[Link]  # that it lacks
    unlinks: Sequence[Link]  # that came with its contents, and do no longer

    @property
    def is_needed(self) -> bool:
        same = self.new.equals_except(("updated_at", *ACCESSES), self.old)
        return not same or bool(self.item.vectors or self.links or self.unlinks)

    @property
    def texts(self) -> dict[str, str]:
        """The texts to make vectors of, by the names of the vectors."""
        return {
            name: words
            for name, words in texts_to_embed(self.new).items()
            if name in self.stale and name not in self.item.vectors
        }

    @property
    def stale(self) -> tuple[str, ...]:
        """The names of the vectors whose texts differ or no longer exist."""
        old, new = texts_to_embed(self.old), texts_to_embed(self.new)
        names = {name for name in (*old, *new) if old.get(name) != new.get(name)}
        if "content" in names:
            names |= {*CONTENT_VECTORS, *filter(follows_text, (*old, *new))}
        return tuple(sorted(names))

    def edit(self, vector_of: Mapping[str, Embedding]) -> Edit:
        """The edit that writes it, with the vectors of its texts as far as they exist."""
        made = {name: vector_of[words] for name, words in self.texts.items() if words in vector_of}
        key = key_payload(self.item)
        note = {**key, "outcome": "UPDATED"} if key else EMPTY
        vectors = {**self.item.vectors, **made}
        return Edit(self.new, vectors, note, was=self.old, stale=self.stale)


def replacement_of(
    old: MemoryRecord, new: MemoryRecord, item: Item, rule: OnConflict, scope: WriteContext
) -> MemoryRecord:
    """A memory with what an item gives; by "replace", with all contents of the item.

    Contents are the fields that are not in STATE. Those in STATE, which judgements change, and the
    owner stay unless the item gives them.
    """
    updates, kept = rule == "update", {*STATE, "user_id"}
    names = [
        name
        for name in FIELDS
        if name not in ("id", *ACCESSES)
        and (name in item.given or name == "entities" or not (updates or name in kept))
    ]
    values = {name: getattr(new, name) for name in names}
    if updates and "metadata" in values:
        values["metadata"] = metadata_for(old, new.metadata)
    changed = dataclasses.replace(old, **values, updated_at=scope.now)
    if updates:
        is_stale = embedded_text(old) != embedded_text(changed)
        texts = dict.fromkeys(CONTENT_VECTORS) if is_stale else {}
        changed = with_vector_texts(changed, {**texts, **item.vector_texts})
    check_validity_period(changed)
    return changed


OnConflict = Literal["error", "replace", "update", "skip"]
"""The way to write an item whose id a memory has.

Refuse it, replace the contents of that memory, change the fields that the item gives, or leave it.
"""


def conflict_rule(value: Any) -> OnConflict:
    """The checked argument `on_conflict`."""
    rule = native(value)
    if not isinstance(rule, str) or rule not in ("error", "replace", "update", "skip"):
        remedy = "use error, replace, update or skip"
        raise InvalidInput("on_conflict", f"is {shown(value)}", remedy)
    return rule  # type: ignore[return-value]


@dataclass
class Upserts:
    """The outcomes of items by their places, and what they change: edits by place, and links.

    `problem` says why vectors are missing.
    """

    outcomes: dict[int, Added] = field(default_factory=dict)
    edits: dict[int, Edit] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    unlinks: list[Link] = field(default_factory=list)
    problem: str = ""


def skip(items: Mapping[int, Item], scope: WriteContext) -> Plan[Upserts]:
    """The plan of skipping the items whose ids memories have."""
    ids = tuple(item.record.id for item in items.values())
    rows = yield from ask(RowsById(scope.namespace, ids))
    taken_ids = {p: item.record.id for p, item in items.items() if item.record.id in rows}
    return Upserts({p: Added(id, "SKIPPED", "the id is taken", id) for p, id in taken_ids.items()})


def edit(
    items: Mapping[int, Item],
    stored: Mapping[str, MemoryRecord],
    scope: WriteContext,
    vector_of: dict[str, Embedding],
    *,
    strict: bool,
    rule: OnConflict,
) -> Plan[Upserts]:
    """The plan of editing the stored memories whose ids items have; other items are left out.

    A memory gets what the item says (see `replacement_of`) and keeps its history. Links that came
    with its former contents go if the item does not have them. `vector_of` keeps the vectors of
    texts, for another attempt.
    """
    result = Upserts()
    names = {i.record.id: link_targets.target_names(i.record) for i in items.values()}
    items = {place: item for place, item in items.items() if item.record.id in stored}
    prepared = yield from with_entities([*items.values()])
    if rule == "update":
        prepared = yield from _with_kept_entities(prepared, stored)
    links_of = yield from _links_of(items.values(), stored, names, rule, scope)
    replacements: dict[int, Replacement] = {}
    for place, (record, item) in zip(items, prepared, strict=True):
        old = stored[record.id]
        try:
            _check_owner(old, record)
            new = replacement_of(old, record, item, rule, scope)
            if item.supersedes is not None and item.supersedes in stored:
                yield from check_supersession(stored[item.supersedes], old, scope)
        except InvalidInput as problem:
            if strict:
                raise
            result.outcomes[place] = Added(old.id, "REJECTED", str(problem))
            continue
        replacement = Replacement(old, new, item, *links_of.get(old.id, ((), ())))
        if replacement.is_needed:
            replacements[place] = replacement
            result.outcomes[place] = Added(old.id, "UPDATED", "", old.id)
            result.links += replacement.links
            result.unlinks += replacement.unlinks
        else:
            result.outcomes[place] = Added(old.id, "SKIPPED", "nothing differs", old.id)
    texts = {words for each in replacements.values() for words in each.texts.values()}
    new_vectors, result.problem = yield from embed_to_keep(sorted(texts - vector_of.keys()), scope)
    vector_of |= new_vectors
    result.edits = {place: each.edit(vector_of) for place, each in replacements.items()}
    return result


def _check_owner(old: MemoryRecord, new: MemoryRecord) -> None:
    """Refuse an item of one user for a memory of another: both chose the same id by chance."""
    if None not in (old.user_id, new.user_id) and old.user_id != new.user_id:
        remedy = "give another id, or change the owner first: update(id, user_id=...)"
        raise InvalidInput("user_id", "is not that of the memory with this id", remedy)


def _with_kept_entities(
    named: Sequence[NamedItem], stored: Mapping[str, MemoryRecord]
) -> Plan[list[NamedItem]]:
    """Items with the entities of their memories, unless those were extracted from the text."""
    old = [stored[record.id] for record, _ in named]
    extracted = yield from ask(Extract(tuple(map(entity_text, old))))
    return [
        (new if item.named or was.entities == entities else new.with_entities(was.entities), item)
        for (new, item), was, entities in zip(named, old, extracted, strict=True)
    ]


def _links_of(
    items: Iterable[Item],
    stored: Mapping[str, MemoryRecord],
    names: Mapping[str, Iterable[str]],
    rule: OnConflict,
    scope: WriteContext,
) -> Plan[dict[str, tuple[list[Link], list[Link]]]]:
    """The links that memories gain from items, and those that they lose, by id.

    They lose links that came with their contents; links made in other ways stay. With "update" they
    lose those that their text no longer names, and others only if the item gives links. `names` are
    those of the memories to be written, by id.
    """
    items = [*items]
    if not items:
        return {}
    requested = [link for item in items for link in item.links]
    links = yield from link_targets.resolve_names(scope.namespace, requested, names)
    ids = tuple(item.record.id for item in items)
    present = {link.key: link for link in (yield from ask(LinksOf(scope.namespace, ids)))}
    link_keys = {link.key for link in links}
    whole = {i.record.id for i in items if rule == "replace" or "links" in i.given}
    written = [link for id in ids for link in text_links(stored[id], scope)]
    former = yield from link_targets.resolve_names(scope.namespace, written, names)
    keys = {link.key for link in former} | {key for key in present if key[0] in whole}
    lost = [link for key, link in present.items() if key in keys - link_keys]
    brought = yield from link_targets.brought_links(scope.namespace, lost)
    changes: dict[str, tuple[list[Link], list[Link]]] = {id: ([], []) for id in ids}
    for link in links:
        if link.key not in present or present[link.key].weight != link.weight:
            changes[link.source][0].append(link)
    for link in lost:
        if link.key in brought:
            changes[link.source][1].append(link)
    return changes
