"""Haystack: a document store, a retriever over it, and a writer that keeps what is said."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Self

from salience.display.for_models import clean, fenced
from salience.engine.memory import Memory
from salience.errors import IdTaken, InvalidInput
from salience.integrations._extra import extra
from salience.integrations._memory import (
    MemoryLike,
    Opened,
    awaited,
    without_items,
    written_address,
)
from salience.records.filters import Filter, parse_filter
from salience.records.record import MemoryRecord
from salience.retrieval.plan import in_thread
from salience.search.results import Hit, SearchResult
from salience.write.upsert import OnConflict

with extra("haystack"):
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.dataclasses import ChatMessage
    from haystack.document_stores.errors import DuplicateDocumentError
    from haystack.document_stores.types import DuplicatePolicy, FilterPolicy, apply_filter_policy
    from haystack.errors import FilterError

KIND = "document"  # of memories that a pipeline wrote
_ON_CONFLICT: Mapping[DuplicatePolicy, OnConflict] = {
    DuplicatePolicy.NONE: "error",
    DuplicatePolicy.FAIL: "error",
    DuplicatePolicy.SKIP: "skip",
    DuplicatePolicy.OVERWRITE: "replace",
}
_SPOKEN = ("user", "assistant")


class SalienceDocumentStore:
    """A document store of Haystack: one user's memories, in a namespace of their own.

    Documents are kept with their id, content and meta. Their embeddings are not: salience makes
    its own. Memories that came by another way are documents, too, with `speaker`, `session_id`,
    `kind` and `created_at` in their meta.
    """

    def __init__(self, memory: MemoryLike, *, user_id: str | None = None) -> None:
        """Take or open a memory for one user.

        Args:
            memory: an open memory, or the address of one: a file, a URL, `http://host:port`.
            user_id: whose memories these are: they are in the namespace `scope(user_id)`, and
                nobody else's are seen. By default they are in that of the memory.
        """
        self._given, self._user_id = memory, user_id
        self.memory = Opened(memory).of_user(user_id)

    def to_dict(self) -> dict[str, Any]:
        """The mapping that `from_dict` makes the same store from, without its documents.

        Raises:
            InvalidInput: the memory was given open, or its address has a password.
        """
        address = written_address(self._given)
        return default_to_dict(self, memory=address, user_id=self._user_id)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Make a store from the mapping of `to_dict`."""
        return default_from_dict(cls, data)

    def count_documents(self) -> int:
        """Count the documents."""
        return self.memory.sync.count()

    count_documents_async = awaited(count_documents)

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """Get the documents that pass a filter of Haystack, the oldest first."""
        records = self.memory.sync.iterate(_filter(filters), order="oldest")
        return [_document(record) for record in records]

    filter_documents_async = awaited(filter_documents)

    def write_documents(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """Keep documents; returns how many were written.

        Raises:
            DuplicateDocumentError: an id is taken, and the policy is FAIL or NONE; nothing was
                written.
            InvalidInput: a document has no text, or is too large; nothing was written.
        """
        return _writing(self.memory.sync, documents, policy)

    write_documents_async = awaited(write_documents)

    def delete_documents(self, document_ids: list[str]) -> None:
        """Erase the documents of some ids; unknown ones are passed over."""
        self.memory.sync.delete_many(document_ids)

    delete_documents_async = awaited(delete_documents)

    def close(self) -> None:
        """Close what was opened here; a memory that was given stays open."""
        self.memory.close()

    close_async = awaited(close)


@component
class SalienceRetriever:
    """A component that finds the memories that matter for a query.

    `documents` are the hits, best first, with scores on the scale of the profile. `recalled` is
    their text for a prompt: fenced, each with who said it and when.
    """

    def __init__(
        self,
        document_store: SalienceDocumentStore,
        *,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        min_similarity: float | None = None,
        max_tokens: int = 2000,
        filter_policy: FilterPolicy = FilterPolicy.REPLACE,
    ) -> None:
        """Make a retriever over a store.

        Args:
            document_store: where to search.
            filters: a filter of Haystack that each memory must pass.
            top_k: the most hits, 1 to 1000.
            min_similarity: leave out memories whose cosine with the query is below it.
            max_tokens: the most tokens of `recalled`.
            filter_policy: how filters of a run stand to those given here.
        """
        self.document_store = document_store
        self.filters, self.top_k, self.filter_policy = filters, top_k, filter_policy
        self.min_similarity, self.max_tokens = min_similarity, max_tokens

    def to_dict(self) -> dict[str, Any]:
        """The mapping that `from_dict` makes the same component from."""
        return default_to_dict(
            self,
            document_store=self.document_store,
            filters=self.filters,
            top_k=self.top_k,
            min_similarity=self.min_similarity,
            max_tokens=self.max_tokens,
            filter_policy=self.filter_policy.value,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Make a component from the mapping of `to_dict`."""
        settings = dict(data["init_parameters"])
        policy = FilterPolicy.from_str(settings["filter_policy"])
        return default_from_dict(
            cls, {**data, "init_parameters": {**settings, "filter_policy": policy}}
        )

    @component.output_types(documents=list[Document], recalled=str)
    def run(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, Any]:
        """Find the memories that matter for a query.

        Raises:
            FilterError: the filter is wrong.
            InvalidInput: the query is empty, or `top_k` out of range.
        """
        options = self._options(filters, top_k)
        return self._outputs(self.document_store.memory.sync.search(query, **options))

    @component.output_types(documents=list[Document], recalled=str)
    async def run_async(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, Any]:
        """Find the memories that matter for a query, as `run` does."""
        return await in_thread(self.run, query, filters, top_k)

    def _options(self, filters: dict[str, Any] | None, top_k: int | None) -> dict[str, Any]:
        policy = apply_filter_policy(self.filter_policy, self.filters, filters)
        return {
            "filters": without_items(_filter(policy)),
            "limit": self.top_k if top_k is None else top_k,
            "options": {"min_similarity": self.min_similarity},
        }

    def _outputs(self, result: SearchResult) -> dict[str, Any]:
        recalled = fenced(result, max_tokens=self.max_tokens)
        return {"documents": [_document(hit) for hit in result], "recalled": recalled}


@component
class SalienceWriter:
    """A component that keeps the messages of a conversation as turns of a session."""

    def __init__(self, document_store: SalienceDocumentStore, *, session_id: str | None = None):
        """Make a writer to a store.

        Args:
            document_store: where to keep them.
            session_id: the session of messages whose run names none.
        """
        self.document_store, self.session_id = document_store, session_id

    def to_dict(self) -> dict[str, Any]:
        """The mapping that `from_dict` makes the same component from."""
        return default_to_dict(self, document_store=self.document_store, session_id=self.session_id)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Make a component from the mapping of `to_dict`."""
        return default_from_dict(cls, data)

    @component.output_types(messages_written=int)
    def run(
        self,
        messages: list[ChatMessage],
        replies: list[ChatMessage] | None = None,
        session_id: str | None = None,
    ) -> dict[str, int]:
        """Keep what the user and the assistant said; other messages are passed over."""
        turns = [
            {"role": message.role.value, "content": message.text, "name": message.name}
            for message in (*messages, *(replies or ()))
            if message.role.value in _SPOKEN and message.text and message.text.strip()
        ]
        if turns:
            memory = self.document_store.memory.sync
            memory.add(turns, session_id=session_id or self.session_id)
        return {"messages_written": len(turns)}

    @component.output_types(messages_written=int)
    async def run_async(
        self,
        messages: list[ChatMessage],
        replies: list[ChatMessage] | None = None,
        session_id: str | None = None,
    ) -> dict[str, int]:
        """Keep what the user and the assistant said, as `run` does."""
        return await in_thread(self.run, messages, replies, session_id)


def _items(documents: Any, policy: DuplicatePolicy) -> list[dict[str, Any]]:
    """The memories that keep documents, one for each id."""
    if not isinstance(documents, list) or not all(isinstance(d, Document) for d in documents):
        raise InvalidInput("documents", "is not a list of documents", "give a list of Document")
    items: dict[str, dict[str, Any]] = {}
    for number, document in enumerate(documents):
        if document.content is None or not document.content.strip():
            problem = f"has no text ({document.id})"
            raise InvalidInput(f"documents[{number}].content", problem, "describe it in words")
        if document.id in items:
            if _ON_CONFLICT[policy] == "error":
                raise DuplicateDocumentError(f"the id {document.id!r} comes twice")
            if _ON_CONFLICT[policy] == "skip":
                continue
        items[document.id] = {
            "id": document.id,
            "content": document.content,
            "metadata": document.meta,
            "kind": KIND,
        }
    return list(items.values())


def _writing(memory: Memory, documents: list[Document], policy: DuplicatePolicy) -> int:
    """Keep documents; returns how many were written."""
    items, rule = _items(documents, policy), _ON_CONFLICT[policy]
    try:
        result = memory.add_many(items, strict=True, on_conflict=rule)
    except IdTaken as problem:
        raise DuplicateDocumentError(str(problem)) from problem
    if policy is DuplicatePolicy.OVERWRITE:
        return len(documents)
    return sum(item.outcome != "SKIPPED" for item in result)


def _document(record: MemoryRecord) -> Document:
    """A memory as a document; that of a hit is as a model may read it."""
    meta = dict(record.metadata)
    if record.kind != KIND:
        fields = {"speaker": record.speaker, "session_id": record.session_id, "kind": record.kind}
        meta |= {key: value for key, value in fields.items() if value is not None}
        meta["created_at"] = record.created_at.isoformat()
    if isinstance(record, Hit):
        return Document(id=record.id, content=clean(record.content), meta=meta, score=record.score)
    return Document(id=record.id, content=record.content, meta=meta)


def _filter(filters: Mapping[str, Any] | None) -> Filter | None:
    """The filter of salience for one of Haystack."""
    if not filters:
        return None
    try:
        return parse_filter(_condition(filters))
    except InvalidInput as problem:
        raise FilterError(str(problem)) from problem


def _condition(condition: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(condition, Mapping):
        raise FilterError(f"{condition!r} is no condition")
    needed = ("operator", "value") if "field" in condition else ("operator", "conditions")
    for key in needed:
        if key not in condition:
            raise FilterError(f"{key!r} is missing in {condition}")
    operator = condition["operator"]
    operators: Mapping[str, Any] = _COMPARISONS if "field" in condition else _LOGIC
    if operator not in operators:
        raise FilterError(f"{operator!r} is not an operator here; use {', '.join(operators)}")
    if "field" in condition:
        return _COMPARISONS[operator](_path(condition["field"]), condition["value"])
    return _LOGIC[operator]([_condition(part) for part in condition["conditions"]])


def _path(field: str) -> str:
    """The field of a memory: of `memory.speaker` its own, of `meta.topic` or `topic` metadata."""
    if field in ("id", "content") or field.startswith("memory."):
        return field.removeprefix("memory.")
    return f"metadata.{field.removeprefix('meta.')}"


def _any_of(path: str, values: Any) -> Mapping[str, Any]:
    if not isinstance(values, list):
        raise FilterError(f"'in' and 'not in' take a list, not {type(values).__name__}")
    parts: list[Mapping[str, Any]] = [{path: {"in": [v for v in values if v is not None]}}]
    return {"or": [*parts, {path: {"exists": False}}]} if None in values else parts[0]


def _ordered(operator: str) -> Callable[[str, Any], Mapping[str, Any]]:
    """A comparison by order: of numbers, or of times as ISO 8601 writes them."""

    def compare(path: str, value: Any) -> Mapping[str, Any]:
        if value is None:
            return {"id": {"exists": False}}  # which no memory passes
        if isinstance(value, str):
            try:
                datetime.fromisoformat(value)
            except ValueError as problem:
                raise FilterError(
                    f"{value!r} has no order: it is no number or ISO date"
                ) from problem
        elif isinstance(value, date):
            value = value.isoformat()
        elif not isinstance(value, int | float):
            raise FilterError(f"a {type(value).__name__} has no order")
        return {path: {operator: value}}

    return compare


_LOGIC: Mapping[str, Callable[[Sequence[Mapping[str, Any]]], Mapping[str, Any]]] = {
    "AND": lambda parts: {"and": parts},
    "OR": lambda parts: {"or": parts},
    "NOT": lambda parts: {"not": {"and": parts}},
}
_COMPARISONS: Mapping[str, Callable[[str, Any], Mapping[str, Any]]] = {
    "==": lambda path, value: {path: {"exists": False} if value is None else {"eq": value}},
    "!=": lambda path, value: {path: {"exists": True} if value is None else {"ne": value}},
    ">": _ordered("gt"),
    ">=": _ordered("gte"),
    "<": _ordered("lt"),
    "<=": _ordered("lte"),
    "in": _any_of,
    "not in": lambda path, values: {"not": _any_of(path, values)},
}
