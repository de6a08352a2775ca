"""Writing: from what a caller gives to records with vectors, each item with its outcome."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from salience.errors import EmbedderError, InvalidInput
from salience.records.record import Draft, Embedding, MemoryRecord
from salience.records.validation import text
from salience.retrieval.operations import Dimensions, Embed, Extract
from salience.retrieval.plan import Plan, ask
from salience.write.items import Item, WriteContext, embedded_text, parse_item


def embedded_drafts(
    items: Sequence[Any], scope: WriteContext
) -> Plan[tuple[list[tuple[Draft, Item]], str]]:
    """Items checked, named and embedded, ready to be written; and why they lack vectors.

    Raises:
        InvalidInput: see `item`.
    """
    dimensions = yield from dimensions_of(items, scope)
    checked = [parse_item(given, scope, dimensions) for given in items]
    return (yield from embed_items((yield from with_entities(checked)), scope))


_MAKE_MISSING = (
    "which the same embedder makes later: `salience reembed --missing --embedder NAME`, "
    "or Memory.reembed(url, embedder=..., missing=True)"
)


def dimensions_of(chunk: Sequence[Any], scope: WriteContext) -> Plan[dict[str, int]]:
    """How long the vectors of each name are, as far as it is known and any is given."""
    known = {} if scope.dimensions is None else {"content": scope.dimensions}
    given = [each.get("vectors") for each in chunk if isinstance(each, Mapping)]
    names = {name for each in given if isinstance(each, Mapping) for name in each}
    if names:
        asked = tuple(sorted(name for name in names if _is_text(name)))
        known = {**(yield from ask(Dimensions(scope.namespace, asked))), **known}
    return known


def _is_text(value: Any) -> bool:
    try:
        return bool(text("name", value))
    except InvalidInput:
        return False


NamedItem = tuple[MemoryRecord, Item]
"""An item, and the record of it with its entities."""


def with_entities(items: Sequence[Item]) -> Plan[list[NamedItem]]:
    """The items, with the entities that their texts name where the caller gave none."""
    nameless = [each.record for each in items if not each.named]
    if not nameless:
        return [(each.record, each) for each in items]
    found = yield from ask(Extract(tuple(map(entity_text, nameless))))
    names = iter(found)
    return [
        (each.record if each.named else each.record.with_entities(next(names)), each)
        for each in items
    ]


def entity_text(record: MemoryRecord) -> str:
    """The text that entities are extracted from: title and content."""
    return f"{record.title}\n{record.content}" if record.title else record.content


def embed_items(
    items: Sequence[NamedItem], scope: WriteContext
) -> Plan[tuple[list[tuple[Draft, Item]], str]]:
    """Drafts with their vectors; a memory that cannot be embedded now is kept without."""
    wanted = [
        {
            name: words
            for name, words in {"content": embedded_text(record), **each.vector_texts}.items()
            if name not in each.vectors
        }
        for record, each in items
    ]
    made, problem = yield from embed_texts((t for texts in wanted for t in texts.values()), scope)
    drafts = [
        (Draft(record, {**each.vectors, **_made(texts, made)}), each)
        for (record, each), texts in zip(items, wanted, strict=True)
    ]
    return drafts, problem


def _made(texts: Mapping[str, str], made: Mapping[str, Embedding]) -> dict[str, Embedding]:
    return {name: made[words] for name, words in texts.items() if words in made}


def embed_texts(
    texts: Iterable[str], scope: WriteContext
) -> Plan[tuple[dict[str, Embedding], str]]:
    """The plan of embedding texts: vectors by text, none where that cannot be done, and why."""
    distinct = tuple(dict.fromkeys(texts))
    if not distinct:
        return {}, ""
    if not scope.embeds:
        return {}, "vector: the store was opened without an embedder; words alone are searched"
    try:
        rows = yield from ask(Embed(distinct, "document"))
    except EmbedderError as trouble:
        return {}, f"vector: {trouble}; kept without a vector, {_MAKE_MISSING}"
    return dict(zip(distinct, rows, strict=True)), ""
