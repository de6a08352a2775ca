"""Upserts: items whose ids memories have replace these, or are skipped."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from salience.errors import InvalidInput, shown
from salience.records.events import ACCESSES, STATE, WRITTEN
from salience.records.fields import FIELDS
from salience.records.record import EMPTY, Edit, Embedding, Link, MemoryRecord
from salience.records.validation import native
from salience.retrieval.operations import LinksOf, RowsById
from salience.retrieval.plan import Plan, ask
from salience.write import link_targets
from salience.write.embedding import embed_to_keep, with_entities
from salience.write.idempotency import key_payload
from salience.write.items import (
    CONTENT_VECTORS,
    Item,
    WriteContext,
    check_validity_period,
    follows_text,
    texts_to_embed,
)
from salience.write.judgments import check_supersession
from salience.write.outcomes import Added

# Replacements: a memory with the contents of an item


@dataclass(frozen=True, slots=True)
class Replacement:
    """A memory as it is and as it will be, by an item."""

    old: MemoryRecord
    new: MemoryRecord
    item: Item
    links: tuple[Link, ...]  # that it lacks

    @property
    def is_needed(self) -> bool:
        same = self.new.equals_except(("updated_at", *ACCESSES), self.old)
        return not same or bool(self.item.vectors or self.links)

    @property
    def texts(self) -> dict[str, str]:
        """The texts whose vectors have to be made, by the names of these."""
        return {
            name: words
            for name, words in texts_to_embed(self.new).items()
            if name in self.stale and name not in self.item.vectors
        }

    @property
    def stale(self) -> tuple[str, ...]:
        """The names of the vectors whose texts differ, or that have none any more."""
        old, new = texts_to_embed(self.old), texts_to_embed(self.new)
        names = {name for name in (*old, *new) if old.get(name) != new.get(name)}
        if "content" in names:
            names |= {*CONTENT_VECTORS, *filter(follows_text, (*old, *new))}
        return tuple(sorted(names))

    def edit(self, vector_of: Mapping[str, Embedding]) -> Edit:
        """The edit that writes it, with the vectors of its texts as far as there are any."""
        made = {name: vector_of[words] for name, words in self.texts.items() if words in vector_of}
        key = key_payload(self.item)
        note = {**(WRITTEN if self.new.content != self.old.content else EMPTY), **key}
        if key:
            note["outcome"] = "UPDATED"
        vectors = {**self.item.vectors, **made}
        return Edit(self.new, vectors, note, was=self.old, stale=self.stale)


def replacement_of(
    old: MemoryRecord, new: MemoryRecord, item: Item, links: Iterable[Link], scope: WriteContext
) -> Replacement:
    """The contents (fields that are not of STATE) of an item in a memory.

    The fields of STATE, which judgements change, stay unless the item gives them.
    """
    names = [
        name
        for name in FIELDS
        if name not in ("id", *ACCESSES) and (name not in STATE or name in item.given)
    ]
    values = {name: getattr(new, name) for name in names}
    changed = dataclasses.replace(old, **values, updated_at=scope.now)
    check_validity_period(changed)
    return Replacement(old, changed, item, tuple(links))


OnConflict = Literal["error", "replace", "skip"]
"""The way to write an item whose id a memory has: refuse it, replace that memory, or leave it."""


def conflict_rule(value: Any) -> OnConflict:
    """The checked argument `on_conflict`."""
    rule = native(value)
    if not isinstance(rule, str) or rule not in ("error", "replace", "skip"):
        raise InvalidInput("on_conflict", f"is {shown(value)}", "use error, replace or skip")
    return rule  # type: ignore[return-value]


@dataclass(slots=True)
class Upserts:
    """The outcomes of items by their places, and what they change.

    That is edits by place and links; `problem` says why vectors are missing.
    """

    outcomes: dict[int, Added] = field(default_factory=dict)
    edits: dict[int, Edit] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    problem: str = ""


def skip(items: Mapping[int, Item], scope: WriteContext) -> Plan[Upserts]:
    """The plan of leaving out the items whose ids memories have."""
    ids = tuple(item.record.id for item in items.values())
    rows = yield from ask(RowsById(scope.namespace, ids))
    taken = {p: item.record.id for p, item in items.items() if item.record.id in rows}
    return Upserts({p: Added(id, "SKIPPED", "the id is taken", id) for p, id in taken.items()})


def replace(
    items: Mapping[int, Item],
    stored: Mapping[str, MemoryRecord],
    scope: WriteContext,
    strict: bool,
    vector_of: dict[str, Embedding],
) -> Plan[Upserts]:
    """The plan of editing the stored memories whose ids items have; other items are left out.

    A memory gets the contents of the item (see `replacement_of`), so that its history goes on.
    `vector_of` keeps the vectors of texts, for another attempt.
    """
    result = Upserts()
    items = {place: item for place, item in items.items() if item.record.id in stored}
    named = yield from with_entities([*items.values()])
    links_of = yield from _missing_links(items.values(), scope)
    replacements: dict[int, Replacement] = {}
    for place, (record, item) in zip(items, named, strict=True):
        id = record.id
        try:
            replacement = replacement_of(stored[id], record, item, links_of.get(id, ()), scope)
            if item.supersedes is not None and item.supersedes in stored:
                yield from check_supersession(stored[item.supersedes], stored[id], scope)
        except InvalidInput as problem:
            if strict:
                raise
            result.outcomes[place] = Added(id, "REJECTED", str(problem))
            continue
        if replacement.is_needed:
            replacements[place] = replacement
            result.outcomes[place] = Added(id, "UPDATED", "", id)
            result.links += replacement.links
        else:
            result.outcomes[place] = Added(id, "SKIPPED", "nothing differs", id)
    texts = {words for each in replacements.values() for words in each.texts.values()}
    made, result.problem = yield from embed_to_keep(sorted(texts - vector_of.keys()), scope)
    vector_of |= made
    result.edits = {place: each.edit(vector_of) for place, each in replacements.items()}
    return result


def _missing_links(items: Iterable[Item], scope: WriteContext) -> Plan[dict[str, list[Link]]]:
    """The links of items, by id, that are not there yet or have another weight."""
    requested = [link for item in items for link in item.links]
    if not requested:
        return {}
    links = yield from link_targets.resolve_names(scope.namespace, requested)
    sources = tuple({link.source for link in links})
    present = yield from ask(LinksOf(scope.namespace, sources))
    existing = {(link.source, link.target, link.type, link.weight) for link in present}
    missing: dict[str, list[Link]] = {}
    for link in links:
        if (link.source, link.target, link.type, link.weight) not in existing:
            missing.setdefault(link.source, []).append(link)
    return missing
