"""Writing: from what a caller gives to records with vectors, each item with its outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from salience.errors import InvalidInput
from salience.records.events import Event
from salience.records.fields import FIELDS
from salience.records.record import Draft, Embedding, Link, MemoryRecord, to_json
from salience.records.validation import text
from salience.retrieval.operations import Delete, Embed, Events, Extract, Log, Put, RowsById
from salience.retrieval.plan import Plan, ask
from salience.write import link_targets
from salience.write.embedding import entity_text
from salience.write.items import (
    CHECKS,
    CONTENT_VECTORS,
    Item,
    WriteContext,
    check_validity_period,
    embedded_text,
    metadata_for,
    with_vector_texts,
)
from salience.write.reading import MAX_ATTEMPTS, contention_error, not_found, read_record


def put_new(
    drafts: Sequence[tuple[Draft, Item]], scope: WriteContext, strict: bool
) -> Plan[tuple[set[str], list[Link]]]:
    """Write; the ids that are taken and were left out (or, when strict, refused), and the links.

    What has an idempotency key that somebody else has used meanwhile is left out in either case.
    Links to a name lead to who has it, and those that waited for a name to who comes to have it.
    """
    seen: set[str] = set()
    fresh = []
    for draft, each in drafts:
        if draft.record.id in seen:
            if strict:
                raise InvalidInput("id", f"{draft.record.id!r} occurs twice", "give each its own")
            continue
        seen.add(draft.record.id)
        fresh.append((draft, each))
    taken: set[str] = set()
    links: list[Link] = []
    while fresh:
        given = [one for _, each in fresh for one in each.links]
        links = yield from link_targets.resolve_names(scope.namespace, given, seen)
        old, new = yield from link_targets.pending_links_to(
            scope.namespace,
            {d.record.id: link_targets.target_names(d.record) for d, _ in fresh},
            scope.now,
        )
        found = yield from ask(
            Put(
                tuple(draft for draft, _ in fresh),
                (*links, *new),
                old,
                embedder=scope.embedder,
                actor=scope.actor,
            )
        )
        if not found:
            break
        if strict:
            raced = yield from _raced([draft for draft, _ in fresh], scope)
            for id in found:
                if id not in raced:
                    raise InvalidInput(
                        "id", f"{id!r} is taken", "update that memory, or leave the id out"
                    )
        links = []
        taken.update(found)
        fresh = [(draft, each) for draft, each in fresh if draft.record.id not in taken]
    return taken, links


def _raced(drafts: Sequence[Draft], scope: WriteContext) -> Plan[set[str]]:
    """The ids of drafts whose idempotency key the log has."""
    keyed = {draft.note["key"]: draft.record.id for draft in drafts if "key" in draft.note}
    if not keyed:
        return set()
    events: Sequence[Event] = yield from ask(Events(scope.namespace, keys=tuple(keyed)))
    return {keyed[event.payload["key"]] for event in events}


def update(id: str, changes: Mapping[str, Any], scope: WriteContext) -> Plan[MemoryRecord]:
    """The plan of changing a memory; words that change are embedded again."""
    allowed = set(CHECKS) - {"id"}
    unknown = set(changes) - allowed
    if unknown:
        raise InvalidInput(
            sorted(unknown)[0], "cannot be updated", f"use {', '.join(sorted(allowed))}"
        )
    checked = {name: CHECKS[name](name, value) for name, value in changes.items()}
    in_place = all(FIELDS[name].patchable for name in checked)

    def changes_of(record: MemoryRecord) -> Mapping[str, Any]:
        if "metadata" not in checked:
            return checked
        return {**checked, "metadata": metadata_for(record, checked["metadata"])}

    changed = yield from revise(text("id", id), changes_of, scope, in_place=in_place)
    if changed is None:
        raise not_found(id, scope.namespace)
    return changed


def revise(
    id: str,
    changes_of: Callable[[MemoryRecord], Mapping[str, Any] | None],
    scope: WriteContext,
    *,
    in_place: bool = False,
) -> Plan[MemoryRecord | None]:
    """The plan of changing a memory by what it is, again if others change it meanwhile.

    Changes `in_place`, of fields that can be, are made whatever others change. None where there is
    no such memory, or `changes_of` it is None.
    """
    made: dict[str, Embedding] = {}
    for _ in range(MAX_ATTEMPTS):
        record = yield from read_record(id, scope.namespace)
        changes = None if record is None else changes_of(record)
        if record is None or changes is None:
            return None
        if not changes:
            return record
        changed = yield from _updated(record, changes, made, scope, in_place)
        if changed is not None:
            return changed
    raise contention_error(id)


def _updated(
    record: MemoryRecord,
    checked: Mapping[str, Any],
    made: dict[str, Embedding],
    scope: WriteContext,
    in_place: bool,
) -> Plan[MemoryRecord | None]:
    """Change a memory that was just read; None if somebody else has changed it meanwhile.

    `made` keeps the vectors of texts, which need not be made again then.
    """
    id = record.id
    changed = replace(record, **checked, updated_at=scope.now)
    if not checked.keys().isdisjoint(("valid_from", "valid_to")):
        check_validity_period(changed)
    if "entities" not in checked and entity_text(changed) != entity_text(record):
        read_out, named = yield from ask(Extract((entity_text(record), entity_text(changed))))
        if record.entities == read_out:  # they were read out of the words that change
            changed = replace(changed, entities=named)
    names = link_targets.target_names(changed) - link_targets.target_names(record)
    old, new = yield from link_targets.pending_links_to(scope.namespace, {id: names}, scope.now)
    if in_place:
        became = {name: to_json(value) for name, value in checked.items()}
        event = Event("edit", id, scope.now, scope.actor, payload={"set": became})
        if (yield from ask(Log(scope.namespace, (event,)))):
            return None
        if new:
            yield from ask(Put((), new, old, actor=scope.actor))
        return changed
    vectors: dict[str, Embedding] = {}
    stale = () if embedded_text(changed) == embedded_text(record) else CONTENT_VECTORS
    if stale:
        changed = with_vector_texts(changed, dict.fromkeys(CONTENT_VECTORS))
    if scope.embeds and stale:
        said = embedded_text(changed)
        if said not in made:
            [made[said]] = yield from ask(Embed((said,), "document"))
        vectors["content"] = made[said]
    put = Put(
        (Draft(changed, vectors),),
        new,
        old,
        replace=True,
        was=record,
        stale=stale,
        embedder=scope.embedder,
        actor=scope.actor,
    )
    return None if (yield from ask(put)) else changed


def put_links(links: Sequence[Link], scope: WriteContext) -> Plan[None]:
    """The plan of linking memories that exist."""
    ends = tuple(dict.fromkeys(end for one in links for end in (one.source, one.target)))
    found = yield from ask(RowsById(scope.namespace, ends))
    missing = [end for end in ends if end not in found]
    if missing:
        raise not_found(missing[0], scope.namespace)
    yield from ask(Put((), tuple(links), actor=scope.actor))


def delete(id: str, scope: WriteContext) -> Plan[bool]:
    """The plan of erasing one memory; whether there was one."""
    count = yield from ask(Delete(scope.namespace, (id,)))
    return bool(count)
