"""Adding: each item becomes a memory, or its outcome says why it does not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from salience.errors import InvalidInput
from salience.records.record import Link
from salience.retrieval.plan import Plan
from salience.write import link_targets
from salience.write.chunk import CheckedItem, WriteRules, write_chunk
from salience.write.dedup import DedupPolicy
from salience.write.embedding import dimensions_of
from salience.write.idempotency import Once
from salience.write.items import WriteContext, parse_item
from salience.write.outcomes import Added, AddResult
from salience.write.upsert import OnConflict

CHUNK_ITEMS = 2048  # memories in one transaction


def add(
    items: Iterable[Any],
    scope: WriteContext,
    policy: DedupPolicy,
    *,
    strict: bool,
    on_conflict: OnConflict = "error",
    progress: Any = None,
    once: Once | None = None,
    first: int = 0,
) -> Plan[AddResult]:
    """The plan of adding items: chunk by chunk, each chunk one transaction.

    By `on_conflict`, an item whose id a memory has is refused, replaces the memory, or leaves it.

    With `strict`, the first wrong item raises and nothing of its chunk is written; otherwise wrong
    items are REJECTED and the rest is added.

    Repeating the idempotency key `once` adds nothing; `first` is the place of the first item among
    those that came with it.
    """
    iterator = iterator_of(items)
    outcomes: list[Added] = []
    degraded: dict[str, None] = {}
    links: list[Link] = []
    rules = WriteRules(policy, strict, on_conflict, None if once is None else once.body)
    for chunk in _chunks(iterator) if on_conflict == "error" else _chunks_of_distinct_ids(iterator):
        checked = yield from checked_items(chunk, scope, strict)
        if once is not None:
            checked = once.keyed(checked, first + len(outcomes))
        written = yield from write_chunk(checked, scope, rules)
        outcomes += written.outcomes
        links += written.links
        if written.problem:
            degraded[written.problem] = None
        if progress is not None:
            progress(len(outcomes))
    pending = yield from link_targets.pending_links(scope.namespace, links)
    return AddResult(tuple(outcomes), tuple(degraded), tuple(pending))


def _chunks(items: Iterator[Any]) -> Iterator[list[Any]]:
    while chunk := list(islice(items, CHUNK_ITEMS)):
        yield chunk


def iterator_of(items: Any) -> Iterator[Any]:
    """The iterator over a collection of items; InvalidInput for anything else."""
    try:
        if not isinstance(items, (str, bytes, Mapping)):
            return iter(items)
    except Exception:  # of any kind, in a type from outside
        pass
    raise InvalidInput("items", f"must be a list of items, not {type(items).__name__}")


def _chunks_of_distinct_ids(items: Iterator[Any]) -> Iterator[list[Any]]:
    """Chunks that end before an id would occur again: its second item meets the first's memory."""
    chunk: list[Any] = []
    ids: set[str] = set()
    for item in items:
        id = id_of(item)
        if len(chunk) == CHUNK_ITEMS or id in ids:
            yield chunk
            chunk, ids = [], set()
        chunk.append(item)
        if id is not None:
            ids.add(id)
    if chunk:
        yield chunk


def checked_items(
    chunk: Sequence[Any], scope: WriteContext, strict: bool
) -> Plan[list[CheckedItem]]:
    """Each item of a chunk as it can be written, or its outcome if it cannot."""
    checked: list[CheckedItem] = []
    dimensions = yield from dimensions_of(chunk, scope)
    for source in chunk:
        try:
            item = parse_item(source, scope, dimensions)
            checked.append(item)
            for name, vector in item.vectors.items():
                dimensions.setdefault(name, len(vector))
        except InvalidInput as problem:
            if strict:
                raise
            checked.append(Added(id_of(source), "REJECTED", str(problem)))
    return checked


def id_of(source: Any) -> str | None:
    """The id that a caller gave to an item, if it is text."""
    id = source.get("id") if isinstance(source, Mapping) else None
    return id if isinstance(id, str) else None
