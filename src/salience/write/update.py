"""Changing memories: updating, linking, deleting."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from salience.display.result import to_json
from salience.errors import InvalidInput
from salience.records.events import Event, counted_edit
from salience.records.fields import FIELDS
from salience.records.filters import And, Compare, Not, Or
from salience.records.record import EMPTY, Edit, Embedding, Link, MemoryRecord
from salience.records.validation import text
from salience.retrieval.erasure import Erased, Erasure, ErasureReceipt
from salience.retrieval.operations import (
    Delete,
    Extract,
    ListRecords,
    Log,
    Put,
    Rewrite,
    RowsById,
)
from salience.retrieval.plan import Plan, ask
from salience.write import link_targets
from salience.write.embedding import embed_to_keep, entity_text
from salience.write.items import (
    CHECKS,
    CONTENT_VECTORS,
    WriteContext,
    check_field,
    check_validity_period,
    content_texts,
    embedded_text,
    metadata_for,
    secret_of,
    text_links,
    with_vector_texts,
)
from salience.write.reading import (
    MAX_ATTEMPTS,
    check_version,
    checked_version,
    contention_error,
    not_found,
    read_existing,
    read_record,
)

_NAMING = ("content", "title", "gist", "speaker", "user_id", "agent_id")
_NAMING_LISTS = ("tags", "entities")
_MAX_NAMING = 1_000  # ids in a receipt
_REPLACE_METADATA = "replace_metadata"


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
    fields, merge = _checked_changes(changes, scope)
    secret_of((fields.get("content"), fields.get("title")), scope)
    in_place = all(FIELDS[name].patchable for name in fields)
    vector_of: dict[str, Embedding] = {}
    for _ in range(MAX_ATTEMPTS):
        record = yield from read_existing(id, scope.namespace)
        check_version(record, version)
        present = fields
        if merge:
            merged = _merged_metadata(record.metadata, merge)
            present = {**fields, "metadata": check_field("metadata", merged, scope.limits)}
        elif "metadata" in fields:
            present = {**fields, "metadata": metadata_for(record, fields["metadata"])}
        if not present:
            return record
        changed = yield from _changed(record, present, vector_of, scope, in_place)
        if changed is not None:
            return changed
    raise contention_error(id)


def _merged_metadata(old: Mapping[str, Any], keys: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata with some keys set to other values; None removes a key."""
    removed = {key for key, value in keys.items() if value is None}
    return {key: value for key, value in {**old, **keys}.items() if key not in removed}


def _checked_changes(
    changes: Mapping[str, Any], scope: WriteContext
) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """The checked fields that an update sets, and the keys that it merges into the metadata."""
    allowed = set(CHECKS) - {"id", "added_at"} | {_REPLACE_METADATA}
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
    checked = {
        name: check_field(name, value, scope.limits, scope.zone) for name, value in fields.items()
    }
    if changes.get("metadata") is None:  # as for every field, None empties it
        return checked, EMPTY
    return checked, checked.pop("metadata")


def _changed(
    record: MemoryRecord,
    changes: Mapping[str, Any],
    vector_of: dict[str, Embedding],
    scope: WriteContext,
    in_place: bool,
) -> Plan[MemoryRecord | None]:
    """Change a memory that was just read; None if somebody else has changed it meanwhile."""
    id = record.id
    if in_place:
        changed = changed_record(record, changes, scope)
        values = {name: to_json(value) for name, value in changes.items()}
        event = Event("edit", id, scope.now, scope.actor, payload={"set": values})
        log = Log(scope.namespace, (event,), (record,))
    else:
        edit = yield from edit_of(record, changes, scope, vector_of)
        changed = edit.record
    names = link_targets.target_names(changed) - link_targets.target_names(record)
    pending = yield from link_targets.pending_links_to(scope.namespace, {id: names}, scope.now)
    before, now = text_links(record, scope), text_links(changed, scope)
    gained, lost = yield from link_targets.followed(scope.namespace, before, now, {id: names})
    links, unlinks = (*pending.new, *gained), (*pending.old, *lost)
    brought = pending.brought | {link.key for link in gained}
    put = Put((), links, unlinks, None, scope.actor, at=scope.now, brought=brought)
    if not in_place:
        put = replace(put, drafts=(edit,), embedder=scope.embedder)
    elif pending.new:
        put = replace(put, also=log)
    if (yield from ask(log if in_place and not pending.new else put)):
        return None
    if changed.content == record.content:
        return changed
    return replace(changed, **counted_edit(record.write_count, record.accesses, scope.now))


def changed_record(
    record: MemoryRecord, changes: Mapping[str, Any], scope: WriteContext
) -> MemoryRecord:
    """The next version of a memory, with some fields changed.

    Raises:
        InvalidInput: its validity would end before it begins.
    """
    changed = replace(record, **changes, updated_at=scope.now, version=record.version + 1)
    if not changes.keys().isdisjoint(("valid_from", "valid_to")):
        check_validity_period(changed)
    return changed


def edit_of(
    record: MemoryRecord,
    changes: Mapping[str, Any],
    scope: WriteContext,
    vector_of: dict[str, Embedding],
) -> Plan[Edit]:
    """The plan of making the edit that changes fields of a memory, with the vectors of its text.

    `vector_of` keeps the vectors of texts, for another attempt.
    """
    changed = changed_record(record, changes, scope)
    if "entities" not in changes:
        changed = yield from _with_new_entities(record, changed)
    vectors: dict[str, Embedding] = {}
    stale = () if embedded_text(changed) == embedded_text(record) else CONTENT_VECTORS
    if stale:
        changed = with_vector_texts(changed, dict.fromkeys(CONTENT_VECTORS))
    if scope.embeds and stale:
        texts = content_texts(changed)
        if not vector_of.keys() >= set(texts.values()):
            vector_of |= (yield from embed_to_keep(texts.values(), scope))[0]
        vectors = {name: vector_of[text] for name, text in texts.items() if text in vector_of}
    return Edit(changed, vectors, was=record, stale=stale)


def _with_new_entities(record: MemoryRecord, changed: MemoryRecord) -> Plan[MemoryRecord]:
    """The changed record, with the entities of its new text if those of the old were extracted."""
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


def delete(id: str, scope: WriteContext, if_version: Any = None) -> Plan[Erased]:
    """The plan of erasing one memory, if it has a version; 1 if there was one.

    Raises:
        VersionConflict: it has another version than `if_version`.
    """
    version, erasing = checked_version(if_version), scope.erasing("delete")
    if version is None:
        erasure = yield from ask(Delete(scope.namespace, erasing, (id,)))
        return Erased(erasure.memories, erasure.restored)
    is_unchanged = Compare("version", "eq", version)
    for _ in range(MAX_ATTEMPTS):
        erasure = yield from ask(Delete(scope.namespace, erasing, (id,), is_unchanged))
        if erasure.memories:
            return Erased(erasure.memories, erasure.restored)
        record = yield from read_record(id, scope.namespace)
        if record is None:
            return Erased()
        check_version(record, version)
    raise contention_error(id)


# Erasing memories by a filter, or all of a namespace, with a receipt


def erase(op: Delete, *, rewrite: bool = False) -> Plan[ErasureReceipt]:
    """The plan of erasing; with `rewrite`, it rewrites the whole store afterwards.

    Raises:
        StoreError: something was not erased, or all was, but the store could not be rewritten.
    """
    assert op.erasing is not None  # the receipt says when it was
    naming = (yield from _naming(op)) if op.user_id else ()
    erasure: Erasure = yield from ask(op)
    receipt = ErasureReceipt(
        op.namespace,
        op.erasing.at,
        erasure.erased,
        erasure.remaining,
        erasure.disk,
        user_id=op.user_id,
        naming=naming,
        restored=erasure.restored,
    )
    if not rewrite:
        return receipt
    disk = yield from ask(Rewrite())
    return replace(receipt, disk=disk, rewritten=True)


def _naming(op: Delete) -> Plan[tuple[str, ...]]:
    """The ids of memories that name the forgotten user and are not erased with them."""
    name = str(op.user_id)
    naming = Or(
        (
            *(Compare(field, "contains", name) for field in _NAMING),
            *(Compare(field, "contains", name.casefold()) for field in _NAMING_LISTS),
        )
    )
    assert op.where is not None  # a user is forgotten by a filter
    where = And((naming, Not(op.where)))
    # In scripts without spaces between words there is no telling where a name ends.
    pattern = rf"(?<!\w){re.escape(name)}(?!\w)" if name.isascii() else re.escape(name)
    is_named = re.compile(pattern, re.IGNORECASE).search
    ids: list[str] = []
    after = None
    while len(ids) < _MAX_NAMING:
        listing = yield from ask(ListRecords(op.namespace, where, _MAX_NAMING, after=after))
        for record in listing.records:
            texts = [getattr(record, field) for field in _NAMING]
            lists = [element for field in _NAMING_LISTS for element in getattr(record, field)]
            if any(text and is_named(text) for text in (*texts, *lists)):
                ids.append(record.id)
        after = listing.last
        if after is None:
            break
    return tuple(ids[:_MAX_NAMING])
