"""Embedding: items become drafts with entities and vectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from salience.errors import EmbedderError, InvalidInput
from salience.records.record import Draft, Embedding, MemoryRecord, new_id
from salience.records.validation import mapping, text
from salience.retrieval.operations import Dimensions, Embed, Extract, Note, Notes
from salience.retrieval.plan import Plan, ask
from salience.write.items import Item, WriteContext, content_texts, parse_item
from salience.write.reading import MAX_ATTEMPTS


def embedded_drafts(
    items: Sequence[Any], scope: WriteContext
) -> Plan[tuple[list[tuple[Draft, Item]], str]]:
    """The plan of making drafts of items, with entities and vectors; and why these are missing.

    Raises:
        InvalidInput: see `item`.
    """
    dimensions = yield from dimensions_of(items, scope)
    checked = [parse_item(source, scope, dimensions) for source in items]
    return (yield from embed_items((yield from with_entities(checked)), scope))


_REMEDY = (
    "which the same embedder makes later by itself; or at once: `salience reembed --missing "
    "--embedder NAME`, or Memory.upkeep.reembed(url, embedder=..., missing=True)"
)


MISSING_NOTE = "vectors-missing"
"""The key of the note that memories of a namespace lack vectors that they should have."""


def dimensions_of(chunk: Sequence[Any], scope: WriteContext) -> Plan[dict[str, int]]:
    """The dimensions of the vectors of each name that items bring, as far as they are known."""
    dimensions = {} if scope.dimensions is None else {"content": scope.dimensions}
    names = {name for item in chunk if isinstance(item, Mapping) for name in _vectors_of(item)}
    if names:
        valid = tuple(sorted(name for name in names if _is_text(name)))
        dimensions = {**(yield from ask(Dimensions(scope.namespace, valid))), **dimensions}
    return dimensions


def _vectors_of(item: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """The vectors that an item brings; none if they are wrong, which its check reports later."""
    try:
        vectors = mapping("item", item).get("vectors")
        return {} if vectors is None else mapping("vectors", vectors)
    except InvalidInput:
        return {}


def _is_text(value: Any) -> bool:
    try:
        return bool(text("name", value))
    except InvalidInput:
        return False


NamedItem = tuple[MemoryRecord, Item]
"""An item, and the record of it with its entities."""


def with_entities(items: Sequence[Item]) -> Plan[list[NamedItem]]:
    """The items with their records, which have the entities of their text if none were given."""
    unnamed = [item.record for item in items if not item.named]
    if not unnamed:
        return [(item.record, item) for item in items]
    entities = iter((yield from ask(Extract(tuple(map(entity_text, unnamed))))))
    return [
        (item.record if item.named else item.record.with_entities(next(entities)), item)
        for item in items
    ]


def entity_text(record: MemoryRecord) -> str:
    """The text that entities are extracted from: title and content."""
    return f"{record.title}\n{record.content}" if record.title else record.content


def embed_items(
    items: Sequence[NamedItem], scope: WriteContext
) -> Plan[tuple[list[tuple[Draft, Item]], str]]:
    """Drafts with their vectors, and why some are missing; memories are kept without these."""
    missing = [
        {
            name: text
            for name, text in {**_content_texts(record, item), **item.vector_texts}.items()
            if name not in item.vectors
        }
        for record, item in items
    ]
    texts = (text for by_name in missing for text in by_name.values())
    vector_of, problem = yield from embed_to_keep(texts, scope)
    drafts = []
    for (record, item), by_name in zip(items, missing, strict=True):
        vectors = {name: vector_of[text] for name, text in by_name.items() if text in vector_of}
        drafts.append((Draft(record, {**item.vectors, **vectors}), item))
    return drafts, problem


def _content_texts(record: MemoryRecord, item: Item) -> dict[str, str]:
    """The texts of the vectors of a record's content: none if the caller brings that vector."""
    return {} if "content" in item.vectors else content_texts(record)


def note_missing(namespace: str) -> Plan[None]:
    """The plan of noting that a memory is about to be kept without the vector that it should have.

    The note has a new text each time: removing it fails unless everything it stands for was seen.
    """
    for _ in range(MAX_ATTEMPTS):
        notes: Mapping[str, str] = yield from ask(Notes(namespace))
        if (yield from ask(Note(namespace, MISSING_NOTE, new_id(), notes.get(MISSING_NOTE)))):
            return


def embed_to_keep(
    texts: Iterable[str], scope: WriteContext
) -> Plan[tuple[dict[str, Embedding], str]]:
    """The plan of `embed_texts` for memories about to be kept; missing vectors come later."""
    vectors, problem = yield from embed_texts(texts, scope)
    if problem and scope.embeds:
        yield from note_missing(scope.namespace)
    return vectors, problem


def embed_texts(
    texts: Iterable[str], scope: WriteContext
) -> Plan[tuple[dict[str, Embedding], str]]:
    """The plan of embedding texts: vectors by text, and why there are none if it fails."""
    distinct = tuple(dict.fromkeys(texts))
    if not distinct:
        return {}, ""
    if not scope.embeds:
        return {}, "vector: the store was opened without an embedder; words alone are searched"
    try:
        rows = yield from ask(Embed(distinct, "document"))
    except EmbedderError as problem:
        return {}, f"vector: {problem}; kept without a vector, {_REMEDY}"
    return dict(zip(distinct, rows, strict=True)), ""
