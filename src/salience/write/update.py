"""Changing memories: writing new ones, updating, linking, deleting."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from salience.display.result import to_json
from salience.errors import IdTaken, InvalidInput
from salience.records.events import Event
from salience.records.fields import FIELDS
from salience.records.filters import Compare
from salience.records.limits import Limits
from salience.records.record import EMPTY, Draft, Embedding, Link, MemoryRecord
from salience.records.validation import text
from salience.retrieval.operations import (
    Delete,
    Events,
    Extract,
    Log,
    Put,
    RowsById,
)
from salience.retrieval.plan import Plan, ask
from salience.write import link_targets
from salience.write.embedding import embed_to_keep, entity_text
from salience.write.items import (
    CHECKS,
    CONTENT_VECTORS,
    Item,
    WriteContext,
    check_field,
    check_validity_period,
    content_texts,
    embedded_text,
    metadata_for,
    with_vector_texts,
)
from salience.write.reading import (
    MAX_ATTEMPTS,
    check_version,
    checked_version,
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
    taken: set[str] = set()
    links: list[Link] = []
    while fresh:
        requested = [link for _, item in fresh for link in item.links]
        names_of = {d.record.id: link_targets.target_names(d.record) for d, _ in fresh}
        links = yield from link_targets.resolve_names(scope.namespace, requested, names_of)
        old, new = yield from link_targets.pending_links_to(
            scope.namespace,
            names_of,
            scope.now,
            {d.record.id: d.record.created_at for d, _ in fresh},
        )
        refused = yield from ask(
            Put(
                tuple(draft for draft, _ in fresh),
                (*links, *new),
                old,
                embedder=scope.embedder,
                actor=scope.actor,
                at=scope.now,
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
    """Raise IdTaken if an id was refused for another reason than a used idempotency key."""
    keyed = {draft.note["key"]: draft.record.id for draft in drafts if "key" in draft.note}
    raced: set[str] = set()
    if keyed:
        events: Sequence[Event] = yield from ask(Events(scope.namespace, keys=tuple(keyed)))
        raced = {keyed[event.payload["key"]] for event in events}
    for id in refused:
        if id not in raced:
            raise IdTaken(
                "id",
                f"{id!r} is taken",
                'give on_conflict="replace" or "skip", update that memory, or leave the id out',
            )


def update(
    id: str, changes: Mapping[str, Any], scope: WriteContext, if_version: Any = None
) -> Plan[MemoryRecord]:
    """The plan of updating a memory, if it has a version; changed text is embedded again.

    `metadata` is merged by key, and `replace_metadata` takes the place of all of it.

    Raises:
        InvalidInput: a field is unknown, cannot be updated, or has a wrong value.
        NotFound: there is no such memory.
        VersionConflict: it has another version than `if_version`.
    """
    id, version = text("id", id), checked_version(if_version)
    fields, merge = _checked_changes(changes, scope.limits)
    in_place = all(FIELDS[name].patchable for name in fields)

    def changes_of(record: MemoryRecord) -> Mapping[str, Any]:
        check_version(record, version)
        if merge:
            merged = _merged_metadata(record.metadata, merge)
            return {**fields, "metadata": check_field("metadata", merged, scope.limits)}
        if "metadata" in fields:
            return {**fields, "metadata": metadata_for(record, fields["metadata"])}
        return fields

    changed = yield from revise(id, changes_of, scope, in_place=in_place)
    if changed is None:
        raise not_found(id, scope.namespace)
    return changed


def _merged_metadata(old: Mapping[str, Any], keys: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata with some keys set to other values; None removes a key."""
    removed = {key for key, value in keys.items() if value is None}
    return {key: value for key, value in {**old, **keys}.items() if key not in removed}


def _checked_changes(
    changes: Mapping[str, Any], limits: Limits
) -> tuple[dict[str, Any], Mapping[str, Any]]:
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
    checked = {name: check_field(name, value, limits) for name, value in fields.items()}
    if changes.get("metadata") is None:  # as for every field, None empties it
        return checked, EMPTY
    return checked, checked.pop("metadata")


def revise(
    id: str,
    changes_of: Callable[[MemoryRecord], Mapping[str, Any] | None],
    scope: WriteContext,
    *,
    in_place: bool = False,
) -> Plan[MemoryRecord | None]:
    """The plan of changing a memory depending on its present state, again if others change it.

    Changes of patchable fields can be made `in_place`. None if there is no such memory, or if
    `changes_of` it is None.
    """
    vectors: dict[str, Embedding] = {}
    for _ in range(MAX_ATTEMPTS):
        record = yield from read_record(id, scope.namespace)
        changes = None if record is None else changes_of(record)
        if record is None or changes is None:
            return None
        if not changes:
            return record
        changed = yield from _updated(record, changes, vectors, scope, in_place)
        if changed is not None:
            return changed
    raise contention_error(id)


def _updated(
    record: MemoryRecord,
    changes: Mapping[str, Any],
    vector_of: dict[str, Embedding],
    scope: WriteContext,
    in_place: bool,
) -> Plan[MemoryRecord | None]:
    """Change a memory that was just read; None if somebody else has changed it meanwhile.

    `vector_of` keeps the vectors of texts for the next attempt.
    """
    id = record.id
    changed = replace(record, **changes, updated_at=scope.now, version=record.version + 1)
    if not changes.keys().isdisjoint(("valid_from", "valid_to")):
        check_validity_period(changed)
    if "entities" not in changes:
        changed = yield from _with_new_entities(record, changed)
    names = link_targets.target_names(changed) - link_targets.target_names(record)
    old, new = yield from link_targets.pending_links_to(scope.namespace, {id: names}, scope.now)
    if in_place:
        values = {name: to_json(value) for name, value in changes.items()}
        event = Event("edit", id, scope.now, scope.actor, payload={"set": values})
        if (yield from ask(Log(scope.namespace, (event,), {id: record.version}))):
            return None
        if new:
            yield from ask(Put((), new, old, actor=scope.actor, at=scope.now))
        return changed
    vectors: dict[str, Embedding] = {}
    stale = () if embedded_text(changed) == embedded_text(record) else CONTENT_VECTORS
    if stale:
        changed = with_vector_texts(changed, dict.fromkeys(CONTENT_VECTORS))
    if scope.embeds and stale:
        texts = content_texts(changed)
        if not vector_of.keys() >= set(texts.values()):
            vector_of |= (yield from embed_to_keep(texts.values(), scope))[0]
        vectors = {name: vector_of[text] for name, text in texts.items() if text in vector_of}
    put = Put(
        (Draft(changed, vectors),),
        new,
        old,
        replace=True,
        was=(record,),
        stale=stale,
        embedder=scope.embedder,
        actor=scope.actor,
        at=scope.now,
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
    yield from ask(Put((), tuple(links), actor=scope.actor, at=scope.now))


def delete(id: str, scope: WriteContext, if_version: Any = None) -> Plan[bool]:
    """The plan of erasing one memory, if it has a version; True if there was one.

    Raises:
        VersionConflict: it has another version than `if_version`.
    """
    version = checked_version(if_version)
    if version is None:
        return bool((yield from ask(Delete(scope.namespace, (id,)))))
    is_unchanged = Compare("version", "eq", version)
    for _ in range(MAX_ATTEMPTS):
        if (yield from ask(Delete(scope.namespace, (id,), is_unchanged))):
            return True
        record = yield from read_record(id, scope.namespace)
        if record is None:
            return False
        check_version(record, version)
    raise contention_error(id)
