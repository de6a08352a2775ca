"""Changing memories: writing new ones, updating, linking, deleting."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from salience.display.result import to_json
from salience.errors import InvalidInput
from salience.records.events import Event, merged_metadata
from salience.records.fields import FIELDS
from salience.records.record import EMPTY, Draft, Embedding, Link, MemoryRecord
from salience.records.validation import text
from salience.retrieval.operations import (
    Delete,
    Embed,
    Events,
    Extract,
    Log,
    Put,
    RowsById,
)
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
from salience.write.reading import (
    MAX_ATTEMPTS,
    contention_error,
    not_found,
    read_record,
)

_REPLACE_METADATA = "replace_metadata"


def put_new(
    drafts: Sequence[tuple[Draft, Item]], scope: WriteContext, strict: bool
) -> Plan[tuple[set[str], list[Link]]]:
    """The plan of writing new memories: the ids that are taken, and the links made.

    Drafts with a taken id are left out, or refused if `strict`; those with an idempotency key that
    somebody else has used meanwhile are left out in either case. Links to a name lead to the memory
    that has it, and pending links to the memory that comes to have their name.
    """
    fresh = _distinct(drafts, strict)
    ids = {draft.record.id for draft, _ in fresh}
    taken: set[str] = set()
    links: list[Link] = []
    while fresh:
        requested = [link for _, item in fresh for link in item.links]
        links = yield from link_targets.resolve_names(scope.namespace, requested, ids)
        old, new = yield from link_targets.pending_links_to(
            scope.namespace,
            {d.record.id: link_targets.target_names(d.record) for d, _ in fresh},
            scope.now,
        )
        refused = yield from ask(
            Put(
                tuple(draft for draft, _ in fresh),
                (*links, *new),
                old,
                embedder=scope.embedder,
                actor=scope.actor,
            )
        )
        if not refused:
            break
        if strict:
            yield from _check_only_raced(refused, [draft for draft, _ in fresh], scope)
        links = []
        taken.update(refused)
        fresh = [(draft, item) for draft, item in fresh if draft.record.id not in taken]
    return taken, links


def _distinct(drafts: Sequence[tuple[Draft, Item]], strict: bool) -> list[tuple[Draft, Item]]:
    """The first draft of each id; InvalidInput if one occurs twice and `strict`."""
    by_id: dict[str, tuple[Draft, Item]] = {}
    for draft, item in drafts:
        id = draft.record.id
        if id in by_id and strict:
            raise InvalidInput("id", f"{id!r} occurs twice", "give each its own")
        by_id.setdefault(id, (draft, item))
    return list(by_id.values())


def _check_only_raced(
    refused: Iterable[str], drafts: Sequence[Draft], scope: WriteContext
) -> Plan[None]:
    """Raise InvalidInput if an id was refused for another reason than a used idempotency key."""
    keyed = {draft.note["key"]: draft.record.id for draft in drafts if "key" in draft.note}
    raced: set[str] = set()
    if keyed:
        events: Sequence[Event] = yield from ask(Events(scope.namespace, keys=tuple(keyed)))
        raced = {keyed[event.payload["key"]] for event in events}
    for id in refused:
        if id not in raced:
            raise InvalidInput(
                "id",
                f"{id!r} is taken",
                'give on_conflict="replace" or "skip", update that memory, or leave the id out',
            )


def update(id: str, changes: Mapping[str, Any], scope: WriteContext) -> Plan[MemoryRecord]:
    """The plan of updating a memory; changed text is embedded again.

    `metadata` is merged by key, and `replace_metadata` takes the place of all of it.

    Raises:
        InvalidInput: a field is unknown, cannot be updated, or has a wrong value.
        NotFound: there is no such memory.
    """
    fields, merge = _checked_changes(changes)
    in_place = all(FIELDS[name].patchable for name in fields)

    def changes_of(record: MemoryRecord) -> Mapping[str, Any]:
        if merge:
            merged = merged_metadata(record.metadata, merge)
            return {**fields, "metadata": CHECKS["metadata"]("metadata", merged)}
        if "metadata" in fields:
            return {**fields, "metadata": metadata_for(record, fields["metadata"])}
        return fields

    changed = yield from revise(text("id", id), changes_of, scope, in_place=in_place, merge=merge)
    if changed is None:
        raise not_found(id, scope.namespace)
    return changed


def _checked_changes(changes: Mapping[str, Any]) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """The checked fields that an update sets, and the keys that it merges into the metadata."""
    allowed = set(CHECKS) - {"id"} | {_REPLACE_METADATA}
    unknown = set(changes) - allowed
    if unknown:
        raise InvalidInput(
            sorted(unknown)[0], "cannot be updated", f"use {', '.join(sorted(allowed))}"
        )
    if {"metadata", _REPLACE_METADATA} <= changes.keys():
        raise InvalidInput(
            _REPLACE_METADATA, "does not go with metadata, which is merged", "give one of the two"
        )
    fields = dict(changes)
    if _REPLACE_METADATA in fields:
        fields["metadata"] = fields.pop(_REPLACE_METADATA)
    checked = {name: CHECKS[name](name, value) for name, value in fields.items()}
    if changes.get("metadata") is None:  # as for every field, None empties it
        return checked, EMPTY
    return checked, checked.pop("metadata")


def revise(
    id: str,
    changes_of: Callable[[MemoryRecord], Mapping[str, Any] | None],
    scope: WriteContext,
    *,
    in_place: bool = False,
    merge: Mapping[str, Any] = EMPTY,
) -> Plan[MemoryRecord | None]:
    """The plan of changing a memory depending on its present state, again if others change it.

    Changes `in_place`, of patchable fields, are made whatever others change; `merge` are the keys
    of the metadata that they set. None if there is no such memory, or if `changes_of` it is None.
    """
    vectors: dict[str, Embedding] = {}
    for _ in range(MAX_ATTEMPTS):
        record = yield from read_record(id, scope.namespace)
        changes = None if record is None else changes_of(record)
        if record is None or changes is None:
            return None
        if not changes:
            return record
        changed = yield from _updated(record, changes, vectors, scope, in_place, merge)
        if changed is not None:
            return changed
    raise contention_error(id)


def _updated(
    record: MemoryRecord,
    changes: Mapping[str, Any],
    vector_of: dict[str, Embedding],
    scope: WriteContext,
    in_place: bool,
    merge: Mapping[str, Any],
) -> Plan[MemoryRecord | None]:
    """Change a memory that was just read; None if somebody else has changed it meanwhile.

    `vector_of` keeps the vectors of texts for the next attempt.
    """
    id = record.id
    changed = replace(record, **changes, updated_at=scope.now)
    if not changes.keys().isdisjoint(("valid_from", "valid_to")):
        check_validity_period(changed)
    if "entities" not in changes:
        changed = yield from _with_new_entities(record, changed)
    names = link_targets.target_names(changed) - link_targets.target_names(record)
    old, new = yield from link_targets.pending_links_to(scope.namespace, {id: names}, scope.now)
    if in_place:
        values = {name: to_json(value) for name, value in changes.items()}
        payload: dict[str, Any] = {"set": values}
        if merge:  # into what the metadata are by then: others may set other keys
            del values["metadata"]
            payload["merge"] = merge
        event = Event("edit", id, scope.now, scope.actor, payload=payload)
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
        text = embedded_text(changed)
        if text not in vector_of:
            [vector_of[text]] = yield from ask(Embed((text,), "document"))
        vectors["content"] = vector_of[text]
    put = Put(
        (Draft(changed, vectors),),
        new,
        old,
        replace=True,
        was=(record,),
        stale=stale,
        embedder=scope.embedder,
        actor=scope.actor,
    )
    return None if (yield from ask(put)) else changed


def _with_new_entities(record: MemoryRecord, changed: MemoryRecord) -> Plan[MemoryRecord]:
    """The changed record with the entities of its new text, if those of the old were extracted."""
    old_text, new_text = entity_text(record), entity_text(changed)
    if old_text == new_text:
        return changed
    old, new = yield from ask(Extract((old_text, new_text)))
    return replace(changed, entities=new) if record.entities == old else changed


def put_links(links: Sequence[Link], scope: WriteContext) -> Plan[None]:
    """The plan of linking memories.

    Raises:
        NotFound: one of them does not exist.
    """
    ends = tuple(dict.fromkeys(end for link in links for end in (link.source, link.target)))
    rows = yield from ask(RowsById(scope.namespace, ends))
    missing = [end for end in ends if end not in rows]
    if missing:
        raise not_found(missing[0], scope.namespace)
    yield from ask(Put((), tuple(links), actor=scope.actor))


def delete(id: str, scope: WriteContext) -> Plan[bool]:
    """The plan of erasing one memory; True if there was one."""
    count = yield from ask(Delete(scope.namespace, (id,)))
    return bool(count)
