"""Upserts: items whose ids memories have replace these, or are skipped."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from salience.errors import InvalidInput, shown
from salience.records.record import EMPTY, Draft, Link, MemoryRecord
from salience.records.validation import native
from salience.retrieval.operations import LinksOf, Put, RowsById
from salience.retrieval.plan import Plan, ask
from salience.write import link_targets
from salience.write.embedding import embed_to_keep, with_entities
from salience.write.items import Item, WriteContext
from salience.write.outcomes import Added
from salience.write.reading import MAX_ATTEMPTS, contention_error, read_records
from salience.write.upsert.replacement import Replacement, replacement_of

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
    """The outcomes of items by their places, links made, and why vectors are missing."""

    outcomes: dict[int, Added] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    problem: str = ""


def upsert(
    items: Mapping[int, Item], rule: OnConflict, scope: WriteContext, strict: bool
) -> Plan[Upserts]:
    """The plan of replacing or skipping the items whose ids memories have; others are left out.

    A memory gets the contents of the item (see `replacement_of`), so that its history goes on.
    """
    result = Upserts()
    left = dict(items)
    for _ in range(MAX_ATTEMPTS):
        if not left:
            return result
        ids = tuple(item.record.id for item in left.values())
        if rule == "skip":
            rows = yield from ask(RowsById(scope.namespace, ids))
            taken = {p: item.record.id for p, item in left.items() if item.record.id in rows}
            result.outcomes = {
                place: Added(id, "SKIPPED", "the id is taken", id) for place, id in taken.items()
            }
            return result
        present = yield from read_records(scope.namespace, ids)
        left = {place: item for place, item in left.items() if item.record.id in present}
        left = yield from _replace_all(left, present, result, scope, strict)
    raise contention_error(left[min(left)].record.id)


def _replace_all(
    items: Mapping[int, Item],
    present: Mapping[str, MemoryRecord],
    result: Upserts,
    scope: WriteContext,
    strict: bool,
) -> Plan[dict[int, Item]]:
    """Replace memories by items; return the items whose memories others have changed meanwhile."""
    named = yield from with_entities([*items.values()])
    links_of = yield from _missing_links(items.values(), scope)
    by_stale: dict[tuple[str, ...], dict[int, Replacement]] = {}
    for place, (record, item) in zip(items, named, strict=True):
        id = record.id
        try:
            replacement = replacement_of(present[id], record, item, links_of.get(id, ()), scope)
        except InvalidInput as problem:
            if strict:
                raise
            result.outcomes[place] = Added(id, "REJECTED", str(problem))
            continue
        if replacement.is_needed:
            by_stale.setdefault(replacement.stale, {})[place] = replacement
        else:
            result.outcomes[place] = Added(id, "SKIPPED", "nothing differs", id)
    left: dict[int, Item] = {}
    for stale, replacements in by_stale.items():
        if (yield from _put_replacements(replacements.values(), stale, result, scope)):
            left |= {place: items[place] for place in replacements}
            continue
        for place, replacement in replacements.items():
            id = replacement.new.id
            result.outcomes[place] = Added(id, "UPDATED", "", id)
            result.links += replacement.links
    return left


def _put_replacements(
    replacements: Collection[Replacement],
    stale: tuple[str, ...],
    result: Upserts,
    scope: WriteContext,
) -> Plan[tuple[str, ...]]:
    """Write replacements with the same stale vectors; return the ids that others have changed."""
    texts_of = [each.texts for each in replacements]
    vector_of, problem = yield from embed_to_keep(
        (words for texts in texts_of for words in texts.values()), scope
    )
    result.problem = result.problem or problem
    drafts = []
    for each, texts in zip(replacements, texts_of, strict=True):
        vectors = {name: vector_of[words] for name, words in texts.items() if words in vector_of}
        key = each.item.key
        note = EMPTY if key is None else {"key": key, "outcome": "UPDATED"}
        drafts.append(Draft(each.new, {**each.item.vectors, **vectors}, note))
    old, new = yield from link_targets.pending_links_to(
        scope.namespace,
        {
            each.new.id: link_targets.target_names(each.new) - link_targets.target_names(each.old)
            for each in replacements
        },
        scope.now,
    )
    return (
        yield from ask(
            Put(
                tuple(drafts),
                (*(link for each in replacements for link in each.links), *new),
                old,
                replace=True,
                was=tuple(each.old for each in replacements),
                stale=stale,
                embedder=scope.embedder,
                actor=scope.actor,
                at=scope.now,
            )
        )
    )


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
