"""A store of LangGraph over a memory: items by namespace and key, found by meaning.

    from salience.integrations.langgraph import SalienceStore

    store = SalienceStore("agent.db")
    graph = builder.compile(store=store)

An item is one memory for each of its texts: `index` says which parts of a value those are, by
default the whole of it. The labels of its namespace are metadata of their own, so a prefix matches
whole labels only.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any, Self, Unpack

from salience.closing import Closing
from salience.engine.memory import Memory
from salience.engine.options import Settings
from salience.errors import InvalidInput, NotFound
from salience.integrations._extra import extra
from salience.integrations._langchain import COSINE, conditions, opened_with
from salience.integrations._memory import MemoryLike, scope
from salience.records.record import MemoryRecord
from salience.retrieval.plan import in_thread
from salience.search.request import MAX_HITS

with extra("langgraph"):
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        IndexConfig,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        ensure_embeddings,
        get_text_at_path,
        validate_op_namespace,
    )

KIND = "langgraph"
"""The `kind` of the memories that are items; no other memory of a namespace is seen."""
PAGE = 1_000  # memories read at once
SWEEP_MINUTES = 5.0
_WHOLE = "$"


class SalienceStore(Closing, BaseStore):
    """The items of a LangGraph store, kept in a memory.

    Its methods are those of `BaseStore`, sync and awaited. A search with a query ranks: by cosines
    of your embeddings where `index` has an "embed", else by salience's own ranking, where `score`
    is on the scale of the profile. Items that are not indexed come last, without a score.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: MemoryLike,
        *,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        """Make a store over a memory, or open the one at an address.

        Args:
            memory: a memory, or an address as `Memory.open` takes it.
            index: "fields", the paths of the texts of a value ("$", the whole, by default);
                "embed", embeddings that rank in place of salience, and their "dims".
            ttl: "default_ttl", the minutes that an item lives if `put` does not say;
                "refresh_on_read" (True), if reading lets it live as long again;
                "sweep_interval_minutes" of `start_ttl_sweeper`.
            settings: those of `Memory.open`, for an address.

        Raises:
            InvalidInput: a setting is wrong, or "embed" is given for a memory that is open already
                or at a server, which has an embedder of its own.
            SalienceError: the address cannot be opened.
        """
        self.index_config = index
        self.ttl_config = ttl
        embed = (index or {}).get("embed")
        self.embeddings = None if embed is None else ensure_embeddings(embed)
        self._fields = tuple((index or {}).get("fields") or (_WHOLE,))
        dimensions = (index or {}).get("dims")
        self._opened = opened_with(self.embeddings, memory, settings, dimensions)
        self._sweeper: threading.Thread | None = None
        self._stop = threading.Event()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Answer operations in their order; all reads see what was there before the writes.

        Raises:
            InvalidNamespaceError: a label is wrong; nothing was done.
            InvalidInput: a value cannot be kept; nothing was written.
        """
        ops, memory = list(ops), self._opened.sync
        for op in ops:
            validate_op_namespace(op)
        results: list[Result] = []
        puts: dict[tuple[tuple[str, ...], str], PutOp] = {}
        for op in ops:
            if isinstance(op, GetOp):
                results.append(_get(memory, op))
            elif isinstance(op, SearchOp):
                results.append(self._search(op))
            elif isinstance(op, ListNamespacesOp):
                results.append(_list_namespaces(memory, op))
            elif isinstance(op, PutOp):
                puts[(op.namespace, op.key)] = op
                results.append(None)
            else:
                raise ValueError(f"Unknown operation type: {type(op)}")
        if puts:
            self._put(puts.values())
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """`batch`, awaited."""
        return await in_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Erase the items whose time is over; returns how many. No search found them any more."""
        memory = self._opened.sync
        over = {"and": [{"kind": KIND}, {"expires_at": {"lte": _now()}}]}
        count: int = memory.count({"and": [over, {"metadata.part": 0}]})
        if count:
            memory.delete_all(over)
        return count

    async def asweep_ttl(self) -> int:
        """`sweep_ttl`, awaited."""
        return await in_thread(self.sweep_ttl)

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> None:
        """Sweep again and again in a thread, until `stop_ttl_sweeper` or `close`.

        Args:
            sweep_interval_minutes: the minutes between; by default those of `ttl`, else 5.
        """
        configured = (self.ttl_config or {}).get("sweep_interval_minutes")
        minutes = sweep_interval_minutes or configured or SWEEP_MINUTES
        if self._sweeper is None:
            self._stop.clear()
            sweep = partial(self._sweep_until_stopped, minutes * 60)
            self._sweeper = threading.Thread(target=sweep, daemon=True, name="salience-sweeper")
            self._sweeper.start()

    def stop_ttl_sweeper(self) -> None:
        """Stop the sweeping, and wait until it has."""
        self._stop.set()
        if self._sweeper is not None:
            self._sweeper.join()
            self._sweeper = None

    def close(self) -> None:
        """Stop the sweeping, and close what was opened by an address."""
        self.stop_ttl_sweeper()
        self._opened.close()

    async def aclose(self) -> None:
        """`close`, awaited."""
        self.stop_ttl_sweeper()
        await self._opened.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()

    def _put(self, puts: Iterable[PutOp]) -> None:
        """Write items; texts that they had and have no more are erased."""
        memory = self._opened.sync
        before = {_id(op.namespace, op.key): op for op in puts}
        stored = memory.get_many(list(before))
        now = datetime.now(timezone.utc)
        items: list[dict[str, Any]] = []
        for op in before.values():
            if op.value is not None:
                items += self._memories(op, now)
        current = {item["id"] for item in items}
        if items:
            write: Any = {"strict": True, "dedup": False, "on_conflict": "replace"}
            memory.add_many(items, **write)
        for record in stored:  # a replacement without a time leaves that which there is
            if record is not None and record.expires_at is not None:
                op = before[record.id]
                if op.value is not None and op.ttl is None:
                    for id in sorted(current.intersection(_parts(record))):
                        memory.update(id, expires_at=None)
        former = {id for record in stored if record is not None for id in _parts(record)}
        if former - current:
            memory.delete_many(sorted(former - current))

    def _memories(self, op: PutOp, now: datetime) -> Iterator[dict[str, Any]]:
        """The memories of an item: one for each text, or one that no query finds."""
        value = dict(op.value or {})
        paths = self._fields if op.index is None else op.index or ()
        texts = self._texts(value, paths)
        metadata = {
            "key": op.key,
            "namespace": {str(place): label for place, label in enumerate(op.namespace)},
            "value": value,
            "updated_at": now.timestamp(),
            "is_indexed": bool(texts),
            "parts": max(len(texts), 1),
            "ttl": op.ttl,
        }
        contents = texts or [json.dumps(value, default=str, ensure_ascii=False)]
        for part, content in enumerate(contents):
            yield {
                "id": _id(op.namespace, op.key, part),
                "content": content,
                "kind": KIND,
                "metadata": {**metadata, "part": part},
                "expires_at": _expiry(op.ttl, now),
            }

    def _texts(self, value: dict[str, Any], paths: Iterable[str]) -> list[str]:
        """The texts at paths of a value; the words of the whole for a reader without JSON."""
        texts: list[str] = []
        for path in paths:
            if path == _WHOLE and self.embeddings is None:
                texts.append("\n".join(_leaves(value)))
            else:
                texts += get_text_at_path(value, path)
        return [text for text in texts if text.strip()]

    def _search(self, op: SearchOp) -> list[SearchItem]:
        """The items of a search: ranked by its query, else the newest first."""
        memory = self._opened.sync
        end, scored = max(op.offset, 0) + max(op.limit, 0), []
        where = [_within(op.namespace_prefix), *conditions("metadata.value", op.filter or {})]
        if op.query and op.query.strip():
            scored = self._ranked(op.query, where, end)
            where.append({"metadata.is_indexed": False})
        records: list[tuple[MemoryRecord, float | None]] = list(scored)
        if len(records) < end:
            unranked = _listed(memory, where, end - len(records))
            records += [(record, None) for record in unranked]
        page = records[op.offset : end]
        if op.refresh_ttl:
            for record, _ in page:
                _refresh(memory, record)
        return [SearchItem(**_fields(record), score=score) for record, score in page]

    def _ranked(
        self, query: str, where: list[dict[str, Any]], count: int
    ) -> list[tuple[MemoryRecord, float | None]]:
        """The best items for a query, each by the best of its texts."""
        if count > MAX_HITS:
            remedy = f"ask for a page within the first {MAX_HITS:,} items of a query"
            raise InvalidInput("offset", f"and limit reach {count:,}", remedy)
        options: dict[str, Any] = {"filters": {"and": [*where, {"metadata.is_indexed": True}]}}
        if self.embeddings is not None:
            options["profile"] = COSINE
        limit = count
        while limit:
            hits = self._opened.sync.search(query, limit=limit, **options)
            current = _current(self._opened.sync, [hit.record for hit in hits])
            best: dict[str, tuple[MemoryRecord, float | None]] = {}
            for hit in hits:
                if hit.record.id in current:
                    best.setdefault(_item_id(hit.record), (hit.record, hit.score))
            if len(best) >= count or len(hits) < limit or limit == MAX_HITS:
                return list(best.values())[:count]
            limit = min(2 * limit, MAX_HITS)  # several texts were of one item
        return []

    def _sweep_until_stopped(self, seconds: float) -> None:
        while not self._stop.wait(seconds):
            self.sweep_ttl()


def _current(memory: Memory, records: Sequence[MemoryRecord]) -> set[str]:
    """The ids of those memories that are of the last write of their item.

    Of two writers at once, one may have left texts that the item of the other lacks.
    """
    several = [record for record in records if record.metadata["parts"] > 1]
    ids = sorted({_item_id(record) for record in several})
    firsts: Sequence[MemoryRecord | None] = ()
    if ids:
        firsts = memory.get_many(ids)
    writes = {first.id: first.metadata["updated_at"] for first in firsts if first is not None}
    former = {r.id for r in several if writes.get(_item_id(r)) != r.metadata["updated_at"]}
    return {record.id for record in records} - former


def _get(memory: Memory, op: GetOp) -> Item | None:
    """The item of a key."""
    record = memory.get(_id(op.namespace, op.key))
    if record is None or record.kind != KIND or _is_over(record):
        return None
    if op.refresh_ttl:
        _refresh(memory, record)
    return Item(**_fields(record))


def _listed(memory: Memory, where: list[dict[str, Any]], count: int) -> list[MemoryRecord]:
    """The newest items that meet conditions, at most `count`."""
    conditions = [*where, {"metadata.part": 0}, {"not": {"expires_at": {"lte": _now()}}}]
    records: list[MemoryRecord] = []
    filters, cursor = {"and": conditions}, None
    while len(records) < count:
        limit = min(count - len(records), PAGE)
        page = memory.get_all(filters, limit=limit, cursor=cursor)
        records += page
        cursor = page.cursor
        if cursor is None:
            break
    return records


def _list_namespaces(memory: Memory, op: ListNamespacesOp) -> list[tuple[str, ...]]:
    """The namespaces that hold items and match, in their order."""
    matching = op.match_conditions or ()
    where = [{"kind": KIND}]
    where += [_prefix(condition.path) for condition in matching if condition.match_type == "prefix"]
    records = _listed(memory, where, 2**63)
    names = {_labels(record) for record in records}
    names = {name for name in names if all(_matches(condition, name) for condition in matching)}
    if op.max_depth is not None:
        names = {name[: op.max_depth] for name in names}
    return sorted(names)[op.offset : op.offset + op.limit]


def _matches(condition: MatchCondition, labels: tuple[str, ...]) -> bool:
    """Test whether the labels of a namespace begin or end with a path; "*" is any one label."""
    path = condition.path
    if len(labels) < len(path):
        return False
    if condition.match_type == "prefix":
        part = labels[: len(path)]
    elif condition.match_type == "suffix":
        part = labels[len(labels) - len(path) :]
    else:
        raise ValueError(f"Unsupported match type: {condition.match_type}")
    return all(pattern in ("*", label) for pattern, label in zip(path, part, strict=True))


def _refresh(memory: Memory, record: MemoryRecord) -> None:
    """Let an item live as long again, if it has a time to live."""
    if (ttl := record.metadata.get("ttl")) is None:
        return
    expires_at = _expiry(ttl, datetime.now(timezone.utc))
    for id in _parts(record):
        with suppress(NotFound):  # erased meanwhile
            memory.update(id, expires_at=expires_at)


def _id(namespace: tuple[str, ...], key: str, part: int = 0) -> str:
    """The id of the memory of one text of an item."""
    return f"{KIND}:{scope(*namespace, key)}#{part}"


def _item_id(record: MemoryRecord) -> str:
    return _id(_labels(record), record.metadata["key"])


def _parts(record: MemoryRecord) -> list[str]:
    """The ids of all memories of the item that a record is of."""
    labels, metadata = _labels(record), record.metadata
    return [_id(labels, metadata["key"], part) for part in range(metadata["parts"])]


def _labels(record: MemoryRecord) -> tuple[str, ...]:
    namespace = record.metadata["namespace"]
    return tuple(namespace[str(place)] for place in range(len(namespace)))


def _fields(record: MemoryRecord) -> dict[str, Any]:
    """The fields of the item of a record; its value is a copy, which the caller may change."""
    updated_at = datetime.fromtimestamp(record.metadata["updated_at"], timezone.utc)
    return {
        "value": deepcopy(dict(record.metadata["value"])),
        "key": record.metadata["key"],
        "namespace": _labels(record),
        "created_at": record.created_at,
        "updated_at": max(record.created_at, updated_at),  # of the clock of the store, and of ours
    }


def _now() -> float:
    return datetime.now(timezone.utc).timestamp()


def _is_over(record: MemoryRecord) -> bool:
    return record.expires_at is not None and record.expires_at.timestamp() <= _now()


def _expiry(ttl: float | None, now: datetime) -> datetime | None:
    """The time in a number of minutes."""
    return None if ttl is None else now + timedelta(minutes=ttl)


def _leaves(value: Any) -> Iterator[str]:
    """The texts and numbers in a value, in its order."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)


def _within(prefix: tuple[str, ...]) -> dict[str, Any]:
    """The filter for items whose namespace begins with these labels."""
    return {
        "kind": KIND,
        **{f"metadata.namespace.{place}": {"eq": label} for place, label in enumerate(prefix)},
    }


def _prefix(path: tuple[str, ...]) -> dict[str, Any]:
    """The filter for a prefix of `list_namespaces`, where "*" is any one label."""
    return {
        f"metadata.namespace.{place}": {"exists": True} if label == "*" else {"eq": label}
        for place, label in enumerate(path)
    }
